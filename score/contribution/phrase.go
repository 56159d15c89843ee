package contribution

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// A phrase is a set of ways to say one thing, as whole words in any case.
type phrase struct{ *regexp.Regexp }

// UnmarshalJSON reads a list of patterns.
func (p *phrase) UnmarshalJSON(data []byte) error {
	var ways []string
	if err := json.Unmarshal(data, &ways); err != nil {
		return err
	}
	p.Regexp = regexp.MustCompile(`(?i)\b(?:` + strings.Join(ways, "|") + `)\b`)
	return nil
}

// reach is how far before a phrase its negation may stand, in bytes.
const reach = 40

// find returns, in quotes, the first phrase that a text says, and the last one before it that the text denies ("no
// positive control") in the same clause. Behind an opening quote a quotable phrase counts as denied.
func (p phrase) find(text string, quotable bool) (said, denied string) {
	text = strings.ReplaceAll(text, "’", "'")
	for _, m := range p.FindAllStringIndex(text, -1) {
		before := text[max(0, m[0]-reach):m[0]]
		clauses := pattern("clause_end").Split(before, -1)
		negated := pattern("negator").MatchString(clauses[len(clauses)-1])
		if !negated && !(quotable && pattern("opening_quote").MatchString(before)) {
			return quoted(text[m[0]:m[1]]), denied
		}
		denied = quoted(text[m[0]:m[1]])
	}
	return "", denied
}

// listed joins the first few of a list.
func listed(list []string) string {
	if len(list) > 8 {
		list = append(slices.Clone(list[:8]), "…")
	}
	return strings.Join(list, ", ")
}

func quoted(s string) string { return fmt.Sprintf("%q", excerpt(s, 60)) }

// excerpt is at most n characters of one line.
func excerpt(s string, n int) string {
	s = strings.ToValidUTF8(s[:min(len(s), 8*n)], "") // no need to read the rest
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return string(runes)
}

func distinct[E cmp.Ordered](list []E) []E {
	slices.Sort(list)
	return slices.Compact(list)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
