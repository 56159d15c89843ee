package sequence

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/internal/numeric"
)

func TestFollowers(t *testing.T) {
	var f Followers
	for _, x := range []Count{{5, 2}, {1, 1}, {5, 1}, {9, 4}, {1, -1}} {
		f.Add(x.Tool, x.N)
	}
	assert.Equal(t, Followers{Total: 7, Counts: []Count{{5, 3}, {9, 4}}}, f)
	assert.Equal(t, int32(3), f.N(5))
	assert.Zero(t, f.N(1))
	assert.Panics(t, func() { f.Add(5, -4) })
}

// Tasks 0 1 and 0 2, tools 0, 1, 2. P₀ = (2.5, 1.5, 1.5)/5.5. After 0: n = 2, u = 2, e = 1.1, so
// P₁(1) = (1 - .4 + 1.1·1.5/5.5)/2.3 = .9/2.3 and P₁(0) = 1.1·(2.5/5.5)/2.3 = .5/2.3, by hand.
func TestBlendByHand(t *testing.T) {
	c := NewChain(3, 4)
	c.Observe([]int32{0, 1})
	c.Observe([]int32{0, 2})
	var b Blend
	c.Blend([]int32{0}, &b)
	assert.Equal(t, 1, b.Order)
	assert.Equal(t, []int32{1, 2}, b.Tools)
	assert.InDelta(t, 1.1/2.3, b.Ratio, 1e-12)
	assert.InDeltaSlice(t, []float64{.5 / 2.3, .9 / 2.3, .9 / 2.3}, all(c, b.P), 1e-12)
	assert.InDeltaSlice(t, all(c, b.P), all(c, b.First), 1e-12)
	c.Blend([]int32{2}, &b)
	assert.Zero(t, b.Order, "2 was never followed")
	assert.InDeltaSlice(t, []float64{2.5 / 5.5, 1.5 / 5.5, 1.5 / 5.5}, all(c, b.P), 1e-12)
	assert.Equal(t, all(c, c.Popularity), all(c, b.First))
}

// A longer suffix outweighs the last tool: after 3 always 1, after 0 3 always 2.
func TestTheLongestSuffixSpeaksLast(t *testing.T) {
	c := NewChain(4, 3)
	for range 6 {
		c.Observe([]int32{1, 3, 1})
	}
	for range 2 {
		c.Observe([]int32{0, 3, 2})
	}
	var b Blend
	c.Blend([]int32{0, 3}, &b)
	assert.Equal(t, 2, b.Order)
	assert.Greater(t, b.P(2), b.P(1))
	assert.Less(t, b.First(2), b.First(1))
	c.Blend([]int32{2, 3}, &b)
	assert.Equal(t, 1, b.Order)
	assert.Greater(t, b.P(1), b.P(2))
}

func all(c *Chain, p func(int32) float64) []float64 {
	out := make([]float64, c.Tools())
	for t := range out {
		out[t] = p(int32(t))
	}
	return out
}

func tasks(t *rapid.T, name string) [][]int32 {
	return rapid.SliceOfN(rapid.SliceOfN(rapid.Int32Range(0, 7), 1, 12), 1, 20).Draw(t, name)
}

func TestBlendsAddUpToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewChain(8, 5)
		for _, task := range tasks(t, "tasks") {
			c.Observe(task)
		}
		var b Blend
		for _, prefix := range tasks(t, "prefixes") {
			c.Blend(prefix, &b)
			for _, p := range [][]float64{all(c, b.P), all(c, b.First)} {
				assert.InDelta(t, 1, numeric.Sum(p), 1e-12)
				assert.Positive(t, slices.Min(p))
			}
		}
	})
}

// The order of tasks leaves no trace.
func TestOrderOfTasksLeavesNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := tasks(t, "tasks")
		a, b := NewChain(8, 4), NewChain(8, 4)
		for i := range all {
			a.Observe(all[i])
			b.Observe(all[len(all)-1-i])
		}
		require.Equal(t, a.uses, b.uses)
		require.Equal(t, a.byUse, b.byUse)
		require.Equal(t, a.total, b.total)
		require.Equal(t, rows(&a.rows), rows(&b.rows))
	})
}

func TestToolsStayInOrderOfUse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewChain(8, 2)
		for _, task := range tasks(t, "tasks") {
			c.Observe(task)
			c.Used(task[0], int32(len(task)))
		}
		want := []int32{0, 1, 2, 3, 4, 5, 6, 7}
		slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(c.Uses(b), c.Uses(a)) })
		require.Equal(t, want, c.ByUse())
	})
}

// rows are what a table holds, wherever it keeps it.
func rows(t *Table) map[uint64]Followers {
	all := map[uint64]Followers{}
	for context := range t.at {
		all[context] = t.Row(context)
	}
	return all
}

// 0 ─▶ 1 ─▶ 3      steps 0 … 4, tools as numbered but step 4, which uses tool 1 again
//
//	└─▶ 2   4
func TestPrefix(t *testing.T) {
	var p Prefix
	tools := []int32{0, 1, 2, 3, 1, 7}
	parents := [][]int32{nil, {0}, {0}, {1}, nil, {4}}
	for range 2 { // setting it again makes no difference
		p.Set(tools, parents, 5)
		assert.Equal(t, []int32{2, 1, 0, 0, 0}, p.Children)
		assert.Equal(t, []int32{2, 3, 4}, p.Leaves)
		assert.Equal(t, []int32{1, 3, 2, 0}, p.Distinct)
		assert.Equal(t, []int32{0, 1, 2, 4}, p.Age)
		assert.Equal(t, []int32{2, 1, 1, 1}, p.Uses)
	}
	uses, age := p.Used(7)
	assert.Equal(t, [2]int32{0, -1}, [2]int32{uses, age})
	assert.Equal(t, int32(1), p.Last())
	assert.Equal(t, int32(-1), p.Back(6))
	assert.Equal(t, int32(1), p.Source(3))
}

func TestContextsTellPrefixesApart(t *testing.T) {
	keys := func(n int, tools []int32, parents [][]int32) []uint64 {
		var p Prefix
		p.Set(tools, parents, n)
		return p.Contexts(nil)
	}
	chain := [][]int32{nil, {0}, {1}, {2}}
	fork := [][]int32{nil, {0}, {0}, {2}}
	a, b := keys(3, []int32{0, 1, 2}, chain), keys(3, []int32{0, 1, 2}, fork)
	for kind, same := range map[int]bool{bySource: false, ByLeaves: false, BySet: true, SkipOne: true, byPlace: true, byWidth: false} {
		assert.Equal(t, same, a[kind] == b[kind], "kind %d", kind)
	}
	swapped := keys(3, []int32{1, 0, 2}, chain)
	assert.Equal(t, a[BySet], swapped[BySet], "a set has no order")
	assert.NotEqual(t, a[byThree], swapped[byThree])
	seen := map[uint64]bool{}
	for _, k := range a {
		seen[k] = true
	}
	assert.Len(t, seen, kinds, "kinds do not share keys")
}

// Only the prefix counts: what comes after it must not leak into its contexts.
func TestContextsDoNotSeeWhatComesNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tools := rapid.SliceOfN(rapid.Int32Range(0, 5), 2, 12).Draw(t, "tools")
		parents := make([][]int32, len(tools))
		for i := 1; i < len(tools); i++ {
			if rapid.Bool().Draw(t, "linked") {
				parents[i] = []int32{rapid.Int32Range(0, int32(i)-1).Draw(t, "parent")}
			}
		}
		n := rapid.IntRange(1, len(tools)-1).Draw(t, "n")
		var whole, part Prefix
		whole.Set(tools, parents, n)
		part.Set(tools[:n:n], parents[:n:n], n)
		require.Equal(t, part.Contexts(nil), whole.Contexts(nil))
	})
}

func TestPrefixDoesNotAllocateOnceWarm(t *testing.T) {
	var p Prefix
	tools, parents := []int32{0, 1, 2, 1, 3}, make([][]int32, 5)
	keys := make([]uint64, 0, kinds)
	run := func() { p.Set(tools, parents, 5); keys = p.Contexts(keys) }
	run()
	assert.LessOrEqual(t, testing.AllocsPerRun(50, run), 1.0)
}

func BenchmarkBlend(b *testing.B) {
	for _, tools := range []int{100, 1000} {
		b.Run(fmt.Sprintf("tools=%d", tools), func(b *testing.B) {
			c := NewChain(tools, 8)
			task := make([]int32, 15)
			x := uint32(1)
			for range 2000 {
				for i := range task {
					x = x*1664525 + 1013904223
					task[i] = int32(x>>8) % int32(tools) * int32(x>>20&1)
				}
				c.Observe(task)
			}
			var blend Blend
			b.ReportAllocs()
			for b.Loop() {
				c.Blend(task, &blend)
			}
		})
	}
}

// What is kept is what sorting would leave, whatever the order of the calls.
func TestKeepIsTheBeginningOfASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(rapid.IntRange(0, 99), 1, 30, rapid.ID[int]).Draw(t, "list")
		n := rapid.IntRange(1, 35).Draw(t, "n")
		var best []int
		for _, x := range list {
			best = Keep(best, x, n, cmp.Compare[int])
		}
		slices.Sort(list)
		assert.Equal(t, list[:min(n, len(list))], best)
	})
}
