package graph_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/graph"
)

// exhaustiveTop scores every node against u.
func exhaustiveTop(g *graph.Graph, u int32, k int) []graph.Scored {
	var all []graph.Scored
	for v := range int32(g.Len()) {
		if c := (graph.Scored{Node: v, Score: graph.AdamicAdar(g, u, v)}); c.Score > 0 {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b graph.Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Node, b.Node))
	})
	return nonNil(all[:min(k, len(all))])
}

func TestAdamicAdarTopIsTheExhaustiveOne(t *testing.T) {
	var s graph.Scratch // the same for graphs of all sizes, and so are the marks
	var m graph.Marks
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		g, err := graph.New(n, drawEdges(t, n))
		require.NoError(t, err)
		k := rapid.IntRange(0, 12).Draw(t, "k")
		context := rapid.SliceOfN(rapid.Int32Range(0, int32(n)-1), 0, 5).Draw(t, "context")
		for _, u := range context {
			require.Equal(t, exhaustiveTop(g, u, k), nonNil(graph.AdamicAdarTop(g, u, k, &s, nil)))
		}
		slices.Sort(context)
		context = slices.Compact(context)
		m.Set(g, context)
		for v := range int32(n) {
			aa := m.AdamicAdar(v)
			for i, u := range context {
				require.Equal(t, graph.AdamicAdar(g, u, v), aa[i])
				require.Equal(t, g.Adjacent(u, v), m.Neighbour(i, v))
			}
		}
	})
}

func nonNil(x []graph.Scored) []graph.Scored {
	if len(x) == 0 {
		return nil
	}
	return x
}

// Eight hubs that everyone knows, and a group at the beginning that shares 200 friends of its own.
func TestAdamicAdarTopAmongHubs(t *testing.T) {
	const n, hubs, k = 3000, 8, 10
	for _, group := range []int32{60, 250} {
		r := rand.New(rand.NewPCG(1, 1))
		var edges []graph.Edge
		for v := int32(0); v < n-hubs; v++ {
			for h := int32(n - hubs); h < n; h++ {
				edges = append(edges, edge(v, h))
			}
		}
		for v := range group {
			for range 400 {
				edges = append(edges, edge(v, 300+r.Int32N(200)))
			}
		}
		g := build(t, n, edges...)
		var s graph.Scratch
		for _, u := range []int32{0, 5, 59, 300, 319, 2000, n - 1} {
			require.Equal(t, exhaustiveTop(g, u, k), graph.AdamicAdarTop(g, u, k, &s, nil), "node %d", u)
		}
	}
	g := sample(t, 600)
	for u := range int32(600) {
		require.Equal(t, exhaustiveTop(g, u, 50), nonNil(graph.AdamicAdarTop(g, u, 50, nil, nil)), "node %d", u)
	}
}

func BenchmarkAdamicAdarTop(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		var s graph.Scratch
		dst := make([]graph.Scored, 0, 50)
		r := rand.New(rand.NewPCG(11, 11))
		qs := make([]int32, 400)
		for i := range qs {
			qs[i] = c.edges[r.IntN(len(c.edges))].From
		}
		b.ResetTimer()
		fastest := slices.Repeat([]time.Duration{math.MaxInt64}, len(qs))
		for i := 0; b.Loop(); i++ {
			at := i % len(fastest)
			start := time.Now()
			dst = graph.AdamicAdarTop(c.g, qs[at], 50, &s, dst)
			fastest[at] = min(fastest[at], time.Since(start))
		}
		// Of each query the fastest run: what it costs, not what else the machine does.
		took := fastest[:min(b.N, len(fastest))]
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
	})
}
