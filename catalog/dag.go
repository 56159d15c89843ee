package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// CheckDAG reports why nodes with these ids and dependencies do not form a directed acyclic graph:
// an id that is missing or occurs twice, a node that depends on itself, on an unknown node, or on
// itself through others. noun is what a node is called in the error ("step", "task").
func CheckDAG(noun string, ids []string, dependsOn [][]string) error {
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		if id == "" {
			return fmt.Errorf("%s number %d has no id", noun, i+1)
		}
		if _, twice := at[id]; twice {
			return fmt.Errorf("%s %q occurs twice", noun, id)
		}
		at[id] = i
	}
	waits := make([]int, len(ids)) // dependencies not yet resolved
	next := make([][]int, len(ids))
	for i, deps := range dependsOn {
		for _, d := range deps {
			j, known := at[d]
			switch {
			case !known:
				return fmt.Errorf("%s %q depends on the unknown %s %q", noun, ids[i], noun, d)
			case i == j:
				return fmt.Errorf("%s %q depends on itself", noun, d)
			}
			waits[i]++
			next[j] = append(next[j], i)
		}
	}
	var ready []int
	for i, w := range waits {
		if w == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 { // Kahn's algorithm
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, j := range next[i] {
			if waits[j]--; waits[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	first := slices.IndexFunc(waits, func(w int) bool { return w > 0 })
	if first < 0 {
		return nil
	}
	return fmt.Errorf("%ss form a cycle: %s", noun, strings.Join(cycle(first, at, ids, dependsOn, waits), " needs "))
}

// cycle walks from a node that waits to nodes that wait until one comes again.
func cycle(from int, at map[string]int, ids []string, dependsOn [][]string, waits []int) []string {
	seen := map[int]int{}
	var path []int
	for i := from; ; {
		if start, again := seen[i]; again {
			var names []string
			for _, j := range append(path[start:], i) {
				if len(names) > 8 {
					return append(names, "…")
				}
				names = append(names, fmt.Sprintf("%q", ids[j]))
			}
			return names
		}
		seen[i] = len(path)
		path = append(path, i)
		for _, d := range dependsOn[i] {
			if j := at[d]; waits[j] > 0 {
				i = j
				break
			}
		}
	}
}
