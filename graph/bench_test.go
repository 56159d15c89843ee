package graph_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	gonum "gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/community"
	"gonum.org/v1/gonum/graph/network"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/traverse"

	"waymark/graph"
)

// reportEdges tells the edges that an operation walks, each time it does, and how long one takes.
func reportEdges(b *testing.B, walked float64) {
	b.ReportMetric(walked, "edges/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/walked, "ns/edge")
}

// reportBytes tells the bytes that an operation took for each edge; before is what was allocated
// when the loop began.
func reportBytes(b *testing.B, before uint64, edges int) {
	b.ReportMetric(float64(allocated()-before)/float64(b.N)/float64(edges), "B/edge")
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func BenchmarkNew(b *testing.B) {
	for _, order := range []string{"sorted", "shuffled"} {
		b.Run("order="+order, func(b *testing.B) {
			bySize(b, func(b *testing.B, c perfCase) {
				edges := slices.Clone(c.edges)
				if order == "shuffled" {
					rand.New(rand.NewPCG(1, 1)).Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
				}
				b.ResetTimer()
				before := allocated()
				for b.Loop() {
					_, _ = graph.New(c.g.Len(), edges)
				}
				reportBytes(b, before, len(edges))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(edges)), "ns/edge")
			})
		})
	}
}

// gonum stops on an L2 norm, so its ranks are further off than ours at the same tolerance. Its dense
// PageRank takes n² numbers.
func BenchmarkPageRank(b *testing.B) {
	for _, tolerance := range []float64{1e-6, 1e-10} {
		b.Run(fmt.Sprintf("tolerance=%g", tolerance), func(b *testing.B) {
			bySize(b, func(b *testing.B, c perfCase) {
				g := c.g
				b.Run("of=waymark", func(b *testing.B) {
					var r graph.Ranking
					before := allocated()
					for b.Loop() {
						r, _ = graph.PageRank(g, graph.PageRankOptions{Tolerance: tolerance})
					}
					reportBytes(b, before, g.Size())
					reportEdges(b, float64(r.Sweeps*g.Size()))
					b.ReportMetric(float64(r.Sweeps), "sweeps")
				})
				if g.Len() <= 100_000 {
					b.Run("of=gonum", func(b *testing.B) {
						for b.Loop() {
							network.PageRankSparse(g.Directed(), 0.85, tolerance)
						}
					})
				}
				if g.Len() <= 1000 {
					b.Run("of=gonum-dense", func(b *testing.B) {
						for b.Loop() {
							network.PageRank(g.Directed(), 0.85, tolerance)
						}
					})
				}
			})
		})
	}
}

func BenchmarkAdamicAdar(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		g := c.g
		u := int32(0)
		for b.Loop() {
			graph.AdamicAdar(g, u, (u*31+5)%int32(g.Len()))
			u = (u + 7) % int32(g.Len())
		}
	})
}

func BenchmarkCommunities(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		g := c.g
		b.Run("of=waymark", func(b *testing.B) {
			var label []int32
			before := allocated()
			for b.Loop() {
				label = graph.Communities(g, 1)
			}
			reportBytes(b, before, g.Size())
			reportEdges(b, float64(g.Size()))
			b.ReportMetric(graph.Modularity(g, label, 1), "Q")
			b.ReportMetric(nmi(label, c.planted), "NMI")
		})
		if g.Len() > 10_000 { // there gonum takes minutes
			return
		}
		b.Run("of=gonum", func(b *testing.B) {
			var r community.ReducedGraph
			for b.Loop() {
				r = community.Modularize(g.Undirected(), 1, rand.NewPCG(1, 1))
			}
			label := make([]int32, g.Len())
			for i, members := range r.Communities() {
				for _, v := range members {
					label[v.ID()] = int32(i)
				}
			}
			b.ReportMetric(graph.Modularity(g, label, 1), "Q")
			b.ReportMetric(nmi(label, c.planted), "NMI")
		})
	})
}

// Hops between pairs of nodes, at most four.
func BenchmarkHops(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		g := c.g
		for _, of := range []string{"waymark", "gonum"} {
			b.Run("of="+of, func(b *testing.B) {
				hops := gonumHops(g)
				if of == "waymark" {
					search := search(g)
					hops = func(u, v int32) int { return search.Hops(u, v, 4) }
				}
				u := int32(0)
				for b.Loop() {
					hops(u, (u*31+5)%int32(g.Len()))
					u = (u + 7) % int32(g.Len())
				}
			})
		}
	})
}

// gonumHops is -1 where more than four hops are needed.
func gonumHops(g *graph.Graph) func(u, v int32) int {
	return func(u, v int32) int {
		found := -1
		var search traverse.BreadthFirst
		search.Walk(g.Directed(), simple.Node(u), func(n gonum.Node, depth int) bool {
			if n.ID() == int64(v) && depth <= 4 {
				found = depth
			}
			return depth > 4 || found >= 0
		})
		return found
	}
}
