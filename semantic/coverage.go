package semantic

import "slices"

// Collection is a collection of texts that lists those with a term: an [Index], [Intents], or additions to either.
type Collection interface {
	Len() int
	having(term string, visit func(text int32))
}

// Occurrence says how a term of a request occurs in collections of texts.
type Occurrence struct {
	Texts    int  // that have the term
	Together bool // one of them has another term of the request as well
}

// Occurrences counts the texts that have each of some terms, which must differ.
func Occurrences(terms []string, collections ...Collection) []Occurrence {
	found := make([]Occurrence, len(terms))
	for _, c := range collections {
		first := make([]int32, c.Len()) // the first term of each text, counted from 1
		for i, term := range terms {
			c.having(term, func(text int32) {
				found[i].Texts++
				if k := first[text]; k > 0 {
					found[i].Together, found[k-1].Together = true, true
				} else {
					first[text] = int32(i + 1)
				}
			})
		}
	}
	return found
}

// IDF is the inverse document frequency of a term, that of a term without documents if the index does not have it.
func (ix *Index) IDF(term string) float64 {
	if i, ok := slices.BinarySearch(ix.words.terms, term); ok {
		return ix.lexical.idf[i]
	}
	return idf(0, ix.docs)
}

// having visits each document once; terms are in alphabetical order.
func (ix *Index) having(term string, visit func(int32)) {
	if i, ok := slices.BinarySearch(ix.words.terms, term); ok {
		l := ix.lexical.lists[i]
		for _, d := range ix.lexical.doc[l.at : l.at+l.n] {
			visit(d)
		}
	}
}

func (in *Intents) having(term string, visit func(int32)) {
	if i, ok := slices.BinarySearch(in.words.terms, term); ok {
		l := in.lists[i]
		for _, d := range in.doc[l.at : l.at+l.n] {
			visit(d)
		}
	}
}

func (a *Additions) having(term string, visit func(int32)) { a.segments.having(term, visit) }

func (a *IntentAdditions) having(term string, visit func(int32)) { a.segments.having(term, visit) }

// having visits the segments from the oldest, so documents rise.
func (s segments) having(term string, visit func(int32)) {
	for _, part := range s {
		for _, p := range part.lists[term] {
			visit(p.document)
		}
	}
}
