package semantic

import (
	"encoding/binary"
	"io"
	"math"
	"slices"
)

// Hash writes every stored value of the index to w in a fixed order: indexes that write the same bytes
// give the same answers.
func (ix *Index) Hash(w io.Writer) error {
	o := &writer{to: w}
	o.number(uint64(ix.docs))
	p := ix.options
	for _, f := range []Field{p.Name, p.Text, p.Properties, p.Context} {
		o.floats(f.Weight, f.B)
	}
	o.floats(p.K1, p.ContextK1, p.LatentWeight, p.VectorWeight, p.MixContext)
	o.number(uint64(p.Rank))
	o.number(p.Seed)
	ix.words.hash(o)
	x := ix.lexical
	o.floats(x.idf...)
	o.floats(x.most...)
	o.spans(x.lists)
	o.ints(x.doc)
	o.singles(x.weight)
	o.number(uint64(ix.latent.rank))
	o.floats(ix.latent.docs.floor, ix.latent.held)
	o.floats(ix.latent.sigma...)
	o.singles(ix.latent.basis)
	o.singles(ix.latent.docs.flat)
	o.number(uint64(ix.vectors.dimension))
	o.floats(ix.vectors.floor)
	o.singles(ix.vectors.flat)
	o.flush()
	return o.err
}

// hash leaves out what follows from the words: the numbers of forms and the lists of n-grams.
func (v *vocabulary) hash(o *writer) {
	o.texts(v.terms)
	words := make([]string, 0, len(v.forms))
	for w := range v.forms {
		words = append(words, w)
	}
	slices.Sort(words)
	o.texts(words)
	for _, w := range words {
		f := v.forms[w]
		o.ints(v.ids[f.at : f.at+f.n])
	}
	o.texts(v.grams.words) // the n-grams follow from the words
	o.ints(v.grams.terms)
}

// A writer collects fixed-size values and passes them on in large pieces.
type writer struct {
	to  io.Writer
	buf []byte
	err error
}

func (w *writer) number(x uint64) {
	w.buf = binary.LittleEndian.AppendUint64(w.buf, x)
	if len(w.buf) >= 1<<15 {
		w.flush()
	}
}

func (w *writer) flush() {
	if w.err == nil {
		_, w.err = w.to.Write(w.buf)
	}
	w.buf = w.buf[:0]
}

func (w *writer) texts(list []string) {
	w.number(uint64(len(list)))
	for _, s := range list {
		w.number(uint64(len(s)))
		w.buf = append(w.buf, s...)
	}
}

func (w *writer) floats(list ...float64) {
	for _, x := range list {
		w.number(math.Float64bits(x))
	}
}

func (w *writer) singles(list []float32) {
	for _, x := range list {
		w.number(uint64(math.Float32bits(x)))
	}
}

func (w *writer) ints(list []int32) {
	w.number(uint64(len(list)))
	for _, x := range list {
		w.number(uint64(x))
	}
}

func (w *writer) spans(list []span) {
	for _, s := range list {
		w.number(uint64(s.at))
		w.number(uint64(s.n))
	}
}
