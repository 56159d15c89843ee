package semantic

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"waymark/internal/numeric"
)

// A Matcher compares requests with the texts of documents, in words that may differ:
//
//	match(d) = Σ_w idf(w) · max_u near(w, u)·own(u, d) / Σ_w idf(w)
//
// w are the words of the request and u the words of the index. own(u, d) in [0, 1] is how fully document d covers u in
// its name, text and parameters. near(w, u) is the similarity by thesaurus and word vectors, 1 for the word itself.
// Only the best match of each word of the request counts: a document with five words for it gains nothing over one.
//
// A Matcher is immutable and safe for concurrent use.
type Matcher struct {
	index   *index
	base    *Matcher // see Beside; nil: none
	words   *Thesaurus
	bound   [][]int32 // by entry of the thesaurus, its terms in the index; nil if the index lacks one
	vectors *WordVectors
	places  space // of the documents, computed from the vectors of their words
	terms   termVectors
	pool    sync.Pool // *Matching
}

// fullWeight is the weight of a term from which on a text counts as covering it fully: between that of a word of the
// description and that of one of both name and description. Below it, the scaling does not reorder documents.
const fullWeight = 0.7

// neutralWeight is the factor for words that occur in requests of any kind ([Neutral]).
const neutralWeight = 0.5

// ownWeight maps the BM25F weight of a term without idf to [0, 1]: how fully a text covers the term.
func ownWeight(weight float64) float32 { return float32(min(1, weight/fullWeight)) }

// NewMatcher indexes documents. If words is nil, no word stands for another one; if v is nil, [Matching.Near] is 0.
// It returns nil soon after stop, which may be nil, returns true.
func NewMatcher(docs []Document, words *Thesaurus, v *WordVectors, stop func() bool) *Matcher {
	ix := newIndex(docs, stop)
	if ix == nil {
		return nil
	}
	m := &Matcher{index: ix, words: words, vectors: v}
	if v != nil {
		m.place()
	}
	for _, stems := range words.Entries() {
		m.bound = append(m.bound, ix.words.all(stems))
	}
	m.pool.New = func() any { return &Matching{} }
	return m
}

// Beside returns a matcher of documents that were added after those of m. It uses the idf of m.
func (m *Matcher) Beside(docs []Document) *Matcher {
	o := NewMatcher(docs, m.words, m.vectors, nil)
	o.base = m
	for t, term := range o.index.words.terms {
		o.index.idf[t] = m.IDF(term)
	}
	return o
}

// place computes the vector of each document, Σ own(u, d)·vector(u), scaled to length one.
func (m *Matcher) place() {
	ix, dimension := m.index, m.vectors.Dimension()
	m.places = space{dimension: dimension, flat: make([]float32, ix.docs*dimension)}
	vectors := make([]float64, len(ix.words.terms)*dimension)
	m.terms = newTermVectors(dimension)
	type word struct {
		term int
		own  float32
	}
	words := make([][]word, ix.docs)
	for t, stem := range ix.words.terms {
		vector := vectors[t*dimension : (t+1)*dimension]
		if m.vectors.Vector(vector, stem) {
			m.terms.add(int32(t), vector)
			doc, own := ix.having(int32(t))
			for k, d := range doc {
				words[d] = append(words[d], word{t, own[k]})
			}
		}
	}
	const block = 256 // documents
	numeric.Each((ix.docs+block-1)/block, func(b int) {
		row := make([]float64, dimension)
		for d := b * block; d < min(ix.docs, (b+1)*block); d++ {
			clear(row)
			for _, w := range words[d] {
				numeric.Axpy(float64(w.own), vectors[w.term*dimension:(w.term+1)*dimension], row)
			}
			unit(row)
			for i, x := range row {
				m.places.flat[d*dimension+i] = float32(x)
			}
		}
	})
}

// Matching is one request compared with all documents. It is for one goroutine and must be closed.
type Matching struct {
	matcher  *Matcher
	scan     scanner
	stems    []string
	words    []wanted
	related  []Relation
	variants []variant
	nearest  []Hit
	codeScan
	most    float64   // Σ idf
	sum     []float64 // by document
	best    []float64 // by document, for the current word
	touched []int32   // documents with a sum
	met     []int32   // documents with a best
	row     []float64
	folded  []float32 // vector of the request; empty if none of its words has one
}

// variant states that documents with all of the terms match a word of the request, as a synonym or another spelling.
type variant struct {
	word  int
	terms []int32
	near  float64
}

// wanted is a word of a request.
type wanted struct {
	stem string
	word string // as it was written
	term int32  // in the index, -1 = none
	idf  float64
	weak bool // a number or a single character: evidence only beside other words
}

// Match compares a request with all documents.
func (m *Matcher) Match(text string) *Matching {
	x := m.pool.Get().(*Matching)
	x.matcher = m
	if len(x.sum) < m.index.docs {
		x.sum, x.best = make([]float64, m.index.docs), make([]float64, m.index.docs)
	}
	x.read(text)
	x.related = m.words.Related(x.related[:0], x.stems)
	for _, r := range x.related {
		terms := m.bound[r.Entry]
		x.variants = append(x.variants, variant{r.Word, terms, float64(r.Near * x.idfRatio(terms, x.words[r.Word].idf))})
	}
	x.findAlike()
	for _, second := range []bool{false, true} {
		for i := range x.words {
			if w := &x.words[i]; w.idf > 0 && w.weak == second {
				x.most += w.idf
				x.answer(i, w)
			}
		}
	}
	x.fold()
	return x
}

// fold computes the vector of the request from the vectors of its words.
func (x *Matching) fold() {
	x.folded = x.folded[:0]
	m := x.matcher
	if m.vectors == nil {
		return
	}
	x.row = grown(x.row, 2*m.places.dimension)
	sum, one := x.row[:m.places.dimension], x.row[m.places.dimension:]
	clear(sum)
	any := false
	for i := range x.words {
		if x.words[i].idf > 0 && m.vectors.Vector(one, x.words[i].stem) {
			numeric.Axpy(1, one, sum)
			any = true
		}
	}
	if any {
		unit(sum)
		for _, y := range sum {
			x.folded = append(x.folded, float32(y))
		}
	}
}

// Near returns the similarity of a document to the request by word vectors, in [0, 1].
func (x *Matching) Near(doc int32) float64 {
	if len(x.folded) == 0 {
		return 0
	}
	return float64(max(0, dot32(x.folded, x.matcher.places.vector(doc))))
}

// Close returns the memory of x to the pool; x must not be used afterwards.
func (x *Matching) Close() {
	for _, d := range x.touched {
		x.sum[d] = 0
	}
	x.touched, x.most = x.touched[:0], 0
	x.matcher.pool.Put(x)
}

// read fills in the words of a request. Repeated words get no idf. Stop words get one only if the request has no other
// word and a name in the index has them.
func (x *Matching) read(text string) {
	if x.readWords(text, false); !slices.ContainsFunc(x.words, func(w wanted) bool { return w.idf > 0 }) {
		x.readWords(text, true)
	}
}

// readWords adds one entry to words for each word, even if the word does not count (idf 0), so that words and
// stems have the same positions; relations refer to these.
func (x *Matching) readWords(text string, stops bool) {
	ix := x.matcher.index
	x.stems, x.words, x.variants = x.stems[:0], x.words[:0], x.variants[:0]
	x.scan.reset(text)
	for len(x.words) < maxWords && x.scan.next() {
		for i := range x.scan.ends {
			w := wanted{word: string(x.scan.part(i)), term: -1}
			w.stem = stem(w.word)
			stop := isStop(w.word)
			if said := slices.Contains(x.stems, w.stem); !said && (stops || !stop) {
				w.weak = weak(w.word)
				if t, ok := ix.words.find(w.stem); ok && (!stop || ix.lists[t].n > 0) {
					w.term, w.idf = t, ix.idf[t]
				} else if !stop {
					w.idf = x.matcher.IDF(w.stem)
				}
				if Neutral(w.word) {
					w.idf *= neutralWeight
				}
			}
			if parts := ix.words.joined[w.word]; parts != nil && w.idf > 0 { // an identifier without its separators
				x.variants = append(x.variants, variant{len(x.words), parts, 1})
			}
			x.stems, x.words = append(x.stems, w.stem), append(x.words, w)
			if n := len(x.words); n > 1 { // two words that some document writes as one
				x.join(n-2, x.words[n-2].word+w.word)
			}
		}
		if n := len(x.scan.ends); n > 2 {
			x.join(len(x.words)-n, string(x.scan.buf))
		}
	}
}

// join relates the words from first on to the term that they form without separators, if the index has that.
func (x *Matching) join(first int, joined string) {
	if t, ok := x.matcher.index.words.find(stem(joined)); ok {
		for i := range x.words[first:] {
			x.variants = append(x.variants, variant{first + i, []int32{t}, 1})
		}
	}
}

// hasVector reports whether a word has a vector.
func (m *Matcher) hasVector(stem string) bool {
	return m.vectors != nil && m.vectors.Vector(make([]float64, m.places.dimension), stem)
}

// weak reports whether a word is a number or a single character: no evidence by itself.
func weak(word string) bool {
	return utf8.RuneCountInString(word) == 1 || strings.Trim(word, "0123456789") == ""
}

// answer adds to each document its match with one word of the request.
func (x *Matching) answer(i int, w *wanted) {
	if w.term >= 0 {
		x.put([]int32{w.term}, 1)
	}
	for _, v := range x.variants {
		if v.word == i {
			x.put(v.terms, v.near)
		}
	}
	// A weak word counts only for documents that match another word; the strong words were added
	// first.
	for _, d := range x.met {
		if x.sum[d] == 0 && !w.weak {
			x.touched = append(x.touched, d)
		}
		if x.sum[d] > 0 || !w.weak {
			x.sum[d] += float64(w.idf * x.best[d])
		}
		x.best[d] = 0
	}
	x.met = x.met[:0]
}

// idfRatio returns the factor for a common word that stands for a rare one: it falls in proportion if the idf is below
// half of the idf of the requested word. Terms that the index lacks (nil) are rare and get factor 1.
func (x *Matching) idfRatio(terms []int32, than float64) float64 {
	if terms == nil {
		return 1
	}
	most := 0.0
	for _, t := range terms {
		most = max(most, x.matcher.index.idf[t])
	}
	return min(1, 2*most/than)
}

// put raises the best match of the current word, max_u near(w, u)·own(u, d), of the documents that have all of the
// terms. own is the least of these terms.
func (x *Matching) put(terms []int32, near float64) {
	if len(terms) == 0 {
		return
	}
	doc, own := x.matcher.index.having(terms[0])
	for k, d := range doc {
		least := own[k]
		for _, t := range terms[1:] {
			others, more := x.matcher.index.having(t)
			if i, ok := slices.BinarySearch(others, d); ok {
				least = min(least, more[i])
			} else {
				least = 0
			}
		}
		if v := float64(near * float64(least)); v > x.best[d] {
			if x.best[d] == 0 {
				x.met = append(x.met, d)
			}
			x.best[d] = v
		}
	}
}

// Of returns how well a document matches the words of the request, in [0, 1].
func (x *Matching) Of(doc int32) float64 {
	if x.most == 0 {
		return 0
	}
	return min(1, x.sum[doc]/x.most)
}

// Top returns the k best documents in the memory of dst, by descending score and then by number. The score is text +
// (1 - text)·weight·near, of the match of words and the similarity by word vectors. near is computed only for documents
// that it can bring into the list.
func (x *Matching) Top(dst []Hit, k int, weight float64) []Hit {
	dst = dst[:0]
	score := func(text, near float64) float64 { return text + float64((1-text)*float64(weight*near)) }
	add := func(d int32) {
		text := x.Of(d)
		if k <= 0 || len(dst) == k && score(text, mostNear) < dst[k-1].Score {
			return
		}
		if s := score(text, x.Near(d)); s > 0 {
			dst = numeric.Keep(dst, k, Hit{d, s}, better)
		}
	}
	for _, d := range x.touched {
		add(d)
	}
	if len(x.folded) > 0 && weight > 0 {
		for d := range int32(x.matcher.index.docs) {
			if x.sum[d] == 0 {
				add(d)
			}
		}
	}
	return dst
}

// mostNear is above the computed cosine of any two vectors, which may exceed 1 by rounding.
const mostNear = 1.001
