package semantic

import (
	"maps"
	"math"
	"slices"

	"waymark/internal/codec"
)

// Write writes the index for [ReadIndex]: all that is slow to compute.
func (ix *Index) Write(w *codec.Writer) {
	o := &ix.options
	w.Uint(uint64(ix.docs))
	for _, f := range []Field{o.Name, o.Text, o.Properties, o.Context} {
		w.Float(f.Weight)
		w.Float(f.B)
	}
	w.Floats([]float64{o.K1, o.ContextK1, o.LatentWeight, o.VectorWeight, o.MixContext, ix.latentWeight})
	w.Uint(uint64(o.Rank))
	w.Uint(o.Seed)
	ix.words.write(w)
	x := ix.lexical
	w.Floats(x.idf)
	w.Floats(x.most)
	writeLists(w, x.lists, x.doc, x.weight)
	w.Singles(x.own)
	w.Bool(x.zeros)
	m := ix.latent
	w.Floats(m.sigma)
	w.Codes(m.basis)
	w.Float(m.held)
	m.docs.write(w)
	ix.vectors.write(w)
}

// ReadIndex reads what [Index.Write] wrote. It answers as the index written, bit by bit. What is
// damaged fails r.
func ReadIndex(r *codec.Reader) *Index {
	ix := &Index{docs: readNumber(r)}
	o := &ix.options
	for _, f := range []*Field{&o.Name, &o.Text, &o.Properties, &o.Context} {
		f.Weight, f.B = r.Float(), r.Float()
	}
	if numbers := r.Floats(); len(numbers) == 6 {
		o.K1, o.ContextK1, o.LatentWeight, o.VectorWeight, o.MixContext, ix.latentWeight =
			numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
	} else {
		r.Fail("%d numbers for options", len(numbers))
	}
	o.Rank, o.Seed = readNumber(r), r.Uint()
	ix.words = readVocabulary(r)
	terms := len(ix.words.terms)
	x := &lexical{idf: r.Floats(), most: r.Floats()}
	x.lists, x.doc, x.weight = readLists(r, terms, ix.docs)
	x.own, x.zeros = r.Singles(), r.Bool()
	if len(x.own) != len(x.doc) {
		r.Fail("%d weights of own texts for %d documents", len(x.own), len(x.doc))
	}
	if len(x.idf) != terms || len(x.most) != terms {
		r.Fail("%d and %d weights of %d terms", len(x.idf), len(x.most), terms)
	}
	ix.lexical = x
	m := &latent{sigma: r.Floats(), basis: r.Codes(), held: r.Float()}
	m.rank = len(m.sigma)
	if len(m.basis) != m.rank*terms {
		r.Fail("a basis of %d numbers for %d terms and rank %d", len(m.basis), terms, m.rank)
	}
	m.docs = readSpace(r, ix.docs)
	if m.docs.dimension != m.rank {
		r.Fail("places of dimension %d in a space of rank %d", m.docs.dimension, m.rank)
	}
	ix.latent, ix.vectors = m, &vectors{readSpace(r, ix.docs)}
	if r.Err() != nil {
		return Build(nil, Options{})
	}
	m.docs.encode()
	ix.vectors.encode()
	return ix.ready()
}

// Write writes the index for [ReadIntents].
func (in *Intents) Write(w *codec.Writer) {
	w.Uint(uint64(in.texts))
	in.words.write(w)
	w.Floats(in.idf)
	w.Float(in.novel)
	writeLists(w, in.lists, in.doc, in.weight)
}

// ReadIntents reads what [Intents.Write] wrote. What is damaged fails r.
func ReadIntents(r *codec.Reader) *Intents {
	in := &Intents{texts: readNumber(r), words: readVocabulary(r), idf: r.Floats(), novel: r.Float()}
	in.lists, in.doc, in.weight = readLists(r, len(in.words.terms), in.texts)
	if len(in.idf) != len(in.words.terms) {
		r.Fail("%d weights of %d terms", len(in.idf), len(in.words.terms))
	}
	if r.Err() != nil {
		return NewIntents(nil, nil)
	}
	return in.ready()
}

// write writes maps in the order of their keys, so that equal vocabularies are equal bytes.
func (v *vocabulary) write(w *codec.Writer) {
	w.Texts(v.terms)
	words := slices.Sorted(maps.Keys(v.forms))
	w.Texts(words)
	for _, word := range words {
		f := v.forms[word]
		w.Uint(uint64(f.at))
		w.Uint(uint64(f.n))
		w.Bool(f.word)
	}
	w.Ints(v.ids)
	g := &v.grams
	w.Texts(g.words)
	w.Ints(g.terms)
	w.Ints(g.sizes)
	keys := slices.Sorted(maps.Keys(g.lists))
	w.Longs(keys)
	for _, k := range keys {
		w.Uint(uint64(g.lists[k].at))
		w.Uint(uint64(g.lists[k].n))
	}
	w.Ints(g.post)
}

// readVocabulary reads what write wrote and checks every number that later serves as an index.
func readVocabulary(r *codec.Reader) *vocabulary {
	v := &vocabulary{terms: r.Texts()}
	words := r.Texts()
	v.forms = make(map[string]form, len(words))
	furthest := uint64(0)
	for _, word := range words {
		f, end := readSpan(r)
		furthest = max(furthest, end)
		v.forms[word] = form{f, r.Bool()}
	}
	v.ids = r.Ints()
	inside(r, v.ids, len(v.terms))
	if furthest > uint64(len(v.ids)) {
		r.Fail("words with %d terms, where there are %d", furthest, len(v.ids))
	}
	g := &v.grams
	g.words, g.terms, g.sizes = r.Texts(), r.Ints(), r.Ints()
	if len(g.terms) != len(g.words) || len(g.sizes) != len(g.words) {
		r.Fail("%d words with %d terms and %d sizes", len(g.words), len(g.terms), len(g.sizes))
	}
	inside(r, g.terms, len(v.terms))
	keys := r.Longs()
	g.lists = make(map[uint64]span, len(keys))
	furthest = 0
	for _, k := range keys {
		l, end := readSpan(r)
		furthest = max(furthest, end)
		g.lists[k] = l
	}
	g.post = r.Ints()
	inside(r, g.post, len(g.words))
	if furthest > uint64(len(g.post)) {
		r.Fail("n-grams with %d words, where there are %d", furthest, len(g.post))
	}
	return v
}

// writeLists writes an inverted index: of each list its length alone, since one follows the other.
func writeLists(w *codec.Writer, lists []span, doc []int32, weight []float32) {
	lengths := make([]int32, len(lists))
	for i, l := range lists {
		lengths[i] = l.n
	}
	w.Ints(lengths)
	w.Ints(doc)
	w.Singles(weight)
}

// readLists reads what writeLists wrote: list i begins where list i-1 ends.
func readLists(r *codec.Reader, terms, docs int) (lists []span, doc []int32, weight []float32) {
	lengths := r.Ints()
	doc, weight = r.Ints(), r.Singles()
	lists = make([]span, len(lengths))
	at := 0
	for i, n := range lengths {
		if n < 0 || at+int(n) > len(doc) {
			r.Fail("list %d has %d of %d documents", i, n, len(doc)-at)
			return nil, nil, nil
		}
		lists[i] = span{int32(at), n}
		at += int(n)
	}
	if len(lists) != terms || len(weight) != len(doc) || at != len(doc) {
		r.Fail("%d lists of %d terms, with %d documents and %d weights", len(lists), terms, len(doc), len(weight))
	}
	inside(r, doc, docs)
	return lists, doc, weight
}

// write leaves out the codes, which encode derives from flat.
func (s *space) write(w *codec.Writer) {
	w.Uint(uint64(s.dimension))
	w.Float(s.floor)
	w.Codes(s.flat)
}

func readSpace(r *codec.Reader, docs int) space {
	s := space{dimension: readNumber(r), floor: r.Float(), flat: r.Codes()}
	if len(s.flat) != s.dimension*docs {
		r.Fail("%d numbers for %d places of dimension %d", len(s.flat), docs, s.dimension)
	}
	return s
}

// readNumber reads a count or size, which fits 31 bits in anything that was written.
func readNumber(r *codec.Reader) int {
	n := r.Uint()
	if n > math.MaxInt32 {
		r.Fail("%d is too large", n)
		return 0
	}
	return int(n)
}

// readSpan reads a span and returns its end, for the caller to compare with the length of the array it refers
// to.
func readSpan(r *codec.Reader) (s span, end uint64) {
	at, n := r.Uint(), r.Uint()
	if at > math.MaxInt32 || n > math.MaxInt32 {
		r.Fail("a list of %d at %d", n, at)
		return span{}, 0
	}
	return span{int32(at), int32(n)}, at + n
}

// inside fails r unless all numbers are below n.
func inside(r *codec.Reader, numbers []int32, n int) {
	for _, x := range numbers {
		if x < 0 || int(x) >= n {
			r.Fail("%d is not one of %d", x, n)
			return
		}
	}
}
