package suggest

import (
	"slices"
)

// named lists the nodes that a query names exactly: that of its id before those of its name.
func (q *query) named() (nodes []int32) {
	add := func(n int32) {
		if !slices.Contains(nodes, n) {
			q.consider(n)
			nodes = append(nodes, n)
		}
	}
	if n, ok, err := q.node(q.wording.wished); err == nil && ok && q.Live(n) {
		add(n)
	}
	for _, n := range q.Roles.Named(q.Catalog, q.wording.wished) {
		add(n)
	}
	return nodes
}
