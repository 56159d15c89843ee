package numeric

import "slices"

// Keep inserts x into best, the sorted list of the k best elements, and returns the list. order is negative if its
// first argument is better. Keep modifies best.
func Keep[T any](best []T, k int, x T, order func(a, b T) int) []T {
	if len(best) >= k {
		if k <= 0 || order(x, best[k-1]) >= 0 {
			return best
		}
		best = best[:k-1]
	}
	i, _ := slices.BinarySearchFunc(best, x, order)
	return slices.Insert(best, i, x)
}
