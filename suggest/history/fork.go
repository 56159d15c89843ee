package history

import (
	"maps"
	"slices"

	"waymark/catalog"
)

// WithCatalog returns a new state that holds the tools, and then the capabilities, in their order.
func WithCatalog(tools []catalog.Tool, capabilities []catalog.Capability) *State {
	s := NewState()
	for _, t := range tools {
		s.PutTool(t)
	}
	for _, c := range capabilities {
		s.PutCapability(c)
	}
	return s
}

// Fork returns a new state with the catalog of s, which has been frozen and holds no episode. Later changes to one do
// not affect the other. Where two spellings of one tool are joined it returns nil: their counts would be shared.
func (s *State) Fork() *State {
	if len(s.shown.spelled) > 0 {
		return nil
	}
	t := NewState()
	t.ids, t.index = slices.Clone(s.ids), s.index.clone()
	t.out, t.own, t.uses = make([][]transition, len(s.out)), slices.Clone(s.own), slices.Clone(s.uses)
	t.gone, t.tools, t.caps, t.view = maps.Clone(s.gone), maps.Clone(s.tools), maps.Clone(s.caps), s.view
	h := &s.shown
	t.shown = shown{canon: slices.Clone(h.canon), awaited: maps.Clone(h.awaited), view: h.view, roles: h.roles, starts: h.starts, live: h.live, scratch: h.scratch}
	return t
}
