package suggest

import (
	"encoding/json"
	"maps"
	"slices"
)

// Exclusions are ids that are not suggested at the moment, whatever the history contains: their contract is not
// approved, or they cannot be called. They are no part of a model, which is a function of the log alone: they come with
// each request and are part of the question. Exclusions are immutable; nil excludes nothing.
type Exclusions struct {
	by  map[string]Exclusion
	ids []string // sorted

	set      *ToolSet // everything outside is excluded too; nil: nothing more
	callable bool     // what a run cannot call is excluded too
	model    *Model   // says what capabilities use and what can be called; nil without a set and callable
}

// An Exclusion is the reason why an id is excluded: AbsentQuarantined, AbsentUnavailable or AbsentBanned, with a message.
type Exclusion struct {
	Absent string
	Detail string
}

// NewExclusions returns the exclusions of these ids; nil for none.
func NewExclusions(by map[string]Exclusion) *Exclusions {
	if len(by) == 0 {
		return nil
	}
	return &Exclusions{by: maps.Clone(by), ids: slices.Sorted(maps.Keys(by))}
}

// MarshalJSON writes the ids: other ids make it another question.
func (w *Exclusions) MarshalJSON() ([]byte, error) {
	if w.set != nil {
		return json.Marshal(map[string][]string{"ids": w.ids, "set": w.set.Patterns})
	}
	return json.Marshal(w.ids)
}

// And returns the exclusions with more ids. An id that is excluded already keeps its reason.
func (w *Exclusions) And(more map[string]Exclusion) *Exclusions {
	if len(more) == 0 {
		return w
	}
	all := maps.Clone(more)
	if w == nil {
		return NewExclusions(all)
	}
	maps.Copy(all, w.by)
	both := NewExclusions(all)
	both.set, both.model = w.set, w.model // what is outside of a tool set stays outside
	return both
}

// Waiting counts the ids that wait for approval; 0 for whoever may not know of all.
func (w *Exclusions) Waiting() (n int) {
	if w == nil || w.set != nil {
		return 0
	}
	for _, why := range w.by {
		if why.Absent == AbsentQuarantined {
			n++
		}
	}
	return n
}

// Of returns the reason why an id is excluded, if it is.
func (w *Exclusions) Of(id string) (Exclusion, bool) {
	if w == nil {
		return Exclusion{}, false
	}
	h, ok := w.by[id]
	if !ok && w.callable && (!w.model.Catalog.Has(id) || w.model.Host(id)) {
		return Exclusion{AbsentUnavailable, "a run cannot call it"}, true
	}
	if !ok && !w.model.Allows(w.set, id) {
		return Exclusion{AbsentBanned, w.set.Refusal(id).Error()}, true
	}
	return h, ok
}

// callable returns the exclusions with the tools of hosts and those that no catalog describes, for one question.
func (m *Model) callable(w *Exclusions) *Exclusions {
	only := Exclusions{callable: true, model: m}
	if w != nil {
		only.by, only.ids, only.set = w.by, w.ids, w.set
	}
	return &only
}
