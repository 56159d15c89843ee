package suggest

import (
	"slices"

	"waymark/catalog"
)

// MostNear bounds the unknown ids of one request for which similar ids are searched, because each costs a pass over all
// ids.
const MostNear = 3

// UnknownID is an id of a request that no catalog and no episode has, with the known ids of the most similar spelling.
type UnknownID struct {
	ID         string   `json:"id" doc:"As written in the request."`
	DidYouMean []string `json:"did_you_mean" doc:"The known ids with the most similar spelling, at most three, best first."`
	Message    string   `json:"message" doc:"The same in one sentence."`
}

// Unknown lists the distinct unknown ids of a context, in order. It never proposes withheld ids.
func (m *Model) Unknown(context []string, withheld *Exclusions) []UnknownID {
	var unknown []UnknownID
	for _, spelling := range context {
		_, known, err := m.node(spelling)
		if known || err != nil || slices.ContainsFunc(unknown, func(u UnknownID) bool { return u.ID == spelling }) {
			continue
		}
		var near []string
		if len(unknown) < MostNear {
			near = m.near(spelling, func(n int32) bool { _, held := withheld.Of(m.IDs[n]); return !held })
		}
		unknown = append(unknown, unknownID(catalog.KindTool, spelling, near))
	}
	return unknown
}

// UnknownID describes an id that the catalog does not have, with similar ids from the catalog if suggestions is true.
func (m *Model) UnknownID(spelling string, kind catalog.Kind, suggestions bool) UnknownID {
	var near []string
	if suggestions {
		near = m.near(spelling, func(n int32) bool { return m.Kind(n) == kind && m.Catalog.Has(m.IDs[n]) })
	}
	return unknownID(kind, spelling, near)
}

func unknownID(kind catalog.Kind, spelling string, near []string) UnknownID {
	if near == nil {
		near = []string{}
	}
	return UnknownID{ID: spelling, DidYouMean: near, Message: catalog.UnknownMessage(kind, spelling, near)}
}

// near lists the ids with the most similar spelling, among the nodes that can be suggested and are accepted.
func (m *Model) near(spelling string, accepted func(int32) bool) []string {
	return catalog.Near(spelling, func(yield func(string, uint64) bool) {
		for n := range int32(len(m.IDs)) {
			if m.Live(n) && accepted(n) && !yield(m.IDs[n], m.Usage.At(n).Steps) {
				return
			}
		}
	})
}
