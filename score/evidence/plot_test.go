package evidence

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
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

// The title was clipped at the right edge, and names were longer than their room.
func TestTitleAndNamesFit(t *testing.T) {
	long := strings.Repeat("a question of many words ", 12) + strings.Repeat("x", 100)
	svg := string(EntropySVG(long, .497, []Trajectory{{Name: strings.Repeat("name ", 20), Shares: []float64{1, .5}}}))
	var titles []string
	for _, m := range regexp.MustCompile(`font-weight="bold">([^<]*)<`).FindAllStringSubmatch(svg, -1) {
		assert.LessOrEqual(t, len(m[1]), titleWidth)
		titles = append(titles, m[1])
	}
	assert.Equal(t, strings.ReplaceAll(long, " ", ""), strings.ReplaceAll(strings.Join(titles, ""), " ", ""))
	assert.Contains(t, svg, `viewBox="0 0 680 `+fmt.Sprint(344+18*(len(titles)-1))+`"`)
	assert.Contains(t, svg, ">name name name name name na…</text>")

	res := triangulate(t, Request{Hypotheses: hypotheses("granite copper", "cedar maple"), Rounds: []Round{{Snippets: snippets("granite")}}})
	assert.Contains(t, string(EntropySVG("q", .497, []Trajectory{res.Trajectory("")})), ">h1 leads, 0.", "a line without a name is labelled")
}

func TestManyNamesStayInside(t *testing.T) {
	lines := make([]Trajectory, 40)
	for i := range lines {
		lines[i] = Trajectory{Name: fmt.Sprint(i), Shares: []float64{1, .5}}
	}
	for _, y := range spread(lines, func(share float64) float64 { return plotTop + plotHeight*(1-share) }) {
		assert.GreaterOrEqual(t, y, plotTop-1e-9)
		assert.LessOrEqual(t, y, plotTop+plotHeight+1e-9)
	}
}
