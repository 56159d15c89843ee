package graph_test

import (
	"math"
	"testing"

	"waymark/graph"
)

// edge is a directed edge of a fixture, with weight 1 unless said.
func edge(from, to int32, weight ...float64) graph.Edge {
	w := 1.0
	if len(weight) > 0 {
		w = weight[0]
	}
	return graph.Edge{From: from, To: to, Weight: w, Count: 1}
}

func build(t testing.TB, n int, edges ...graph.Edge) *graph.Graph {
	t.Helper()
	return must(graph.New(n, edges))(t)
}

// Five nodes of a small worked example with weights:
//
//	A ──.8──▶ B ──1.0──▶ D
//	│         └───.6──▶ E
//	└──.5──▶ C ───.7──▶ E
const (
	A = iota
	B
	C
	D
	E
)

var fiveNodes = []graph.Edge{edge(A, B, .8), edge(A, C, .5), edge(B, D, 1), edge(B, E, .6), edge(C, E, .7)}

// Zachary's karate club: who met whom outside the club (W. W. Zachary, "An information flow model
// for conflict and fission in small groups", 1977), members numbered from 1, each pair once.
var karatePairs = map[int32][]int32{
	1:  {2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32},
	2:  {3, 4, 8, 14, 18, 20, 22, 31},
	3:  {4, 8, 9, 10, 14, 28, 29, 33},
	4:  {8, 13, 14},
	5:  {7, 11},
	6:  {7, 11, 17},
	7:  {17},
	9:  {31, 33, 34},
	10: {34},
	14: {34},
	15: {33, 34},
	16: {33, 34},
	19: {33, 34},
	20: {34},
	21: {33, 34},
	23: {33, 34},
	24: {26, 28, 30, 33, 34},
	25: {26, 28, 32},
	26: {32},
	27: {30, 34},
	28: {34},
	29: {32, 34},
	30: {33, 34},
	31: {33, 34},
	32: {33, 34},
	33: {34},
}

func karate(t testing.TB) *graph.Graph {
	var edges []graph.Edge
	for u := int32(1); u <= 34; u++ {
		for _, v := range karatePairs[u] {
			edges = append(edges, edge(u-1, v-1))
		}
	}
	return build(t, 34, edges...)
}

// Two triangles, joined by one edge if joined is true.
func triangles(t testing.TB, joined bool) *graph.Graph {
	edges := []graph.Edge{edge(0, 1), edge(1, 2), edge(2, 0), edge(3, 4), edge(4, 5), edge(5, 3)}
	if joined {
		edges = append(edges, edge(2, 3))
	}
	return build(t, 6, edges...)
}

func l1(a, b []float64) float64 {
	sum := 0.0
	for v := range a {
		sum += math.Abs(a[v] - b[v])
	}
	return sum
}

// search returns a fresh breadth-first search of g.
func search(g *graph.Graph) *graph.BreadthFirst { return new(graph.BreadthFirst).Of(g) }
