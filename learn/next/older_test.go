package next

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/learn/sequence"
)

// In a long history most of what is known of a tool is older than the tasks that weights are fitted on. Ranking must
// not lose to plain counts of what followed the last tool in the whole history.
func TestOlderTasksCountAsMuchAsNewerOnes(t *testing.T) {
	const T, before, fitted, asked = 4000, 24000, 800, 300
	r := rand.New(rand.NewPCG(5, 8))
	c := Catalog{Server: make([]int32, T), Older: make([]sequence.Followers, T)}
	popular := func() int32 { return int32(T * r.Float64() * r.Float64() * r.Float64()) }
	ways := make([][6]int32, T)
	for i := range ways {
		c.Server[i] = int32(i / 50)
		for j := range ways[i] {
			if ways[i][j] = int32(i/50*50) + r.Int32N(50); r.IntN(3) == 0 {
				ways[i][j] = popular()
			}
		}
	}
	task := func() *Task {
		row := []int32{popular()}
		for range 1 + r.IntN(6) {
			way := &ways[row[len(row)-1]]
			row = append(row, way[min(r.IntN(6), r.IntN(6))])
		}
		return line(row...)
	}
	for range before {
		row := task().Tools
		for i := 1; i < len(row); i++ {
			c.Older[row[i-1]].Add(row[i], 1)
		}
	}
	var tasks []*Task
	for i := range fitted {
		tasks = append(tasks, task())
		tasks[i].Group = uint64(i)
	}
	w := fitWeights(c, tasks, true)
	h := NewHistory(c)
	whole := make([]sequence.Followers, T)
	for i, row := range c.Older {
		whole[i] = sequence.Followers{Total: row.Total, Counts: slices.Clone(row.Counts)}
	}
	for _, task := range tasks {
		h.Observe(task)
		for i := 1; i < len(task.Tools); i++ {
			whole[task.Tools[i-1]].Add(task.Tools[i], 1)
		}
	}
	h.Settle(func() bool { return false })
	var s FeatureValues
	var sources Sources
	ours, counts := 0.0, 0.0
	for range asked {
		row := task().Tools
		h.Guess(row, &sources)
		for n := 1; n < len(row); n++ {
			h.Compute(row, sources.Parents, n, nil, &s)
			ours += reciprocal(slices.IndexFunc(h.Rank(&s, w.Plain, nil), func(x Ranked) bool { return x.Tool == row[n] }))
			after := slices.SortedFunc(slices.Values(whole[row[n-1]].Counts), func(a, b sequence.Count) int {
				return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Tool, b.Tool))
			})
			counts += reciprocal(slices.IndexFunc(after, func(x sequence.Count) bool { return x.Tool == row[n] }))
		}
	}
	assert.Greater(t, ours, .98*counts)
}

// reciprocal is that of the rank at an index; 0 for none.
func reciprocal(i int) float64 {
	if i < 0 {
		return 0
	}
	return 1 / float64(i+1)
}
