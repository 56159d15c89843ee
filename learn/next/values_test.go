package next

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/learn/calibrate"
	"waymark/learn/sequence"
)

// workshop is a small history in which every signal has something to say: tools of three servers that give and take
// properties, that require and resemble one another; tasks that branch, repeat, fail, and say what they are for.
func workshop() (Catalog, []*Task) {
	random := rand.New(rand.NewPCG(21, 22))
	c := Catalog{Server: make([]int32, tools), Requires: make([][]int32, tools), Alike: make([][]sequence.Vote, tools),
		Takes: make([][]int32, tools), Gives: make([][]int32, tools)}
	for i := range int32(tools) {
		c.Server[i] = i % 3
		c.Alike[i] = []sequence.Vote{{Tool: (i + 5) % tools, Share: .6}, {Tool: (i + 1) % tools, Share: .2}}
		c.Takes[i], c.Gives[i] = []int32{i / 2}, []int32{(i/2 + 1) % (tools / 2)}
		if i >= 6 {
			c.Requires[i] = []int32{i - 6, i - 5}
		}
	}
	c.Older = make([]sequence.Followers, tools)
	for i := range c.Older {
		c.Older[i].Add(int32(i*7+3)%tools, 2)
		c.Older[i].Add(int32(i*5+1)%tools, 1)
	}
	tasks := make([]*Task, 80)
	for i := range tasks {
		n := 3 + i%10
		t := &Task{Tools: make([]int32, n), Parents: make([][]int32, n), Worked: make([]Outcome, n), Group: uint64(i / 2)}
		at := random.Int32N(tools)
		for k := range t.Tools {
			if random.IntN(5) > 0 {
				at = (at*5 + 1 + random.Int32N(2)) % (tools - 1) // the last tool is never used
			}
			t.Tools[k] = at
			if k > 0 && random.IntN(4) > 0 {
				t.Parents[k] = []int32{random.Int32N(int32(k))}
				if other := random.Int32N(int32(k)); other > t.Parents[k][0] {
					t.Parents[k] = append(t.Parents[k], other)
				}
			}
			t.Worked[k] = Outcome(random.IntN(3))
		}
		if i%4 > 0 {
			a, b := t.Tools[0], 20+t.Tools[n-1]
			t.Request = []Word{{a, 1}, {b, 1.5}, {40 + random.Int32N(10), 1}}
			t.Text = func() []sequence.Vote { return []sequence.Vote{{Tool: a, Share: .5}, {Tool: 11, Share: .1}} }
		}
		tasks[i] = t
	}
	return c, tasks
}

// The value of every signal for every candidate of ten contexts, recorded: a change of one number or operator of
// the features shows here, also where it moves no tool past another.
func TestValuesOfFeatures(t *testing.T) {
	const path = "testdata/values.golden"
	c, tasks := workshop()
	h := NewHistory(c)
	for _, task := range tasks {
		h.Observe(task)
	}
	h.Settle(func() bool { return false })
	var b strings.Builder
	var s FeatureValues
	spoken := [signalCount]bool{}
	for i, task := range tasks[4:14] {
		n := max(1, len(task.Tools)-1-i%2)
		h.Compute(task.Tools, task.Parents, n, h.Ask(task.Request, task.Texts()), &s)
		fmt.Fprintf(&b, "%v %v %v\nevidence %v\n", task.Tools[:n], task.Parents[:n], task.Request, s.Evidence)
		for row, tool := range s.Tools {
			fmt.Fprintf(&b, "%d:", tool)
			for k, v := range s.Values[row] {
				if v != 0 {
					fmt.Fprintf(&b, " %s %.4g", Features[k].Name, v)
					spoken[k] = true
				}
			}
			b.WriteString("\n")
		}
	}
	for k, said := range spoken {
		assert.True(t, said, "%s is 0 everywhere", Features[k].Name)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "run with -update")
}

// The weights fitted on that history and the probabilities they give held-out steps, recorded.
func TestFittedWeights(t *testing.T) {
	const path = "testdata/weights.golden"
	c, tasks := workshop()
	w, held := fitPredictions(c, tasks, true)
	var b strings.Builder
	for _, kind := range []struct {
		name    string
		weights []float64
		claims  []calibrate.Prediction
	}{{"next", w.Plain, held.Plain}, {"next with a request", w.Asked, held.Asked}} {
		for k := range signalCount {
			fmt.Fprintf(&b, "%s %s:", kind.name, Features[k].Name)
			for _, x := range kind.weights[int(k)*parts : int(k+1)*parts] {
				fmt.Fprintf(&b, " %.4g", x)
			}
			b.WriteString("\n")
		}
		sum := 0.0
		for _, p := range kind.claims {
			sum += p.P
		}
		fmt.Fprintf(&b, "%d predictions, mean %.6g\n", len(kind.claims), sum/float64(max(1, len(kind.claims))))
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "run with -update")
}
