package history

import (
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"waymark/episodic"
)

// maxGrowing is the number of episodes that are kept whole because they may still grow, the most recently grown ones.
// [State.Open] restores others.
const maxGrowing = 1024

// grown is an episode that may still grow, with the data needed to count its next step.
type grown struct {
	episodic.Grown
	past   int32    // its index among the past episodes, -1 while it has no step
	values []Values // of the steps
}

// newGrowing returns an empty cache of episodes by id.
func newGrowing() *lru.Cache[string, *grown] {
	c, err := lru.New[string, *grown](maxGrowing)
	mustNotFail(err)
	return c
}

// Grown returns the current content of an episode that may still grow; nil if none with that id is kept. The
// caller must not change it.
func (s *State) Grown(id string) *episodic.Grown {
	if g, ok := s.growing.Peek(id); ok {
		return &g.Grown
	}
	return nil
}

// GrownIn returns the most recently grown episode of a session; nil if there is none.
func (s *State) GrownIn(source, session string) (last *episodic.Grown) {
	for _, g := range s.growing.Values() { // the most recently grown last
		if g.Source == source && g.Session == session {
			last = &g.Grown
		}
	}
	return last
}

// Open prepares an episode for further steps by [State.Perform]. If g has steps, they are counted, but the state no
// longer keeps them: the episode was recorded whole, or was evicted when others grew. g holds the content as it was
// counted, so Open counts nothing. It ignores an episode that is kept, and one with steps that was never counted.
func (s *State) Open(g *episodic.Grown) {
	if s.growing.Contains(g.ID) {
		return
	}
	o := &grown{Grown: *g.Clone(), past: -1}
	if len(g.Steps) > 0 {
		for i := range o.Steps {
			o.values = append(o.values, stripped(&o.Steps[i]))
		}
		if o.past = s.pastIndex(&o.Episode); o.past < 0 {
			return
		}
	}
	s.growing.Add(o.ID, o)
}

// stripped clears the fields of a step that are not needed to count later steps, and returns its digests.
func stripped(step *episodic.Step) Values {
	v := ValuesOf(step.Inputs, step.Outputs)
	step.Error, step.Shape, step.Inputs, step.Outputs = "", "", nil, nil // the log has them
	return v
}

// pastIndex returns the index of an episode among the past episodes, the newest one of equal ones; -1 if there is none.
// Past episodes have no ids: those with equal time, source, intent, outcome and nodes are interchangeable.
func (s *State) pastIndex(e *episodic.Episode) int32 {
	source, ok := s.sources.source[s.sources.treatments.Name(e.Source, e.Label)]
	if !ok || slices.ContainsFunc(e.Steps, func(step episodic.Step) bool { return !s.Knows(step.Tool) }) {
		return -1
	}
	want := pastOf(e, s.nodesOf(e), source, e.Order(), e.Before())
	for i := int32(s.totals.Episodes) - 1; i >= 0; i-- {
		p := s.past.At(i)
		same := p.Time == want.Time && p.Source == source && p.Intent == want.Intent && p.Outcome == want.Outcome
		if same && slices.Equal(p.Nodes, want.Nodes) {
			return i
		}
	}
	return -1
}

// Perform folds a performed step or an outcome of a growing episode. After the last step, the counts are equal
// to those of [State.Record] for the whole episode: a step adds the pairs that contain it, and moves only the
// end. A step that is already present adds nothing.
func (s *State) Perform(p *episodic.Performed) {
	unknown := episodic.Episode{ID: p.Episode, Source: p.Source, Time: p.Time}
	s.Open(&episodic.Grown{Episode: unknown}) // no effect if the episode is kept
	g, _ := s.growing.Get(p.Episode)
	if p.Outcome.Known() {
		if g.past >= 0 {
			s.totals.Outcomes[outcomeIndex(g.Outcome)]--
			s.totals.Outcomes[outcomeIndex(p.Outcome)]++
		}
		g.Outcome = p.Outcome
	}
	more := p.Step != nil && !g.Has(p.Step.ID)
	if !more && g.past < 0 {
		return
	}
	source := s.sourceOf(&g.Episode)
	if g.past < 0 {
		g.past = s.begin(&g.Episode, source)
	}
	limited := s.past.At(g.past).Limited
	if more {
		limited = s.perform(g, p, source) || limited
	}
	past := pastOf(&g.Episode, s.nodesOf(&g.Episode), source, g.Order(), g.Before())
	past.Limited = limited
	s.past.Set(g.past, past)
}

// perform counts a new step. It reports whether the source reports one of its transitions too often.
func (s *State) perform(g *grown, p *episodic.Performed, source int32) (limited bool) {
	r := recording{&g.Episode, source, s.nodesOf(&g.Episode), map[pair]bool{}}
	for _, t := range g.Transitions() {
		r.seen[pair{r.nodes[t.From], r.nodes[t.To]}] = true
	}
	s.end(g, -1)
	x := g.Add(p)
	g.values = slices.Insert(g.values, x, stripped(&g.Steps[x]))
	s.end(g, 1)
	r.nodes = slices.Insert(r.nodes, x, s.node(p.Step.Tool))
	before := g.Before()
	limited = s.observe(&r, x, before[x])
	for y := range g.Steps { // steps that directly follow x by order; a step that depends on x by name is performed later
		if g.Steps[y].DependsOn != nil || !slices.Contains(before[y], x) {
			continue
		}
		limited = s.follow(&r, x, y) || limited
		known := func(b int) bool { return b != x && r.nodes[b] == r.nodes[x] } // the pair is counted already
		if !slices.ContainsFunc(before[y], known) {
			s.memory.ObserveAfter(r.nodes[y], r.nodes[x], g.Steps[y].Outcome, g.Time, source)
		}
	}
	s.observeCall(g.past, x, r.nodes, g.values, before)
	return limited
}

// end counts the last step of an episode as its end; with sign -1 it reverts that.
func (s *State) end(g *grown, sign int64) {
	if n := len(g.Steps); n > 0 {
		last := s.node(g.Steps[n-1].Tool)
		s.shown.touched[last] = true
		s.uses[last].Ends += uint64(sign)
	}
}
