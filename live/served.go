package live

import (
	"slices"
	"sync"

	"waymark/suggest"
)

// served is an answer that was given, for feedback.
type served struct {
	Context []string
	First   string // id of the first suggestion; empty: there was none
}

// servedLimit is how many answers are remembered.
const servedLimit = 4096

// servedAnswers remembers the last answers given, in memory.
type servedAnswers struct {
	mu   sync.Mutex
	by   map[string]*served
	ring []string
	next int
}

// remember keeps an answer by its suggestion_id, which always stands for the same list.
func (s *servedAnswers) remember(id string, context []string, first string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by, s.ring = make(map[string]*served, servedLimit), make([]string, servedLimit)
	}
	if _, known := s.by[id]; known {
		return
	}
	delete(s.by, s.ring[s.next])
	s.ring[s.next] = id
	s.next = (s.next + 1) % servedLimit
	s.by[id] = &served{slices.Clone(context), first}
}

func (s *servedAnswers) get(id string) *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[id]
}

// resolved is the canonical id of a spelling, or the spelling where it has none.
func resolved(m *suggest.Model, spelling string) string {
	if id, err := m.Resolve(spelling); err == nil {
		return id
	}
	return spelling
}
