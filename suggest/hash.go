package suggest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"waymark/episodic"
	"waymark/internal/codec"
	"waymark/suggest/semantic"
)

// Part is one part of a model and the hash of its content.
type Part struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
}

// Parts hashes the exact bits of every part of the model: two models with equal parts give equal answers.
// The build time and the version of a model are not part of its content.
func (m *Model) Parts() []Part {
	parts := []struct {
		name  string
		write func(w *codec.Writer)
	}{
		{"nodes", func(w *codec.Writer) {
			for i, id := range m.IDs {
				u := m.Usage.At(int32(i))
				asJSON(w, []any{id, m.Canonical[i], m.Removed(int32(i)), m.Unconfirmed(int32(i)), u.Steps, u.Ends, u.Roots})
			}
		}},
		{"catalog", func(w *codec.Writer) {
			for _, t := range m.Catalog.Tools {
				asJSON(w, t)
			}
			for _, c := range m.Catalog.Capabilities {
				asJSON(w, c)
			}
		}},
		{"edges", func(w *codec.Writer) {
			for e := range m.Graph.Edges {
				w.Ints([]int32{e.From, e.To})
				w.Float(e.Weight)
				w.Uint(e.Count)
			}
		}},
		{"memory", func(w *codec.Writer) {
			m.Rates.All(func(tool, before int32, r episodic.Rate) bool {
				if m.Rates.Sources() < 2 {
					r.Failing = 0
				}
				asJSON(w, []any{tool, before, r})
				return true
			})
		}},
		{"episodes", func(w *codec.Writer) {
			for i := range m.Past.N {
				p := m.Past.Episode(i)
				w.Ints(p.Nodes)
				for _, before := range p.Parents() {
					w.Ints(before)
				}
				asJSON(w, []any{p.Intent, string(p.StepOutcomes), p.Time, p.Limited, p.Outcome, m.Sources[p.Source]})
			}
			asJSON(w, m.Totals)
		}},
		{"wiring", func(w *codec.Writer) {
			for i := range m.IDs {
				for _, x := range m.Wires.At(int32(i)) {
					asJSON(w, []any{i, x})
				}
			}
		}},
		{"measures", func(w *codec.Writer) {
			m.measures.writeUnlearned(w)
			w.Ints(m.measures.texts.tool)
			w.Ints(m.measures.texts.recalled)
		}},
		{"thesaurus", func(w *codec.Writer) {
			w.Blob([]byte(cmp.Or(m.measures.thesaurus, semantic.DefaultThesaurus()).String()))
		}},
	}
	out := make([]Part, len(parts))
	for i, p := range parts {
		h := sha256.New()
		w := &codec.Writer{To: h}
		p.write(w)
		_ = w.Flush() // writing to a hash does not fail
		out[i] = Part{p.name, hex.EncodeToString(h.Sum(nil))}
	}
	return out
}

// Hash identifies the content of the model.
func (m *Model) Hash() string {
	h := sha256.New()
	for _, p := range m.Parts() {
		h.Write([]byte(p.Name + "\x00" + p.Hash + "\x00"))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// asJSON writes a value as JSON. Values contain no maps, so that their encoding is deterministic.
func asJSON(w *codec.Writer, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("suggest: a part of the model cannot be encoded: " + err.Error()) // plain structs of checked values
	}
	w.Blob(b)
}
