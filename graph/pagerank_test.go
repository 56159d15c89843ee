package graph_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/graph/network"
	"pgregory.net/rapid"

	"waymark/graph"
	"waymark/internal/numeric"
)

// Damping 0.85, dangling mass spread evenly. The rows are solutions of the linear system by
// elimination, to six digits.
func TestPageRank(t *testing.T) {
	unweighted := append([]graph.Edge(nil), fiveNodes...)
	for i := range unweighted {
		unweighted[i].Weight = 1
	}
	for _, c := range []struct {
		name  string
		n     int
		edges []graph.Edge
		want  []float64
	}{
		{"five nodes, weighted", 5, fiveNodes, []float64{.120882, .184113, .160402, .218693, .315910}},
		{"five nodes, unweighted", 5, unweighted, []float64{.120882, .172257, .172257, .194092, .340511}},
		// Were the dangling mass dropped, the sum would be only .26985.
		{"star", 5, []graph.Edge{edge(0, 2), edge(1, 2), edge(2, 3), edge(2, 4)}, []float64{.111173, .111173, .300167, .238744, .238744}},
		{"two pairs", 4, []graph.Edge{edge(0, 1), edge(2, 3)}, []float64{.175439, .324561, .175439, .324561}},
		{"fan", 3, []graph.Edge{edge(0, 1), edge(0, 2)}, []float64{.2597403, .3701299, .3701299}},
		{"single node", 1, nil, []float64{1}},
		{"nothing but isolated nodes", 4, nil, []float64{.25, .25, .25, .25}},
		{"a loop is no edge", 2, []graph.Edge{edge(0, 0)}, []float64{.5, .5}},
		{"weights without weight are dangling", 2, []graph.Edge{edge(0, 1, 0)}, []float64{.5, .5}},
		{"huge and tiny weights", 3, []graph.Edge{edge(0, 1, 1e308), edge(0, 2, 1e308), edge(1, 2, 5e-324), edge(2, 1, 5e-324)},
			[]float64{.05, .475, .475}},
		{"empty", 0, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := graph.PageRank(build(t, c.n, c.edges...), graph.PageRankOptions{})
			require.NoError(t, err)
			require.Len(t, r.Ranks, len(c.want))
			for v, want := range c.want {
				assert.InDelta(t, want, r.Ranks[v], 6e-7, "node %d", v)
			}
			if c.n > 0 {
				assert.InDelta(t, 1, numeric.Sum(r.Ranks), 1e-9)
				assert.LessOrEqual(t, r.Residual, 1e-10)
			}
		})
	}
}

func TestPageRankOptions(t *testing.T) {
	g := sample(t, 34)
	for _, o := range []graph.PageRankOptions{
		{Damping: 1}, {Damping: -.1}, {Damping: 2}, {Damping: math.NaN()}, {Tolerance: -1}, {Tolerance: math.NaN()},
		{Tolerance: math.Inf(1)}, {MaxSweeps: -1},
	} {
		_, err := graph.PageRank(g, o)
		assert.Error(t, err, "%+v", o)
	}
	r, err := graph.PageRank(g, graph.PageRankOptions{MaxSweeps: 3})
	require.NoError(t, err)
	assert.Equal(t, 3, r.Sweeps)
	assert.Greater(t, r.Residual, 1e-10, "not converged, and says so")
	assert.InDelta(t, 1, numeric.Sum(r.Ranks), 1e-9)
}

// gonum's power iteration solves the same equation in another way.
func TestPageRankAgreesWithGonum(t *testing.T) {
	for name, g := range map[string]*graph.Graph{"karate": karate(t), "sample": sample(t, 300), "five": build(t, 5, fiveNodes...)} {
		for _, d := range []float64{.5, .85, .95} {
			r, err := graph.PageRank(g, graph.PageRankOptions{Damping: d, Tolerance: 1e-13, MaxSweeps: 2000})
			require.NoError(t, err)
			want := network.PageRankSparse(g.Directed(), d, 1e-13)
			for v, x := range r.Ranks {
				require.InDelta(t, want[int64(v)], x, 1e-9, "%s, damping %v, node %d", name, d, v)
			}
		}
	}
}

// Weights near the ends of what a float64 holds are shares like others: what is divided by their sum
// must not lose its digits.
func TestPageRankOfExtremeWeights(t *testing.T) {
	cycle := func(weight, back float64) *graph.Graph {
		edges := []graph.Edge{{From: 2, To: 0, Weight: weight}}
		for v := range int32(7) {
			edges = append(edges, graph.Edge{From: v, To: (v + 6) % 7, Weight: back})
		}
		return build(t, 7, edges...)
	}
	options := graph.PageRankOptions{Damping: .99, Tolerance: 1e-14, MaxSweeps: 20000}
	for _, c := range []struct{ weight, back, sameWeight, sameBack float64 }{
		{1e308, 7, 1e100, 7}, {1e-310, 1e-310, 1, 1}, {math.MaxFloat64, math.MaxFloat64, 1, 1},
	} {
		got, err := graph.PageRank(cycle(c.weight, c.back), options)
		require.NoError(t, err)
		assert.Less(t, got.Sweeps, options.MaxSweeps, "%v: it converges", c)
		want, err := graph.PageRank(cycle(c.sameWeight, c.sameBack), options)
		require.NoError(t, err)
		assert.InDeltaSlice(t, want.Ranks, got.Ranks, 1e-12, "%v", c)
	}
}

// sweep applies the equation of PageRank once.
func sweep(g *graph.Graph, d float64, ranks []float64) []float64 {
	next, dangling := make([]float64, len(ranks)), 0.0
	for u, rank := range ranks {
		targets, weights := g.Out(int32(u))
		largest := 0.0 // sums of huge weights overflow
		for _, w := range weights {
			largest = max(largest, w)
		}
		if largest == 0 {
			dangling += rank
			continue
		}
		sum := 0.0
		for _, w := range weights {
			sum += w / largest
		}
		for i, v := range targets {
			next[v] += d * rank * (weights[i] / largest / sum)
		}
	}
	for v := range next {
		next[v] += (1 - d + d*dangling) / float64(len(ranks))
	}
	return next
}

// Many nodes are first swept in single precision; the ranks are those of plain iteration all the same.
func TestPageRankOfManyNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	const n, d = 40_000, .85
	r := rand.New(rand.NewPCG(5, 5))
	var edges []graph.Edge
	for u := range int32(n) {
		for range r.IntN(4) { // every fourth leads nowhere
			edges = append(edges, graph.Edge{From: u, To: int32(float64(n) * r.Float64() * r.Float64()), Weight: math.Exp(8 * r.NormFloat64())})
		}
	}
	g := build(t, n, edges...)
	want := slices.Repeat([]float64{1. / n}, n)
	for range 150 {
		want = sweep(g, d, want)
	}
	for _, tolerance := range []float64{1e-4, 1e-6, 1e-12} {
		got, err := graph.PageRank(g, graph.PageRankOptions{Tolerance: tolerance})
		require.NoError(t, err)
		assert.LessOrEqual(t, got.Residual, tolerance)
		assert.LessOrEqual(t, l1(want, got.Ranks), 2*d/(1-d)*got.Residual+1e-10, "tolerance %g", tolerance)
	}
}

// Stopped early or late, the ranks are as near to the exact ones as [graph.Ranking] says, and the
// ones of the tightest tolerance solve the equation. Extrapolation must not spoil either, also where
// damping is weak and the graph goes round in circles.
func TestPageRankErrorIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		edges := drawEdges(t, n)
		if rapid.Bool().Draw(t, "circle") {
			for v := range int32(n) {
				edges = append(edges, graph.Edge{From: v, To: (v + int32(n) - 1) % int32(n), Weight: 7})
			}
		}
		g, err := graph.New(n, edges)
		require.NoError(t, err)
		d := rapid.SampledFrom([]float64{.1, .5, .85, .99}).Draw(t, "damping")
		exact, err := graph.PageRank(g, graph.PageRankOptions{Damping: d, Tolerance: 1e-14, MaxSweeps: 20000})
		require.NoError(t, err)
		require.Less(t, exact.Sweeps, 20000, "it converges")

		require.InDeltaSlice(t, sweep(g, d, exact.Ranks), exact.Ranks, 1e-9)

		for _, tolerance := range []float64{1e-1, 1e-3, 1e-6} {
			r, err := graph.PageRank(g, graph.PageRankOptions{Damping: d, Tolerance: tolerance, MaxSweeps: 20000})
			require.NoError(t, err)
			require.LessOrEqual(t, r.Residual, tolerance)
			require.LessOrEqual(t, l1(r.Ranks, exact.Ranks), 2*d/(1-d)*r.Residual+1e-11)
		}
	})
}

// What extrapolation is for: 26 and 56 sweeps without it.
func TestPageRankTakesFewSweeps(t *testing.T) {
	g := sample(t, 1000)
	r, err := graph.PageRank(g, graph.PageRankOptions{Tolerance: 1e-6})
	require.NoError(t, err)
	assert.LessOrEqual(t, r.Sweeps, 20)
	r, err = graph.PageRank(g, graph.PageRankOptions{})
	require.NoError(t, err)
	assert.LessOrEqual(t, r.Sweeps, 36)
}
