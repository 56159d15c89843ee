package sequence

import "slices"

// Keep puts x into best, which is in order, if it is among the first n ≥ 1, and returns best. The
// order must be total, then what is kept does not depend on the order of the calls.
func Keep[T any](best []T, x T, n int, order func(a, b T) int) []T {
	if len(best) == n {
		if order(x, best[n-1]) >= 0 {
			return best
		}
		best = best[:n-1]
	}
	i, _ := slices.BinarySearchFunc(best, x, order)
	best = append(best, x)
	copy(best[i+1:], best[i:])
	best[i] = x
	return best
}
