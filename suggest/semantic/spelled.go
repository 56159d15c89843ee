package semantic

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode"
)

const (
	shortestMisspelt = 4   // shorter words are like too many others
	longestMisspelt  = 32  // longer ones are not words
	minLike          = 0.5 // likeness below which two words are taken for different ones
	longSlip         = 7   // length from which on a word may lack any letter inside
	mostLike         = 3   // words that one may be a slip of
)

// like is a known word, and how much it resembles an unknown one.
type like struct {
	word     int
	likeness float64
}

// misspellable reports whether a word has a spelling that can be compared: neither too short nor too long, and no digits,
// since v1 and v2 are spelled alike and mean different things.
func misspellable(word string) bool {
	return len(word) >= shortestMisspelt && len(word) <= longestMisspelt && !strings.ContainsAny(word, "0123456789")
}

// like lists the known words that a word is by slips of the hand, which seldom change the first letter: the likeliest first.
func (v *vocabulary) like(word string) (found []like) {
	if !misspellable(word) {
		return nil
	}
	from, _ := slices.BinarySearch(v.words, word[:1])
	for k := from; k < len(v.words) && v.words[k][0] == word[0]; k++ {
		if s := spelling(word, v.words[k]); s >= minLike {
			found = append(found, like{k, s})
		}
	}
	slices.SortFunc(found, func(a, b like) int { return cmp.Or(cmp.Compare(b.likeness, a.likeness), cmp.Compare(a.word, b.word)) })
	return found
}

// meant are at most three terms that a word may be by slips of the hand: those whose likeness is within 0.1 of the best.
// Their likenesses are divided by their number, so that a word nobody knows never counts for more than a known one.
func (v *vocabulary) meant(word string) (terms []variant) {
	found := v.like(word)
	for _, f := range found {
		t := v.term[f.word]
		if len(terms) < mostLike && f.likeness >= found[0].likeness-0.1 && !slices.ContainsFunc(terms, func(o variant) bool { return o.terms[0] == t }) {
			terms = append(terms, variant{terms: []int32{t}, near: float64(slip * f.likeness)})
		}
	}
	for i := range terms {
		terms[i].near /= float64(len(terms))
	}
	return terms
}

// spelling is 1 - edits/length, where an edit inserts, drops or changes a byte or swaps two
// neighbours (optimal string alignment), and 0 if there are more edits than slips of the hand
// explain: one in a word of up to 7 letters, two in longer ones.
func spelling(a, b string) float64 {
	limit := 1
	if len(a) > longSlip {
		limit = 2
	}
	if d := len(a) - len(b); d > limit || -d > limit {
		return 0
	}
	var rows [3][longestMisspelt + 1]int
	two, one, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one, row = one, row, two
	}
	if one[len(b)] > limit {
		return 0
	}
	return 1 - float64(one[len(b)])/float64(max(len(a), len(b)))
}

// Spelled returns a request with its misspelt words corrected, for every component that reads words. A word of
// letters is misspelt if neither the index, known, the thesaurus nor the word vectors have it, it is no name, and it is
// two words of the index written as one, or becomes a word of the index by one of these slips: two neighbours swapped, a
// letter doubled that should not be or the other way round, a vowel left out, in a long word any letter left out. Other
// slips make as often another word that is right (bread and break, coat and cat): a [Matcher] listens to these, but
// believes them less. Of the words that nothing has, the first maxUnknown are looked at.
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

// knows reports whether anything has a word.
func (m *Matcher) knows(word string, known func(stem string) bool) bool {
	s := stem(word)
	_, ok := m.index.words.find(s)
	return ok || isStop(word) || Neutral(word) || known(s) || m.index.words.joined[word] != nil || m.hasVector(s) ||
		len(m.words.Related(nil, []string{s})) > 0
}

// corrected returns what a word of small letters that nothing has was meant to be; "" if that is not known. Of several
// words it is the one of most documents, then the first by alphabet; one of the thesaurus alone comes after all others.
func (m *Matcher) corrected(word string) (best string) {
	v := m.index.words
	if at := v.splitAt(word); at > 0 && !isStop(word[:at]) && !isStop(word[at:]) {
		return word[:at] + " " + word[at:]
	}
	most := int32(0)
	for _, l := range v.like(word) {
		if n := m.index.lists[v.term[l.word]].n; isSlip(word, v.words[l.word]) && (n > most || n == most && v.words[l.word] < best) {
			best, most = v.words[l.word], n
		}
	}
	for i := 2; best == "" && i < len(word); i++ {
		if swapped := word[:i-1] + word[i:i+1] + word[i-1:i] + word[i+1:]; len(m.words.Related(nil, []string{stem(swapped)})) > 0 {
			best = swapped
		}
	}
	return best
}

// isSlip reports whether a word was written for another one by one of the slips that hardly ever make a right word.
func isSlip(written, meant string) bool {
	i := 0 // where they part
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
