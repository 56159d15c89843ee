package graph_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/graph"
	"waymark/internal/bench"
	"waymark/numeric"
)

func l1(a, b []float64) float64 {
	sum := 0.0
	for v := range a {
		sum += math.Abs(a[v] - b[v])
	}
	return sum
}

// solved is the oracle: a new graph and a full solve.
func solved(t require.TestingT, n int, edges []graph.Edge) []float64 {
	g, err := graph.New(n, edges)
	require.NoError(t, err)
	r, err := graph.PageRank(g, graph.PageRankOptions{Tolerance: 1e-13, MaxSweeps: 2000})
	require.NoError(t, err)
	return r.Ranks
}

// traffic draws edges in proportion to their weight.
func traffic(edges []graph.Edge, seed uint64) func() graph.Edge {
	r := rand.New(rand.NewPCG(seed, 7))
	sum, total := make([]float64, len(edges)), 0.0
	for i, e := range edges {
		total += e.Weight
		sum[i] = total
	}
	return func() graph.Edge {
		at, _ := slices.BinarySearch(sum, r.Float64()*total)
		return edges[at]
	}
}

func TestRanksAfterManyUpdates(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	edges, _ := sampleEdges(500, 1)
	g := must(graph.New(500, edges))(t)
	for _, epsilon := range []float64{1e-2, 1e-3, 1e-5} {
		ranks := must(graph.NewRanks(g, graph.RanksOptions{Epsilon: epsilon, MaxEdges: 1 << 22}))(t)
		all := slices.Clone(edges)
		next, r := traffic(edges, 1), rand.New(rand.NewPCG(3, 3))
		for i := range 2000 {
			e := next()
			if i%10 == 0 { // an edge of any two nodes, mostly a new one
				e = graph.Edge{From: r.Int32N(500), To: r.Int32N(500)}
			}
			e.Weight = 1
			u, err := ranks.Add(e.From, e.To, 1)
			require.NoError(t, err)
			require.Zero(t, u.Pending)
			all = append(all, e)
		}
		got, want := ranks.AppendTo(nil), solved(t, 500, all)
		assert.InDelta(t, 1, numeric.Sum(got), 1e-12)
		drift := ranks.Drift()
		assert.LessOrEqual(t, l1(got, want), drift, "epsilon %v", epsilon)
		assert.LessOrEqual(t, drift, 2*epsilon/.15)
		assert.Greater(t, l1(got, want), epsilon/1e4, "what is stated is not beside the point")
	}
}

func TestRanksAreWithinTheirDrift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		node := rapid.Int32Range(0, int32(n)-1)
		edges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) graph.Edge {
			return graph.Edge{From: node.Draw(t, "from"), To: node.Draw(t, "to"), Weight: rapid.SampledFrom([]float64{0, .5, 1, 3, 1e9}).Draw(t, "weight")}
		}), 0, 30).Draw(t, "edges")
		g, err := graph.New(n, edges)
		require.NoError(t, err)
		o := graph.RanksOptions{Damping: .85, Epsilon: rapid.SampledFrom([]float64{1, 1e-2, 1e-4}).Draw(t, "epsilon"), MaxEdges: rapid.IntRange(1, 40).Draw(t, "max")}
		ranks, err := graph.NewRanks(g, o)
		require.NoError(t, err)
		weight := map[[2]int32]float64{}
		for _, e := range edges {
			weight[[2]int32{e.From, e.To}] += e.Weight
		}
		for range rapid.IntRange(0, 30).Draw(t, "updates") {
			from, to := node.Draw(t, "from"), node.Draw(t, "to")
			w := rapid.SampledFrom([]float64{0, 1, 2, .25, 1e6}).Draw(t, "add")
			if pair := [2]int32{from, to}; rapid.Bool().Draw(t, "remove") && from != to {
				w = -weight[pair]
			}
			weight[[2]int32{from, to}] += w
			edges = append(edges, graph.Edge{})
			u, err := ranks.Add(from, to, w)
			require.NoError(t, err)
			require.Equal(t, ranks.Drift(), u.Drift)
			if rapid.IntRange(0, 9).Draw(t, "grow") == 0 {
				n++
				ranks.Grow(n)
			}
		}
		var now []graph.Edge
		for pair, w := range weight { // graph.New does not mind the order
			now = append(now, graph.Edge{From: pair[0], To: pair[1], Weight: w})
		}
		got := ranks.AppendTo(nil)
		require.Len(t, got, n)
		require.LessOrEqual(t, l1(got, solved(t, n, now)), ranks.Drift()+1e-9)
		before := ranks.Drift()
		for range 10000 {
			if ranks.Settle().Pending == 0 {
				break
			}
		}
		require.Zero(t, ranks.Settle().Pending)
		require.LessOrEqual(t, ranks.Drift(), before+1e-9, "pushing on only helps")
	})
}

// A long row goes another way than a short one: both against the oracle, in both directions.
func TestRanksOfLongRows(t *testing.T) {
	var edges []graph.Edge
	for v := int32(1); v < 200; v++ {
		edges = append(edges, edge(0, v, float64(v)), edge(v, v%7))
	}
	g := build(t, 202, edges...)
	ranks := must(graph.NewRanks(g, graph.RanksOptions{Epsilon: 1e-9, MaxEdges: 1 << 30}))(t)
	for _, e := range []graph.Edge{edge(0, 5, 100), edge(0, 201, 2000), edge(0, 5, -105), edge(0, 199, 1e6), edge(201, 0, 3), edge(0, 199, -1e6), edge(3, 4, 0)} {
		_, err := ranks.Add(e.From, e.To, e.Weight)
		require.NoError(t, err)
	}
	edges[2*(5-1)].Weight = 0
	edges = append(edges, edge(0, 201, 2000), edge(201, 0, 3))
	assert.InDeltaSlice(t, solved(t, 202, edges), ranks.AppendTo(nil), 1e-9)
}

func TestRanksRefuse(t *testing.T) {
	g := build(t, 3, edge(0, 1))
	for _, o := range []graph.RanksOptions{{Epsilon: -1}, {Epsilon: math.NaN()}, {MaxEdges: -1}, {Damping: 2}, {Start: []float64{1}}} {
		_, err := graph.NewRanks(g, o)
		assert.Error(t, err, "%+v", o)
	}
	_, err := graph.NewRanks(build(t, 2, edge(0, 1, 1e300)), graph.RanksOptions{})
	assert.ErrorContains(t, err, "node 0 add up to 1e+300")
	ranks := must(graph.NewRanks(g, graph.RanksOptions{}))(t)
	before := ranks.AppendTo(nil)
	for _, e := range []graph.Edge{edge(0, 3), edge(-1, 0), edge(0, 1, math.NaN()), edge(0, 1, math.Inf(1)), edge(0, 1, -2), edge(0, 2, -1), edge(0, 1, 1e300), edge(1, 1, -1)} {
		_, err := ranks.Add(e.From, e.To, e.Weight)
		assert.Error(t, err, "%+v", e)
	}
	_, err = ranks.Add(1, 1, 5)
	require.NoError(t, err, "a loop is no edge")
	assert.Equal(t, before, ranks.AppendTo(nil))
	none := must(graph.NewRanks(build(t, 0), graph.RanksOptions{}))(t)
	assert.Zero(t, none.Drift())
	assert.Empty(t, none.AppendTo(nil))
}

func TestRanksAreTheSameTwice(t *testing.T) {
	edges, _ := sampleEdges(200, 1)
	g := must(graph.New(200, edges))(t)
	run := func() []float64 {
		ranks := must(graph.NewRanks(g, graph.RanksOptions{MaxEdges: 100}))(t)
		next := traffic(edges, 2)
		for range 300 {
			e := next()
			_, err := ranks.Add(e.From, e.To, 1)
			require.NoError(t, err)
		}
		return ranks.AppendTo(nil)
	}
	require.Equal(t, run(), run(), "bit for bit")
}

func BenchmarkRanksAdd(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		ranks := must(graph.NewRanks(c.g, graph.RanksOptions{}))(b)
		next := traffic(c.edges, 1)
		edges := 0
		var took []time.Duration
		b.ResetTimer()
		cpu := bench.Processor(b)
		for b.Loop() {
			e := next()
			start := time.Now()
			u, err := ranks.Add(e.From, e.To, 1)
			took = append(took, time.Since(start))
			require.NoError(b, err)
			edges += u.Edges
		}
		reportLatency(b, took)
		reportEdges(b, cpu(), float64(edges)/float64(b.N))
		b.ReportMetric(ranks.Drift(), "drift")
	})
}
