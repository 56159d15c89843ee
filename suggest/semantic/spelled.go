package semantic

import (
	"iter"
	"slices"
	"strings"
	"unicode"
)

// longSlip is the length from which on a word may lack any letter inside.
const longSlip = 7

// Spelled returns a request with its misspelt words corrected, for every component that reads words. A word of
// letters is misspelt if neither the index, known, the lexicon nor the word vectors have it, it is no name, and it is
// two words of the index written as one, or becomes a word of the index by one of these slips: two neighbours swapped, a
// letter doubled that should not be or the other way round, a vowel left out, in a long word any letter left out. Other
// slips make as often another word that is right (bread and break, coat and cat): a [Matcher] listens to these, but
// believes them less. Of the words that nothing has, the first maxUnknown are looked at.
func (m *Matcher) Spelled(text string, known func(stem string) bool) string {
	var names map[string]bool
	var out strings.Builder
	from, unknown := 0, 0
	for at, word := range plainWords(text) {
		if len(word) < minGrammed || m.knows(word, known) {
			continue
		}
		if names == nil {
			names = ProperNames(text)
		}
		if names[strings.ToLower(word)] {
			continue
		}
		if unknown++; unknown > maxUnknown {
			break
		}
		if better := m.corrected(strings.ToLower(word)); better != "" {
			out.WriteString(text[from:at])
			out.WriteString(better)
			from = at + len(word)
		}
	}
	if from == 0 {
		return text
	}
	out.WriteString(text[from:])
	return out.String()
}

// knows reports whether anything has a word.
func (m *Matcher) knows(written string, known func(stem string) bool) bool {
	word := strings.ToLower(written)
	if isStop(word) || Neutral(word) {
		return true
	}
	v, stemmed := m.index.words, stem(word)
	if _, ok := slices.BinarySearch(v.terms, stemmed); ok || known(stemmed) {
		return true
	}
	if f, ok := v.forms[word]; ok && f.n > 0 {
		return true
	}
	if m.vectors != nil && m.vectors.Vector(make([]float64, m.places.dimension), stemmed) {
		return true
	}
	return len(m.lexicon.Related(nil, []string{stemmed})) > 0
}

// corrected returns what a word of small letters that nothing has was meant to be; "" if that is not known. Of several
// words it is the one of most documents, one of the lexicon alone after all others, then the first by alphabet.
func (m *Matcher) corrected(word string) (best string) {
	x := m.pool.Get().(*Matching)
	defer m.pool.Put(x)
	x.matcher = m
	if at := x.splitAt(word); at > 0 {
		if a, b := word[:at], word[at:]; !isStop(a) && !isStop(b) {
			return a + " " + b
		}
	}
	v, most := m.index.words, int32(-1)
	for w, swap := range slips(word) {
		n := int32(-1)
		if k, ok := slices.BinarySearch(v.grams.words, w); ok {
			n = m.index.lists[v.grams.terms[k]].n
		} else if swap && len(m.lexicon.Related(nil, []string{stem(w)})) > 0 {
			n = 0
		}
		if n > most || n == most && n >= 0 && w < best {
			best, most = w, n
		}
	}
	return best
}

// slips yields the words that become word by one of the slips, and whether it swaps two letters.
func slips(word string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for i := 1; i < len(word); i++ {
			a, b := word[i-1], word[i]
			if a == b && !yield(word[:i]+word[i+1:], false) || // commment
				a != b && i > 1 && !yield(word[:i-1]+string([]byte{b, a})+word[i+1:], true) { // serach
				return
			}
			for c := byte('a'); c <= 'z'; c++ { // mesage, custmer, shedule
				if (c == a || c == b || strings.IndexByte("aeiou", c) >= 0 || len(word) >= longSlip) && !yield(word[:i]+string([]byte{c})+word[i:], false) {
					return
				}
			}
		}
	}
}

// plainWords yields the words of text that are written in the letters a to z, the first of which may be a capital, with
// their places. Parts of identifiers, addresses and the like are left out.
func plainWords(text string) iter.Seq2[int, string] {
	joins := func(c byte) bool {
		return c >= 0x80 || c == '_' || c == '-' || c == '/' || c == '@' || c == '\\' || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
	}
	return func(yield func(int, string) bool) {
		for at := 0; at < len(text); {
			if !joins(text[at]) {
				at++
				continue
			}
			end, plain := at, true
			for ; end < len(text) && (joins(text[end]) || (text[end] == '.' || text[end] == ':') && end+1 < len(text) && joins(text[end+1])); end++ {
				c := text[end]
				plain = plain && ('a' <= c && c <= 'z' || end == at && 'A' <= c && c <= 'Z')
			}
			if plain && !yield(at, text[at:end]) {
				return
			}
			at = end
		}
	}
}
