package history

import (
	"slices"

	"waymark/episodic"
	"waymark/suggest/learn/wiring"
)

// Open folds that steps of an episode follow by [State.Perform]. Where it has steps, this state has kept only what it
// counted of them: it was recorded whole, or other episodes grew since. The content is that of the episode as it was
// counted, so nothing is counted here. An episode that is kept, or was never counted, is left alone.
func (s *State) Open(g *episodic.Grown) {
	if s.growing.get(g.ID) != nil {
		return
	}
	if len(g.Steps) == 0 {
		s.growing.put(&grown{Grown: episodic.Grown{Episode: g.Episode}, past: -1, counted: map[pair]bool{}})
		return
	}
	o := &grown{Grown: *g.Clone(), nodes: make([]int32, len(g.Steps))}
	for i := range o.Steps {
		step := &o.Steps[i]
		node, ok := s.index.find(s.ids, step.Tool)
		if !ok {
			return
		}
		o.nodes[i] = node
		o.values = append(o.values, wiring.ValuesOf(step.Inputs, step.Outputs))
		step.Error, step.Shape, step.Inputs, step.Outputs = "", "", nil, nil // as in revise
	}
	before, order := o.Before(), o.Order()
	o.branched, o.counted = true, pairs(&o.Episode, o.nodes)
	if o.past = s.pastIndex(&o.Episode, o.nodes, order, before); o.past < 0 {
		return
	}
	o.limited = s.past.At(o.past).Limited
	o.bypassed = s.bypassed(&o.Episode, order, "")
	s.growing.steps += len(o.Steps)
	s.growing.put(o)
}

// pastIndex finds an episode among the past ones, the newest of equal ones; -1 if it is not there. Past
// episodes have no ids: two that are equal in all that is kept of them may stand for each other.
func (s *State) pastIndex(e *episodic.Episode, nodes []int32, order []int, before [][]int) int32 {
	source, ok := s.sources.source[s.sources.treatments.Name(e.Source, e.Label)]
	if !ok {
		return -1
	}
	want := pastOf(e, nodes, source, order, before)
	for i := int32(s.totals.Episodes) - 1; i >= 0; i-- {
		p := s.past.At(i)
		if p.Time == want.Time && p.Source == source && p.Intent == want.Intent && p.Outcome == want.Outcome && slices.Equal(p.Nodes, want.Nodes) {
			return i
		}
	}
	return -1
}
