package semantic

import (
	"maps"
	"slices"
)

// A vocabulary maps the words of documents to terms. A term is a stem; its number is its position in alphabetical
// order, so that it does not depend on the order of the documents.
type vocabulary struct {
	terms  []string
	joined map[string][]int32 // terms of an identifier, by the identifier without separators: websearch for web_search
	words  []string           // words that can be misspelt, alphabetical
	term   []int32            // by position in words, the term
}

// A reader numbers the words of many texts before the vocabulary is built.
type reader struct {
	number map[string]int32
	words  []string
	joined map[string][]string // words of an identifier, by the identifier without separators
	scan   scanner
}

// read returns the numbers of the words of a text.
func (r *reader) read(text string) (words []int32) {
	r.scan.reset(text)
	for r.scan.next() {
		first := len(words)
		for i := range r.scan.ends {
			part := r.scan.part(i)
			n, ok := r.number[string(part)]
			if !ok {
				n = int32(len(r.words))
				r.words = append(r.words, string(part))
				r.number[r.words[n]] = n
			}
			words = append(words, n)
		}
		if len(r.scan.ends) > 1 {
			var parts []string
			for _, w := range words[first:] {
				parts = append(parts, r.words[w])
			}
			// Of several spellings, the first in alphabetical order counts, whichever was read first.
			if had := r.joined[string(r.scan.buf)]; had == nil || slices.Compare(parts, had) < 0 {
				r.joined[string(r.scan.buf)] = parts
			}
		}
	}
	return words
}

// vocabulary numbers the stems of all words read. terms holds the term of each word.
func (r *reader) vocabulary() (v *vocabulary, terms []int32) {
	stems := make([]string, len(r.words))
	for w, word := range r.words {
		stems[w] = stem(word)
	}
	v = &vocabulary{terms: slices.Compact(slices.Sorted(slices.Values(stems))), joined: make(map[string][]int32, len(r.joined))}
	terms = make([]int32, len(r.words))
	for w, s := range stems {
		terms[w], _ = v.find(s)
	}
	for compound, parts := range r.joined {
		only := !slices.ContainsFunc(parts, func(p string) bool { return !isStop(p) })
		for _, p := range parts {
			if only || !isStop(p) {
				v.joined[compound] = append(v.joined[compound], terms[r.number[p]])
			}
		}
	}
	for _, w := range slices.Sorted(maps.Keys(r.number)) {
		if !isStop(w) && misspellable(w) {
			v.words, v.term = append(v.words, w), append(v.term, terms[r.number[w]])
		}
	}
	return v, terms
}

// find returns the number of a stem.
func (v *vocabulary) find(stem string) (int32, bool) {
	i, ok := slices.BinarySearch(v.terms, stem)
	return int32(i), ok
}

// all returns the numbers of stems; nil if one of them is missing.
func (v *vocabulary) all(stems []string) (terms []int32) {
	for _, s := range stems {
		t, ok := v.find(s)
		if !ok {
			return nil
		}
		terms = append(terms, t)
	}
	return terms
}

// splitAt returns the position that splits a word into two words of the index, the shorter as long as possible; else 0.
func (v *vocabulary) splitAt(word string) (best int) {
	const shortest = 3
	most := 0
	for at := shortest; at+shortest <= len(word); at++ {
		if shorter := min(at, len(word)-at); shorter > most {
			_, first := v.find(stem(word[:at]))
			if _, second := v.find(stem(word[at:])); first && second {
				best, most = at, shorter
			}
		}
	}
	return best
}

// maxWords is the number of words of a request that are read: a longer request states its intent early.
const maxWords = 1024
