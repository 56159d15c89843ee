package graph_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/graph/community"
	"gonum.org/v1/gonum/graph/network"

	"waymark/graph"
)

var sizes = []int{1000, 10000}

func bySize(b *testing.B, f func(b *testing.B, g *graph.Graph)) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("size=%d", n), func(b *testing.B) {
			g := sample(b, n)
			b.ReportAllocs()
			b.ResetTimer()
			f(b, g)
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("size=%d", n), func(b *testing.B) {
			g := sample(b, n)
			var edges []graph.Edge
			for u := range int32(n) {
				targets, weights := g.Out(u)
				for i, v := range targets {
					edges = append(edges, graph.Edge{From: u, To: v, Weight: weights[i]})
				}
			}
			rand.New(rand.NewPCG(1, 1)).Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
			b.ReportAllocs()
			for b.Loop() {
				_, _ = graph.New(n, edges)
			}
		})
	}
}

func BenchmarkPageRank(b *testing.B) {
	for _, tolerance := range []float64{1e-6, 1e-10} {
		b.Run(fmt.Sprintf("tolerance=%g", tolerance), func(b *testing.B) {
			bySize(b, func(b *testing.B, g *graph.Graph) {
				for b.Loop() {
					r, _ := graph.PageRank(g, graph.PageRankOptions{Tolerance: tolerance})
					b.ReportMetric(float64(r.Sweeps), "sweeps")
				}
			})
		})
	}
}

func BenchmarkPageRankGonum(b *testing.B) {
	bySize(b, func(b *testing.B, g *graph.Graph) {
		for b.Loop() {
			network.PageRankSparse(g.Directed(), 0.85, 1e-6)
		}
	})
}

func BenchmarkAdamicAdarFrom(b *testing.B) {
	bySize(b, func(b *testing.B, g *graph.Graph) {
		var s graph.Scratch
		u := int32(0)
		for b.Loop() {
			g.AdamicAdarFrom(u, &s, func(int32, float64) {})
			u = (u + 7) % int32(g.Len())
		}
	})
}

func BenchmarkAdamicAdar(b *testing.B) {
	bySize(b, func(b *testing.B, g *graph.Graph) {
		u := int32(0)
		for b.Loop() {
			g.AdamicAdar(u, (u*31+5)%int32(g.Len()))
			u = (u + 7) % int32(g.Len())
		}
	})
}

func BenchmarkCommunities(b *testing.B) {
	bySize(b, func(b *testing.B, g *graph.Graph) {
		var label []int32
		for b.Loop() {
			label = graph.Communities(g, 1)
		}
		b.ReportMetric(graph.Modularity(g, label, 1), "Q")
		_, planted := sampleEdges(g.Len(), 1)
		b.ReportMetric(nmi(label, planted), "NMI")
	})
}

func BenchmarkCommunitiesGonum(b *testing.B) {
	for _, n := range sizes[:1] { // at 10,000 nodes gonum takes seconds
		b.Run(fmt.Sprintf("size=%d", n), func(b *testing.B) {
			g := sample(b, n)
			for b.Loop() {
				r := community.Modularize(g.Undirected(), 1, rand.NewPCG(1, 1))
				b.ReportMetric(community.Q(g.Undirected(), r.Communities(), 1), "Q")
			}
		})
	}
}

func BenchmarkHops(b *testing.B) {
	bySize(b, func(b *testing.B, g *graph.Graph) {
		s := graph.NewBreadthFirst(g)
		u := int32(0)
		for b.Loop() {
			s.Hops(u, (u*31+5)%int32(g.Len()), 4)
			u = (u + 7) % int32(g.Len())
		}
	})
}
