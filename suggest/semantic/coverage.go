package semantic

// Collection is a collection of texts that lists those with a term: a [Matcher], [Requests], or others.
type Collection interface {
	Len() int
	Having(term string, visit func(text int32)) // each once
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

// Len is the number of documents.
func (m *Matcher) Len() int { return m.index.docs }

// IDF is the inverse document frequency of a term, that of a term without documents if no document has it.
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
