package semantic

import (
	"slices"
	"sync"
)

// Words keep what was read of texts, for whoever builds many indexes that have texts in common. They change
// no bit of an index, and grow with every new text. The zero Words are empty; they are safe for concurrent
// use.
type Words struct {
	mu     sync.Mutex
	reader *reader
	texts  map[string][]token
}

// read is [reader.readAll] of a new reader, which it returns. A nil Words has read nothing yet.
func (w *Words) read(n int, text func(i int) string, stop func() bool) (*reader, [][]token) {
	if w == nil {
		r := newReader()
		return r, r.readAll(n, text, stop)
	}
	r, all := w.known(n, text, stop)
	if all == nil {
		return r, nil
	}
	for _, tokens := range all {
		for _, t := range tokens {
			r.note(t)
		}
	}
	return r, all
}

// known reads the texts that are new, and returns the tokens of all, and a reader that has met their words
// and does not know yet how they are written.
func (w *Words) known(n int, text func(i int) string, stop func() bool) (*reader, [][]token) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reader == nil {
		w.reader, w.texts = newReader(), map[string][]token{}
	}
	var fresh []string
	for i := range n {
		if _, ok := w.texts[text(i)]; !ok {
			w.texts[text(i)] = nil
			fresh = append(fresh, text(i))
		}
	}
	read := w.reader.readAll(len(fresh), func(i int) string { return fresh[i] }, stop)
	if read == nil && len(fresh) > 0 {
		for _, s := range fresh {
			delete(w.texts, s)
		}
		return nil, nil
	}
	for i, s := range fresh {
		w.texts[s] = read[i]
	}
	w.reader.stem()
	all := make([][]token, n)
	for i := range all {
		all[i] = w.texts[text(i)]
	}
	return w.reader.begin(), all
}

// begin is a reader that has met the words of r, and no text. It reads no text itself. What r meets later
// is nothing to it.
func (r *reader) begin() *reader {
	n := len(r.words)
	return &reader{
		words: slices.Clip(r.words), stop: slices.Clip(r.stop), stems: slices.Clone(r.stems), compounds: slices.Clip(r.compounds),
		single: make([]bool, n), part: make([]bool, n), parts: make([][]int32, n),
	}
}

// stem stems the words that have not been.
func (r *reader) stem() {
	from := len(r.stems)
	r.stems = append(r.stems, make([]string, len(r.words)-from)...)
	spread(len(r.words)-from, 512, func(a, b int) {
		for w := from + a; w < from+b; w++ {
			r.stems[w] = stem(r.words[w])
		}
	})
}

// note takes down how the word of a token is written.
func (r *reader) note(t token) {
	switch {
	case t.joined:
		r.join(t.word, t.parts)
	case t.single:
		r.single[t.word] = true
	default:
		r.part[t.word] = true
	}
}
