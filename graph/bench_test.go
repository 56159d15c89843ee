package graph_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/graph/community"
	"gonum.org/v1/gonum/graph/network"

	"waymark/graph"
)

func BenchmarkNew(b *testing.B) {
	for _, order := range []string{"sorted", "shuffled"} {
		b.Run("order="+order, func(b *testing.B) {
			bySize(b, func(b *testing.B, c perfCase) {
				edges := slices.Clone(c.edges)
				if order == "shuffled" {
					rand.New(rand.NewPCG(1, 1)).Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
				}
				b.ResetTimer()
				for b.Loop() {
					_, _ = graph.New(c.g.Len(), edges)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(edges)), "ns/edge")
			})
		})
	}
}

func BenchmarkPageRank(b *testing.B) {
	for _, tolerance := range []float64{1e-6, 1e-10} {
		b.Run(fmt.Sprintf("tolerance=%g", tolerance), func(b *testing.B) {
			bySize(b, func(b *testing.B, c perfCase) {
				g := c.g
				for b.Loop() {
					r, _ := graph.PageRank(g, graph.PageRankOptions{Tolerance: tolerance})
					b.ReportMetric(float64(r.Sweeps), "sweeps")
				}
			})
		})
	}
}

// From the ranks of before, after a thousand more transitions.
func BenchmarkPageRankWarm(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		before, _ := graph.PageRank(c.g, graph.PageRankOptions{})
		edges, next := slices.Clone(c.edges), traffic(c.edges, 1)
		for range 1000 {
			e := next()
			e.Weight, e.Count = 1, 1
			edges = append(edges, e)
		}
		after := must(graph.New(c.g.Len(), edges))(b)
		b.ResetTimer()
		for b.Loop() {
			r, _ := graph.PageRank(after, graph.PageRankOptions{Tolerance: 1e-6, Start: before.Ranks})
			b.ReportMetric(float64(r.Sweeps), "sweeps")
		}
	})
}

func BenchmarkPageRankGonum(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		g := c.g
		for b.Loop() {
			network.PageRankSparse(g.Directed(), 0.85, 1e-6)
		}
	})
}

func BenchmarkAdamicAdarFrom(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		g := c.g
		var s graph.Scratch
		u := int32(0)
		for b.Loop() {
			g.AdamicAdarFrom(u, &s, func(int32, float64) {})
			u = (u + 7) % int32(g.Len())
		}
	})
}

func BenchmarkAdamicAdar(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		g := c.g
		u := int32(0)
		for b.Loop() {
			g.AdamicAdar(u, (u*31+5)%int32(g.Len()))
			u = (u + 7) % int32(g.Len())
		}
	})
}

func BenchmarkCommunities(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		g := c.g
		var label []int32
		for b.Loop() {
			label = graph.Communities(g, 1)
		}
		b.ReportMetric(graph.Modularity(g, label, 1), "Q")
		b.ReportMetric(nmi(label, c.planted), "NMI")
	})
}

func BenchmarkCommunitiesGonum(b *testing.B) {
	for _, n := range benchSizes()[:1] { // at 10,000 nodes gonum takes seconds
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			g := perfOf(b, n).g
			for b.Loop() {
				r := community.Modularize(g.Undirected(), 1, rand.NewPCG(1, 1))
				b.ReportMetric(community.Q(g.Undirected(), r.Communities(), 1), "Q")
			}
		})
	}
}

func BenchmarkHops(b *testing.B) {
	bySize(b, func(b *testing.B, c perfCase) {
		g := c.g
		s := graph.NewBreadthFirst(g)
		u := int32(0)
		for b.Loop() {
			s.Hops(u, (u*31+5)%int32(g.Len()), 4)
			u = (u + 7) % int32(g.Len())
		}
	})
}
