package semantic

import (
	"cmp"
	"slices"
)

// scratch is what one query needs; an index keeps some in a pool.
type scratch struct {
	query   query
	lexical []float64 // by document; zero between queries
	touched []int32   // documents with a sum above zero
	row     []float64
	folded  []float32 // the query in the latent space
	outside []float32 // the query's vector from outside, unit; empty if there is none
	lowest  []float64
}

// Weights returns the wL and wV of every score. wL is Options.LatentWeight times the share of the
// documents × terms matrix that the space holds, Σσ²/‖A‖²: 128 dimensions hold .8 of a few hundred
// tools and .3 of nine thousand, and there the cosine confuses neighbours that words tell apart.
// Against a constant weight this raised recall@5 of known items among 8,900 tools from .927 to .939 (lexical
// alone: .939) and changed nothing on small catalogs. Adding the parts, .8·lexical + .2·latent, gave
// .921, and reciprocal rank fusion, which lets a bad list outvote a good one, .679.
func (ix *Index) Weights() (latent, vector float64) {
	return ix.latentWeight, ix.options.VectorWeight
}

// prepare reads the query into s and returns the largest lexical score it could attain: the sum over
// its terms of the best weight any document has.
func (ix *Index) prepare(s *scratch, text string, vector []float32) (attainable float64) {
	s.query.read(ix.words, text)
	for _, t := range s.query.terms {
		attainable += float64(t.weight * ix.lexical.most[t.term])
	}
	s.folded = ix.latent.fold(&s.query, ix.lexical, s.folded, s.row)
	s.outside = slices.Grow(s.outside[:0], ix.vectors.dimension)[:ix.vectors.dimension]
	if !ix.vectors.unit(s.outside, vector) {
		s.outside = s.outside[:0]
	}
	return attainable
}

// accumulate adds up the weights of the query's terms, a term at a time, into s.lexical.
func (ix *Index) accumulate(s *scratch) {
	for _, t := range s.query.terms {
		l := ix.lexical.lists[t.term]
		weights := ix.lexical.weight[l.at : l.at+l.n]
		for i, d := range ix.lexical.doc[l.at : l.at+l.n] {
			w := float64(t.weight * float64(weights[i]))
			if s.lexical[d] == 0 && w > 0 {
				s.touched = append(s.touched, d)
			}
			s.lexical[d] += w
		}
	}
}

// clean makes s fit for the next query.
func (s *scratch) clean() {
	for _, d := range s.touched {
		s.lexical[d] = 0
	}
	s.touched = s.touched[:0]
}

// hit finishes the score of document d, of which the sum of weights is known.
func (ix *Index) hit(s *scratch, d int32, sum, attainable float64) Hit {
	h := Hit{Doc: d}
	if attainable > 0 {
		h.Lexical = min(sum/attainable, 1)
	}
	if r := ix.latent.rank; r > 0 && len(s.query.terms) > 0 {
		h.Latent = above(ix.latent.floor, dot32(s.folded, ix.latent.docs[int(d)*r:int(d+1)*r]))
	}
	if r := len(s.outside); r > 0 {
		h.Vector = above(ix.vectors.floor, dot32(s.outside, ix.vectors.flat[int(d)*r:int(d+1)*r]))
	}
	h.Score = 1 - float64(float64((1-h.Lexical)*(1-float64(ix.latentWeight*h.Latent)))*(1-float64(ix.options.VectorWeight*h.Vector)))
	return h
}

// Scores returns the hit of every document, in order of documents, in dst if it is large enough.
func (ix *Index) Scores(text string, dst []Hit) []Hit { return ix.ScoresVector(text, nil, dst) }

// ScoresVector is [Index.Scores] for a query of which an outside vector is known. A vector that does
// not fit the documents' is ignored.
func (ix *Index) ScoresVector(text string, vector []float32, dst []Hit) []Hit {
	s := ix.scratch.Get().(*scratch)
	defer ix.scratch.Put(s)
	attainable := ix.prepare(s, text, vector)
	ix.accumulate(s)
	dst = slices.Grow(dst[:0], ix.docs)[:ix.docs]
	for d := range dst {
		dst[d] = ix.hit(s, int32(d), s.lexical[d], attainable)
	}
	s.clean()
	return dst
}

// Search returns the k best documents for text, by falling score and then by number. Documents that
// have nothing in common with it are left out.
func (ix *Index) Search(text string, k int) []Hit { return ix.AppendSearch(nil, text, nil, k) }

// SearchVector is [Index.Search] for a query of which an outside vector is known.
func (ix *Index) SearchVector(text string, vector []float32, k int) []Hit {
	return ix.AppendSearch(nil, text, vector, k)
}

// AppendSearch is [Index.SearchVector] with the hits appended to dst.
//
// The cosines are the expensive part, and most are not needed. A score is at least its lexical part,
// so the k-th best lexical part is a score that the k-th hit reaches for certain; a document whose
// score would stay below that with cosines of 1 is passed over.
func (ix *Index) AppendSearch(dst []Hit, text string, vector []float32, k int) []Hit {
	if k = min(k, ix.docs); k <= 0 {
		return dst
	}
	s := ix.scratch.Get().(*scratch)
	defer ix.scratch.Put(s)
	attainable := ix.prepare(s, text, vector)
	ix.accumulate(s)
	certain := ix.certain(s, attainable, k)

	rest := 1.0 // of the distance to 1, with cosines of 1
	if ix.latent.rank > 0 && len(s.query.terms) > 0 {
		rest = 1 - ix.latentWeight
	}
	if len(s.outside) > 0 {
		rest = float64(rest * (1 - ix.options.VectorWeight))
	}
	first := len(dst)
	try := func(d int32) {
		sum := s.lexical[d]
		lexical := 0.0
		if attainable > 0 {
			lexical = min(sum/attainable, 1)
		}
		if 1-float64((1-lexical)*rest) < certain-1e-9 { // well above rounding
			return
		}
		if h := ix.hit(s, d, sum, attainable); h.Score > 0 {
			dst = keepBest(dst, first, k, h)
		}
	}
	if rest == 1 || 1-rest < certain-1e-9 {
		for _, d := range s.touched { // no other can be among the hits
			try(d)
		}
	} else {
		for d := range int32(ix.docs) {
			try(d)
		}
	}
	s.clean()
	sortHits(dst[first:])
	return dst
}

// certain is the k-th largest lexical score, 0 if there are fewer than k.
func (ix *Index) certain(s *scratch, attainable float64, k int) float64 {
	if attainable <= 0 {
		return 0
	}
	low := s.lowest[:0] // a heap with the smallest on top
	for _, d := range s.touched {
		sum := s.lexical[d]
		switch {
		case len(low) < k:
			low = append(low, sum)
			for i := len(low) - 1; i > 0 && low[i] < low[(i-1)/2]; i = (i - 1) / 2 {
				low[i], low[(i-1)/2] = low[(i-1)/2], low[i]
			}
		case sum > low[0]:
			low[0] = sum
			sift(low, func(a, b float64) bool { return a < b })
		}
	}
	s.lowest = low
	if len(low) < k {
		return 0
	}
	return min(low[0]/attainable, 1)
}

func order(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
}

func sortHits(hits []Hit) { slices.SortFunc(hits, order) }

// keepBest adds h to the heap dst[first:] of at most k hits, the worst on top.
func keepBest(dst []Hit, first, k int, h Hit) []Hit {
	heap := dst[first:]
	if len(heap) < k {
		dst = append(dst, h)
		heap = dst[first:]
		for i := len(heap) - 1; i > 0 && order(heap[i], heap[(i-1)/2]) > 0; i = (i - 1) / 2 {
			heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
		}
	} else if order(h, heap[0]) < 0 {
		heap[0] = h
		sift(heap, func(a, b Hit) bool { return order(a, b) > 0 })
	}
	return dst
}

// sift moves the top of a heap down to its place; above(a, b) says that a belongs over b.
func sift[T any](heap []T, above func(a, b T) bool) {
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(heap) {
			return
		}
		if c+1 < len(heap) && above(heap[c+1], heap[c]) {
			c++
		}
		if !above(heap[c], heap[i]) {
			return
		}
		heap[i], heap[c] = heap[c], heap[i]
		i = c
	}
}

// Similarity is the hit of one document. It panics if there is no such document.
func (ix *Index) Similarity(text string, doc int) Hit {
	s := ix.scratch.Get().(*scratch)
	defer ix.scratch.Put(s)
	attainable := ix.prepare(s, text, nil)
	sum := 0.0
	for _, t := range s.query.terms {
		sum += float64(t.weight * ix.weight(t.term, int32(doc)))
	}
	return ix.hit(s, int32(doc), sum, attainable)
}

// weight is the weight of a term in a document, 0 if it is not there.
func (ix *Index) weight(term, doc int32) float64 {
	l := ix.lexical.lists[term]
	if i, ok := slices.BinarySearch(ix.lexical.doc[l.at:l.at+l.n], doc); ok {
		return float64(ix.lexical.weight[int(l.at)+i])
	}
	return 0
}

// Explain returns the words of text that a document has, those that add most first.
func (ix *Index) Explain(text string, doc int) []Match {
	s := ix.scratch.Get().(*scratch)
	defer ix.scratch.Put(s)
	attainable := ix.prepare(s, text, nil)
	var matches []Match
	for _, t := range s.query.terms {
		if w := ix.weight(t.term, int32(doc)); w > 0 {
			matches = append(matches, Match{
				Word:  string(s.query.text[t.word.at : t.word.at+t.word.n]),
				Term:  ix.words.terms[t.term],
				Share: float64(t.weight*w) / attainable,
			})
		}
	}
	slices.SortFunc(matches, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Term, b.Term))
	})
	return matches
}
