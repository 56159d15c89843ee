package suggest

import (
	"sync"

	"waymark/catalog"
	"waymark/suggest/history"
)

// A CatalogCache caches everything derived from the catalog, for callers that build several models of the same
// catalog, as an evaluation does that leaves out each task in turn:
//
//	catalog ──▶ state ──────────────┬─▶ model of these tasks
//	            (worked out once)   └─▶ model of those tasks
//
// A model made with a cache equals the model made without one, bit for bit. The cache keeps the last catalog. The zero
// CatalogCache is empty; it is safe for concurrent use.
type CatalogCache struct {
	mu    sync.Mutex
	state *history.State // of tools and capabilities alone, frozen once
	tools []catalog.Tool
	caps  []catalog.Capability
}

// State is a new state that has the tools, and then the capabilities, in their order. The lists must not
// change any more. A nil CatalogCache has nothing ready.
func (s *CatalogCache) State(tools []catalog.Tool, capabilities []catalog.Capability) *history.State {
	if s == nil {
		return history.WithCatalog(tools, capabilities)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil || !same(s.tools, tools) || !same(s.caps, capabilities) {
		s.tools, s.caps, s.state = tools, capabilities, history.WithCatalog(tools, capabilities)
		s.state.Freeze()
	}
	if state := s.state.Fork(); state != nil {
		return state
	}
	return history.WithCatalog(tools, capabilities)
}

// same reports whether two lists are one.
func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
