package graph_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/graph"
)

func TestNew(t *testing.T) {
	g := build(t, 6,
		graph.Edge{From: 2, To: 4, Weight: .25, Count: 1},
		graph.Edge{From: 0, To: 2, Weight: 1, Count: 2},
		graph.Edge{From: 2, To: 3, Weight: .5, Count: 3},
		graph.Edge{From: 1, To: 2, Weight: 2, Count: 4},
		graph.Edge{From: 2, To: 4, Weight: .5, Count: 6},
		graph.Edge{From: 3, To: 2, Weight: 0, Count: 0},
		graph.Edge{From: 2, To: 2, Weight: 1, Count: 1},
		graph.Edge{From: 2, To: 2, Weight: 3, Count: 2},
	)
	assert.Equal(t, 6, g.Len())
	assert.Equal(t, 5, g.Size(), "distinct pairs without loops; weight 0 is an edge")
	assert.Equal(t, 5, g.Active())

	to, weight := g.Out(2)
	assert.Equal(t, []int32{3, 4}, to)
	assert.Equal(t, []float64{.5, .75}, weight)
	assert.Equal(t, []uint64{3, 7}, g.Counts(2))
	from, weight := g.In(2)
	assert.Equal(t, []int32{0, 1, 3}, from)
	assert.Equal(t, []float64{1, 2, 0}, weight)
	assert.Equal(t, []int32{0, 1, 3, 4}, g.Neighbours(2))
	assert.Equal(t, 4, g.Degree(2))
	assert.Empty(t, g.Neighbours(5))

	assert.True(t, g.Directed().HasEdgeFromTo(3, 2), "an edge of weight 0 is an edge")
	assert.False(t, g.Directed().HasEdgeFromTo(4, 2))
	w, count := g.Transition(2, 4)
	assert.Equal(t, .75, w)
	assert.Equal(t, uint64(7), count)
	assert.True(t, g.Adjacent(4, 2) && g.Adjacent(2, 4))
	assert.False(t, g.Adjacent(0, 4))
	assert.False(t, g.Adjacent(2, 2), "a loop is no neighbourhood")

	loop, ok := g.Loop(2)
	assert.True(t, ok)
	assert.Equal(t, graph.Edge{From: 2, To: 2, Weight: 4, Count: 3}, loop)
	_, ok = g.Loop(3)
	assert.False(t, ok)
}

func TestNewNamesTheEdgeItRefuses(t *testing.T) {
	good := edge(0, 1)
	for _, c := range []struct {
		edge graph.Edge
		want string
	}{
		{edge(0, 3), "graph: edge 1 (0 → 3, weight 1): node 3 is not one of the 3 nodes"},
		{edge(-1, 2), "graph: edge 1 (-1 → 2, weight 1): node -1 is not one of the 3 nodes"},
		{edge(0, 2, math.NaN()), "graph: edge 1 (0 → 2, weight NaN): the weight is not a finite number"},
		{edge(0, 2, math.Inf(1)), "graph: edge 1 (0 → 2, weight +Inf): the weight is not a finite number"},
		{edge(2, 2, -.5), "graph: edge 1 (2 → 2, weight -0.5): the weight is negative"},
	} {
		_, err := graph.New(3, []graph.Edge{good, c.edge})
		require.EqualError(t, err, c.want)
	}
	_, err := graph.New(-1, nil)
	require.Error(t, err)
	g := build(t, 0)
	assert.Zero(t, g.Len()+g.Size()+g.Active())
	assert.Zero(t, g.Density())
}

// Sums stay finite and counts do not wrap around.
func TestNewSaturates(t *testing.T) {
	huge := graph.Edge{From: 0, To: 1, Weight: 1e308, Count: math.MaxUint64 - 1}
	g := build(t, 2, huge, huge, huge)
	w, count := g.Transition(0, 1)
	assert.Equal(t, math.MaxFloat64, w)
	assert.Equal(t, uint64(math.MaxUint64), count)
}
