package suggest

import (
	"regexp"
	"slices"
	"strings"
)

// named lists the nodes that a query names exactly. First come those whose id or name is the whole query, by id before
// by name, then those whose id or name is a word of the query, in the order of the query. Ordinary words are not
// matched: "search the notes" does not name a tool search.
func (q *query) named() (nodes []int32) {
	add := func(wished string) {
		var found []int32
		if n, ok, err := q.node(wished); err == nil && ok && q.Live(n) {
			found = append(found, n)
		}
		for _, n := range append(found, q.Roles.Named(wished)...) {
			if !slices.Contains(nodes, n) {
				q.consider(n)
				nodes = append(nodes, n)
			}
		}
	}
	add(q.wording.wished)
	for _, word := range strings.Fields(q.wording.wished) {
		if word = strings.Trim(word, "`'\"()[]{}<>,.;:!?"); identifier.MatchString(word) {
			add(word)
		}
	}
	return nodes
}

// identifier matches a word in the form of an identifier: with _, -, :, . or / inside, or a capital after a small
// letter.
var identifier = regexp.MustCompile(`[\pL\d][_:./-]+[\pL\d]|\p{Ll}\p{Lu}`)
