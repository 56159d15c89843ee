package contribution

import (
	"regexp"
	"strings"
	"sync"
)

// phrases is a set of ways to say one thing.
type phrases struct{ re *regexp.Regexp }

// anyOf matches one of the patterns as whole words, in any case.
func anyOf(patterns ...string) phrases {
	return phrases{regexp.MustCompile(`(?i)\b(?:` + strings.Join(patterns, "|") + `)\b`)}
}

var (
	negator  = regexp.MustCompile(`(?i)\b(?:no|not|never|without|lacks?|lacking|missing|neither|nor|cannot|wrong|misleading|instead of|rather than|avoid(?:s|ing)?)\b|n't\b`)
	clauses  = regexp.MustCompile(`[.;:!?,\n()“”"]`)
	reaching = 40 // how far before a phrase its negation may stand, in bytes
)

// in finds what the words say and do not deny: "no positive control" has none. Denied tells that the
// phrase is there, but only with a negation before it in the same clause.
func (p phrases) in(words string) (said string, denied bool) {
	words = strings.ReplaceAll(words, "’", "'")
	for _, m := range p.re.FindAllStringIndex(words, -1) {
		if negator.MatchString(sameClause(words, m[0])) {
			denied = true
			continue
		}
		return words[m[0]:m[1]], denied
	}
	return "", denied
}

// sameClause is what stands before a place, near and in the same clause.
func sameClause(words string, at int) string {
	before := words[max(0, at-reaching):at]
	if ends := clauses.FindAllStringIndex(before, -1); len(ends) > 0 {
		before = before[ends[len(ends)-1][1]:]
	}
	return before
}

// say reports whether the words say it.
func (p phrases) say(words string) bool {
	said, _ := p.in(words)
	return said != ""
}

// compile is a map of what the table has under each name.
func compile[V, C any](table map[string]V, one func(V) C) map[string]C {
	out := make(map[string]C, len(table))
	for name, v := range table {
		out[name] = one(v)
	}
	return out
}

var (
	ways = sync.OnceValue(func() map[string]phrases {
		return compile(tables().Phrases, func(p []string) phrases { return anyOf(p...) })
	})
	patterns = sync.OnceValue(func() map[string]*regexp.Regexp { return compile(tables().Patterns, regexp.MustCompile) })
)
