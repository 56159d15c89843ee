package suggest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"math"
	"slices"

	"waymark/episodic"
	"waymark/internal/codec"
	"waymark/suggest/history"
	"waymark/suggest/semantic"
)

// Part is one part of a model and the hash of its content.
type Part struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
}

// Parts hashes every part of the model bit by bit: two models with equal parts give equal answers.
// When a model was built, and under which version, is not content.
func (m *Model) Parts() []Part {
	parts := []struct {
		name  string
		write func(w *digest)
	}{
		{"nodes", func(w *digest) {
			for i, id := range m.IDs {
				w.text(id)
				w.int(int64(m.Canonical[i]))
				w.bool(m.Removed(int32(i)))
				w.uses(m.Usage.At(int32(i)))
				if m.Unconfirmed(int32(i)) {
					w.text("unconfirmed")
				}
			}
		}},
		{"catalog", func(w *digest) {
			for _, t := range m.Catalog.Tools {
				w.json(t)
			}
			for _, c := range m.Catalog.Capabilities {
				w.json(c)
			}
		}},
		{"edges", func(w *digest) {
			for e := range m.Graph.Edges {
				w.int(int64(e.From))
				w.int(int64(e.To))
				w.float(e.Weight)
				w.int(int64(e.Count))
			}
		}},
		{"memory", func(w *digest) {
			m.Rates.All(func(tool, before int32, r episodic.Rate) bool {
				w.int(int64(tool))
				w.int(int64(before))
				w.floats([]float64{r.Success, r.Failure})
				w.int(int64(r.N))
				w.int(int64(r.Failures))
				w.int(int64(r.Sources))
				if m.Rates.Sources() > 1 {
					w.int(int64(r.Failing))
				}
				return true
			})
		}},
		{"episodes", func(w *digest) {
			for i := range m.Past.N {
				p := m.Past.Episode(i)
				w.text(p.Intent)
				w.ints(p.Nodes)
				for _, before := range p.Parents() {
					w.ints(before)
				}
				w.text(string(p.StepOutcomes))
				w.int(p.Time)
				if p.Limited {
					w.text("limited")
				}
				w.int(int64(p.Outcome))
				w.text(m.Sources[p.Source])
			}
			w.json([]any{
				m.Totals.Episodes, m.Totals.Steps, m.Totals.Outcomes, m.Totals.StepOutcomes,
			})
		}},
		{"wiring", func(w *digest) {
			for i := range m.IDs {
				for _, x := range m.Wires.At(int32(i)) {
					w.json([]any{i, x})
				}
			}
		}},
		{"pagerank", func(w *digest) { w.floats(m.measures.rank) }},
		{"communities", func(w *digest) {
			w.ints(m.measures.groups.community)
			w.float(m.measures.groups.modularity)
		}},
		{"clusters", func(w *digest) {
			w.ints(m.measures.groups.cluster)
			w.floats(m.measures.groups.gaps)
		}},
		{"hypergraph", func(w *digest) { w.floats(m.measures.hyperRank) }},
		{"text", func(w *digest) {
			w.ints(m.measures.texts.tool)
			m.measures.texts.vectors.Write(&codec.Writer{To: w.h})
		}},
		{"thesaurus", func(w *digest) { w.text(cmp.Or(m.measures.thesaurus, semantic.DefaultThesaurus()).String()) }},
		{"recall", func(w *digest) { w.ints(m.measures.texts.recalled) }},
		{"learned", m.hashLearned},
	}
	out := make([]Part, len(parts))
	for i, p := range parts {
		w := &digest{h: sha256.New()}
		p.write(w)
		out[i] = Part{p.name, hex.EncodeToString(w.h.Sum(nil))}
	}
	return out
}

// Hash names the content of the model.
func (m *Model) Hash() string {
	h := sha256.New()
	for _, p := range m.Parts() {
		h.Write([]byte(p.Name + "\x00" + p.Hash + "\x00"))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// digest writes values into a hash, each in one unambiguous form.
type digest struct {
	h   hash.Hash
	buf []byte
}

func (w *digest) int(v int64) {
	w.buf = binary.BigEndian.AppendUint64(w.buf[:0], uint64(v))
	w.h.Write(w.buf)
}

func (w *digest) float(v float64) { w.int(int64(math.Float64bits(v))) }

func (w *digest) bool(v bool) {
	n := int64(0)
	if v {
		n = 1
	}
	w.int(n)
}

// text writes the length in front: without it "ab", "c" and "a", "bc" would be the same bytes.
func (w *digest) text(s string) {
	w.int(int64(len(s)))
	w.h.Write([]byte(s))
}

func (w *digest) floats(x []float64) {
	w.int(int64(len(x)))
	for _, v := range x {
		w.float(v)
	}
}

// ints passes 1,024 values at a time to the hash.
func (w *digest) ints(x []int32) {
	w.int(int64(len(x)))
	for chunk := range slices.Chunk(x, 1024) {
		w.buf = w.buf[:0]
		for _, v := range chunk {
			w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(v))
		}
		w.h.Write(w.buf)
	}
}

func (w *digest) uses(u history.Usage) {
	w.int(int64(u.Steps))
	w.int(int64(u.Ends))
	w.int(int64(u.Roots))
}

// json suits values without a map, whose encoding has one order only.
func (w *digest) json(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("suggest: a part of the model cannot be encoded: " + err.Error()) // plain structs of checked values
	}
	w.text(string(b))
}
