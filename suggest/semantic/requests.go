package semantic

import (
	"slices"
	"strings"

	"waymark/internal/numeric"
)

// Requests are an index of past requests, to find the nearest by the cosine of their terms weighted (1 + ln tf)·idf.
// They are immutable: With returns a new index.
type Requests struct {
	idf   func(term string) float64
	lists map[string][]posting // postings of the initial requests, by term
	first int                  // number of initial requests
	newer [][]entry            // requests added since, few: the next build indexes them
}

// posting is a request that has a term, with the weight of the term in it.
type posting struct {
	request int32
	weight  float32
}

// entry is a term of a request.
type entry struct {
	term   string
	weight float32
}

// NewRequests indexes requests. Their numbers are their positions in the list.
func NewRequests(texts []string) *Requests {
	df := map[string]int{}
	for _, text := range texts {
		terms := Tokens(text)
		slices.Sort(terms)
		for _, term := range slices.Compact(terms) {
			df[term]++
		}
	}
	r := &Requests{first: len(texts), lists: make(map[string][]posting, len(df))}
	r.idf = func(term string) float64 { return idf(df[term], len(texts)) }
	for i, text := range texts {
		for _, e := range r.vector(text) {
			r.lists[e.term] = append(r.lists[e.term], posting{int32(i), e.weight})
		}
	}
	return r
}

// Len is the number of requests.
func (r *Requests) Len() int { return r.first + len(r.newer) }

// With returns the requests with texts appended, numbered consecutively. The idf stays that of the initial requests.
func (r *Requests) With(texts []string) *Requests {
	more := *r
	more.newer = slices.Clip(r.newer)
	for _, text := range texts {
		more.newer = append(more.newer, r.vector(text))
	}
	return &more
}

// vector returns a request as weighted terms in alphabetical order, scaled to length one.
func (r *Requests) vector(text string) (entries []entry) {
	terms := Tokens(text)
	slices.Sort(terms)
	var row []float64
	for i := 0; i < len(terms); {
		n := i
		for n < len(terms) && terms[n] == terms[i] {
			n++
		}
		row = append(row, float64((1+numeric.Ln(float64(n-i)))*r.idf(terms[i])))
		entries = append(entries, entry{term: terms[i]})
		i = n
	}
	unit(row)
	for i := range entries {
		entries[i].weight = float32(row[i])
	}
	return entries
}

// each visits the requests with a term in ascending order.
func (r *Requests) each(term string, visit func(request int32, weight float32)) {
	for _, p := range r.lists[term] {
		visit(p.request, p.weight)
	}
	for i, entries := range r.newer {
		if k, ok := slices.BinarySearchFunc(entries, term, func(e entry, t string) int { return strings.Compare(e.term, t) }); ok {
			visit(int32(r.first+i), entries[k].weight)
		}
	}
}

// Nearest returns the k requests nearest to a text among those with numbers of at least from, by descending cosine and
// then by number. Requests without a word in common are left out.
func (r *Requests) Nearest(text string, k int, from int32) (near []Hit) {
	sum := make([]float64, r.Len())
	for _, e := range r.vector(text) {
		r.each(e.term, func(i int32, weight float32) { sum[i] += float64(float64(e.weight) * float64(weight)) })
	}
	for i, s := range sum {
		if s > 0 && i >= int(from) {
			near = numeric.Keep(near, k, Hit{int32(i), min(s, 1)}, better)
		}
	}
	return near
}

// Having visits the requests with a term.
func (r *Requests) Having(term string, visit func(int32)) {
	r.each(term, func(i int32, _ float32) { visit(i) })
}
