package graph_test

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/graph"
)

// sampleEdges draws the transitions of 20n executions of 2 to 8 steps over n tools: servers of
// about 15 tools nested in communities, popularity 1/(rank+20) within a community, 40 % of the
// steps to the same server, 53 % to the same community, 7 % anywhere, where hubs are met most.
// It returns the planted community of every tool too.
func sampleEdges(n int, seed uint64) ([]graph.Edge, []int32) { return drawnEdges(n, seed, 0) }

// drawnEdges is sampleEdges in which a tool goes on with one of its usual eight successors with the
// probability given, the first of them most often: with .9 there are about 15 edges to a tool.
func drawnEdges(n int, seed uint64, habit float64) ([]graph.Edge, []int32) {
	r := rand.New(rand.NewPCG(seed, 1))
	communities := 32 * ((n + 7999) / 8000)
	server := make([]int, n)
	var first []int
	for v := 0; v < n; {
		size := 1 + int(r.ExpFloat64()*14)
		first = append(first, v)
		for i := 0; i < size && v < n; i++ {
			server[v] = len(first) - 1
			v++
		}
	}
	first = append(first, n)
	of := make([]int32, len(first))
	for s := range of {
		of[s] = int32(s * communities / len(first))
	}
	planted := make([]int32, n)
	members := make([][]int32, communities)
	for v := range planted {
		planted[v] = of[server[v]]
		members[planted[v]] = append(members[planted[v]], int32(v))
	}
	everyone := make([]int32, n)
	for v := range everyone {
		everyone[v] = int32(v)
	}
	popular := func(list []int32) func() int32 {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		sum, total := make([]float64, len(list)), 0.0
		for i := range list {
			total += 1 / float64(i+20)
			sum[i] = total
		}
		return func() int32 { return list[sort.SearchFloat64s(sum, r.Float64()*total)] }
	}
	draw := make([]func() int32, communities)
	for c := range draw {
		draw[c] = popular(members[c])
	}
	anywhere := popular(everyone)
	var usual [][]int32
	if habit > 0 {
		usual = make([][]int32, n)
	}
	var edges []graph.Edge
	for range 20 * n {
		at := anywhere()
		for range 1 + r.IntN(7) {
			var next int32
			switch x := r.Float64(); {
			case x < 0.40:
				s := server[at]
				next = int32(first[s] + r.IntN(first[s+1]-first[s]))
			case x < 0.93:
				next = draw[planted[at]]()
			default:
				next = anywhere()
			}
			if habit > 0 && r.Float64() < habit {
				if i := min(int(r.ExpFloat64()*2.5), 7); i < len(usual[at]) {
					next = usual[at][i]
				} else {
					usual[at] = append(usual[at], next)
				}
			}
			edges = append(edges, graph.Edge{From: at, To: next, Weight: 1, Count: 1})
			at = next
		}
	}
	return edges, planted
}

func sample(t testing.TB, n int) *graph.Graph {
	edges, _ := sampleEdges(n, 1)
	return must(graph.New(n, edges))(t)
}

func must[T any](x T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return x
	}
}

// nmi is the normalised mutual information of two labellings, of the vertices that both label.
func nmi(a, b []int32) float64 {
	type pair struct{ a, b int32 }
	na, nb, nab, n := map[int32]float64{}, map[int32]float64{}, map[pair]float64{}, 0.0
	for i := range a {
		if a[i] < 0 || b[i] < 0 {
			continue
		}
		na[a[i]]++
		nb[b[i]]++
		nab[pair{a[i], b[i]}]++
		n++
	}
	information, ha, hb := 0.0, 0.0, 0.0
	for p, k := range nab {
		information += k / n * math.Log(k*n/na[p.a]/nb[p.b])
	}
	for _, k := range na {
		ha -= k / n * math.Log(k/n)
	}
	for _, k := range nb {
		hb -= k / n * math.Log(k/n)
	}
	return 2 * information / (ha + hb)
}
