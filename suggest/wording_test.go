package suggest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Texts are alike by the cosine of (1 + ln tf)·ln(1 + N/n); a tool is not alike to itself, and what is hardly alike is
// left out.
func TestAlikeByHand(t *testing.T) {
	const filler = 20
	texts := [][]string{{"read", "file"}, {"read", "row"}, {"file"}}
	rare := []string{"read"}
	for i := range filler {
		rare = append(rare, string(rune('a'+i)), string(rune('a'+i))+"x", string(rune('a'+i))+"y")
	}
	texts = append(texts, rare, rare[1:])
	for range filler {
		texts = append(texts, []string{})
	}
	alike := newWording(texts).alike()
	n := float64(len(texts))
	read, file, row := math.Log(1+n/3), math.Log(1+n/2), math.Log(1+n/1)
	length := func(xs ...float64) (sum float64) {
		for _, x := range xs {
			sum += x * x
		}
		return math.Sqrt(sum)
	}
	require.Len(t, alike[0], 2)
	assert.EqualValues(t, 2, alike[0][0].Tool)
	assert.InDelta(t, file/length(read, file), alike[0][0].Share, 1e-12)
	assert.EqualValues(t, 1, alike[0][1].Tool)
	assert.InDelta(t, read*read/length(read, file)/length(read, row), alike[0][1].Share, 1e-12)
	require.Len(t, alike[3], 1, "one word of sixty is below the least share")
	assert.EqualValues(t, 4, alike[3][0].Tool)
	assert.Empty(t, alike[5], "a tool without words")
}
