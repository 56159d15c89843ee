package suggest

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/internal/numeric"
)

// The bound that an exclusion rests on, and the decision, follow from the counts beside it.
func TestFailureDetailCanBeComputedAgain(t *testing.T) {
	numbers := regexp.MustCompile(`([0-9.]+) of ([0-9.]+); excluded from 5 outcomes on if the 95 % Wilson lower bound of the weighted share, ([0-9.]+), is`)
	r := rand.New(rand.NewPCG(1, 16))
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	excluded := 0
	for range 500 {
		m := episodic.NewMemory()
		for range 5 + r.IntN(30) {
			o := episodic.Failure
			if r.IntN(6) == 0 {
				o = episodic.Success
			}
			m.Observe(0, nil, o, began.Add(time.Duration(r.IntN(200*24))*time.Hour), 0)
		}
		rate := m.Freeze().Tool(0)
		found := numbers.FindStringSubmatch(failureDetail(rate))
		require.NotNil(t, found, failureDetail(rate))
		failed, err := strconv.ParseFloat(found[1], 64)
		require.NoError(t, err)
		known, err := strconv.ParseFloat(found[2], 64)
		require.NoError(t, err)
		bound := strconv.FormatFloat(numeric.WilsonLower(failed, known, numeric.Z95), 'f', 4, 64)
		require.Equal(t, bound, found[3], failureDetail(rate))
		shown, err := strconv.ParseFloat(found[3], 64)
		require.NoError(t, err)
		require.Equal(t, shown > 0.5, rate.Excluded(1), failureDetail(rate))
		if rate.Excluded(1) {
			excluded++
		}
	}
	require.Greater(t, excluded, 50, "some of them are excluded")
	require.Less(t, excluded, 450, "and some are not")
}
