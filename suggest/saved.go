package suggest

import (
	"bytes"
	"encoding/gob"
)

// saved is the part of the measures that a restart need not compute again: the latent text space.
// Everything else is measured faster than it would be read and checked.
type saved struct {
	Nodes, Episodes int
	Latent          []byte
}

// Save returns what a later Measure of the same counts can start from.
func (m *Measures) Save() ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(saved{m.nodes, m.episodes, m.text.MarshalLatent()})
	return b.Bytes(), err
}

// decodeSaved returns nothing where the bytes are unreadable or belong to other counts. The text
// index checks the rest by a fingerprint of its documents.
func decodeSaved(data []byte, c *Counts) saved {
	var s saved
	if len(data) == 0 || gob.NewDecoder(bytes.NewReader(data)).Decode(&s) != nil ||
		s.Nodes != len(c.ids) || s.Episodes != len(c.past) {
		return saved{}
	}
	return s
}
