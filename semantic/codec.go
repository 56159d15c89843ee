package semantic

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math"
	"slices"
)

// The basis of the latent space is kept as
//
//	magic · fingerprint · rank · terms · σ (rank × float64) · basis (terms × rank × float32) · SHA-256
//
// little endian, the sum over everything before it. The places of the documents are not kept: they
// are one sparse product away.
const magic = "wmlsa\x00\x00\x01"

const header = len(magic) + sha256.Size + 4 + 4

// fingerprint identifies what a basis is computed from: the matrix, the terms, the rank, the seed.
func fingerprint(a *sparse, v *vocabulary, o *Options) [sha256.Size]byte {
	w := writer{to: sha256.New()}
	w.number(uint64(o.Rank))
	w.number(o.Seed)
	w.number(uint64(a.rows))
	w.texts(v.terms)
	for _, x := range a.start {
		w.number(uint64(x))
	}
	for i, c := range a.col {
		w.number(uint64(c))
		w.number(math.Float64bits(a.val[i]))
	}
	w.flush()
	return [sha256.Size]byte(w.to.(interface{ Sum([]byte) []byte }).Sum(nil))
}

// MarshalLatent returns the basis of the latent space, the part of an index that is slow to compute,
// for [Options.Latent]. It is nil if there is none, or if it is that of other documents ([Index.Update]).
func (ix *Index) MarshalLatent() []byte {
	m := ix.latent
	if m.rank == 0 || m.updated {
		return nil
	}
	b := make([]byte, 0, header+8*m.rank+4*len(m.basis)+sha256.Size)
	b = append(b, magic...)
	b = append(b, m.print[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(m.rank))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.basis)/m.rank))
	for _, x := range m.sigma {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	for _, x := range m.basis {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// restore reads a basis and reports whether it is whole and belongs to m.print and a matrix with
// this many terms. If it is not, m stays as it was.
func (m *latent) restore(b []byte, terms int) bool {
	if len(b) < header+sha256.Size || string(b[:len(magic)]) != magic {
		return false
	}
	if !bytes.Equal(b[len(magic):len(magic)+sha256.Size], m.print[:]) {
		return false
	}
	rank := uint64(binary.LittleEndian.Uint32(b[header-8:]))
	rows := uint64(binary.LittleEndian.Uint32(b[header-4:]))
	if rank == 0 || rank > 1<<16 || rows != uint64(terms) ||
		uint64(len(b)) != uint64(header)+8*rank+4*rank*rows+sha256.Size {
		return false
	}
	if sum := sha256.Sum256(b[:len(b)-sha256.Size]); !bytes.Equal(sum[:], b[len(b)-sha256.Size:]) {
		return false
	}
	sigma, basis := make([]float64, rank), make([]float32, rank*rows)
	at := b[header:]
	for i := range sigma {
		sigma[i] = math.Float64frombits(binary.LittleEndian.Uint64(at[8*i:]))
		if !(sigma[i] > 0) || math.IsInf(sigma[i], 0) {
			return false
		}
	}
	at = at[8*rank:]
	for i := range basis {
		basis[i] = math.Float32frombits(binary.LittleEndian.Uint32(at[4*i:]))
		if basis[i]-basis[i] != 0 { // NaN or infinite
			return false
		}
	}
	m.rank, m.sigma, m.basis = int(rank), sigma, basis
	return true
}

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
