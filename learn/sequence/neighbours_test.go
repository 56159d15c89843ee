package sequence

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// line is a task without branches.
func line(tools ...int32) ([]int32, [][]int32) {
	parents := make([][]int32, len(tools))
	for i := 1; i < len(tools); i++ {
		parents[i] = []int32{int32(i) - 1}
	}
	return tools, parents
}

func prefix(tools ...int32) *Prefix {
	p := &Prefix{}
	row, parents := line(tools...)
	p.Set(row, parents, len(row))
	return p
}

// 0 ─▶ 1 ─▶ 3 and 0 ─▶ 2 ─▶ 4: after 0 and 1 the frontier is 2 and 3, but not 4, for which 2 is missing.
func TestTheFrontierIsWhatCanBeDone(t *testing.T) {
	n := NewNeighbours(6)
	n.Observe([]int32{0, 1, 2, 3, 4}, [][]int32{nil, {0}, {0}, {1}, {2}})
	n.Observe([]int32{5}, [][]int32{nil})
	n.Observe([]int32{5, 5}, [][]int32{nil, nil})
	v := n.Votes(prefix(0, 1), &Search{})
	require.Len(t, v.Frontier, 2)
	assert.Equal(t, []int32{2, 3}, []int32{v.Frontier[0].Tool, v.Frontier[1].Tool})
	assert.InDelta(t, later*v.Frontier[0].Share, v.Frontier[1].Share, 1e-12)
	assert.Len(t, v.Rest, 3)
}

// The room of a search leaves no trace in the next one, and votes of the overlap are shares.
func TestASearchLeavesNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := NewNeighbours(8)
		for _, tools := range tasks(t, "tasks") {
			n.Observe(line(tools...))
		}
		var s Search
		for _, tools := range tasks(t, "prefixes") {
			got, want := n.Votes(prefix(tools...), &s), n.Votes(prefix(tools...), &Search{})
			require.InDelta(t, want.Similarity, got.Similarity, 0)
			sum := 0.0
			for i, lists := range [][2][]Vote{{want.Tail, got.Tail}, {want.Overlap, got.Overlap}, {want.Frontier, got.Frontier}, {want.Rest, got.Rest}} {
				require.Len(t, lists[1], len(lists[0]), "list %d", i)
				for j := range lists[0] {
					require.Equal(t, lists[0][j], lists[1][j])
				}
			}
			for _, v := range got.Overlap {
				sum += v.Share
			}
			require.LessOrEqual(t, sum, 1.0)
		}
	})
}

func BenchmarkVotes(b *testing.B) {
	for _, size := range []int{1000, 7000} {
		b.Run(fmt.Sprintf("tasks=%d", size), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			n := NewNeighbours(1000)
			var row []int32
			for range size {
				tools := make([]int32, 15)
				for i := range tools {
					x := random.Float64()
					tools[i] = int32(999 * x * x * x)
				}
				row = tools
				n.Observe(line(tools...))
			}
			p, s := prefix(row[:12]...), &Search{}
			b.ReportAllocs()
			for b.Loop() {
				n.Votes(p, s)
			}
		})
	}
}
