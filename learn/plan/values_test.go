package plan

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/values.golden")

// Features, probabilities and steps of five requests, recorded: a change of one number or operator of the planner
// shows here, also where it changes no plan.
func TestValuesOfThePlanner(t *testing.T) {
	const path = "testdata/values.golden"
	tools, tasks := office(80)
	for i := range 20 { // the same requests, some of them carried out in another way
		again := tasks[3*i]
		if i%2 == 0 {
			again.Steps, again.After = tasks[3*i+1].Steps, tasks[3*i+1].After
		}
		tasks = append(tasks, again)
	}
	texts := NewTexts(tools)
	m := Fit(texts, [][]int32{2: {6}, 7: nil}, tasks)
	var b strings.Builder
	for _, text := range []string{
		"write to my aunt, hotel for two nights", "fly me to oslo and remember the milk", "show it as bars",
		"translate a text", "water the plants",
	} {
		a := m.Plan(text, texts.Match(text))
		q := a.q
		fmt.Fprintf(&b, "%s: foreign %.4g, size %.4g\n", text, q.foreign, q.size)
		for i, tool := range q.table.cand {
			fmt.Fprintf(&b, "  tool %d clause %d p %.4g %.4g", tool, q.table.clause[i], q.table.p[i], q.table.p2[i])
			if q.table.goal != nil {
				fmt.Fprintf(&b, " goal %.4g", q.table.goal[i])
			}
			fmt.Fprintf(&b, " %.4g\n", q.table.f[i])
		}
		sets := q.choices(3)
		none := q.judge(sets)
		fmt.Fprintf(&b, "  none of the sets %.4g\n", none)
		for _, c := range sets {
			fmt.Fprintf(&b, "  set %v known %d prefix %t p %.4g %.4g\n", c.tools, c.known, c.prefix, c.p, c.f)
		}
		planned := []int32{1, 2, 6}
		fmt.Fprintf(&b, "  places of %v %.4g, pairs %.4g\n", planned, q.places(planned), q.pairs(planned))
		for _, s := range a.Steps {
			fmt.Fprintf(&b, "  step %d %.4g %v\n", s.Tool, s.P, s.After)
		}
		for _, r := range a.Tools {
			fmt.Fprintf(&b, "  %d %.4g\n", r.Tool, r.P)
		}
	}
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "run with -update")
}
