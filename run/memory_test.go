package run

import (
	"context"
	"maps"
	"sync"
)

// Memory is a journal that ends with the process.
type Memory struct {
	mu   sync.Mutex
	runs map[string]*Past
	over map[string]Status
}

func (m *Memory) Start(_ context.Context, r Record, _ Status) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs == nil {
		m.runs, m.over = map[string]*Past{}, map[string]Status{}
	}
	m.runs[r.ID] = &Past{r, map[string]Node{}, nil}
	return nil
}

func (m *Memory) Began(_ context.Context, run string, n Node) error { return m.note(run, n) }
func (m *Memory) Ended(_ context.Context, run string, n Node) error { return m.note(run, n) }

func (m *Memory) note(run string, n Node) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs[run].Nodes[n.ID] = n
	return nil
}

func (m *Memory) Leave(_ context.Context, s Status) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over[s.ID] = s
	return nil
}

// Past is what is kept of a run.
func (m *Memory) Past(run string) Past {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := *m.runs[run]
	p.Nodes = maps.Clone(p.Nodes)
	return p
}

// Ending is how a run was left.
func (m *Memory) Ending(run string) (Status, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.over[run]
	return s, ok
}
