package suggest

import (
	"encoding/json"
	"maps"
	"slices"
)

// Withheld are ids that are not suggested at the moment, whatever the history says: nobody approved their
// contract, or they cannot be called. It is no part of a model, which is a function of the log alone; it
// comes with each request, is part of the question, and is never changed. A nil Withheld holds nothing.
type Withheld struct {
	by  map[string]Held
	ids []string // sorted
}

// Held is the reason why an id is withheld: AbsentQuarantined or AbsentUnavailable, with a message.
type Held struct {
	Absent string
	Detail string
}

// Withhold makes a Withheld; nil for nothing.
func Withhold(by map[string]Held) *Withheld {
	if len(by) == 0 {
		return nil
	}
	return &Withheld{maps.Clone(by), slices.Sorted(maps.Keys(by))}
}

// MarshalJSON writes the ids: they are what makes it another question.
func (w *Withheld) MarshalJSON() ([]byte, error) { return json.Marshal(w.ids) }

// And adds to what is withheld; what is in it already keeps its reason.
func (w *Withheld) And(more map[string]Held) *Withheld {
	if len(more) == 0 {
		return w
	}
	all := maps.Clone(more)
	if w != nil {
		maps.Copy(all, w.by)
	}
	return Withhold(all)
}

// Of is the reason why an id is withheld, if it is.
func (w *Withheld) Of(id string) (Held, bool) { return w.of(id) }

func (w *Withheld) of(id string) (Held, bool) {
	if w == nil {
		return Held{}, false
	}
	h, ok := w.by[id]
	return h, ok
}
