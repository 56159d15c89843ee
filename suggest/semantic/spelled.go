package semantic

import (
	"iter"
	"slices"
	"strings"
	"unicode"
)

const (
	shortestMisspelt = 4  // shorter words resemble too many others
	longestMisspelt  = 32 // longer ones are not words
	longSlip         = 7  // from this length on, a word may lack any inner letter
	maxUnknown       = 8  // unknown words of a request that are checked
)

// misspellable reports whether the spelling of a word can be compared: it is neither too short nor too long and has no
// digits, since v1 and v2 are spelled alike and mean different things.
func misspellable(word string) bool {
	return len(word) >= shortestMisspelt && len(word) <= longestMisspelt && !strings.ContainsAny(word, "0123456789")
}

// Spelled returns a request with its misspelt words corrected, for every component that reads words. A word of letters
// is misspelt if the index, known, the thesaurus and the word vectors all lack it, it is not a proper name, and it is
// two words of the index written as one, or becomes a word of the index by undoing one of these slips: two neighbouring
// letters swapped, a letter wrongly doubled or not doubled, a vowel left out, in a long word any letter left out. Other
// slips are as likely correct words (bread and break, coat and cat). At most maxUnknown unknown words are checked.
func (m *Matcher) Spelled(text string, known func(stem string) bool) string {
	var names map[string]bool
	var out strings.Builder
	from, unknown := 0, 0
	for at, word := range plainWords(text) {
		if len(word) < shortestMisspelt || m.knows(strings.ToLower(word), known) {
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

// knows reports whether a word is known: from the index, the thesaurus, the word vectors, the word lists, or known.
func (m *Matcher) knows(word string, known func(stem string) bool) bool {
	s := stem(word)
	_, ok := m.index.words.find(s)
	return ok || isStop(word) || Neutral(word) || known(s) || m.index.words.joined[word] != nil || m.hasVector(s) ||
		len(m.words.Related(nil, []string{s})) > 0
}

// corrected returns the correction of an unknown word of small letters; "" if there is none. Of several candidates it
// prefers the one in the most documents, then the first by alphabet; candidates from the thesaurus alone come last.
func (m *Matcher) corrected(word string) (best string) {
	v := m.index.words
	if at := v.splitAt(word); at > 0 && !isStop(word[:at]) && !isStop(word[at:]) {
		return word[:at] + " " + word[at:]
	}
	most := int32(0)
	from, _ := slices.BinarySearch(v.words, word[:1]) // a slip seldom changes the first letter
	for k := from; misspellable(word) && k < len(v.words) && v.words[k][0] == word[0]; k++ {
		if n := m.index.lists[v.term[k]].n; n > most && isSlip(word, v.words[k]) {
			best, most = v.words[k], n
		}
	}
	for i := 2; best == "" && i < len(word); i++ {
		if swapped := word[:i-1] + word[i:i+1] + word[i-1:i] + word[i+1:]; len(m.words.Related(nil, []string{stem(swapped)})) > 0 {
			best = swapped
		}
	}
	return best
}

// isSlip reports whether written differs from meant by one of the slips that hardly ever produce another correct word.
func isSlip(written, meant string) bool {
	i := 0 // the first position at which they differ
	for i < min(len(written), len(meant)) && written[i] == meant[i] {
		i++
	}
	switch {
	case i == 0:
		return false
	case len(written) == len(meant): // serach
		return i+1 < len(meant) && written[i] == meant[i+1] && written[i+1] == meant[i] && written[i+2:] == meant[i+2:]
	case len(written) == len(meant)+1: // commment
		return written[i] == written[i-1] && written[i+1:] == meant[i:]
	case len(written) == len(meant)-1 && i < len(written): // mesage, custmer, shedule
		return written[i:] == meant[i+1:] &&
			(meant[i] == meant[i-1] || meant[i] == meant[i+1] || strings.IndexByte("aeiou", meant[i]) >= 0 || len(written) >= longSlip)
	}
	return false
}

// plainWords yields the words of text that consist of the letters a to z, the first of which may be a capital, with
// their byte positions. Parts of identifiers, addresses and the like are left out.
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
