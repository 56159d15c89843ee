package graph_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/graph"
)

// Enough edges for three goroutines, with duplicates and loops, in order and out of order, on one to three
// processors: every list is the same.
func TestNewIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	const nodes = 1300
	edges, _ := sampleEdges(nodes, 9) // 104,000 edges
	r := rand.New(rand.NewPCG(4, 4))
	for i := range edges {
		edges[i].Weight = r.Float64()
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := must(graph.New(nodes, edges))(t)
	var ordered []graph.Edge
	total := 0.0
	for u := range int32(nodes) {
		targets, weights := want.Out(u)
		require.True(t, slices.IsSorted(targets))
		for i, v := range targets {
			ordered = append(ordered, graph.Edge{From: u, To: v, Weight: weights[i], Count: want.Counts(u)[i]})
			total += weights[i]
		}
		if loop, ok := want.Loop(u); ok {
			ordered = append(ordered, loop)
		}
	}
	sum := 0.0
	for _, e := range edges {
		if e.From != e.To {
			sum += e.Weight
		}
	}
	require.InEpsilon(t, sum, total, 1e-12, "nothing is lost")
	slices.SortFunc(ordered, func(a, b graph.Edge) int { return int(a.From-b.From)*nodes + int(a.To-b.To) })
	for processors := range 3 {
		runtime.GOMAXPROCS(processors + 1)
		require.Equal(t, want, must(graph.New(nodes, edges))(t))
		require.Equal(t, want, must(graph.New(nodes, ordered))(t))
		r.Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
	}
}

// All edges at the last node leave nothing for the other goroutines.
func TestNewOfOneLongRow(t *testing.T) {
	var edges []graph.Edge
	for v := range int32(70000) {
		edges = append(edges, graph.Edge{From: 70000, To: 69999 - v, Weight: 1, Count: 2})
	}
	g := build(t, 70001, edges...)
	require.Equal(t, 70000, g.Degree(70000))
	require.Equal(t, 70001, g.Active())
	require.Equal(t, []int32{70000}, g.Neighbours(0))
}
