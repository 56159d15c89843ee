package suggest

import (
	"encoding/json"
	"maps"
	"slices"
)

// Exclusions are ids that are not suggested at the moment, whatever the history contains: their contract is not
// approved, they cannot be called, or a rule bans them. They are not part of a model, which is a function of the log
// alone, but of each request. Exclusions are immutable; nil excludes nothing.
type Exclusions struct {
	by  map[string]Exclusion
	ids []string // sorted

	set      *ToolSet // ids outside the set are excluded too; nil: no further ids
	callable bool     // ids that a run cannot call are excluded too
	model    *Model   // for the tools of capabilities and the callable ids; nil without set and callable
}

// An Exclusion is the reason why an id is excluded: AbsentQuarantined, AbsentUnavailable or AbsentBanned, with a
// message.
type Exclusion struct {
	Absent string
	Detail string
}

// NewExclusions returns the exclusions of the given ids, nil if there are none.
func NewExclusions(by map[string]Exclusion) *Exclusions {
	if len(by) == 0 {
		return nil
	}
	return &Exclusions{by: maps.Clone(by), ids: slices.Sorted(maps.Keys(by))}
}

// MarshalJSON writes the ids and the patterns of the tool set, so that they are part of the suggestion id.
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
	both.set, both.model = w.set, w.model // ids outside the tool set stay excluded
	return both
}

// Waiting counts the ids that wait for approval. It is 0 with a tool set, whose agent may not learn about all ids.
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

// Of returns the reason why an id is excluded, and whether it is.
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

// callable returns, for one request, the exclusions extended by the tools of hosts and the ids that no catalog
// describes.
func (m *Model) callable(w *Exclusions) *Exclusions {
	only := Exclusions{callable: true, model: m}
	if w != nil {
		only.by, only.ids, only.set = w.by, w.ids, w.set
	}
	return &only
}
