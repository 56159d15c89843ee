package semantic

import (
	"cmp"
	"slices"
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

// token is a word of a text, or several words of a compound in one.
type token struct {
	word   int32
	joined bool
}

// A reader interns the words of many texts before there is a vocabulary.
type reader struct {
	number map[string]int32
	words  []string
	single []bool    // written undivided somewhere
	part   []bool    // part of something joined
	parts  [][]int32 // of a joined form; nil for words never joined
	stop   []bool
	scan   scanner
}

func newReader() *reader { return &reader{number: map[string]int32{}} }

// join notes that a word was written with these parts. Of several spellings the one that comes first
// in the alphabet counts, whichever was read first.
func (r *reader) join(word int32, tokens []token) {
	parts := make([]int32, len(tokens))
	for i, t := range tokens {
		parts[i] = t.word
	}
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

// read returns the tokens of a text. A compound of several parts is followed by its joined forms.
func (r *reader) read(text string) (tokens []token) {
	r.scan.reset(text)
	for r.scan.next() {
		first := len(tokens)
		for i := range r.scan.ends {
			tokens = append(tokens, token{word: r.intern(r.scan.part(i))})
		}
		if len(r.scan.ends) == 1 {
			r.single[tokens[first].word] = true
			continue
		}
		for _, t := range tokens[first:] {
			r.part[t.word] = true
		}
		for _, run := range r.scan.runs {
			joined := r.intern(r.scan.joined(run))
			r.join(joined, tokens[first+int(run.at):first+int(run.at+run.n)])
			tokens = append(tokens, token{joined, true})
		}
	}
	return tokens
}

// vocabulary numbers the stems of everything read. terms[w] is the term of word w, or -1 if w is
// only ever a joined form.
func (r *reader) vocabulary() (v *vocabulary, terms []int32) {
	stems := make([]string, len(r.words))
	v = &vocabulary{forms: make(map[string]form, len(r.words))}
	for w := range r.words {
		if r.single[w] || r.part[w] {
			stems[w] = stem(r.words[w])
		}
	}
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
		if stems[w] != "" || r.parts[w] != nil {
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

// Limits of a request. Text beyond them is ignored: a request that long says what it wants early.
const (
	maxWords   = 1024 // words read
	maxUnknown = 8    // words looked up by their n-grams
)
