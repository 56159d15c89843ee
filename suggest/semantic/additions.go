package semantic

import (
	"iter"
	"maps"
	"slices"

	"waymark/internal/numeric"
)

// Additions are documents that came after a [Matcher] was built. Their fields are measured against those of the matcher, and
// words count what they count there. So a document can be found as soon as it is added, at the cost of reading that document
// alone.
//
// Additions are immutable: With returns new ones that share all but the smallest segments.
type Additions struct {
	bytes    [fields]float64 // mean length of each field of the matcher's documents, 0 where none has it
	segments segments
}

// NewAdditions returns no documents. documents are some of a matcher, read for their mean field lengths.
func NewAdditions(documents iter.Seq[Document]) *Additions {
	a := &Additions{}
	var total, having [fields]float64
	for d := range documents {
		for f, text := range d.fields() {
			if text != "" {
				total[f] += float64(len(text))
				having[f]++
			}
		}
	}
	for f := range total {
		if having[f] > 0 {
			a.bytes[f] = total[f] / having[f]
		}
	}
	return a
}

// Len is the number of documents.
func (a *Additions) Len() int { return int(a.segments.documents()) }

// With returns the additions with more documents, numbered on from the last.
func (a *Additions) With(documents []Document) *Additions {
	more := *a
	var all [][]entry
	for i := range documents {
		all = append(all, a.entries(&documents[i]))
	}
	more.segments = more.segments.with(all)
	return &more
}

// entries are the terms of a document with what it says of each, as in [newIndex].
func (a *Additions) entries(d *Document) (entries []entry) {
	counts := map[string]*[fields]float64{}
	var norm [fields]float64
	for f, text := range d.fields() {
		terms := Tokens(text)
		if f == int(nameField) {
			terms = append(terms, joinedForms(text)...)
		}
		for _, term := range terms {
			if counts[term] == nil {
				counts[term] = &[fields]float64{}
			}
			counts[term][f]++
		}
		norm[f] = 1
		if a.bytes[f] > 0 {
			norm[f] += float64(weights[f].b * (float64(len(text))/a.bytes[f] - 1))
		}
	}
	for _, term := range slices.Sorted(maps.Keys(counts)) {
		tf := 0.0
		for f, n := range counts[term] {
			if n > 0 {
				tf += float64(weights[f].weight*n) / norm[f]
			}
		}
		entries = append(entries, entry{term, ownWeight(tf / (saturation + tf))})
	}
	return entries
}

// Match appends the hits of the additions that answer a request to dst, in the order of their numbers. Documents
// that current rejects are left out.
func (a *Additions) Match(dst []Hit, x *Matching, current func(document int32) bool) []Hit {
	n := a.Len()
	if n == 0 || x.most == 0 {
		return dst
	}
	sum, best := make([]float64, n), make([]float64, n)
	entries := x.matcher.lexicon.Entries()
	for _, weak := range []bool{false, true} {
		for i := range x.words {
			w := &x.words[i]
			if w.idf == 0 || w.weak != weak {
				continue
			}
			clear(best)
			a.segments.raise(best, []string{w.stem}, 1)
			for _, r := range x.spelled {
				if r.word == i {
					var terms []string
					for _, t := range r.terms {
						terms = append(terms, x.matcher.index.words.terms[t])
					}
					a.segments.raise(best, terms, r.near)
				}
			}
			for _, r := range x.related {
				if r.Word == i {
					a.segments.raise(best, entries[r.Entry], float64(r.Near*x.idfRatio(x.matcher.bound[r.Entry], w.idf)))
				}
			}
			for _, r := range x.alike {
				if r.word == i {
					a.segments.raise(best, []string{x.matcher.index.words.terms[r.term]}, r.near)
				}
			}
			for d, b := range best {
				if !weak || sum[d] > 0 {
					sum[d] += float64(w.idf * b)
				}
			}
		}
	}
	for d, s := range sum {
		if s > 0 && current(int32(d)) {
			dst = append(dst, Hit{int32(d), min(1, s/x.most)})
		}
	}
	return dst
}

// raise raises the answers of the documents that have all of several terms.
func (s segments) raise(best []float64, terms []string, near float64) {
	for _, part := range s {
		for _, p := range part.lists[terms[0]] {
			least := p.weight
			for _, t := range terms[1:] {
				i, ok := slices.BinarySearchFunc(part.lists[t], p.document, func(o posting, d int32) int { return int(o.document - d) })
				if !ok {
					least = 0
					break
				}
				least = min(least, part.lists[t][i].weight)
			}
			best[p.document] = max(best[p.document], float64(near*float64(least)))
		}
	}
}

// Requests are past requests, the nearest of which can be found by the cosine of their terms weighted (1 + ln tf)·idf. Others
// can be added, as to [Additions].
type Requests struct {
	idf      func(term string) float64
	segments segments
}

// NewRequests indexes requests. Their numbers are their places in the list.
func NewRequests(texts []string) *Requests {
	df := map[string]int{}
	for _, text := range texts {
		terms := Tokens(text)
		slices.Sort(terms)
		for _, term := range slices.Compact(terms) {
			df[term]++
		}
	}
	r := &Requests{idf: func(term string) float64 { return idf(df[term], len(texts)) }}
	return r.With(texts)
}

// Len is the number of requests.
func (r *Requests) Len() int { return int(r.segments.documents()) }

// With returns the requests with more of them, numbered on from the last. Words count what they counted at first.
func (r *Requests) With(texts []string) *Requests {
	more := *r
	var all [][]entry
	for _, text := range texts {
		all = append(all, r.vector(text))
	}
	more.segments = more.segments.with(all)
	return &more
}

// vector is a request as terms in alphabetical order, of length one.
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

// Nearest returns the k requests nearest to a text, of those from a number on: by falling cosine and then by number, those
// with a word in common only.
func (r *Requests) Nearest(text string, k int, from int32) (near []Hit) {
	if r.Len() <= int(from) || k <= 0 {
		return nil
	}
	sum := make([]float64, r.Len())
	for _, e := range r.vector(text) {
		for _, part := range r.segments {
			for _, p := range part.lists[e.term] {
				sum[p.document] += float64(float64(e.weight) * float64(p.weight))
			}
		}
	}
	for d, s := range sum {
		if s > 0 && d >= int(from) {
			near = keepBest(near, 0, k, Hit{int32(d), min(s, 1)})
		}
	}
	sortHits(near)
	return near
}

// segments are small inverted indexes, each at least twice as large as the next, so that a document is
// merged O(log n) times and a query looks into O(log n) of them.
type segments []*segment

// segment is the inverted index of consecutive documents. Documents are never removed: a later one replaces
// an earlier one by the function current that a search is given.
type segment struct {
	first, documents int32 // number of the first document, and how many there are
	lists            map[string][]posting
}

// posting is a document that has a term, with the weight of the term in it.
type posting struct {
	document int32
	weight   float32
}

// entry is a term of a document.
type entry struct {
	term   string
	weight float32
}

// documents is the number of documents.
func (s segments) documents() int32 {
	if len(s) == 0 {
		return 0
	}
	last := s[len(s)-1]
	return last.first + last.documents
}

// Has reports whether a document has a term.
func (a *Additions) Has(term string) bool { return a.segments.has(term) }

// Has reports whether a request has a term.
func (r *Requests) Has(term string) bool { return r.segments.has(term) }

func (s segments) has(term string) bool {
	return slices.ContainsFunc(s, func(part *segment) bool { return len(part.lists[term]) > 0 })
}

// with returns the segments with more documents.
func (s segments) with(documents [][]entry) segments {
	if len(documents) == 0 {
		return s
	}
	last := &segment{s.documents(), int32(len(documents)), map[string][]posting{}}
	for d, entries := range documents {
		for _, e := range entries {
			last.lists[e.term] = append(last.lists[e.term], posting{last.first + int32(d), e.weight})
		}
	}
	n := len(s)
	for n > 0 && s[n-1].documents < 2*last.documents {
		last = s[n-1].merge(last)
		n--
	}
	return append(slices.Clone(s[:n]), last)
}

// merge returns a segment with the documents of s and those that follow them.
func (s *segment) merge(following *segment) *segment {
	both := &segment{s.first, s.documents + following.documents, make(map[string][]posting, len(s.lists)+len(following.lists))}
	for term, list := range s.lists {
		both.lists[term] = slices.Concat(list, following.lists[term])
	}
	for term, list := range following.lists {
		if _, ok := both.lists[term]; !ok {
			both.lists[term] = list
		}
	}
	return both
}
