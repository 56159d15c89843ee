package suggest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

// evaluate computes a formula from the values of its names, or one with numbers; ok is false where a name has no value.
func evaluate(t *testing.T, formula string, names map[string]float64) (v float64, ok bool) {
	e, err := parser.ParseExpr(strings.ReplaceAll(formula, "·", "*"))
	if err != nil {
		return 0, false // in words
	}
	ok = true
	var eval func(e ast.Expr) float64
	eval = func(e ast.Expr) float64 {
		switch e := e.(type) {
		case *ast.BasicLit:
			v, err := strconv.ParseFloat(e.Value, 64)
			require.NoError(t, err)
			return v
		case *ast.Ident:
			v, known := names[e.Name]
			ok = ok && known
			return v
		case *ast.ParenExpr:
			return eval(e.X)
		case *ast.UnaryExpr:
			return -eval(e.X)
		case *ast.BinaryExpr:
			x, y := eval(e.X), eval(e.Y)
			return map[token.Token]float64{token.ADD: x + y, token.SUB: x - y, token.MUL: x * y, token.QUO: x / y}[e.Op]
		case *ast.CallExpr:
			x := eval(e.Args[0])
			switch e.Fun.(*ast.Ident).Name {
			case "ln":
				return math.Log(x)
			case "log2":
				return math.Log2(x)
			case "min":
				return min(x, eval(e.Args[1]))
			case "max":
				for _, arg := range e.Args[1:] {
					x = max(x, eval(arg))
				}
				return x
			}
		}
		ok = false
		return 0
	}
	return eval(e), ok
}

// Every step is what its numbers give, and what its formula gives with the values of the steps before it; the last one is
// the score that explain shows for profile seed.
func TestFormulaStepsComputeTheScore(t *testing.T) {
	w := newWorld(t)
	w.tool("fs:read", "Read a file", "", "").tool("json:parse", "Parse JSON text", "", "").tool("mail:send", "Send a message", "", "")
	w.capability("cap:load", "Load settings from a file", "fs:read", "json:parse")
	w.capability("cap:done", "Read a file", "fs:read")
	for range 9 {
		w.episode("load the settings", "fs:read", "json:parse")
		w.episode("tell about the settings", "fs:read", "mail:send")
		w.episode("load the settings", "cap:load", "mail:send")
	}
	for _, by := range []string{"a", "b", "c", "d", "e", "f", "g"} { // seven neighbours shared by two tools
		w.episode("", "fs:read", by+":hub", "far:end")
	}
	for range 6 {
		w.record(episodic.Episode{Source: "test", Steps: []episodic.Step{{Tool: "fs:read"}, {Tool: "bad:tool", Outcome: episodic.Failure}}})
		w.record(episodic.Episode{Source: "test", Steps: []episodic.Step{{Tool: "fs:read", Outcome: episodic.Success}, {Tool: "json:parse", Outcome: episodic.Success}}})
	}
	small := w.model()
	computed := map[string]int{}
	for name, tc := range map[string]struct {
		m       *Model
		context []string
		intent  string
	}{
		"a context":               {small, []string{"fs:read"}, ""},
		"two steps":               {small, []string{"json:parse", "fs:read"}, ""},
		"a repeated step":         {small, []string{"far:end", "far:end"}, ""},
		"an intent":               {small, nil, "load the settings"},
		"both":                    {small, []string{"fs:read"}, "parse the settings"},
		"neither":                 {small, nil, ""},
		"an unknown step":         {small, []string{"no:such"}, ""},
		"an unknown step, intent": {small, []string{"no:such"}, "parse"},
		"the sample":              {sampleModel(t), []string{"metrics:list_alerts"}, ""},
		"the sample with both":    {sampleModel(t), []string{"metrics:list_alerts", "metrics:query_metrics"}, "triage the incident"},
	} {
		for _, id := range tc.m.IDs {
			r := ExplainRequest{ID: id, Context: tc.context, Intent: tc.intent, Profile: ProfileSeed, Formula: true}
			a, err := tc.m.Explain(r)
			require.NoError(t, err)
			known := map[string]float64{}
			for _, s := range a.FormulaSteps {
				if s.Numbers != "" {
					v, ok := evaluate(t, s.Numbers, nil)
					require.True(t, ok, "%s: %s: %+v", name, id, s)
					require.InDelta(t, s.Value, v, 3e-4*max(1, math.Abs(v)), "%s: %s: %+v", name, id, s)
				}
				if v, ok := evaluate(t, s.Formula, known); ok {
					computed[s.Name]++
					require.InDelta(t, s.Value, v, 1e-12, "%s: %s: %+v", name, id, s)
				}
				known[s.Name] = s.Value
			}
			require.NotEmpty(t, a.FormulaSteps)
			last := a.FormulaSteps[len(a.FormulaSteps)-1]
			require.Equal(t, "score", last.Name)
			require.Equal(t, a.Score, last.Value, "%s: %s", name, id)
		}
	}
	for _, name := range []string{"alpha", "adamic_adar", "structural_boost", "hybrid_score", "sum", "tool_score", "rank_score", "relevance", "x", "mixed", "score"} {
		assert.Positive(t, computed[name], name)
	}
}

func TestFormulaNamesTheStrongestSharedNeighbours(t *testing.T) {
	w := newWorld(t)
	for _, by := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		w.episode("", "from", by, "to")
	}
	w.episode("", "g", "other")
	steps, err := w.model().Formula(ExplainRequest{ID: "to", Context: []string{"from"}})
	require.NoError(t, err)
	var names, numbers []string
	for _, s := range steps[3:9] {
		names, numbers = append(names, s.Name), append(numbers, s.Numbers)
	}
	assert.Equal(t, []string{"by a", "by b", "by c", "by d", "by e", "… and 2 more"}, names)
	assert.Equal(t, []string{"1/ln(2)", "1/ln(2)", "1/ln(2)", "1/ln(2)", "1/ln(2)", ""}, numbers)
	assert.InDelta(t, 1/math.Ln2+1/math.Log(3), steps[8].Value, 1e-9)
	assert.InDelta(t, 6/math.Ln2+1/math.Log(3), steps[9].Value, 1e-9)
}
