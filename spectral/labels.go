package spectral

import (
	"cmp"
	"slices"
)

// StableLabels renames the clusters of current so that each keeps the label of the previous
// cluster it shares most members with: of all pairs the one with the largest overlap is matched
// first (of equals the smaller previous label, then the smaller current one), then the largest
// among the rest. A cluster left over gets a label that previous never used, so that no cluster
// inherits the name of another that vanished. Members beyond the end of previous are new; those
// labelled -1 are in no cluster. Rows and columns are matched together if they are given one
// after another.
func StableLabels(previous, current []int32) []int32 {
	type pair struct{ previous, current int32 }
	overlap := map[pair]int{}
	unused := int32(0)
	for _, c := range previous {
		unused = max(unused, c+1)
	}
	for i, c := range current {
		if i < len(previous) && c >= 0 && previous[i] >= 0 {
			overlap[pair{previous[i], c}]++
		}
	}
	pairs := make([]pair, 0, len(overlap))
	for p := range overlap {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(overlap[b], overlap[a]), cmp.Compare(a.previous, b.previous), cmp.Compare(a.current, b.current))
	})
	name, taken := map[int32]int32{}, map[int32]bool{}
	for _, p := range pairs {
		if _, named := name[p.current]; !named && !taken[p.previous] {
			name[p.current], taken[p.previous] = p.previous, true
		}
	}
	out := make([]int32, len(current))
	for i, c := range current {
		if c < 0 {
			out[i] = -1
			continue
		}
		if _, named := name[c]; !named {
			name[c] = unused
			unused++
		}
		out[i] = name[c]
	}
	return out
}
