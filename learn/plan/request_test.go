package plan

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The index by tool, which questions have, and the binary search, which requests of the past use, find the same place
// for every tool, and none for a number that is no tool.
func TestPlacesOfTools(t *testing.T) {
	tools, tasks := office(80)
	m := Fit(NewTexts(tools), nil, tasks)
	q := m.open("write to my aunt, hotel for two nights", nil)
	require.Contains(t, q.table.cand, int32(0))
	searched := *q
	searched.table.at = nil
	for tool := int32(-1); int(tool) <= len(tools); tool++ {
		i, found := q.place(tool)
		j, same := searched.place(tool)
		require.Equal(t, same, found, tool)
		if found {
			require.Equal(t, j, i, tool)
			require.Equal(t, tool, q.table.cand[i])
		}
	}
}

func TestBitsets(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const n = 130
	all := make([]candidate, 40)
	for i := range all {
		for j := range int32(n) {
			if random.IntN(3) == 0 || j == 63 || j == 64 {
				all[i].places = append(all[i].places, j)
			}
		}
	}
	set := bitsets(all, n)
	for i := range all {
		ones := 0
		for _, word := range set(i) {
			ones += bits.OnesCount64(word)
		}
		assert.Len(t, all[i].places, ones)
		for j := range all {
			both := 0
			for _, p := range all[i].places {
				if slices.Contains(all[j].places, p) {
					both++
				}
			}
			assert.Equal(t, both, common(set(i), set(j)))
		}
	}
}
