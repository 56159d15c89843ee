package evidence

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEntropySVG(t *testing.T) {
	lines := []Trajectory{
		{Name: `<script>"a"`, Shares: []float64{1, .8, .3}, Gates: []Gate{Continue, Stop}},
		{Name: "b", Shares: []float64{1, 1, .9, .31}, Gates: []Gate{Continue, Forced, Exhausted}},
		{Shares: []float64{1}},
		{},
	}
	svg := EntropySVG("Entropy & rounds", .497, lines)
	assert.Equal(t, svg, EntropySVG("Entropy & rounds", .497, lines))
	dec := xml.NewDecoder(bytes.NewReader(svg))
	count := map[string]int{}
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			count[e.Name.Local]++
		}
	}
	assert.Equal(t, 4, count["polyline"])
	assert.Zero(t, count["script"])
	assert.Equal(t, 1+1, count["rect"], "background and stop")
	assert.Equal(t, 2+4+1, count["circle"])
	assert.NotContains(t, string(svg), "NaN")
	assert.Contains(t, string(svg), `points="56.0,44.0 196.0,92.0 336.0,212.0"`, "3 rounds over 420, shares over 240")
}

func TestTrajectory(t *testing.T) {
	res := triangulate(t, Request{Hypotheses: hypotheses("granite copper", "cedar maple"), Rounds: []Round{{Snippets: snippets("granite")}, {}}})
	tr := res.Trajectory("x")
	assert.Equal(t, []float64{1, res.Rounds[0].EntropyShare, res.Rounds[1].EntropyShare}, tr.Shares)
	assert.Equal(t, []Gate{Continue, Forced}, tr.Gates)
}

// Names at the end of the lines stay apart and inside.
func TestNamesOfLinesStayApart(t *testing.T) {
	var lines []Trajectory
	for i := range 8 {
		lines = append(lines, Trajectory{Name: fmt.Sprint(i), Shares: []float64{1, .1 - float64(i)/100}})
	}
	at := spread(lines, func(share float64) float64 { return plotTop + plotHeight*(1-share) })
	for i := 1; i < len(at); i++ {
		assert.GreaterOrEqual(t, at[i]-at[i-1], lineOfText-1e-9)
	}
	assert.LessOrEqual(t, at[7], plotTop+plotHeight)
}
