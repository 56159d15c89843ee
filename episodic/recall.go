package episodic

import (
	"waymark/internal/codec"
	"waymark/semantic"
)

// Recall finds past episodes by intent.
type Recall struct {
	intents *semantic.Intents
}

// NewRecall indexes the intents of episodes 0..n-1; an empty intent is never found. Once stop,
// which may be nil, says so, it gives up: the result is then of no use.
func NewRecall(intents []string, stop func() bool) *Recall {
	return &Recall{semantic.NewIntents(intents, stop)}
}

// Write writes the index for [ReadRecall].
func (r *Recall) Write(w *codec.Writer) { r.intents.Write(w) }

// ReadRecall reads what [Recall.Write] wrote. What is damaged fails r.
func ReadRecall(r *codec.Reader) *Recall { return &Recall{semantic.ReadIntents(r)} }

// NewAdditions returns no intents, to be extended with those that come later; their similarities compare.
func (r *Recall) NewAdditions() *semantic.IntentAdditions { return r.intents.NewAdditions() }

// Texts are the intents as a collection of texts.
func (r *Recall) Texts() semantic.Collection { return r.intents }

// Len is the number of episodes indexed.
func (r *Recall) Len() int { return r.intents.Len() }

// Neighbour is a past episode and how alike its intent is, in (0, 1].
type Neighbour struct {
	Episode    int32
	Similarity float64
}

// Nearest returns the k episodes whose intents are most alike, best first, ties by age (older first).
func (r *Recall) Nearest(intent string, k int) []Neighbour {
	hits := r.intents.Nearest(intent, k)
	ns := make([]Neighbour, len(hits))
	for i, h := range hits {
		ns[i] = Neighbour{h.Doc, h.Score}
	}
	return ns
}
