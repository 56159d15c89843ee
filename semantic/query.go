package semantic

import (
	"cmp"
	"math"
	"slices"
)

// A Query is a text, and perhaps a vector, made ready to be compared with the documents of an index:
//
//	q := ix.Query(text, nil)
//	defer q.Close()
//	hits = q.Top(hits[:0], 256)      the best documents
//	hit := q.Of(d)                   and what another has in common with it
//
// Every method gives a document the same numbers. A Query is for one goroutine and must be closed;
// its memory is then used again, so that in the long run queries allocate nothing.
type Query struct {
	ix         *Index
	words      query
	attainable float64 // the largest sum of weights that any document could have
	counted    bool    // lexical is filled in
	lexical    []float64
	touched    []int32 // documents with a sum above zero
	row        []float64
	folded     []float32 // in the latent space; empty if that has nothing to say
	outside    []float32 // the vector from outside, unit; empty if there is none
	scanLatent scan
	scanVector scan
	bounded    bool // the scans have been made
	lowest     []float64
	kept       []int32
	added      []float64 // sums of weights of additions
}

// Query prepares text and the vector of it, which may be nil and is ignored if it does not fit the
// documents'.
func (ix *Index) Query(text string, vector []float32) *Query {
	q := ix.queries.Get().(*Query)
	q.ix, q.counted, q.bounded = ix, false, false
	q.words.read(ix.words, text)
	q.folded = q.folded[:0]
	if ix.latent.rank > 0 && len(q.words.terms) > 0 {
		q.folded = ix.latent.fold(&q.words, ix.lexical, q.folded, q.row)
	}
	q.outside = slices.Grow(q.outside[:0], ix.vectors.dimension)[:ix.vectors.dimension]
	if !ix.vectors.unit(q.outside, vector) {
		q.outside = q.outside[:0]
	}
	q.attainable = 0
	for i := range q.words.terms {
		t := &q.words.terms[i]
		t.most = float64(t.weight * ix.lexical.most[t.term])
		q.attainable += t.most
	}
	// Words that no document has are asked for all the same: each counts as a word of the query's mean
	// weight that nobody attains. Nonsense around one common word is no full match.
	if n := len(q.words.terms); n > 0 {
		q.attainable += float64(float64(q.words.novel) * (q.attainable / float64(n)))
	}
	// Sums are taken from the term that can add most to the one that can add least.
	slices.SortFunc(q.words.terms, func(a, b weighted) int {
		return cmp.Or(cmp.Compare(b.most, a.most), cmp.Compare(a.term, b.term))
	})
	return q
}

// absent lists the stems of words that the index does not have, each once.
func (q *Query) absent() []string {
	var stems []string
	for _, w := range q.words.absent {
		if s := stem(string(q.words.text[w.at : w.at+w.n])); !slices.Contains(stems, s) {
			stems = append(stems, s)
		}
	}
	return stems
}

// Close returns the memory of q, which must not be used any more.
func (q *Query) Close() {
	q.forget()
	q.ix.queries.Put(q)
}

// forget clears the sums.
func (q *Query) forget() {
	for _, d := range q.touched {
		q.lexical[d] = 0
	}
	q.touched, q.counted = q.touched[:0], false
}

// count adds up the weights of the query's terms in every document, a term at a time.
func (q *Query) count() {
	if q.counted {
		return
	}
	q.counted = true
	for i := range q.words.terms {
		q.add(&q.words.terms[i])
	}
}

// add adds the weights of one term.
func (q *Query) add(t *weighted) {
	x := q.ix.lexical
	l := x.lists[t.term]
	docs, weights, sums := x.doc[l.at:l.at+l.n], x.weight[l.at:l.at+l.n], q.lexical
	weights = weights[:len(docs)]
	switch n := len(q.touched); {
	case x.zeros || t.weight <= 0: // some may add nothing and must not be entered twice
		for i, d := range docs {
			w := float64(t.weight * float64(weights[i]))
			if sums[d] == 0 && w > 0 {
				q.touched = append(q.touched, d)
			}
			sums[d] += w
		}
	case n == 0:
		q.touched = append(q.touched, docs...)
		for i, d := range docs {
			sums[d] = float64(t.weight * float64(weights[i]))
		}
	default:
		q.touched = slices.Grow(q.touched, len(docs)+1)
		touched := q.touched[:n+len(docs)+1]
		for i, d := range docs {
			sum := sums[d]
			touched[n] = d
			is := math.Float64bits(sum)
			n += int(1 - (is|-is)>>63) // 1 for a sum of zero; whether it is cannot be predicted
			sums[d] = sum + float64(t.weight*float64(weights[i]))
		}
		q.touched = touched[:n]
	}
}

// share is the lexical score that a sum of weights stands for.
func (q *Query) share(sum float64) float64 {
	if q.attainable > 0 {
		return min(sum/q.attainable, 1)
	}
	return 0
}

// Of returns the hit of one document. It panics if there is no such document.
func (q *Query) Of(doc int32) Hit {
	q.count()
	return q.hit(doc, q.lexical[doc])
}

// hit finishes the score of a document of which the sum of weights is known.
func (q *Query) hit(d int32, sum float64) Hit {
	h := Hit{Doc: d, Lexical: q.share(sum)}
	if len(q.folded) > 0 {
		h.Latent = above(q.ix.latent.docs.floor, float64(dot32(q.folded, q.ix.latent.docs.vector(d))))
	}
	if len(q.outside) > 0 {
		h.Vector = above(q.ix.vectors.floor, float64(dot32(q.outside, q.ix.vectors.vector(d))))
	}
	h.Score = q.score(h.Lexical, h.Latent, h.Vector)
	return h
}

// score joins the three parts as independent evidence, each in [0, 1]:
//
//	score = 1 - (1 - lexical)·(1 - wL·latent)·(1 - wV·vector)
func (q *Query) score(lexical, latent, vector float64) float64 {
	return 1 - float64(float64((1-lexical)*(1-float64(q.ix.latentWeight*latent)))*(1-float64(q.ix.options.VectorWeight*vector)))
}
