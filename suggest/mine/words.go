package mine

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"waymark/suggest/semantic"
)

// words counts those of several intents by their stems.
type words struct {
	intents int // with any word
	by      map[string]*word
}

// word is what is counted of one stem.
type word struct {
	intents int
	place   int            // Σ of its places
	forms   map[string]int // as it was written
}

// A word is common if this share of the intents has it and no fewer than three of them, so that it names
// no single case, and if it says what they are about: among all other intents it is not nearly as frequent.
const (
	commonShare = 0.4
	commonLeast = 3
	commonTimes = 1.5 // as frequent as elsewhere
	commonMost  = 6   // words
)

// add counts each stem of an intent once. Words with digits are left out: they name a case, not a kind of
// task. A place is the position among the counted words, so that names can be put in the usual order.
func (w *words) add(intent string) {
	kept := map[string]bool{} // stop words are not
	for _, stem := range semantic.Tokens(intent) {
		kept[stem] = true
	}
	place := 0
	for _, form := range strings.FieldsFunc(strings.ToLower(intent), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		stems := semantic.Stems(form)
		if strings.ContainsFunc(form, unicode.IsDigit) || len(stems) != 1 || !kept[stems[0]] {
			continue
		}
		kept[stems[0]] = false // once an intent
		if w.by == nil {
			w.by = map[string]*word{}
		}
		x := w.by[stems[0]]
		if x == nil {
			x = &word{forms: map[string]int{}}
			w.by[stems[0]] = x
		}
		x.intents++
		x.place += place
		x.forms[form]++
		place++
	}
	if place > 0 {
		w.intents++
	}
}

// background counts the words of all intents by their stems.
type background struct {
	intents int
	by      map[string]int
}

// add counts each stem of an intent once; intents without a word are not counted.
func (b *background) add(intent string) {
	stems := semantic.Tokens(intent)
	if len(stems) == 0 {
		return
	}
	b.intents++
	slices.Sort(stems)
	for _, stem := range slices.Compact(stems) {
		b.by[stem]++
	}
}

// common are the words that many of the intents have, in the order in which they usually stand. all are
// those of these and all other intents.
func (w *words) common(all *background) []string {
	var stems []string
	for _, stem := range slices.Sorted(maps.Keys(w.by)) {
		n := w.by[stem].intents
		share := float64(n) / float64(w.intents)
		elsewhere := float64(max(0, all.by[stem]-n)) / float64(max(1, all.intents-w.intents))
		if n >= commonLeast && share >= commonShare && share >= commonTimes*elsewhere {
			stems = append(stems, stem)
		}
	}
	slices.SortStableFunc(stems, func(a, b string) int { return cmp.Compare(w.by[b].intents, w.by[a].intents) })
	stems = stems[:min(len(stems), commonMost)]
	slices.SortStableFunc(stems, func(a, b string) int {
		x, y := w.by[a], w.by[b]
		return cmp.Or(cmp.Compare(x.place*y.intents, y.place*x.intents), cmp.Compare(a, b))
	})
	for i, stem := range stems {
		forms := w.by[stem].forms
		stems[i] = slices.MinFunc(slices.Sorted(maps.Keys(forms)), func(a, b string) int { return cmp.Compare(forms[b], forms[a]) })
	}
	return stems
}

// spoken is what a tool does in the words of its name: github:search_issues is "search issues".
func spoken(id string) string {
	if i := strings.LastIndexByte(id, ':'); i >= 0 && i+1 < len(id) {
		id = id[i+1:]
	}
	var b strings.Builder
	var last rune
	for _, r := range id {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(last):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.Join(strings.Fields(b.String()), " ")
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
		layers[layer[i]] = append(layers[layer[i]], cmp.Or(spoken(d.tools[i]), d.tools[i]))
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
