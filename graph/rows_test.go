package graph_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/graph"
)

// reader is what a [graph.Graph] and a [graph.View] both answer.
type reader interface {
	graph.Adjacency
	Size() int
	Density() float64
	Out(u int32) (targets []int32, weights []float64)
	Counts(u int32) []uint64
	Degree(u int32) int
	Transition(u, v int32) (weight float64, count uint64)
	Loop(u int32) (graph.Edge, bool)
	Adjacent(u, v int32) bool
}

// requireSame compares all answers of two graphs.
func requireSame(t require.TestingT, want *graph.Graph, got reader) {
	require.Equal(t, want.Len(), got.Len())
	require.Equal(t, want.Size(), got.Size())
	require.Equal(t, want.Density(), got.Density())
	var s graph.Scratch
	collect := func(g reader, u int32) (all []graph.Scored) {
		return graph.AdamicAdarTop(g, u, g.Len(), &s, nil)
	}
	list := func(x []int32) []int32 { return append([]int32{}, x...) }
	for u := range int32(want.Len()) {
		targets, weights := want.Out(u)
		gotTargets, gotWeights := got.Out(u)
		require.Equal(t, list(targets), list(gotTargets), "targets of %d", u)
		require.Equal(t, append([]float64{}, weights...), append([]float64{}, gotWeights...))
		require.Equal(t, append([]uint64{}, want.Counts(u)...), append([]uint64{}, got.Counts(u)...))
		if view, ok := got.(*graph.View); ok {
			sources, _ := want.In(u)
			require.Equal(t, list(sources), list(view.Sources(u)), "sources of %d", u)
		}
		require.Equal(t, list(want.Neighbours(u)), list(got.Neighbours(u)), "neighbours of %d", u)
		require.Equal(t, want.Degree(u), got.Degree(u))
		wantLoop, has := want.Loop(u)
		gotLoop, gotHas := got.Loop(u)
		require.Equal(t, has, gotHas)
		require.Equal(t, wantLoop, gotLoop)
		require.Equal(t, collect(want, u), collect(got, u))
		for v := range int32(want.Len()) {
			w, count := want.Transition(u, v)
			gotW, gotCount := got.Transition(u, v)
			require.Equal(t, w, gotW)
			require.Equal(t, count, gotCount)
			require.Equal(t, want.Adjacent(u, v), got.Adjacent(u, v))
			require.Equal(t, graph.AdamicAdar(want, u, v), graph.AdamicAdar(got, u, v))
		}
	}
}

func edgesFrom(u int32, edges []graph.Edge) (row []graph.Edge) {
	for _, e := range edges {
		if e.From == u {
			row = append(row, e)
		}
	}
	return row
}

// setRows makes the edges, and no others, the rows of their sources.
func setRows(t require.TestingT, rows *graph.Rows, edges []graph.Edge) {
	by := map[int32][]graph.Edge{}
	for _, e := range edges {
		by[e.From] = append(by[e.From], e)
	}
	for u, row := range by {
		require.NoError(t, rows.SetRow(u, row))
	}
}

// Whatever edges come, in whatever order, and whichever rows are replaced: every view on the way is
// the graph built from scratch of the edges so far, and stays so.
func TestRowsAreTheGraphBuiltAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		draw := rapid.Custom(func(t *rapid.T) graph.Edge {
			node := rapid.Int32Range(0, int32(n)-1)
			return graph.Edge{
				From: node.Draw(t, "from"), To: node.Draw(t, "to"),
				Weight: rapid.SampledFrom([]float64{0, .5, 1, 3}).Draw(t, "weight"), Count: rapid.Uint64().Draw(t, "count"),
			}
		})
		edges := rapid.SliceOfN(draw, 0, 30).Draw(t, "edges")
		first, err := graph.New(n, edges)
		require.NoError(t, err)
		rows := graph.NewRows(first)
		type moment struct {
			want *graph.Graph
			got  *graph.View
		}
		moments := []moment{{first, rows.Freeze()}}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "step") == 0 {
				n++
				rows.Grow(n)
				continue
			}
			u := rapid.Int32Range(0, int32(n)-1).Draw(t, "row")
			row := rapid.SliceOfN(draw, 0, 6).Draw(t, "edges of the row")
			for i := range row {
				row[i].From = u
			}
			if rapid.Bool().Draw(t, "add") {
				row = append(edgesFrom(u, edges), row...)
			}
			edges = append(slices.DeleteFunc(slices.Clone(edges), func(e graph.Edge) bool { return e.From == u }), row...)
			require.NoError(t, rows.SetRow(u, row))
			if rapid.Bool().Draw(t, "freeze") {
				g, err := graph.New(n, edges)
				require.NoError(t, err)
				moments = append(moments, moment{g, rows.Freeze()})
			}
		}
		for _, m := range moments {
			requireSame(t, m.want, m.got)
			compiled := m.got.Graph()
			requireSame(t, m.want, compiled)
			for u := range int32(m.want.Len()) {
				_, weights := m.want.In(u)
				_, got := compiled.In(u)
				require.Equal(t, append([]float64{}, weights...), append([]float64{}, got...))
			}
			again, err := graph.New(m.want.Len(), slices.Collect(m.got.Edges))
			require.NoError(t, err)
			requireSame(t, m.want, again)
			require.True(t, slices.IsSortedFunc(slices.Collect(m.got.Edges), func(a, b graph.Edge) int {
				return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
			}))
		}
	})
}

func TestRowsRefuse(t *testing.T) {
	rows := graph.NewRows(build(t, 2, edge(0, 1)))
	require.ErrorContains(t, rows.SetRow(0, []graph.Edge{edge(0, 2)}), "node 2 is not one of the 2 nodes")
	require.ErrorContains(t, rows.SetRow(2, nil), "node 2")
	require.ErrorContains(t, rows.SetRow(0, []graph.Edge{edge(1, 0)}), "in the row of node 0")
	require.ErrorContains(t, rows.SetRow(0, []graph.Edge{edge(0, 1, -1)}), "negative")
	requireSame(t, build(t, 2, edge(0, 1)), rows.Freeze())
}

// Many pages: a change leaves the view of before, and all pages but its own, as they were.
func TestRowsOfManyPages(t *testing.T) {
	edges, _ := sampleEdges(1200, 2)
	rows := graph.NewRows(build(t, 1200))
	setRows(t, rows, edges[:4000])
	before := rows.Freeze()
	setRows(t, rows, edges[:5000])
	same := func(want *graph.Graph, got *graph.View) {
		require.Equal(t, want.Size(), got.Size())
		for u := range int32(1200) {
			a, _ := want.Out(u)
			b, _ := got.Out(u)
			require.ElementsMatch(t, a, b)
			require.ElementsMatch(t, want.Neighbours(u), got.Neighbours(u))
		}
	}
	same(build(t, 1200, edges[:5000]...), rows.Freeze())
	same(build(t, 1200, edges[:4000]...), before)
}

// An episode of five steps and a view, as a server publishes after each.
func BenchmarkRowsFold(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		rows := graph.NewRows(c.g)
		by := make([][]graph.Edge, c.g.Len())
		for _, e := range c.edges {
			by[e.From] = append(by[e.From], e)
		}
		r := rand.New(rand.NewPCG(1, 1))
		b.ResetTimer()
		for b.Loop() {
			for range 5 {
				e := c.edges[r.IntN(len(c.edges))]
				if r.IntN(10) == 0 {
					e.To = r.Int32N(int32(c.g.Len()))
				}
				e.Weight, e.Count = 1, 1
				by[e.From] = append(by[e.From], e)
				if err := rows.SetRow(e.From, by[e.From]); err != nil {
					b.Fatal(err)
				}
			}
			rows.Freeze()
		}
	})
}
