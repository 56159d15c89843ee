package mine

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"waymark/suggest/semantic"
)

// A word is common if at least this share of the intents and at least three of them have it, so that it identifies no
// single case.
const (
	commonShare = 0.4
	commonLeast = 3
	commonMost  = 6 // words
)

// common returns the words that many of the intents have, as written in the intent that has the most of them, on ties
// the shortest one. Words with digits are left out, because they identify a case, not a kind of task.
func common(intents []string) []string {
	count, withIntent := map[string]int{}, 0
	for _, intent := range intents {
		stems := slices.Compact(slices.Sorted(slices.Values(semantic.Tokens(intent))))
		withIntent += min(1, len(stems))
		for _, stem := range stems {
			count[stem]++
		}
	}
	var best []string
	example := ""
	for _, intent := range intents {
		var found, stems []string
		for _, form := range semantic.Parts(intent) {
			stem := strings.Join(semantic.Tokens(form), " ")
			if n := count[stem]; n >= commonLeast && float64(n) >= commonShare*float64(withIntent) && !slices.Contains(stems, stem) && len(found) < commonMost && !strings.ContainsFunc(form, unicode.IsDigit) {
				found, stems = append(found, form), append(stems, stem)
			}
		}
		if cmp.Or(cmp.Compare(len(best), len(found)), cmp.Compare(len(intent), len(example)), strings.Compare(intent, example)) < 0 {
			best, example = found, intent
		}
	}
	return best
}

// spoken returns the name of a tool as words: github:search_issues becomes "search issues".
func spoken(id string) string {
	return cmp.Or(strings.Join(semantic.Parts(id[strings.LastIndexByte(id, ':')+1:]), " "), id)
}

// sentence returns one sentence that describes the calls in their order.
func (d *draft) sentence() string {
	parts := make([]string, len(d.tools))
	for i, id := range d.tools {
		parts[i] = spoken(id)
	}
	return capital(strings.Join(parts, ", then "))
}

// capital returns s with its first letter in upper case.
func capital(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):]
	}
	return s
}

// slug returns the first five words of a name, joined for use in an id.
func slug(name string) string {
	fields := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(fields[:min(len(fields), 5)], "-")
}
