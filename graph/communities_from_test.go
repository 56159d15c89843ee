package graph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/graph"
)

func TestCommunitiesFromKeepsNumbers(t *testing.T) {
	for _, c := range []struct {
		name     string
		g        *graph.Graph
		previous []int32
		want     []int32
	}{
		{"as before", triangles(t, true), []int32{7, 7, 7, 2, 2, 2}, []int32{7, 7, 7, 2, 2, 2}},
		{"nothing before", triangles(t, true), nil, []int32{0, 0, 0, 1, 1, 1}},
		{"one was new", triangles(t, true), []int32{5, 5, 5, 0, 0}, []int32{5, 5, 5, 0, 0, 0}},
		{"one fell apart: the numbers in use are 0, so the other part takes 1", triangles(t, false), []int32{0, 0, 0, 0, 0, 0}, []int32{0, 0, 0, 1, 1, 1}},
		{"the majority decides", triangles(t, true), []int32{4, 4, 9, 9, 9, 9}, []int32{4, 4, 4, 9, 9, 9}},
		{"isolated nodes leave theirs", build(t, 4, edge(0, 1)), []int32{3, 3, 3, 1}, []int32{3, 3, -1, -1}},
		{"no weight", build(t, 2, edge(0, 1, 0)), []int32{1, 1}, []int32{1, 0}},
	} {
		assert.Equal(t, c.want, graph.CommunitiesFrom(c.g, c.previous, 1), c.name)
	}
}

// From its own result the search finds nothing to improve that matters, and from any labels at all
// it finds communities that are connected and as good.
func TestCommunitiesFromAnything(t *testing.T) {
	edges, _ := sampleEdges(600, 5)
	g := must(graph.New(600, edges))(t)
	label := graph.Communities(g, 1)
	q := graph.Modularity(g, label, 1)
	again := graph.CommunitiesFrom(g, label, 1)
	assert.GreaterOrEqual(t, graph.Modularity(g, again, 1), q-1e-9)
	assert.Greater(t, nmi(label, again), .97)
	r := rand.New(rand.NewPCG(1, 1))
	random := make([]int32, 600)
	for v := range random {
		random[v] = r.Int32N(40) - 1
	}
	found := graph.CommunitiesFrom(g, random, 1)
	assert.GreaterOrEqual(t, graph.Modularity(g, found, 1), q-.01)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		g, err := graph.New(n, drawEdges(t, n))
		require.NoError(t, err)
		previous := rapid.SliceOfN(rapid.Int32Range(-1, 6), 0, n).Draw(t, "previous")
		label := graph.CommunitiesFrom(g, previous, 1)
		require.Equal(t, label, graph.CommunitiesFrom(g, previous, 1))
		canonical(label)
		requireCommunities(t, g, label)
	})
}

// canonical numbers labels by their smallest member, in place.
func canonical(label []int32) {
	number := map[int32]int32{-1: -1}
	for v, c := range label {
		if _, known := number[c]; !known {
			number[c] = int32(len(number) - 1)
		}
		label[v] = number[c]
	}
}

// After a twentieth of the weights has changed, far more nodes keep their number than when
// communities are found and numbered afresh.
func TestCommunitiesFromAreStable(t *testing.T) {
	edges, _ := sampleEdges(2000, 3)
	before := must(graph.New(2000, edges))(t)
	previous := graph.Communities(before, 1)
	more, _ := sampleEdges(2000, 4)
	after := must(graph.New(2000, append(edges, more[:len(edges)/20]...)))(t)
	kept := func(label []int32) float64 {
		same := 0
		for v := range previous {
			if label[v] == previous[v] {
				same++
			}
		}
		return float64(same) / float64(len(previous))
	}
	from, fresh := graph.CommunitiesFrom(after, previous, 1), graph.Communities(after, 1)
	assert.Greater(t, kept(from), .9)
	assert.Greater(t, kept(from), kept(fresh))
	assert.GreaterOrEqual(t, graph.Modularity(after, from, 1), graph.Modularity(after, fresh, 1)-.005)
}

// The worst of Louvain: a node that holds two dense groups together moves away, and what it leaves
// is in two pieces under one label (Traag, Waltman, van Eck 2019, figure 2). Planted groups of
// many sizes that hang together by such bridges must come out connected, and nearly every node
// must be tied to the rest of its community as strongly as chance would have it, w ≥ γ·k·K/2m.
func TestCommunitiesAreWellConnected(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, resolution := range []float64{.3, 1, 4} {
		var edges []graph.Edge
		n := int32(0)
		for n < 3000 {
			size := 3 + r.Int32N(30)
			for range 4 * size {
				edges = append(edges, edge(n+r.Int32N(size), n+r.Int32N(size)))
			}
			for range 3 {
				edges = append(edges, edge(n+r.Int32N(size), r.Int32N(n+size), .5+2*r.Float64()))
			}
			n += size
		}
		g := build(t, int(n), edges...)
		label := graph.Communities(g, resolution)
		requireCommunities(t, g, label)
		weight := make([]float64, n)
		within := make([]float64, n)
		degree, total := make([]float64, n), 0.0
		for u := range n {
			targets, weights := g.Out(u)
			for i, v := range targets {
				weight[u] += weights[i]
				weight[v] += weights[i]
				total += 2 * weights[i]
				if label[u] == label[v] {
					within[u] += weights[i]
					within[v] += weights[i]
				}
			}
		}
		for v, c := range label {
			if c >= 0 {
				degree[c] += weight[v]
			}
		}
		weak := 0
		for v, c := range label {
			if c >= 0 && within[v] < resolution*weight[v]*(degree[c]-weight[v])/total {
				weak++
			}
		}
		assert.LessOrEqual(t, weak, int(n)/200, "resolution %v", resolution)
	}
}

func BenchmarkCommunitiesFrom(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		previous := graph.Communities(c.g, 1)
		b.ResetTimer()
		for b.Loop() {
			graph.CommunitiesFrom(c.g, previous, 1)
		}
	})
}
