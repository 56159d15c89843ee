package semantic

import (
	"iter"
	"math"
	"slices"
	"strings"

	"waymark/internal/numeric"
)

// Additions are documents that came after an [Index] was built. They are scored with the statistics of
// the index: its idf, its field lengths and its latent space. So a document can be found as soon as it is
// added, at the cost of reading that document alone, and a later [Build] replaces the approximation.
//
//	Build ──▶ Index ────────────────┬──▶ hits of the documents known then
//	With  ──▶ Additions (segments) ─┴──▶ hits of the documents added since
//
// Additions are immutable: With returns new ones that share all but the smallest segments.
type Additions struct {
	index    *Index
	bytes    [contextField]float64 // mean length of each field of the indexed documents, 0 where none has it
	segments segments
}

// NewAdditions returns no documents. documents are some of the index, read for their mean field lengths.
func (ix *Index) NewAdditions(documents iter.Seq[Document]) *Additions {
	a := &Additions{index: ix}
	var total, having [contextField]float64
	for d := range documents {
		for f, text := range d.own() {
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

// own are the texts of a document's own fields.
func (d *Document) own() [contextField]string {
	return [contextField]string{d.Name, d.Text, d.Properties}
}

// Len is the number of documents.
func (a *Additions) Len() int { return int(a.segments.documents()) }

// With returns the additions with more documents, numbered on from the last.
func (a *Additions) With(documents []Document) *Additions {
	more := *a
	for i := range documents {
		counts := a.count(&documents[i])
		entries := make([]entry, 0, len(counts))
		for _, c := range counts {
			entries = append(entries, entry{c.term, float32(c.weight), ownWeight(c.own)})
		}
		more.segments = more.segments.with(entries, a.place(counts))
	}
	return &more
}

// counted is a term of a document: its BM25 weight as in [weigh], the part of it that the own fields have, without
// idf, and its entry of the latent matrix.
type counted struct {
	term                string
	weight, own, latent float64
}

// count reads a document. The terms are in alphabetical order.
func (a *Additions) count(d *Document) []counted {
	o := &a.index.options
	tf := map[string][fields]float64{}
	add := func(f field, terms []string) {
		for _, term := range terms {
			n := tf[term]
			n[f]++
			tf[term] = n
		}
	}
	for f, text := range d.own() {
		add(field(f), Tokens(text))
	}
	add(nameField, joinedForms(d.Name))
	for _, text := range d.Context {
		add(contextField, Tokens(text))
	}
	w := [contextField]Field{o.Name, o.Text, o.Properties}
	var norm [contextField]float64
	for f, text := range d.own() {
		norm[f] = 1
		if a.bytes[f] > 0 {
			norm[f] += float64(w[f].B * (float64(len(text))/a.bytes[f] - 1))
		}
	}
	out := make([]counted, 0, len(tf))
	for term, n := range tf {
		own, flat := 0.0, 0.0
		for f := range contextField {
			if n[f] > 0 {
				own += float64(w[f].Weight*n[f]) / norm[f]
				flat += float64(w[f].Weight * n[f])
			}
		}
		idf, _ := a.idf(term)
		own /= o.K1 + own
		weight := own
		weight += float64(o.Context.Weight*n[contextField]) / (o.ContextK1 + n[contextField])
		latent := numeric.Ln(1+flat) + float64(o.MixContext*numeric.Ln(1+n[contextField]))
		out = append(out, counted{term, float64(idf * weight), own, float64(idf * latent)})
	}
	slices.SortFunc(out, func(x, y counted) int { return strings.Compare(x.term, y.term) })
	return out
}

// idf of a term, and its number in the index. A term that the index does not have counts as in one document.
func (a *Additions) idf(term string) (weight float64, number int) {
	if i, ok := slices.BinarySearch(a.index.words.terms, term); ok {
		return a.index.lexical.idf[i], i
	}
	return idf(1, max(1, a.index.docs)), -1
}

// place folds a document into the latent space, as queries are: Σ a·basis, of length one or zero.
func (a *Additions) place(counts []counted) []float32 {
	m := a.index.latent
	row := make([]float64, m.rank)
	for _, c := range counts {
		if _, t := a.idf(c.term); t >= 0 && m.rank > 0 {
			numeric.Axpy32(c.latent, m.basis[t*m.rank:(t+1)*m.rank], row)
		}
	}
	unit(row)
	out := make([]float32, m.rank)
	for i, y := range row {
		out[i] = float32(y)
	}
	return out
}

// Score appends the hits of the additions that have something in common with q, in the order of their
// numbers, to dst. q must be a query of the index. The lexical part is measured against the most that any
// document, indexed or added, has of each word of the query. Documents that current rejects, since a later one replaces
// them, count for nothing.
func (a *Additions) Score(dst []Hit, q *Query, current func(document int32) bool) []Hit {
	n := a.Len()
	if n == 0 {
		return dst
	}
	q.added = slices.Grow(q.added[:0], n)[:n]
	sum := q.added
	clear(sum)
	attainable, known := 0.0, 0
	for i := range q.words.terms {
		t := &q.words.terms[i]
		most := float64(t.weight * a.segments.add(sum, a.index.words.terms[t.term], t.weight, current))
		attainable += max(t.most, most)
		known++
	}
	novel := 0
	for _, term := range q.absent() {
		if most := a.segments.add(sum, term, 1, current); most > 0 {
			attainable += most
			known++
		} else {
			novel++
		}
	}
	// As in [Index.Query]: a word that no document has counts as one of mean weight.
	if known > 0 {
		attainable += float64(float64(min(novel, q.words.novel)) * (attainable / float64(known)))
	}
	d := int32(0)
	for _, part := range a.segments {
		for _, place := range part.places {
			h := Hit{Doc: d}
			if attainable > 0 {
				h.Lexical = min(sum[d]/attainable, 1)
			}
			if len(q.folded) > 0 {
				h.Latent = above(a.index.latent.docs.floor, float64(dot32(q.folded, place)))
			}
			if h.Score = q.score(h.Lexical, h.Latent, 0); h.Score > 0 && current(d) {
				dst = append(dst, h)
			}
			d++
		}
	}
	return dst
}

// IntentAdditions are requests that came after [Intents] were indexed, weighed by the idf of those.
type IntentAdditions struct {
	intents  *Intents
	segments segments
}

// NewAdditions returns no requests.
func (in *Intents) NewAdditions() *IntentAdditions { return &IntentAdditions{intents: in} }

// Len is the number of requests.
func (a *IntentAdditions) Len() int { return int(a.segments.documents()) }

// With returns the additions with more requests, numbered on from the last.
func (a *IntentAdditions) With(texts []string) *IntentAdditions {
	more := *a
	for _, text := range texts {
		terms := Tokens(text)
		slices.Sort(terms)
		var entries []entry
		var row []float64
		for i := 0; i < len(terms); {
			n := i
			for n < len(terms) && terms[n] == terms[i] {
				n++
			}
			row = append(row, float64((1+numeric.Ln(float64(n-i)))*a.idf(terms[i])))
			entries = append(entries, entry{term: terms[i]})
			i = n
		}
		unit(row)
		for i := range entries {
			entries[i].weight = float32(row[i])
		}
		more.segments = more.segments.with(entries, nil)
	}
	return &more
}

// idf is that of the indexed requests, so that cosines of old and new requests compare.
func (a *IntentAdditions) idf(term string) float64 {
	if i, ok := slices.BinarySearch(a.intents.words.terms, term); ok {
		return a.intents.idf[i]
	}
	return a.intents.novel
}

// AppendNearest appends the k requests nearest to query to dst, as [Intents.AppendNearest] does: the
// cosines of both compare.
func (a *IntentAdditions) AppendNearest(dst []Hit, query string, k int) []Hit {
	if k = min(k, a.Len()); k <= 0 {
		return dst
	}
	terms := Tokens(query)
	slices.Sort(terms)
	sum, length := make([]float64, a.Len()), 0.0
	for i := 0; i < len(terms); {
		n := i
		for n < len(terms) && terms[n] == terms[i] {
			n++
		}
		w := float64((1 + numeric.Ln(float64(n-i))) * a.idf(terms[i]))
		length += float64(w * w)
		a.segments.add(sum, terms[i], w, func(int32) bool { return true })
		i = n
	}
	if length = math.Sqrt(length); length == 0 {
		return dst
	}
	first := len(dst)
	for d, s := range sum {
		if s > 0 {
			cosine := min(s/length, 1)
			dst = keepBest(dst, first, k, Hit{Doc: int32(d), Score: cosine, Lexical: cosine})
		}
	}
	sortHits(dst[first:])
	return dst
}

// segments are small inverted indexes, each at least twice as large as the next, so that a document is
// merged O(log n) times and a query looks into O(log n) of them.
type segments []*segment

// segment is the inverted index of consecutive documents. Documents are never removed: a later one replaces
// an earlier one by the function current that a search is given.
type segment struct {
	first  int32 // number of the first document
	lists  map[string][]posting
	places [][]float32 // by document, its unit vector in the latent space
}

// posting is a document that has a term, with the weight of the term in it and in its own fields.
type posting struct {
	document    int32
	weight, own float32
}

// entry is a term of a document.
type entry struct {
	term        string
	weight, own float32
}

// documents is the number of documents.
func (s segments) documents() int32 {
	if len(s) == 0 {
		return 0
	}
	last := s[len(s)-1]
	return last.first + int32(len(last.places))
}

// Has reports whether a document has a term.
func (a *Additions) Has(term string) bool { return a.segments.has(term) }

// Has reports whether a request has a term.
func (a *IntentAdditions) Has(term string) bool { return a.segments.has(term) }

func (s segments) has(term string) bool {
	return slices.ContainsFunc(s, func(part *segment) bool { return len(part.lists[term]) > 0 })
}

// with returns the segments with one document more.
func (s segments) with(entries []entry, place []float32) segments {
	last := &segment{s.documents(), make(map[string][]posting, len(entries)), [][]float32{place}}
	for _, e := range entries {
		last.lists[e.term] = []posting{{last.first, e.weight, e.own}}
	}
	n := len(s)
	for n > 0 && len(s[n-1].places) < 2*len(last.places) {
		last = s[n-1].merge(last)
		n--
	}
	return append(slices.Clone(s[:n]), last)
}

// merge returns a segment with the documents of s and those that follow them.
func (s *segment) merge(following *segment) *segment {
	both := &segment{s.first, make(map[string][]posting, len(s.lists)+len(following.lists)), slices.Concat(s.places, following.places)}
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

// add adds weight times the weights of a term to the sums of the current documents, and returns the largest weight.
func (s segments) add(sum []float64, term string, weight float64, current func(document int32) bool) (most float64) {
	for _, part := range s {
		for _, p := range part.lists[term] {
			if !current(p.document) {
				continue
			}
			sum[p.document] += float64(weight * float64(p.weight))
			most = max(most, float64(p.weight))
		}
	}
	return most
}
