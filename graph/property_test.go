package graph_test

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/graph"
	"waymark/internal/numeric"
)

// drawEdges draws up to 120 edges of n nodes with the weights that break naive sums, duplicates
// and loops included.
func drawEdges(t *rapid.T, n int) []graph.Edge {
	if n == 0 {
		return nil
	}
	node := rapid.Int32Range(0, int32(n)-1)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) graph.Edge {
		return graph.Edge{
			From: node.Draw(t, "from"), To: node.Draw(t, "to"),
			Weight: rapid.SampledFrom([]float64{0, 5e-324, 1e-9, .5, 1, 1, 1, 7, 1e308}).Draw(t, "weight"),
			Count:  rapid.Uint64().Draw(t, "count"),
		}
	}), 0, 120).Draw(t, "edges")
}

// An outcome is everything that is computed from a graph.
type outcome struct {
	Density float64
	Ranks   []float64
	Labels  []int32
	Q       float64
	AA      [][]float64
	Paths   [][]int32
}

func outcomeOf(t require.TestingT, n int, edges []graph.Edge) (*graph.Graph, outcome) {
	g, err := graph.New(n, edges)
	require.NoError(t, err)
	r, err := graph.PageRank(g, graph.PageRankOptions{})
	require.NoError(t, err)
	o := outcome{Density: g.Density(), Ranks: r.Ranks, Labels: graph.Communities(g, 1)}
	o.Q = graph.Modularity(g, o.Labels, 1)
	b := search(g)
	for u := range int32(n) {
		row := make([]float64, n)
		for v := range int32(n) {
			row[v] = graph.AdamicAdar(g, u, v)
			o.Paths = append(o.Paths, b.Path(u, v, 6, nil))
		}
		o.AA = append(o.AA, row)
	}
	return g, o
}

func requireUnit(t require.TestingT, x float64, what string) {
	require.True(t, x >= 0 && x <= 1, "%s is %v", what, x)
}

func TestEverythingIsFiniteAndInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 50).Draw(t, "n")
		edges := drawEdges(t, n)
		g, o := outcomeOf(t, n, edges)
		requireUnit(t, o.Density, "density")
		require.True(t, graph.Alpha(o.Density) >= .5 && graph.Alpha(o.Density) <= 1)
		require.True(t, o.Q >= -1 && o.Q <= 1, "Q is %v", o.Q)
		for _, r := range o.Ranks {
			requireUnit(t, r, "rank")
		}
		if n > 0 {
			require.InDelta(t, 1, numeric.Sum(o.Ranks), 1e-9)
		}
		for _, r := range graph.Normalised(o.Ranks) {
			requireUnit(t, r, "normalised rank")
		}
		requireCommunities(t, g, o.Labels)
		for u := range int32(n) {
			for v := range int32(n) {
				require.False(t, math.IsNaN(o.AA[u][v]) || math.IsInf(o.AA[u][v], 0) || o.AA[u][v] < 0)
				require.Equal(t, o.AA[u][v], o.AA[v][u])
				requireUnit(t, graph.GraphScore(g.Adjacent(u, v), o.AA[u][v]), "graph score")
				w, count := g.Transition(u, v)
				requireUnit(t, graph.CooccurrenceConfidence(w, count)/graph.Cap, "co-occurrence")
				requireUnit(t, graph.CommunityConfidence(o.Ranks[v], w, o.AA[u][v])/graph.Cap, "community")
			}
		}
	})
}

func TestOrderOfEdgesChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		edges := drawEdges(t, n)
		_, want := outcomeOf(t, n, edges)
		_, got := outcomeOf(t, n, rapid.Permutation(edges).Draw(t, "permuted"))
		require.Equal(t, want, got, "bit for bit")
	})
}

// Other numbers for the nodes are other names. Sums run in another order then, and where a choice
// is free (which communities, which of equal paths) it may fall differently, but not its value.
func TestRenamingNodesRenamesResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		edges := drawEdges(t, n)
		names := make([]int32, n)
		for v := range names {
			names[v] = int32(v)
		}
		names = rapid.Permutation(names).Draw(t, "names")
		renamed := slices.Clone(edges)
		for i := range renamed {
			renamed[i].From, renamed[i].To = names[renamed[i].From], names[renamed[i].To]
		}
		g, want := outcomeOf(t, n, edges)
		h, got := outcomeOf(t, n, renamed)
		require.Equal(t, want.Density, got.Density)
		require.Equal(t, g.Active(), h.Active())
		labels := make([]int32, n)
		for u := range n {
			labels[names[u]] = want.Labels[u]
			require.InDelta(t, want.Ranks[u], got.Ranks[names[u]], 1e-8)
			for v := range n {
				require.InDelta(t, want.AA[u][v], got.AA[names[u]][names[v]], 1e-9)
				require.Len(t, got.Paths[int(names[u])*n+int(names[v])], len(want.Paths[u*n+v]))
			}
		}
		require.InDelta(t, want.Q, graph.Modularity(h, labels, 1), 1e-9)
	})
}

func TestIsolatedNodeChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 25).Draw(t, "n")
		edges := drawEdges(t, n)
		at := rapid.Int32Range(0, int32(n)).Draw(t, "at") // the new node, those from there on move up
		up := func(v int32) int32 {
			if v >= at {
				return v + 1
			}
			return v
		}
		moved := slices.Clone(edges)
		for i := range moved {
			moved[i].From, moved[i].To = up(moved[i].From), up(moved[i].To)
		}
		_, want := outcomeOf(t, n, edges)
		_, got := outcomeOf(t, n+1, moved)
		require.Equal(t, want.Density, got.Density)
		require.Equal(t, want.Q, got.Q)
		require.Equal(t, int32(-1), got.Labels[at])
		wantRank, gotRank := graph.Normalised(want.Ranks), graph.Normalised(got.Ranks)
		for u := range int32(n) {
			require.Equal(t, want.Labels[u], got.Labels[up(u)])
			require.InDelta(t, wantRank[u], gotRank[up(u)], 1e-7)
			for v := range int32(n) {
				require.Equal(t, want.AA[u][v], got.AA[up(u)][up(v)])
				path := slices.Clone(want.Paths[int(u)*n+int(v)])
				for i := range path {
					path[i] = up(path[i])
				}
				require.Equal(t, path, got.Paths[int(up(u))*(n+1)+int(up(v))])
			}
		}
	})
}

func TestSameBytesOnAnyNumberOfThreads(t *testing.T) {
	edges, _ := sampleEdges(200, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	_, want := outcomeOf(t, 200, edges)
	for _, threads := range []int{2, 4} {
		runtime.GOMAXPROCS(threads)
		_, got := outcomeOf(t, 200, edges)
		require.Equal(t, want, got)
	}
}
