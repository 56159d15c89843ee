package spectral

// modularity is Barber's for bipartite graphs,
//
//	Q = Σ_c ( w(c)/W - R(c)·C(c)/W² )
//
// with w(c) the weight inside c, R and C the sums of its row and column degrees and W all weight.
func modularity(H Matrix, rows, cols []int32) float64 {
	k := int32(0)
	for _, c := range rows {
		k = max(k, c+1)
	}
	for _, c := range cols {
		k = max(k, c+1)
	}
	largest := 0.0
	for _, w := range H.Weight {
		largest = max(largest, w)
	}
	within, R, C, W := make([]float64, k), make([]float64, k), make([]float64, k), 0.0
	for i := range H.Rows {
		for e := H.Start[i]; e < H.Start[i+1]; e++ {
			a, b := rows[i], cols[H.Col[e]]
			if a < 0 || b < 0 {
				continue
			}
			w := H.Weight[e] / largest
			W += w
			R[a] += w
			C[b] += w
			if a == b {
				within[a] += w
			}
		}
	}
	q := 0.0
	for c := range within {
		q += within[c]/W - float64((R[c]/W)*(C[c]/W))
	}
	return q
}
