package live

import (
	"slices"
	"sync"

	"waymark/episodic"
	"waymark/suggest"
)

// served is an answer that was given, for feedback.
type served struct {
	ID       string // suggestion_id; one id always stands for the same list
	Question string
	Context  []string
	Ranked   []string // as shown, the first of them
}

// The questions.
const (
	askedNext   = "next"
	askedSearch = "search"
	askedDAG    = "dag"
)

// mostServed is how many suggestions of an answer are remembered, and servedLimit how many answers, by their id.
const (
	mostServed  = 20
	servedLimit = 4096
)

// servedAnswers remembers the last answers given, in memory.
type servedAnswers struct {
	mu   sync.Mutex
	by   map[string]*served
	ring []string
	next int
}

func (s *servedAnswers) remember(a *served) {
	a.Context, a.Ranked = slices.Clone(a.Context), a.Ranked[:min(len(a.Ranked), mostServed)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by, s.ring = make(map[string]*served, servedLimit), make([]string, servedLimit)
	}
	if _, known := s.by[a.ID]; known {
		return
	}
	delete(s.by, s.ring[s.next])
	s.ring[s.next] = a.ID
	s.next = (s.next + 1) % servedLimit
	s.by[a.ID] = a
}

func (s *servedAnswers) get(id string) *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[id]
}

// noteShown says of the step that was chosen from the suggestions of an answer at which place it stood
// there, if the answer is known.
func (e *Engine) noteShown(ep *episodic.Episode) {
	a := e.answers.get(ep.SuggestionID)
	if a == nil || a.Question != askedNext {
		return
	}
	m := e.Model()
	if i, ok := a.followedBy(ep, m); ok {
		ep.Steps[i].Shown = slices.Index(a.ranked(m), resolved(m, ep.Steps[i].Tool)) + 1
	}
}

// resolved is the canonical id of a spelling, or the spelling where it has none.
func resolved(m *suggest.Model, spelling string) string {
	if id, err := m.Resolve(spelling); err == nil {
		return id
	}
	return spelling
}

// ranked lists what was shown, under the ids that count today.
func (a *served) ranked(m *suggest.Model) []string {
	ids := make([]string, len(a.Ranked))
	for i, id := range a.Ranked {
		ids[i] = resolved(m, id)
	}
	return ids
}

// followedBy finds the step of an episode that was done after an answer was given: after its context. An
// episode that has nothing of the context began after the answer. There is none where the context is all
// that was done.
func (a *served) followedBy(ep *episodic.Episode, m *suggest.Model) (step int, ok bool) {
	order := ep.Order()
	if len(order) == 0 {
		return 0, false
	}
	if len(a.Context) == 0 {
		return order[0], true
	}
	context, done := make([]string, len(a.Context)), make([]string, len(order))
	for i, id := range a.Context {
		context[i] = resolved(m, id)
	}
	for i, step := range order {
		done[i] = resolved(m, ep.Steps[step].Tool)
	}
	at := len(context) // of what came next
	if len(done) < at || !slices.Equal(context, done[:at]) {
		at = slices.Index(done, context[len(context)-1]) + 1
	}
	if at == len(done) {
		return 0, false
	}
	return order[at], true
}
