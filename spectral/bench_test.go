package spectral_test

import (
	"cmp"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"waymark/spectral"
)

// An entry of H is an edge; every step visits each twice, on the way to the other side and back.
func BenchmarkCluster(b *testing.B) {
	sizes := []int{1000, 10000, 100000}
	if os.Getenv("WAYMARK_PERF_MILLION") != "" {
		sizes = append(sizes, 1000000)
	}
	for _, k := range []int{8, 32, 0} {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("k=%d/tools=%d", k, n), func(b *testing.B) {
				H, rows, _ := planted(b, n, n/2, cmp.Or(k, 8), 1)
				b.ResetTimer()
				var r spectral.Result
				for b.Loop() {
					r, _ = spectral.Cluster(H, spectral.Options{K: k})
				}
				walked := 2 * float64(r.Steps) * float64(len(H.Col))
				b.ReportMetric(walked, "edges/op")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/walked, "ns/edge")
				b.ReportMetric(nmi(r.Rows, rows), "NMI-rows")
				b.ReportMetric(float64(r.Steps), "steps")
				b.ReportMetric(float64(r.K), "clusters")
				b.ReportMetric(r.Quality, "Q")
			})
		}
	}
}

// The dense factorisation is what a library offers; ours includes the clusters.
func BenchmarkClusterDense(b *testing.B) {
	H, _, _ := planted(b, 400, 200, 8, 1)
	b.Run("tools=400/of=waymark", func(b *testing.B) {
		for b.Loop() {
			_, err := spectral.Cluster(H, spectral.Options{K: 8})
			require.NoError(b, err)
		}
	})
	b.Run("tools=400/of=gonum", func(b *testing.B) {
		dense := mat.NewDense(H.Rows, H.Cols, nil)
		for i := range H.Rows {
			for e := H.Start[i]; e < H.Start[i+1]; e++ {
				dense.Set(i, int(H.Col[e]), H.Weight[e])
			}
		}
		for b.Loop() {
			var svd mat.SVD
			require.True(b, svd.Factorize(dense, mat.SVDThin))
		}
	})
}
