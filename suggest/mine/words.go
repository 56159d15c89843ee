package mine

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"waymark/suggest/semantic"
)

// A word is common if this share of the intents has it and no fewer than three of them, so that it names no single case.
const (
	commonShare = 0.4
	commonLeast = 3
	commonMost  = 6 // words
)

// common are the words that many of the intents have, as the intent has them that has the most, of several the shortest.
// Words with digits are left out: they name a case, not a kind of task.
func common(intents []string) []string {
	count, told := map[string]int{}, 0
	for _, intent := range intents {
		stems := slices.Compact(slices.Sorted(slices.Values(semantic.Tokens(intent))))
		told += min(1, len(stems))
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
			if n := count[stem]; n >= commonLeast && float64(n) >= commonShare*float64(told) && !slices.Contains(stems, stem) && len(found) < commonMost && !strings.ContainsFunc(form, unicode.IsDigit) {
				found, stems = append(found, form), append(stems, stem)
			}
		}
		if cmp.Or(cmp.Compare(len(best), len(found)), cmp.Compare(len(intent), len(example)), strings.Compare(intent, example)) < 0 {
			best, example = found, intent
		}
	}
	return best
}

// spoken is what a tool does in the words of its name: github:search_issues is "search issues".
func spoken(id string) string {
	return cmp.Or(strings.Join(semantic.Parts(id[strings.LastIndexByte(id, ':')+1:]), " "), id)
}

// told says in one sentence what the calls do, in their order.
func (d *draft) told() string {
	parts := make([]string, len(d.tools))
	for i, id := range d.tools {
		parts[i] = spoken(id)
	}
	return capital(strings.Join(parts, ", then "))
}

// capital makes the first letter upper case.
func capital(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):]
	}
	return s
}

// slug makes a part of an id of the first words of a name.
func slug(name string) string {
	fields := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(fields[:min(len(fields), 5)], "-")
}
