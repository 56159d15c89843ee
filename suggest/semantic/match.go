package semantic

import (
	"slices"
	"strings"
	"sync"

	"waymark/internal/numeric"
	"waymark/internal/parallel"
)

// A Matcher compares requests with the documents' own texts, in words that may differ:
//
//	match(d) = Σ_w idf(w) · max_u near(w, u)·own(u, d) / Σ_w idf(w)
//
// w are the words of the request, u the words of the index, own(u, d) in [0, 1] how much document d speaks of u in
// its name, text and parameters, and near(w, u) what the lexicon and the word vectors say, 1 for the word itself. Each word of the
// request asks for one answer: a document that has five words for it answers it once.
//
// A Matcher is immutable and safe for concurrent use.
type Matcher struct {
	index   *index
	lexicon Lexicon
	bound   [][]int32 // by entry of the lexicon, its terms in the index; nil if the index lacks one
	vectors WordVectors
	places  space // of the documents, from the vectors of their words
	terms   termVectors
	pool    sync.Pool // *Matching
}

// WordVectors place words in a space in which words used alike are close.
type WordVectors interface {
	Dimension() int
	// Vector writes the vector of a stem, as long as the word is informative, to dst, and reports whether there is one.
	Vector(dst []float64, stem string) bool
}

// A Lexicon knows which words may stand for one another.
type Lexicon interface {
	// Entries lists all entries as the stems of their words, stop words left out, at least one each.
	Entries() [][]string
	// Related appends the entries related to words of a request, given as stems with stop words included.
	Related(dst []Relation, stems []string) []Relation
}

// noLexicon relates nothing.
type noLexicon struct{}

func (noLexicon) Entries() [][]string                           { return nil }
func (noLexicon) Related(dst []Relation, _ []string) []Relation { return dst }

// Relation says that a word of a request may stand as an entry of the lexicon in a text.
type Relation struct {
	Word  int // in the list of stems
	Entry int32
	Near  float64 // in (0, 1]
}

// fullWeight is the weight of a term at which a text is taken to speak of it in full: between that of a word of the
// description and that of one of both name and description. The scale moves no document past another below it.
const fullWeight = 0.7

// neutralWeight lowers what words count that requests of any kind have ([Neutral]).
const neutralWeight = 0.5

// slip is the weight of a corrected misspelling, times its spelling similarity.
const slip = 0.7

// ownWeight maps the BM25F weight of a term without idf to [0, 1]: how fully a text speaks of the term.
func ownWeight(weight float64) float32 { return float32(min(1, weight/fullWeight)) }

// NewMatcher reads documents. Without a lexicon, nil, no word stands for another one; without word vectors, nil, no document is
// near by them. It returns nil soon after stop, which may be
// nil, returns true.
func NewMatcher(docs []Document, l Lexicon, v WordVectors, stop func() bool) *Matcher {
	ix := newIndex(docs, stop)
	if ix == nil {
		return nil
	}
	if l == nil {
		l = noLexicon{}
	}
	m := &Matcher{index: ix, lexicon: l, vectors: v}
	if v != nil {
		m.place()
	}
	entries := l.Entries()
	m.bound = make([][]int32, len(entries))
	for e, stems := range entries {
		var ids []int32
		for _, s := range stems {
			if i, ok := slices.BinarySearch(ix.words.terms, s); ok {
				ids = append(ids, int32(i))
			} else {
				ids = nil
				break
			}
		}
		m.bound[e] = ids
	}
	m.pool.New = func() any { return &Matching{} }
	return m
}

// place puts each document where the vectors of its words point, Σ own(u, d)·vector(u), of length one.
func (m *Matcher) place() {
	ix, dimension := m.index, m.vectors.Dimension()
	m.places = space{dimension: dimension, flat: make([]float32, ix.docs*dimension)}
	vectors := make([]float64, len(ix.words.terms)*dimension)
	known := make([]bool, len(ix.words.terms))
	m.terms = newTermVectors(dimension)
	at := make([]int, ix.docs+1) // where the terms of a document begin
	for t, word := range ix.words.terms {
		if known[t] = m.vectors.Vector(vectors[t*dimension:(t+1)*dimension], word); known[t] {
			m.terms.add(int32(t), vectors[t*dimension:(t+1)*dimension])
			for _, d := range ix.documents(t) {
				at[d+1]++
			}
		}
	}
	for d := range ix.docs {
		at[d+1] += at[d]
	}
	terms, own := make([]int32, at[ix.docs]), make([]float32, at[ix.docs])
	next := slices.Clone(at)
	for t := range ix.words.terms {
		if known[t] {
			l := ix.lists[t]
			for k, d := range ix.documents(t) {
				terms[next[d]], own[next[d]] = int32(t), ix.own[int(l.at)+k]
				next[d]++
			}
		}
	}
	const block = 256 // documents
	parallel.Each((ix.docs+block-1)/block, func(b int) {
		row := make([]float64, dimension)
		for d := b * block; d < min(ix.docs, (b+1)*block); d++ {
			clear(row)
			for k := at[d]; k < at[d+1]; k++ {
				t := int(terms[k])
				numeric.Axpy(float64(own[k]), vectors[t*dimension:(t+1)*dimension], row)
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
	matcher *Matcher
	scan    scanner
	stems   []string
	words   []wanted
	related []Relation
	spelled []spelledAs
	alike   []alike
	nearest []Hit
	codeScan
	near    nearness
	most    float64   // Σ idf
	sum     []float64 // by document
	best    []float64 // by document, of the word being looked at
	touched []int32   // documents with a sum
	met     []int32   // documents with a best
	row     []float64
	folded  []float32 // the request among the word vectors; empty if it has none
}

// spelledAs says that a word of a request may be written as several words of the index, or as another one.
type spelledAs struct {
	word  int
	terms []int32
	near  float64
}

// wanted is a word of a request.
type wanted struct {
	stem string
	word string // as it was written, if the index does not have it
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
	x.related = m.lexicon.Related(x.related[:0], x.stems)
	x.spell()
	x.findAlike()
	for _, weak := range []bool{false, true} {
		for i := range x.words {
			if w := &x.words[i]; w.idf > 0 && w.weak == weak {
				x.most += w.idf
				x.answer(i, w)
			}
		}
	}
	x.fold()
	return x
}

// fold puts the request where the vectors of its words point.
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

// Near returns how near a document is to the request by word vectors, in [0, 1].
func (x *Matching) Near(doc int32) float64 {
	if len(x.folded) == 0 {
		return 0
	}
	return float64(max(0, dot32(x.folded, x.matcher.places.vector(doc))))
}

// nearFour is [Matching.Near] of up to four documents.
func (x *Matching) nearFour(docs []int32, near *[4]float64) {
	if len(docs) < 4 || len(x.folded) == 0 {
		for i, d := range docs {
			near[i] = x.Near(d)
		}
		return
	}
	p := &x.matcher.places
	for i, dot := range dots4(x.folded, p.vector(docs[0]), p.vector(docs[1]), p.vector(docs[2]), p.vector(docs[3])) {
		near[i] = float64(max(0, dot))
	}
}

// Close returns the memory of x, which must not be used any more.
func (x *Matching) Close() {
	for _, d := range x.touched {
		x.sum[d] = 0
	}
	x.touched, x.most = x.touched[:0], 0
	x.matcher.pool.Put(x)
}

// read fills in the words of a request. Words said before have no idf; stop words have one only where the request has
// no other word, and names of the index have them.
func (x *Matching) read(text string) {
	if x.readWords(text, false); !slices.ContainsFunc(x.words, func(w wanted) bool { return w.idf > 0 }) {
		x.readWords(text, true)
	}
}

// readWords fills in one entry of words for each word, also for those that do not count (idf 0), so that
// words and stems have the same positions, by which relations refer to them.
func (x *Matching) readWords(text string, stops bool) {
	ix := x.matcher.index
	x.stems, x.words, x.spelled = x.stems[:0], x.words[:0], x.spelled[:0]
	x.scan.reset(text)
	before := "" // the word before, written alone
	for len(x.words) < maxWords && x.scan.next() {
		first := len(x.words)
		for i := range x.scan.ends {
			word := string(x.scan.part(i))
			w := wanted{stem: stem(word), term: -1}
			stop := isStop(word)
			if said := slices.Contains(x.stems, w.stem); !said && (stops || !stop) {
				w.weak = Weak(word)
				if t, ok := slices.BinarySearch(ix.words.terms, w.stem); ok && (!stop || ix.lists[t].n > 0) {
					w.term, w.idf = int32(t), ix.idf[t]
				} else if !stop {
					w.idf = idf(0, ix.docs)
					w.word = word
				}
				if Neutral(word) {
					w.idf *= neutralWeight
				}
			}
			x.stems, x.words = append(x.stems, w.stem), append(x.words, w)
		}
		for _, run := range x.scan.runs {
			x.join(first+int(run.at), int(run.n), string(x.scan.joined(run)))
		}
		whole := ""
		if len(x.scan.ends) == 1 {
			whole = string(x.scan.part(0))
			if before != "" {
				x.join(first-1, 2, before+whole)
			}
		}
		before = whole
	}
}

// join relates n words to the word that they are written as without joints, where somebody wrote it so.
func (x *Matching) join(first, n int, joined string) {
	v := x.matcher.index.words
	if f, ok := v.forms[joined]; ok && f.word {
		for i := first; i < first+n; i++ {
			x.spelled = append(x.spelled, spelledAs{i, v.ids[f.at : f.at+f.n], 1})
		}
	}
}

// spell relates words that neither index nor lexicon have to words of the index: those that they are written as with
// joints or spaces between, else those that a slip of the hand makes of them. The likeliest of these stands for the
// word in the lexicon, too.
func (x *Matching) spell() {
	v := x.matcher.index.words
	// Only the entries up to joined come from join; those appended below are of words that were already
	// looked at.
	corrections, joined := 0, len(x.spelled)
	for i := range x.words {
		w := &x.words[i]
		if w.idf == 0 || w.term >= 0 || slices.ContainsFunc(x.spelled[:joined], func(s spelledAs) bool { return s.word == i }) {
			continue
		}
		if slices.ContainsFunc(x.related, func(r Relation) bool { return r.Word == i }) {
			continue
		}
		if f, ok := v.forms[w.word]; ok && f.n > 0 {
			x.spelled = append(x.spelled, spelledAs{i, v.ids[f.at : f.at+f.n], 1})
			continue
		}
		if parts := x.split(w.word); parts != nil {
			x.spelled = append(x.spelled, spelledAs{i, parts, 1})
			continue
		}
		if m := x.matcher; m.vectors != nil && m.vectors.Vector(grown(x.row, m.places.dimension), w.stem) {
			continue // a word that tools use
		}
		if corrections++; corrections > maxUnknown {
			return
		}
		for k, l := range v.grams.corrected([]byte(w.word), &x.near) {
			x.spelled = append(x.spelled, spelledAs{i, []int32{l.term}, float64(slip * l.likeness)})
			if k == 0 {
				x.stems[i] = v.terms[l.term]
			}
		}
	}
	if corrections > 0 {
		x.related = x.matcher.lexicon.Related(x.related[:0], x.stems)
	}
}

// split returns the terms of the two words of the index that a word is made of, nil if there are none.
func (x *Matching) split(word string) []int32 {
	at := x.splitAt(word)
	if at == 0 {
		return nil
	}
	terms := x.matcher.index.words.terms
	a, _ := slices.BinarySearch(terms, stem(word[:at]))
	b, _ := slices.BinarySearch(terms, stem(word[at:]))
	return []int32{int32(a), int32(b)}
}

// splitAt returns where a word that is two words of the index parts, the shorter as long as possible; 0 if nowhere.
func (x *Matching) splitAt(word string) (best int) {
	const shortest = 3
	terms, most := x.matcher.index.words.terms, 0
	for at := shortest; at+shortest <= len(word); at++ {
		if shorter := min(at, len(word)-at); shorter > most {
			if _, known := slices.BinarySearch(terms, stem(word[:at])); !known {
				continue
			}
			if _, known := slices.BinarySearch(terms, stem(word[at:])); known {
				best, most = at, shorter
			}
		}
	}
	return best
}

// Weak reports whether a word is a number or a single character: no evidence by itself.
func Weak(word string) bool {
	runes := 0
	for _, r := range word {
		runes++
		if r < '0' || r > '9' {
			if runes > 1 {
				return false
			}
		}
	}
	return runes == 1 || strings.Trim(word, "0123456789") == ""
}

// answer adds what each document says of one word.
func (x *Matching) answer(i int, w *wanted) {
	if w.term >= 0 {
		x.put(w.term, 1)
	}
	for _, r := range x.spelled {
		if r.word == i {
			x.putAll(r.terms, r.near)
		}
	}
	for _, r := range x.related {
		if r.Word == i {
			terms := x.matcher.bound[r.Entry]
			x.putAll(terms, float64(r.Near*x.idfRatio(terms, w.idf)))
		}
	}
	for _, r := range x.alike {
		if r.word == i {
			x.put(r.term, r.near)
		}
	}
	// A weak word counts only for documents that answer another word; answers of strong words were added
	// first.
	for _, d := range x.met {
		if x.sum[d] == 0 {
			if w.weak {
				x.best[d] = 0
				continue
			}
			x.touched = append(x.touched, d)
		}
		x.sum[d] += float64(w.idf * x.best[d])
		x.best[d] = 0
	}
	x.met = x.met[:0]
}

// idfRatio lowers what a common word says for a rare one: below half of the idf of the word asked for, in proportion.
// Terms that the index lacks (nil) are rare.
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

// put raises the answers of the documents that have a term.
func (x *Matching) put(term int32, near float64) {
	lex := x.matcher.index
	l := lex.lists[term]
	own := lex.own[l.at : l.at+l.n]
	for k, d := range lex.doc[l.at : l.at+l.n] {
		x.raise(d, float64(near*float64(own[k])))
	}
}

// putAll raises the answers of the documents that have all of several terms, by the least of them.
func (x *Matching) putAll(terms []int32, near float64) {
	if len(terms) < 2 {
		if len(terms) == 1 {
			x.put(terms[0], near)
		}
		return
	}
	lex := x.matcher.index
	l := lex.lists[terms[0]]
	for k, d := range lex.doc[l.at : l.at+l.n] {
		least := lex.own[int(l.at)+k]
		for _, t := range terms[1:] {
			l := lex.lists[t]
			if i, ok := slices.BinarySearch(lex.doc[l.at:l.at+l.n], d); ok {
				least = min(least, lex.own[int(l.at)+i])
			} else {
				least = 0
			}
		}
		x.raise(d, float64(near*float64(least)))
	}
}

// raise keeps the largest answer of a document to the current word: max_u near(w, u)·own(u, d).
func (x *Matching) raise(d int32, v float64) {
	if b := x.best[d]; v > b {
		if b == 0 {
			x.met = append(x.met, d)
		}
		x.best[d] = v
	}
}

// Of returns how well a document answers the request, in [0, 1].
func (x *Matching) Of(doc int32) float64 {
	if x.most == 0 {
		return 0
	}
	return min(1, x.sum[doc]/x.most)
}

// Top appends the k best documents to dst, by falling score and then by number: what they say of the words of the
// request and, weighted, how near they are by word vectors. Nearness is computed only of documents that it can bring in.
func (x *Matching) Top(dst []Hit, k int, weight float64) []Hit {
	first := len(dst)
	if k <= 0 {
		return dst
	}
	score := func(text, near float64) float64 { return text + float64((1-text)*float64(weight*near)) }
	excluded := func(text float64) bool { return len(dst) == first+k && score(text, mostNear) < dst[first].Score }
	add := func(d int32, text, near float64) {
		if s := score(text, near); s > 0 {
			dst = keepBest(dst, first, k, Hit{d, s})
		}
	}
	// Four vectors are multiplied at the cost of one. What has no chance once the others of its four are in is not kept.
	var four [4]int32
	n := 0
	flush := func() {
		var near [4]float64
		x.nearFour(four[:n], &near)
		for i, d := range four[:n] {
			add(d, x.Of(d), near[i])
		}
		n = 0
	}
	look := func(d int32) {
		if four[n], n = d, n+1; n == len(four) {
			flush()
		}
	}
	for _, d := range x.touched {
		if x.sum[d] > 0 && !excluded(x.Of(d)) {
			look(d)
		}
	}
	flush()
	if len(x.folded) > 0 && !excluded(0) {
		for d := range int32(x.matcher.index.docs) {
			if x.sum[d] == 0 {
				look(d)
			}
		}
		flush()
	}
	sortHits(dst[first:])
	return dst
}

// mostNear is above the cosine of any two vectors, which rounding takes a little beyond 1.
const mostNear = 1.001
