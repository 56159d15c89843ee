package numeric

import "slices"

// Keep adds x to the list of the k best, which is sorted: order is negative where its first argument is the better one. It
// changes the list.
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
