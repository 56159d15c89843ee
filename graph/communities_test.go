package graph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/graph/community"

	"waymark/graph"
)

func TestModularity(t *testing.T) {
	for _, c := range []struct {
		name       string
		g          *graph.Graph
		label      []int32
		resolution float64
		want       float64
	}{
		// By hand: m = 7, each triangle 3/7 - (7/14)².
		{"two triangles joined, split", triangles(t, true), []int32{0, 0, 0, 1, 1, 1}, 1, 5.0 / 14},
		{"two triangles joined, one", triangles(t, true), []int32{0, 0, 0, 0, 0, 0}, 1, 0},
		{"two triangles apart", triangles(t, false), []int32{0, 0, 0, 1, 1, 1}, 1, .5},
		{"resolution 2", triangles(t, true), []int32{0, 0, 0, 1, 1, 1}, 2, 6.0/7 - 1},
		// Everyone for himself: -Σ (k/2m)², with degrees 2 2 3 3 2 2.
		{"singletons", triangles(t, true), []int32{0, 1, 2, 3, 4, 5}, 1, -34.0 / 196},
		{"no labels are singletons", triangles(t, true), []int32{-1, -1, -1, -1, -1, -1}, 1, -34.0 / 196},
		{"no edges", build(t, 2), []int32{0, 0}, 1, 0},
		{"no weight", build(t, 2, edge(0, 1, 0)), []int32{0, 0}, 1, 0},
		// The two factions after the split, Girvan and Newman 2002: Q = 0.3715 for the division in two.
		{"karate, two factions", karate(t), factions(), 1, .3715},
	} {
		assert.InDelta(t, c.want, graph.Modularity(c.g, c.label, c.resolution), 5e-5, c.name)
	}
}

// factions is the club's division after the conflict: the instructor's (member 1) and the
// president's (member 34).
func factions() []int32 {
	label := make([]int32, 34)
	for v := range label {
		label[v] = 1
	}
	for _, member := range []int{1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 17, 18, 20, 22} {
		label[member-1] = 0
	}
	return label
}

func TestCommunities(t *testing.T) {
	for _, c := range []struct {
		name string
		g    *graph.Graph
		want []int32
	}{
		{"two triangles joined", triangles(t, true), []int32{0, 0, 0, 1, 1, 1}},
		{"two triangles apart", triangles(t, false), []int32{0, 0, 0, 1, 1, 1}},
		{"isolated nodes are in none", build(t, 5, edge(1, 3)), []int32{-1, 0, -1, 0, -1}},
		{"a loop is no company", build(t, 3, edge(0, 0), edge(1, 2)), []int32{-1, 0, 0}},
		{"edges without weight join nobody", build(t, 3, edge(0, 1, 0), edge(1, 2, 0)), []int32{0, 1, 2}},
		{"both directions add up", build(t, 4, edge(0, 1), edge(1, 0), edge(2, 1, 1.5), edge(2, 3), edge(3, 2)), []int32{0, 0, 1, 1}},
		{"huge weights", build(t, 4, edge(0, 1, 1e308), edge(1, 0, 1e308), edge(2, 3, 1e308), edge(3, 2, 1e308), edge(1, 2)), []int32{0, 0, 1, 1}},
		{"empty", build(t, 0), []int32{}},
	} {
		assert.Equal(t, c.want, graph.Communities(c.g, 1), c.name)
	}
}

// The largest modularity of the karate club is 0.41979, of four communities (Brandes et al., "On
// modularity clustering", 2008).
func TestCommunitiesOfTheKarateClub(t *testing.T) {
	g := karate(t)
	label := graph.Communities(g, 1)
	requireCommunities(t, g, label)
	assert.InDelta(t, .41979, graph.Modularity(g, label, 1), 1e-5)
	assert.Len(t, groupsOf(label), 4)
	assert.Equal(t, graph.Communities(g, 1), graph.Communities(g, -3), "a resolution that is none counts as 1")
	assert.Greater(t, len(groupsOf(graph.Communities(g, 3))), 4, "a higher resolution gives smaller communities")
	assert.Len(t, groupsOf(graph.Communities(g, .01)), 1)
}

func groupsOf(label []int32) [][]int32 {
	var groups [][]int32
	for v, c := range label {
		for int(c) >= len(groups) {
			groups = append(groups, nil)
		}
		if c >= 0 {
			groups[c] = append(groups[c], int32(v))
		}
	}
	return groups
}

// requireCommunities checks what holds for any result: canonical labels, none for isolated nodes
// only, and every community connected.
func requireCommunities(t require.TestingT, g *graph.Graph, label []int32) {
	next := int32(0)
	for v, c := range label {
		require.Equal(t, g.Degree(int32(v)) == 0, c < 0, "node %d", v)
		require.LessOrEqual(t, c, next, "numbered by smallest member")
		if c == next {
			next++
		}
	}
	for c, members := range groupsOf(label) {
		reached := map[int32]bool{members[0]: true}
		for stack := []int32{members[0]}; len(stack) > 0; {
			u := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, v := range g.Neighbours(u) {
				if label[v] == int32(c) && !reached[v] {
					reached[v] = true
					stack = append(stack, v)
				}
			}
		}
		require.Len(t, reached, len(members), "community %d is connected", c)
	}
}

func TestCommunitiesAreAsGoodAsGonums(t *testing.T) {
	g := sample(t, 300)
	label := graph.Communities(g, 1)
	requireCommunities(t, g, label)
	q := graph.Modularity(g, label, 1)
	groups := community.Modularize(g.Undirected(), 1, rand.NewPCG(1, 1)).Communities()
	best := community.Q(g.Undirected(), groups, 1)
	assert.GreaterOrEqual(t, q, best-.001)
	theirs := make([]int32, g.Len())
	for c, members := range groups {
		for _, v := range members {
			theirs[v.ID()] = int32(c)
		}
	}
	assert.InDelta(t, best, graph.Modularity(g, theirs, 1), 1e-9, "the same measure")
}

func TestCommunitiesFindPlantedOnes(t *testing.T) {
	edges, planted := sampleEdges(2000, 3)
	g := must(graph.New(2000, edges))(t)
	label := graph.Communities(g, 1)
	requireCommunities(t, g, label)
	assert.Greater(t, nmi(label, planted), .95)
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
