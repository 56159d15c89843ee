package spectral_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/numeric"
)

// matrix is the incidence of capabilities given as lists of tools.
func matrix(t testing.TB, rows int, capabilities ...[]int32) numeric.Matrix {
	t.Helper()
	var entries []numeric.Entry
	for c, tools := range capabilities {
		for _, tool := range tools {
			entries = append(entries, numeric.Entry{Row: tool, Col: int32(c), Weight: 1})
		}
	}
	return of(t, rows, len(capabilities), entries)
}

func of(t require.TestingT, rows, cols int, entries []numeric.Entry) numeric.Matrix {
	H, err := numeric.NewMatrix(rows, cols, entries)
	require.NoError(t, err)
	return H
}

// planted draws caps capabilities of 2 to 8 tools each: the tools lie in servers of about 15, the
// servers in k clusters; 60 % of a capability's tools come from its cluster, by popularity
// 1/(rank+20), 25 % from the server of the tool before, 15 % from anywhere, where a few hubs are
// met most. One tool in ten stands in a tail: chains of ten little used tools, each in a capability
// with the one before, that hang on the rest by their first. It returns the planted clusters too;
// tools in no capability and those of the tails are labelled -1.
func planted(t testing.TB, tools, caps, k int, seed uint64) (H numeric.Matrix, rows, cols []int32) {
	r := rand.New(rand.NewPCG(seed, 1))
	var first []int
	tails := tools / 100
	all := tools
	tools -= 10 * tails
	server := make([]int, tools)
	for v := 0; v < tools; {
		first = append(first, v)
		for i := 1 + int(r.ExpFloat64()*14); i > 0 && v < tools; i-- {
			server[v] = len(first) - 1
			v++
		}
	}
	cluster := make([]int32, tools)
	members := make([][]int32, k)
	everyone := make([]int32, tools)
	for v := range cluster {
		cluster[v] = int32(server[v] * k / len(first))
		members[cluster[v]] = append(members[cluster[v]], int32(v))
		everyone[v] = int32(v)
	}
	first = append(first, tools)
	popular := func(list []int32, flat float64) func() int32 {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		sum, total := make([]float64, len(list)), 0.0
		for i := range list {
			total += 1 / (float64(i) + flat)
			sum[i] = total
		}
		return func() int32 { return list[sort.SearchFloat64s(sum, r.Float64()*total)] }
	}
	draw := make([]func() int32, k)
	for c := range draw {
		draw[c] = popular(members[c], 20)
	}
	anywhere := popular(everyone, 1) // hubs
	rows, cols = slices.Repeat([]int32{-1}, all), make([]int32, caps)
	var entries []numeric.Entry
	for c := range caps {
		cols[c] = int32(r.IntN(k))
		tool := draw[cols[c]]()
		for range 2 + r.IntN(7) {
			entries = append(entries, numeric.Entry{Row: tool, Col: int32(c), Weight: 1})
			rows[tool] = cluster[tool]
			switch x := r.Float64(); {
			case x < .60:
				tool = draw[cols[c]]()
			case x < .85:
				s := server[tool]
				tool = int32(first[s] + r.IntN(first[s+1]-first[s]))
			default:
				tool = anywhere()
			}
		}
	}
	for tail := range tails {
		before := everyone[r.IntN(tools)]
		for i := range 10 {
			tool := int32(tools + 10*tail + i)
			entries = append(entries, numeric.Entry{Row: before, Col: int32(len(cols)), Weight: 1}, numeric.Entry{Row: tool, Col: int32(len(cols)), Weight: 1})
			cols = append(cols, -1)
			before = tool
		}
	}
	return of(t, all, len(cols), entries), rows, cols
}

// nmi is the normalised mutual information of two labellings, of what both label.
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
