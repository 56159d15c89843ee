package graph_test

import (
	"fmt"

	"waymark/graph"
)

// read_file ──▶ parse_json ──▶ write_file
const readFile, parseJSON, writeFile = 0, 1, 2

func pipeline() *graph.Graph {
	g, err := graph.New(3, []graph.Edge{
		{From: readFile, To: parseJSON, Weight: .9, Count: 7},
		{From: parseJSON, To: writeFile, Weight: .5, Count: 3},
	})
	if err != nil {
		panic(err)
	}
	return g
}

func ExampleNew() {
	g := pipeline()
	next, weights := g.Out(readFile)
	fmt.Println(next, weights, g.Neighbours(parseJSON))
	fmt.Printf("density %.3f, alpha %.3f\n", g.Density(), graph.Alpha(g.Density()))
	// Output:
	// [1] [0.9] [0 2]
	// density 0.333, alpha 0.500
}

func ExampleGraph_AdamicAdar() {
	fmt.Printf("%.4f\n", pipeline().AdamicAdar(readFile, writeFile)) // 1 / ln 2
	// Output: 1.4427
}

func ExampleGraph_AdamicAdarFrom() {
	var scratch graph.Scratch // one for many calls
	pipeline().AdamicAdarFrom(readFile, &scratch, func(v int32, aa float64) {
		fmt.Printf("%d: %.4f\n", v, graph.GraphScore(false, aa))
	})
	// Output: 2: 0.7213
}

func ExamplePageRank() {
	r, err := graph.PageRank(pipeline(), graph.PageRankOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.3f %.3f\n", r.Ranks, graph.Normalised(r.Ranks))
	// Output: [0.184 0.341 0.474] [0.389 0.719 1.000]
}

func ExampleCommunities() {
	//  0 ── 1         4
	//   ╲  ╱         ╱ ╲
	//     2 ─────── 3 ── 5      6
	g, err := graph.New(7, []graph.Edge{
		{From: 0, To: 1, Weight: 1}, {From: 1, To: 2, Weight: 1}, {From: 2, To: 0, Weight: 1}, {From: 2, To: 3, Weight: 1},
		{From: 3, To: 4, Weight: 1}, {From: 4, To: 5, Weight: 1}, {From: 5, To: 3, Weight: 1},
	})
	if err != nil {
		panic(err)
	}
	label := graph.Communities(g, 1)
	fmt.Printf("%d Q %.4f\n", label, graph.Modularity(g, label, 1))
	// Output: [0 0 0 1 1 1 -1] Q 0.3571
}

func ExampleBreadthFirst() {
	way := new(graph.BreadthFirst).Of(pipeline()).Path(readFile, writeFile, 4, nil)
	fmt.Println(way, graph.PathConfidence(len(way)-1))
	// Output: [0 1 2] 0.8
}

func ExampleIncidencePageRank() {
	// Capabilities {a, b, x} and {x, c, d}; x = 4 is in both.
	h, err := graph.NewIncidence(5, 2, []graph.Entry{
		{Row: 0, Col: 0, Weight: 1}, {Row: 1, Col: 0, Weight: 1}, {Row: 4, Col: 0, Weight: 1},
		{Row: 4, Col: 1, Weight: 1}, {Row: 2, Col: 1, Weight: 1}, {Row: 3, Col: 1, Weight: 1},
	})
	if err != nil {
		panic(err)
	}
	tools, capabilities, err := graph.IncidencePageRank(h, graph.PageRankOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f %.4f\n", tools, capabilities)
	// Output: [0.0898 0.0898 0.0898 0.0898 0.1582] [0.2413 0.2413]
}

// Which nodes are most like node 0, by the neighbours they share with it?
func ExampleGraph_AdamicAdarTop() {
	g, _ := graph.New(6, []graph.Edge{
		{From: 0, To: 1, Weight: 1}, {From: 0, To: 2, Weight: 1}, {From: 4, To: 1, Weight: 1},
		{From: 4, To: 2, Weight: 1}, {From: 5, To: 2, Weight: 1}, {From: 3, To: 5, Weight: 1},
	})
	var room graph.Scratch
	for _, c := range g.AdamicAdarTop(0, 3, &room, nil) {
		fmt.Printf("%d %.3f\n", c.Node, c.Score)
	}
	// Output:
	// 4 2.353
	// 5 0.910
}

// A view stays as it is while the rows go on.
func ExampleRows() {
	g, _ := graph.New(3, []graph.Edge{{From: 0, To: 1, Weight: 1, Count: 1}})
	rows := graph.NewRows(g)
	before := rows.Freeze()
	_ = rows.SetRow(0, []graph.Edge{{From: 0, To: 1, Weight: 1, Count: 1}, {From: 0, To: 2, Weight: 1, Count: 1}})
	after := rows.Freeze()
	fmt.Println(before.Neighbours(0), after.Neighbours(0))
	// Output: [1] [1 2]
}
