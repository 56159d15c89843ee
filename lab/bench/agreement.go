package bench

import "math"

// NMI is the normalised mutual information of two divisions into groups,
//
//	NMI(a, b) = 2·I(a; b) / (H(a) + H(b))
//
// which is what scikit-learn's normalized_mutual_info_score gives. Places that either division
// labels below 0 are left out. Divisions that both make one group of everything agree: 1.
func NMI(a, b []int32) float64 {
	type pair struct{ a, b int32 }
	na, nb, nab, n := map[int32]float64{}, map[int32]float64{}, map[pair]float64{}, 0.0
	for i := range a {
		if a[i] >= 0 && b[i] >= 0 {
			na[a[i]]++
			nb[b[i]]++
			nab[pair{a[i], b[i]}]++
			n++
		}
	}
	if len(na) <= 1 && len(nb) <= 1 {
		return 1
	}
	information, entropies := 0.0, 0.0
	for p, k := range nab {
		information += k / n * math.Log(k*n/na[p.a]/nb[p.b])
	}
	for _, groups := range []map[int32]float64{na, nb} {
		for _, k := range groups {
			entropies -= k / n * math.Log(k/n)
		}
	}
	return 2 * information / entropies
}
