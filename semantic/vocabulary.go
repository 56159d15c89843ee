package semantic

import (
	"cmp"
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// A vocabulary maps the words of a query to terms. A term is a stem; its number is its place in
// alphabetical order, so that it does not depend on the order of the documents. A form is a word as
// it was written. Most forms have one term; an identifier without its joints, such as "websearch"
// for web_search, is a form with several when nobody wrote it as a word.
type vocabulary struct {
	terms []string
	forms map[string]form
	ids   []int32
	grams grams
}

// span is a part of a larger array: n elements from at on.
type span struct{ at, n int32 }

// form is a written form: its terms in ids, and whether it was ever a word and not only joined.
type form struct {
	span
	word bool
}

// token is what a reader keeps of a compound: a word, or the joined form of several words.
type token struct {
	word   int32
	joined bool
	single bool  // an undivided word
	parts  int32 // of a joined form, in reader.compounds
}

// A reader interns the words of many texts before there is a vocabulary.
type reader struct {
	number map[string]int32
	words  []string
	single []bool    // written undivided somewhere
	part   []bool    // part of something joined
	parts  [][]int32 // of a joined form; nil for words never joined
	stop   []bool
	stems  []string // of words that have been stemmed, else empty
	scan   scanner

	compounds [][]int32        // the parts of each spelling of a joined form
	compound  map[string]int32 // and its number
	key       []byte
}

func newReader() *reader {
	return &reader{number: make(map[string]int32), compound: make(map[string]int32)}
}

// spelling numbers the parts of a joined form.
func (r *reader) spelling(parts []token) int32 {
	r.key = r.key[:0]
	for _, t := range parts {
		r.key = binary.LittleEndian.AppendUint32(r.key, uint32(t.word))
	}
	n, ok := r.compound[string(r.key)]
	if !ok {
		n = int32(len(r.compounds))
		words := make([]int32, len(parts))
		for i, t := range parts {
			words[i] = t.word
		}
		r.compounds = append(r.compounds, words)
		r.compound[string(r.key)] = n
	}
	return n
}

// join notes that a word was written with these parts. Of several spellings the one that comes first
// in the alphabet counts, whichever was read first.
func (r *reader) join(word, spelling int32) {
	parts := r.compounds[spelling]
	less := func(a, b int32) int { return cmp.Compare(r.words[a], r.words[b]) }
	if had := r.parts[word]; had == nil || slices.CompareFunc(parts, had, less) < 0 {
		r.parts[word] = parts
	}
}

// intern returns the number of a word. Numbers depend on the order of reading; terms do not.
func (r *reader) intern(word []byte) int32 {
	if n, ok := r.number[string(word)]; ok {
		return n
	}
	n, w := int32(len(r.words)), string(word)
	r.number[w] = n
	r.words = append(r.words, w)
	r.single, r.part = append(r.single, false), append(r.part, false)
	r.parts = append(r.parts, nil)
	r.stop = append(r.stop, isStop(w))
	return n
}

// read appends the tokens of text to dst. A compound of several parts is followed by its joined forms.
func (r *reader) read(dst []token, text string) []token {
	r.scan.reset(text)
	for r.scan.next() {
		first := len(dst)
		for i := range r.scan.ends {
			dst = append(dst, token{word: r.intern(r.scan.part(i))})
		}
		if len(r.scan.ends) == 1 {
			dst[first].single = true
			r.single[dst[first].word] = true
			continue
		}
		for _, t := range dst[first:] {
			r.part[t.word] = true
		}
		for _, run := range r.scan.runs {
			joined := r.intern(r.scan.joined(run))
			spelling := r.spelling(dst[first+int(run.at) : first+int(run.at+run.n)])
			r.join(joined, spelling)
			dst = append(dst, token{word: joined, joined: true, parts: spelling})
		}
	}
	return dst
}

// readAll reads n texts on all processors and returns the tokens of each, or nil if stop says so. The
// numbers of words depend on the number of processors; terms, which are alphabetical, do not.
func (r *reader) readAll(n int, text func(i int) string, stop func() bool) [][]token {
	workers := max(1, min(runtime.GOMAXPROCS(0), n/1024))
	all, readers := make([][]token, n), make([]*reader, workers)
	var stopped atomic.Bool
	var group sync.WaitGroup
	for w := range workers {
		readers[w] = newReader()
		group.Go(func() {
			own := readers[w]
			var tokens []token
			for i := n * w / workers; i < n*(w+1)/workers; i++ {
				if i%256 == 0 && stop != nil && (stopped.Load() || stop()) {
					stopped.Store(true)
					return
				}
				if i%16 == 0 {
					runtime.Gosched()
				}
				// Tokens of many texts stand in one array; what grows out of it stays where it is.
				if cap(tokens)-len(tokens) < len(text(i))/4 {
					tokens = make([]token, 0, 1<<14)
				}
				first := len(tokens)
				tokens = own.read(tokens, text(i))
				all[i] = tokens[first:len(tokens):len(tokens)]
			}
		})
	}
	group.Wait()
	if stopped.Load() {
		return nil
	}
	for w, own := range readers {
		r.merge(own, all[n*w/workers:n*(w+1)/workers])
	}
	return all
}

// merge takes in what another reader has read and gives its tokens the numbers they have here.
func (r *reader) merge(other *reader, texts [][]token) {
	word := make([]int32, len(other.words))
	for i, w := range other.words {
		word[i] = r.intern([]byte(w))
		r.single[word[i]] = r.single[word[i]] || other.single[i]
		r.part[word[i]] = r.part[word[i]] || other.part[i]
	}
	spelling := make([]int32, len(other.compounds))
	var parts []token
	for i, compound := range other.compounds {
		parts = parts[:0]
		for _, p := range compound {
			parts = append(parts, token{word: word[p]})
		}
		spelling[i] = r.spelling(parts)
	}
	for i, compound := range other.parts {
		if compound != nil {
			parts = parts[:0]
			for _, p := range compound {
				parts = append(parts, token{word: word[p]})
			}
			r.join(word[i], r.spelling(parts))
		}
	}
	for _, tokens := range texts {
		for i := range tokens {
			t := &tokens[i]
			t.word = word[t.word]
			if t.joined {
				t.parts = spelling[t.parts]
			}
		}
	}
}

// vocabulary numbers the stems of everything read. terms[w] is the term of word w, or -1 if w is
// only ever a joined form.
func (r *reader) vocabulary() (v *vocabulary, terms []int32) {
	r.stems = append(r.stems, make([]string, len(r.words)-len(r.stems))...)
	stems := make([]string, len(r.words))
	v = &vocabulary{forms: make(map[string]form, len(r.words))}
	spread(len(r.words), 512, func(from, to int) {
		for w := from; w < to; w++ {
			if r.single[w] || r.part[w] {
				if r.stems[w] == "" {
					r.stems[w] = stem(r.words[w])
				}
				stems[w] = r.stems[w]
			}
		}
	})
	for _, s := range stems {
		if s != "" {
			v.terms = append(v.terms, s)
		}
	}
	slices.Sort(v.terms)
	v.terms = slices.Compact(v.terms)

	terms = make([]int32, len(r.words))
	for w, s := range stems {
		terms[w] = -1
		if s != "" {
			i, _ := slices.BinarySearch(v.terms, s)
			terms[w] = int32(i)
		}
	}
	order := make([]int32, 0, len(r.words)) // alphabetical: ids must not depend on what was read first
	for w := range r.words {
		if stems[w] != "" || r.parts[w] != nil { // and a word of documents that are gone is not one
			order = append(order, int32(w))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(r.words[a], r.words[b]) })
	for _, w := range order {
		at := int32(len(v.ids))
		if terms[w] >= 0 {
			v.ids = append(v.ids, terms[w])
		} else {
			only := !slices.ContainsFunc(r.parts[w], func(p int32) bool { return !r.stop[p] })
			for _, p := range r.parts[w] {
				if only || !r.stop[p] {
					v.ids = append(v.ids, terms[p])
				}
			}
		}
		v.forms[r.words[w]] = form{span{at, int32(len(v.ids)) - at}, terms[w] >= 0}
	}
	for _, w := range order {
		if terms[w] >= 0 && !r.stop[w] {
			v.grams.words = append(v.grams.words, r.words[w])
			v.grams.terms = append(v.grams.terms, terms[w])
		}
	}
	v.grams.build()
	return v, terms
}

// Limits of a query. Text beyond them is ignored: a request that long says what it wants early.
const (
	maxWords   = 1024 // words read
	maxUnknown = 8    // words looked up by their n-grams
)

// weighted is a term of a query. Of several words that mean one term, word is the first.
type weighted struct {
	term   int32
	word   span // where the word stands in the query, in the bytes of query.text
	said   float64
	weight float64
	most   float64 // weight times the largest weight of the term in any document
}

// A query is a text turned into terms, with the scratch space for doing so.
type query struct {
	scan    scanner
	text    []byte // the words, one after another, lower-cased
	terms   []weighted
	unknown int    // words not in the vocabulary
	absent  []span // the first of them, in the bytes of text
	novel   int    // those of them that nothing in it resembles
	near    nearness
}

// read fills q.terms with the terms of text, in increasing order. The weight of a term is the
// number of times it was said, damped to 2n/(n+1), and below 1 for a term that is only spelled like a
// word of the text. Stop words count only if there is nothing else.
func (q *query) read(v *vocabulary, text string) {
	q.collect(v, text, false)
	if len(q.terms) == 0 && q.unknown == 0 {
		q.collect(v, text, true)
	}
	slices.SortStableFunc(q.terms, func(a, b weighted) int { return cmp.Compare(a.term, b.term) })
	out := q.terms[:0]
	for _, t := range q.terms {
		if n := len(out); n > 0 && out[n-1].term == t.term {
			out[n-1].said += t.said
		} else {
			out = append(out, t)
		}
	}
	q.terms = out
	for i := range q.terms {
		n := q.terms[i].said
		q.terms[i].weight = min(n, 2*n/(n+1))
	}
}

// collect appends the terms of a text as they come, up to maxWords words. Stop words count only with stops.
func (q *query) collect(v *vocabulary, text string, stops bool) {
	q.text, q.terms, q.absent, q.unknown, q.novel = q.text[:0], q.terms[:0], q.absent[:0], 0, 0
	q.scan.reset(text)
	for words := 0; words < maxWords && q.scan.next(); {
		for i := range q.scan.ends {
			words++
			q.add(v, q.scan.part(i), stops)
		}
		for _, run := range q.scan.runs { // github for GitHub, where somebody wrote it so
			joined := q.scan.joined(run)
			if f, ok := v.forms[string(joined)]; ok && f.word {
				q.keep(v.ids[f.at], joined, 1)
			}
		}
	}
}

// keep adds a term with the word that stands for it in explanations. said is 1 for a known word, less for one
// that is only spelled like it.
func (q *query) keep(term int32, word []byte, said float64) {
	at := int32(len(q.text))
	q.text = append(q.text, word...)
	q.terms = append(q.terms, weighted{term: term, word: span{at, int32(len(word))}, said: said})
}

// add finds the terms of a word: as it was written somewhere, else by its stem, else by spelling.
func (q *query) add(v *vocabulary, word []byte, stops bool) {
	if !stops && stopWords[string(word)] {
		return
	}
	if f, ok := v.forms[string(word)]; ok {
		for _, id := range v.ids[f.at : f.at+f.n] {
			q.keep(id, word, 1)
		}
		return
	}
	// Another inflection of a known word: "fetches" where only "fetching" was ever written.
	if i, ok := slices.BinarySearch(v.terms, stem(string(word))); ok {
		q.keep(int32(i), word, 1)
		return
	}
	q.unknown++
	var near []like
	if q.unknown <= maxUnknown {
		q.absent = append(q.absent, span{int32(len(q.text)), int32(len(word))})
		q.text = append(q.text, word...)
		near = v.grams.nearest(word, &q.near)
	}
	for _, g := range near {
		q.keep(g.term, word, g.likeness)
	}
	if len(near) == 0 {
		q.novel++
	}
}
