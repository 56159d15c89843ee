package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testEnv() map[string]any {
	return map[string]any{
		"intent": "find it",
		"params": map[string]any{"n": 3, "words": []any{"a", "b"}, "deep": map[string]any{"x": 1.5}},
		"tasks":  map[string]any{"t1": map[string]any{"result": map[string]any{"items": []any{map[string]any{"id": 7}, map[string]any{"id": 8}}}, "state": "done", "error": ""}},
	}
}

func TestExpressions(t *testing.T) {
	for _, tt := range []struct{ source, want, wrong string }{
		{source: "1 + 2", want: "3"},
		{source: "params.n * 2", want: "6"},
		{source: `intent + "!"`, want: `"find it!"`},
		{source: "map(tasks.t1.result.items, .id)", want: "[7,8]"},
		{source: `filter(tasks.t1.result.items, .id > 7)[0].id`, want: "8"},
		{source: `reduce(params.words, #acc + ", " + #)`, want: `"a, b"`},
		{source: `{"a": params.deep.x, "b": len(params.words)}`, want: `{"a":1.5,"b":2}`},
		{source: `params.missing ?? "none"`, want: `"none"`},
		{source: `tasks["t1"].state == "done" ? "yes" : "no"`, want: `"yes"`},
		{source: "let a = [1, 2]; sum(a)", want: "3"},
		{source: "groupBy([1, 2, 3], # % 2 == 0 ? 'even' : 'odd')", want: `{"even":[2],"odd":[1,3]}`},

		{source: "", wrong: "is empty"},
		{source: "1 +", wrong: "unexpected token"},
		{source: "unknown", wrong: "unknown name unknown"},
		{source: "$env", wrong: "unknown name $env"},
		{source: "now()", wrong: "unknown name now"},
		{source: `repeat("a", 1000000000)`, wrong: "unknown name repeat"},
		{source: "len(tasks)", wrong: "named one by one"},
		{source: "tasks[intent].result", wrong: "named one by one"},
		{source: "tasks.t1.reslt", wrong: "a task has result, state, error"},
		{source: strings.Repeat("1+", 9000) + "1", wrong: "bytes, at most"},
		{source: strings.Repeat("1+", 3000) + "1", wrong: "maximum allowed nodes"},
		{source: "1 / 0", wrong: "is not JSON"},
		{source: "groupBy([1, 2], [#])", wrong: "unhashable"},
		{source: `uniq([1, 1])`, wrong: "unknown name uniq"},

		{source: `"a" in params.words && !("z" in params.words) && "n" in params && 3 in 1..3 && 4 not in [1]`, want: "true"},
		{source: `intent contains "it" && intent startsWith "find" && intent endsWith "it" && intent matches "^f.*t$"`, want: "true"},
		{source: `[params.missing contains "a", params.missing matches "a", params.missing == nil, "b" matches params.words[1]]`, want: "[false,false,true,true]"},
		{source: `[1 < 2, 1.5 <= 1, "b" > "a", 2 >= 2, 1 == 1.0, [1, "a"] == [1, "a"], {"a": 1} != {"a": 2}]`, want: "[true,false,true,true,true,true,true]"},
		{source: "max(params.n, 7) + min([4, 5]) + len(keys(params.deep))", want: "12"},
		{source: "intent < 3", wrong: "mismatched types"},
		{source: "params.words < 3", wrong: "invalid operation"},
		{source: `params.n contains "a"`, wrong: "not string"},
		{source: `intent matches "("`, wrong: "regexp"},
		{source: `intent matches params.words[0] + "("`, wrong: "regexp"},
		{source: `intent matches "` + strings.Repeat("a{1000}", 200) + `"`, wrong: "budget"},
	} {
		x, err := compileExpression(tt.source, false)
		var got json.RawMessage
		if err == nil {
			got, err = x.value(testEnv())
		}
		if tt.wrong != "" {
			require.Error(t, err, "%.40s", tt.source)
			assert.Contains(t, err.Error(), tt.wrong, "%.40s", tt.source)
			assert.NotContains(t, err.Error(), "\n")
			continue
		}
		require.NoError(t, err, tt.source)
		assert.JSONEq(t, tt.want, string(got), tt.source)
	}
}

func TestConditions(t *testing.T) {
	x, err := compileExpression(`params.n > 2 and tasks.t1.state == "done"`, true)
	require.NoError(t, err)
	assert.Equal(t, []string{"t1"}, x.tasks)
	yes, err := x.condition(testEnv())
	require.NoError(t, err)
	assert.True(t, yes)
	_, err = compileExpression("1 + 1", true)
	assert.Error(t, err)
	x, err = compileExpression("params.n", true) // known only when it runs
	require.NoError(t, err)
	_, err = x.condition(testEnv())
	assert.Error(t, err)
}

// Each of these would take all memory or hours without the budget.
func TestExpressionBombs(t *testing.T) {
	doubled := func(first, next string) string { // a60 consists of 2⁶⁰ times the first; P is the value before
		source := "let a0 = " + first + ";"
		for i := range 60 {
			source += fmt.Sprintf(" let a%d = %s;", i+1, strings.ReplaceAll(next, "P", fmt.Sprint("a", i)))
		}
		return source
	}
	list := make([]any, 100_000)
	for i := range list {
		list[i] = i
	}
	for name, source := range map[string]string{
		"strings that double":  doubled("'aaaaaaaaaaaaaaaa'", "P + P") + " len(a60)",
		"lists that double":    doubled("[1]", "[P, P]") + " a60",
		"equal doubles":        doubled("[1]", "[P, P]") + " a60 == a60",
		"loops in loops":       "count(1..9999, count(1..9999, count(1..9999, # > 0) > 0) > 0)",
		"a long range":         "1..1000000000",
		"a nest by reduce":     "reduce(1..100000, [#acc], [])",
		"a text by reduce":     "reduce(1..100000, #acc + #acc, 'a')",
		"any over equal lists": "any(1..100000, (1..100000) == (1..100000) and false)",

		"a list compared":         "any(1..300000, params.list != params.list)",
		"a text looked through":   "any(1..300000, params.text contains 'b')",
		"a pattern in a text":     "any(1..300000, params.text matches 'a+b')",
		"a large pattern":         "params.text matches '(?:a?){400}b'",
		"a large pattern given":   "params.text matches params.pattern",
		"patterns without an end": "any(1..300000, 'a' matches '(?:a?){400}b' + string(#))",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := compileExpression(source, false)
			require.NoError(t, err, source)
			env := testEnv()
			env["params"] = map[string]any{"list": list, "text": strings.Repeat("a", 1<<20), "pattern": "(?:a?){400}b"}
			_, err = x.value(env)
			require.ErrorIs(t, err, errBudget)
		})
	}
}

func FuzzExpression(f *testing.F) {
	f.Add("map(tasks.t1.result.items, .id)")
	f.Add("let a = [1]; [a, a]")
	f.Add("1..9 | filter(# > 3) | sum()")
	f.Fuzz(func(t *testing.T, source string) {
		x, err := compileExpression(source, false)
		if err != nil {
			return
		}
		v, err := x.value(testEnv())
		if err == nil && !json.Valid(v) {
			t.Fatalf("%q gives %s", source, v)
		}
	})
}
