package graph_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/graph/topo"

	"waymark/graph"
)

func TestTopologicalOrder(t *testing.T) {
	for _, c := range []struct {
		name         string
		n            int
		edges        []graph.Edge
		order, cycle []int32
	}{
		{"nothing", 0, nil, []int32{}, nil},
		{"no edges: as given", 4, nil, []int32{0, 1, 2, 3}, nil},
		{"backwards", 3, []graph.Edge{edge(2, 1), edge(1, 0)}, []int32{2, 1, 0}, nil},
		{"the smaller first where free", 5, []graph.Edge{edge(4, 0), edge(3, 1)}, []int32{2, 3, 1, 4, 0}, nil},
		// The ordering loop of the first implementation missed parents that come after their children.
		{"parents after children", 4, []graph.Edge{edge(3, 0), edge(2, 3), edge(1, 2)}, []int32{1, 2, 3, 0}, nil},
		{"an edge twice", 2, []graph.Edge{edge(1, 0), edge(1, 0)}, []int32{1, 0}, nil},
		{"a cycle of two", 3, []graph.Edge{edge(0, 1), edge(1, 2), edge(2, 1)}, nil, []int32{1, 2}},
		// Breaking only cycles of two lets this one through.
		{"a cycle of three", 4, []graph.Edge{edge(2, 3), edge(3, 1), edge(1, 2), edge(0, 1)}, nil, []int32{1, 2, 3}},
		{"a loop", 2, []graph.Edge{edge(1, 1)}, nil, []int32{1}},
		{"what hangs on a cycle is not named", 4, []graph.Edge{edge(1, 2), edge(2, 1), edge(2, 0), edge(0, 3)}, nil, []int32{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			order, cycle := graph.TopologicalOrder(c.n, c.edges)
			assert.Equal(t, c.order, order)
			assert.Equal(t, c.cycle, cycle)
		})
	}
}

// Recursion would overflow on the one, quadratic work be felt on the other.
func TestTopologicalOrderOfLongChainsAndWideFans(t *testing.T) {
	var chain, fan []graph.Edge
	for v := range int32(100_000) {
		chain = append(chain, edge(v+1, v))
		fan = append(fan, edge(100_000, v))
	}
	order, _ := graph.TopologicalOrder(100_001, chain)
	assert.Equal(t, int32(100_000), order[0])
	order, _ = graph.TopologicalOrder(100_001, fan)
	assert.Equal(t, []int32{100_000, 0, 1}, order[:3])
	_, cycle := graph.TopologicalOrder(100_001, append(chain, edge(0, 100_000)))
	assert.Len(t, cycle, 100_001)
}

// requireOrder checks an order, or a cycle, against the edges.
func requireOrder(t require.TestingT, n int, edges []graph.Edge) {
	order, cycle := graph.TopologicalOrder(n, edges)
	if cycle == nil {
		require.Len(t, order, n)
		position := make([]int, n)
		for i, v := range order {
			position[v] = i
		}
		for _, e := range edges {
			require.Less(t, position[e.From], position[e.To])
		}
		return
	}
	require.Nil(t, order)
	require.Equal(t, slices.Min(cycle), cycle[0])
	for i, u := range cycle {
		v := cycle[(i+1)%len(cycle)]
		require.True(t, slices.ContainsFunc(edges, func(e graph.Edge) bool { return e.From == u && e.To == v }), "%d → %d of the cycle %v", u, v, cycle)
	}
}

func TestTopologicalOrderAgreesWithGonum(t *testing.T) {
	for seed := range uint64(20) {
		edges, _ := sampleEdges(12, seed)
		edges = edges[:10]
		edges = slices.DeleteFunc(edges, func(e graph.Edge) bool { return e.From == e.To })
		_, cycle := graph.TopologicalOrder(12, edges)
		_, err := topo.Sort(build(t, 12, edges...).Directed())
		require.Equal(t, err != nil, cycle != nil, "seed %d", seed)
		requireOrder(t, 12, edges)
	}
}

// If b needs a and c needs b, then c does not directly need a.
func TestTransitiveDependenciesAreNotDirect(t *testing.T) {
	direct, err := graph.TransitiveReduction(4, []graph.Edge{edge(0, 2), edge(0, 1), edge(1, 2), edge(0, 3), edge(2, 3), edge(1, 2)})
	require.NoError(t, err)
	var pairs [][2]int32
	for _, e := range direct {
		pairs = append(pairs, [2]int32{e.From, e.To})
	}
	assert.Equal(t, [][2]int32{{0, 1}, {1, 2}, {2, 3}}, pairs)
	_, err = graph.TransitiveReduction(2, []graph.Edge{edge(0, 1), edge(1, 0)})
	assert.EqualError(t, err, "transitive reduction: the nodes [0 1] form a cycle")
}
