package spectral_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"waymark/spectral"
)

// incidence is the matrix of n tools with k planted clusters of the generator whose directory
// WAYMARK_PERF_DATA names (files <n>/cap<k>.*.i32), where the variable is set, else our own.
func incidence(t testing.TB, n, k int) (H spectral.Matrix, rows, cols []int32) {
	t.Helper()
	dir := os.Getenv("WAYMARK_PERF_DATA")
	if dir == "" {
		return planted(t, n, n/2, k, 1)
	}
	read := func(name string) []int32 {
		raw, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(n), fmt.Sprintf("cap%d.%s.i32", k, name)))
		require.NoError(t, err)
		out := make([]int32, len(raw)/4)
		for i := range out {
			out[i] = int32(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		return out
	}
	capability, tool := read("cap"), read("tool")
	rows, cols = read("toolcomm"), read("capcomm")
	entries := make([]spectral.Entry, len(tool))
	for i := range tool {
		entries[i] = spectral.Entry{Row: tool[i], Col: capability[i], Weight: 1}
	}
	H, err := spectral.NewMatrix(len(rows), len(cols), entries)
	require.NoError(t, err)
	for i := range rows {
		if H.Start[i] == H.Start[i+1] {
			rows[i] = -1
		}
	}
	return H, rows, cols
}

func BenchmarkCluster(b *testing.B) {
	for _, k := range []int{8, 32, 0} {
		for _, n := range []int{1000, 10000, 100000} {
			b.Run(fmt.Sprintf("k=%d/tools=%d", k, n), func(b *testing.B) {
				clusters := k
				if k == 0 {
					clusters = 8
				}
				H, rows, cols := incidence(b, n, clusters)
				b.ReportAllocs()
				var r spectral.Result
				for b.Loop() {
					r, _ = spectral.Cluster(H, spectral.Options{K: k})
				}
				b.ReportMetric(nmi(r.Rows, rows), "NMI-rows")
				b.ReportMetric(nmi(r.Cols, cols), "NMI-cols")
				b.ReportMetric(float64(r.Steps), "steps")
				b.ReportMetric(float64(r.K), "clusters")
				b.ReportMetric(r.Quality, "Q")
			})
		}
	}
}

// The dense factorisation is what a library offers.
func BenchmarkGonumSVD(b *testing.B) {
	b.Run("tools=400", func(b *testing.B) {
		H, _, _ := planted(b, 400, 200, 8, 1)
		dense := mat.NewDense(H.Rows, H.Cols, nil)
		for i := range H.Rows {
			for e := H.Start[i]; e < H.Start[i+1]; e++ {
				dense.Set(i, int(H.Col[e]), H.Weight[e])
			}
		}
		for b.Loop() {
			var svd mat.SVD
			svd.Factorize(dense, mat.SVDThin)
		}
	})
}
