package semantic

import (
	"math"
	"slices"
	"sync"

	"waymark/internal/numeric"
)

// Intents finds the past requests nearest to a new one, by the cosine of their terms weighted
// (1 + ln tf)·idf. It is immutable and safe for concurrent use.
type Intents struct {
	texts   int
	words   *vocabulary
	idf     []float64
	novel   float64 // idf of a word never used before
	lists   []span
	doc     []int32
	weight  []float32 // of the unit vectors
	scratch sync.Pool // *recall
}

// recall is the working memory of one query.
type recall struct {
	query   query
	sum     []float64 // by text; zero between queries
	touched []int32
}

// NewIntents indexes texts. Their numbers are their places in the list. If stop, which may be nil,
// says so, it gives up and returns nil.
func NewIntents(texts []string, stop func() bool) *Intents {
	r := newReader()
	tokens := r.readAll(len(texts), func(i int) string { return texts[i] }, stop)
	if tokens == nil {
		return nil
	}
	words, terms := r.vocabulary()
	in := &Intents{texts: len(texts), words: words, lists: make([]span, len(words.terms))}

	// Terms of every text with their counts, one text after another.
	var (
		ids, n  []int32
		table   = make([]int32, len(words.terms))
		touched []int32
		at      int
		counted = make([]int, len(texts))
	)
	for i := range texts {
		touched = touched[:0]
		for _, t := range tokens[i] {
			if t.joined && !r.single[t.word] || r.stop[t.word] {
				continue
			}
			id := terms[t.word]
			if table[id] == 0 {
				touched = append(touched, id)
			}
			table[id]++
		}
		slices.Sort(touched)
		for _, id := range touched {
			ids, n = append(ids, id), append(n, table[id])
			table[id] = 0
			in.lists[id].n++
		}
		counted[i] = len(ids)
	}
	in.idf = make([]float64, len(words.terms))
	next := int32(0)
	for t := range in.lists {
		in.idf[t] = idf(int(in.lists[t].n), len(texts))
		in.lists[t].at, next = next, next+in.lists[t].n
		in.lists[t].n = 0
	}
	in.novel = idf(0, len(texts))
	in.doc, in.weight = make([]int32, len(ids)), make([]float32, len(ids))
	var row []float64
	for i := range texts {
		row = row[:0]
		for k := at; k < counted[i]; k++ {
			row = append(row, float64((1+numeric.Ln(float64(n[k])))*in.idf[ids[k]]))
		}
		unit(row)
		for k, w := range row {
			l := &in.lists[ids[at+k]]
			in.doc[l.at+l.n], in.weight[l.at+l.n] = int32(i), float32(w)
			l.n++
		}
		at = counted[i]
	}
	return in.ready()
}

// ready finishes an index.
func (in *Intents) ready() *Intents {
	in.scratch.New = func() any { return &recall{sum: make([]float64, in.texts)} }
	return in
}

// Len is the number of texts.
func (in *Intents) Len() int { return in.texts }

// Nearest returns the k texts nearest to query, by falling cosine and then by number. Score and
// Lexical are the cosine: 1 for the same words as often, 0 for no word in common; texts with 0 are
// left out. Words never used before count in the length of the query: they make everything less near.
func (in *Intents) Nearest(query string, k int) []Hit { return in.AppendNearest(nil, query, k) }

// AppendNearest is [Intents.Nearest] with the hits appended to dst.
func (in *Intents) AppendNearest(dst []Hit, query string, k int) []Hit {
	if k = min(k, in.texts); k <= 0 {
		return dst
	}
	s := in.scratch.Get().(*recall)
	defer in.scratch.Put(s)
	s.query.read(in.words, query)
	length := float64(float64(s.query.novel) * float64(in.novel*in.novel))
	for i := range s.query.terms {
		t := &s.query.terms[i]
		if t.said > 1 {
			t.weight = 1 + numeric.Ln(t.said)
		}
		t.weight = float64(t.weight * in.idf[t.term])
		length += float64(t.weight * t.weight)
	}
	if length == 0 {
		return dst
	}
	length = math.Sqrt(length)
	s.touched = s.touched[:0]
	for _, t := range s.query.terms {
		l := in.lists[t.term]
		w := t.weight / length
		weights := in.weight[l.at : l.at+l.n]
		for i, d := range in.doc[l.at : l.at+l.n] {
			if s.sum[d] == 0 {
				s.touched = append(s.touched, d)
			}
			s.sum[d] += float64(w * float64(weights[i]))
		}
	}
	first := len(dst)
	for _, d := range s.touched {
		cosine := min(s.sum[d], 1)
		s.sum[d] = 0
		dst = keepBest(dst, first, k, Hit{Doc: d, Score: cosine, Lexical: cosine})
	}
	sortHits(dst[first:])
	return dst
}
