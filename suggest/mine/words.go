package mine

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"waymark/suggest/semantic"
)

// words counts the intents that have a stem.
type words struct {
	intents int // with any
	by      map[string]int
}

// add counts each stem of an intent once.
func (w *words) add(intent string) {
	if w.by == nil {
		w.by = map[string]int{}
	}
	stems := slices.Compact(slices.Sorted(slices.Values(semantic.Tokens(intent))))
	w.intents += min(1, len(stems))
	for _, stem := range stems {
		w.by[stem]++
	}
}

// A word is common if this share of the intents has it and no fewer than three of them, so that it names
// no single case, and if it says what they are about: among all other intents it is not nearly as frequent.
const (
	commonShare = 0.4
	commonLeast = 3
	commonTimes = 1.5 // as frequent as elsewhere
	commonMost  = 6   // words
)

// common are the words that many of the intents have, as the intent has them that has the most, of several the shortest.
// Words with digits are left out: they name a case, not a kind of task. all counts these and all other intents.
func common(intents []string, all *words) []string {
	var own words
	for _, intent := range intents {
		own.add(intent)
	}
	wanted := map[string]bool{}
	for stem, n := range own.by {
		elsewhere := float64(max(0, all.by[stem]-n)) / float64(max(1, all.intents-own.intents))
		share := float64(n) / float64(own.intents)
		wanted[stem] = n >= commonLeast && share >= commonShare && share >= commonTimes*elsewhere
	}
	var best []string
	example := ""
	for _, intent := range intents {
		var found, stems []string
		for _, form := range semantic.Parts(intent) {
			stem := strings.Join(semantic.Tokens(form), " ")
			if wanted[stem] && !slices.Contains(stems, stem) && len(found) < commonMost && !strings.ContainsFunc(form, unicode.IsDigit) {
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

// told says in one sentence what the calls do: layer after layer.
func (d *draft) told() string {
	layer := make([]int, len(d.tools))
	var layers [][]string
	for i := range d.tools {
		for _, a := range d.pattern.After[i] {
			layer[i] = max(layer[i], layer[a]+1)
		}
		for len(layers) <= layer[i] {
			layers = append(layers, nil)
		}
		layers[layer[i]] = append(layers[layer[i]], spoken(d.tools[i]))
	}
	parts := make([]string, len(layers))
	for i, l := range layers {
		parts[i] = l[0]
		if n := len(l) - 1; n > 0 {
			parts[i] = strings.Join(l[:n], ", ") + " and " + l[n]
		}
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
