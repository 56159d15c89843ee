package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/evaluate"
	"waymark/suggest"
)

// evaluation of a few tasks under a hostile name.
func evaluation(t *testing.T) *evaluate.Report {
	d := &evaluate.Data{Name: `<script>alert("1")</script> & 'co'`, Official: true}
	for _, id := range []string{"fetch", "parse", "store", "mail"} {
		d.Tools = append(d.Tools, catalog.Tool{ID: id, Name: id})
	}
	for i, tools := range [][]string{{"fetch", "parse"}, {"fetch", "parse", "store"}, {"fetch", "mail"}, {"fetch", "parse", "store"}, {"fetch", "mail"}} {
		e := episodic.Episode{ID: fmt.Sprint(i), Intent: strings.Join(tools, " then "), Outcome: episodic.Success}
		for at, tool := range tools {
			e.Steps = append(e.Steps, episodic.Step{ID: fmt.Sprint(at), Tool: tool})
		}
		split := evaluate.Train
		if i > 2 {
			split = evaluate.Test
		}
		d.Examples = append(d.Examples, evaluate.Example{Episode: e, Split: split, Next: true, Intent: true})
	}
	r, err := evaluate.Evaluate(t.Context(), d, evaluate.Suggester("seed", suggest.MeasureOptions{}), evaluate.Options{Profile: `"><img>`})
	require.NoError(t, err)
	return r
}

func TestPageIsWellFormedAndStandsAlone(t *testing.T) {
	r := evaluation(t)
	var page, again bytes.Buffer
	require.NoError(t, WriteHTML(&page, r))
	require.NoError(t, WriteHTML(&again, r))
	assert.Equal(t, page.String(), again.String())

	elements := map[string]int{}
	texts := 0
	for d := xml.NewDecoder(bytes.NewReader(page.Bytes())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
			for _, attr := range token.Attr {
				assert.NotContains(t, []string{"src", "href", "srcset", "data", "action"}, attr.Name.Local)
				assert.False(t, strings.HasPrefix(attr.Name.Local, "on"), attr.Name.Local)
			}
		case xml.CharData:
			if strings.Contains(string(token), `<script>alert("1")</script>`) {
				texts++
			}
		}
	}
	assert.Equal(t, 2, texts, "the name of the set is text, in the title and the heading")
	for _, no := range []string{"script", "link", "img", "iframe", "object", "image", "use"} {
		assert.Zero(t, elements[no], no)
	}
	assert.Regexp(t, `prefers-color-scheme: dark`, page.String())
	assert.NotRegexp(t, regexp.MustCompile(`(?i)https?:|//[a-z]|url\(|@import|@font-face`), page.String())

	// Reliability and risk-coverage with and without the intent; bars of five metrics.
	assert.Equal(t, 2*2+5, elements["svg"])
	assert.Equal(t, 2, elements["polyline"])
	assert.NotContains(t, page.String(), "NaN")
	assert.NotContains(t, page.String(), "ZgotmplZ", "the template found a value unsafe")
}

// A report of little shows what there is.
func TestPageOfBaselinesAlone(t *testing.T) {
	var page bytes.Buffer
	require.NoError(t, WriteHTML(&page, &evaluate.Report{Dataset: "empty", Profile: "seed", LeaveOneOut: true, TestEpisodes: 3}))
	assert.Contains(t, page.String(), "3 episodes, each held out in turn")
	assert.NotContains(t, page.String(), "<svg")
}

// The view box is 620 wide: labels take 150, a value of 1 the next 400.
func TestBarsAreToScale(t *testing.T) {
	v := view{Report: &evaluate.Report{Profile: "seed", Baselines: map[string]evaluate.Baseline{
		"markov1": {NextScores: &evaluate.NextScores{MRR: 0.75}, CI: map[string]evaluate.Interval{"mrr": {0.7, 0.8}}},
		"bm25":    {ToolsScores: &evaluate.ToolsScores{NDCG10: 1}},
	}}, Rows: []evaluate.Comparison{{Question: evaluate.QuestionNext, Metric: "mrr", Value: 0.5, CI: &evaluate.Interval{0.25, 0.6}}}}
	v.bars(evaluate.QuestionNext, "mrr")
	v.bars(evaluate.QuestionTools, "ndcg@10") // the profile was not asked
	require.Len(t, v.Bars, 1)
	best, mine := v.Bars[0].List[0], v.Bars[0].List[1]
	require.Len(t, v.Bars[0].List, 2)
	assert.Equal(t, "markov1", best.Name)
	assert.Equal(t, []string{"300.0", "430.0", "470.0", "478.0"}, []string{best.Length, best.Lo, best.Hi, best.TextAt})
	assert.True(t, mine.Mine)
	assert.Equal(t, []string{"200.0", "250.0", "390.0", "398.0"}, []string{mine.Length, mine.Lo, mine.Hi, mine.TextAt})
}

func TestDiagramsAreToScale(t *testing.T) {
	ece, area, yes := 0.1, 0.2, true
	got := newTrust(evaluate.QuestionNext, &evaluate.NextReport{ECE: &ece, AURC: &area, Calibrated: &yes,
		Reliability:  []evaluate.Bin{{Confidence: 0, Right: 0, Claims: 1}, {Confidence: 1, Right: 0.5, Claims: 1}},
		RiskCoverage: []evaluate.RiskPoint{{Coverage: 0.5, Risk: 0}, {Coverage: 1, Risk: 1}}})
	assert.Equal(t, []string{"40.0", "280.0"}, []string{got.Points[0].X, got.Points[0].Y}, "the lower left corner")
	assert.Equal(t, []string{"300.0", "150.0"}, []string{got.Points[1].X, got.Points[1].Y})
	assert.Equal(t, "170.0,280.0 300.0,20.0", got.Curve)
}
