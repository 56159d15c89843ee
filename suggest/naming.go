package suggest

import (
	"regexp"
	"slices"
	"strings"
)

// named lists the nodes that a query names exactly: that of its id before those of its name; then those whose ids or names stand
// in it, in its order. Words of a language name nothing there: "search the notes" does not mean a tool search.
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

// identifier is a word that programs write: with _, -, :, . or / inside, or a capital after a small letter.
var identifier = regexp.MustCompile(`[\pL\d][_:./-]+[\pL\d]|\p{Ll}\p{Lu}`)
