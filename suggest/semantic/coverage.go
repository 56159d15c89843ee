package semantic

// Collection is a collection of texts that can list the texts with a term: a [Matcher], [Requests], or others.
type Collection interface {
	Len() int
	Having(term string, visit func(text int32)) // each once
}

// Occurrence describes how a term of a request occurs in collections of texts.
type Occurrence struct {
	Texts    int  // texts that have the term
	Together bool // at least one of these texts has another term of the request as well
}

// Occurrences counts the texts that have each of the terms, which must be distinct.
func Occurrences(terms []string, collections ...Collection) []Occurrence {
	found := make([]Occurrence, len(terms))
	for _, c := range collections {
		first := make([]int32, c.Len()) // the first term of each text, counted from 1
		for i, term := range terms {
			c.Having(term, func(text int32) {
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

// Len returns the number of documents.
func (m *Matcher) Len() int { return m.index.docs }

// IDF returns the inverse document frequency of a term. A term that no document has gets the value of the base matcher,
// if there is one, else that of a term without documents.
func (m *Matcher) IDF(term string) float64 {
	if t, ok := m.index.words.find(term); ok {
		return m.index.idf[t]
	}
	if m.base != nil {
		return m.base.IDF(term)
	}
	return idf(0, m.index.docs)
}

// Having visits the documents with a term.
func (m *Matcher) Having(term string, visit func(int32)) {
	if t, ok := m.index.words.find(term); ok {
		doc, _ := m.index.having(t)
		for _, d := range doc {
			visit(d)
		}
	}
}
