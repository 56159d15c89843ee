package history

import (
	"container/list"
	"encoding/json"
	"slices"

	"waymark/episodic"
	"waymark/internal/codec"
	"waymark/suggest/learn/wiring"
)

// Episodes that may still grow are kept whole, the most recently grown ones. Of one that is no longer
// kept, a late step counts as an episode of its own.
const (
	maxGrowing      = 4096    // episodes
	maxGrowingSteps = 1 << 16 // of all of them together
)

// growing are the episodes that may still grow.
type growing struct {
	byID  map[string]*list.Element // of order
	order *list.List               // of *grown, the most recently grown last
	steps int
}

// newGrowing is an empty set of episodes.
func newGrowing() growing { return growing{map[string]*list.Element{}, list.New(), 0} }

// all yields the episodes, the most recently grown last.
func (g *growing) all(yield func(*grown) bool) {
	for e := g.order.Front(); e != nil; e = e.Next() {
		if !yield(e.Value.(*grown)) {
			return
		}
	}
}

// put adds an episode, or says that it has just grown.
func (g *growing) put(o *grown) {
	if e, ok := g.byID[o.ID]; ok {
		g.order.MoveToBack(e)
	} else {
		g.byID[o.ID] = g.order.PushBack(o)
	}
	for g.order.Len() > maxGrowing || g.steps > maxGrowingSteps {
		oldest := g.order.Remove(g.order.Front()).(*grown)
		delete(g.byID, oldest.ID)
		g.steps -= len(oldest.Steps)
	}
}

// get returns an episode that is still kept, else nil. It does not count as growing.
func (g *growing) get(id string) *grown {
	if e, ok := g.byID[id]; ok {
		return e.Value.(*grown)
	}
	return nil
}

// grown is an episode that may still grow, and what is counted of it.
type grown struct {
	episodic.Grown
	past     int32           // its place among the past episodes, -1 while it has no step
	nodes    []int32         // of the steps
	values   []wiring.Values // of the steps
	branched bool            // some step came after others than the one before it
	bypassed []string        // capabilities that it did by hand
	limited  bool            // as in [Episode]
	counted  map[pair]bool   // the transitions that it has had, if its source has a key
}

// Grown is an episode that may still grow, as far as it is done; nil if there is none of that id. It is
// not to be changed.
func (s *State) Grown(id string) *episodic.Grown {
	if g := s.growing.get(id); g != nil {
		return &g.Grown
	}
	return nil
}

// GrownIn is the episode of a session that grew last, nil if there is none.
func (s *State) GrownIn(source, session string) (last *episodic.Grown) {
	for g := range s.growing.all {
		if g.Source == source && g.Session == session {
			last = &g.Grown
		}
	}
	return last
}

// Perform folds what was performed in an episode that grows. When its last step is folded, what is counted
// is what [State.Record] counts of the whole episode: a step adds the pairs it is in, and moves only the
// end. A step that is there already adds nothing.
func (s *State) Perform(p *episodic.Performed) {
	s.Open(&episodic.Grown{Episode: episodic.Episode{ID: p.Episode, Source: p.Source, Time: p.Time}}) // if nothing is known of it
	g := s.growing.get(p.Episode)
	if p.Outcome.Known() {
		if g.past >= 0 {
			s.totals.Outcomes[outcomeIndex(g.Outcome)]--
			s.totals.Outcomes[outcomeIndex(p.Outcome)]++
		}
		g.Outcome = p.Outcome
	}
	more := p.Step != nil && !g.Has(p.Step.ID)
	if more || g.past >= 0 {
		s.revise(g, p, more)
	}
	s.growing.put(g)
}

// revise brings what is counted of an episode up to date, with one step more if there is one.
func (s *State) revise(g *grown, p *episodic.Performed, more bool) {
	source := s.sourceOf(&g.Episode)
	if g.past < 0 {
		g.past = int32(s.totals.Episodes)
		s.sources.bySource.Set(source, s.sources.bySource.At(source)+1)
		s.totals.Episodes++
		s.totals.Outcomes[outcomeIndex(g.Outcome)]++
	}
	if more {
		s.end(g, -1)
		x := g.Add(p)
		step := &g.Steps[x]
		step.Error, step.Shape, step.Inputs, step.Outputs = "", "", nil, nil // the log has them
		g.nodes = slices.Insert(g.nodes, x, s.node(p.Step.Tool))
		g.values = slices.Insert(g.values, x, wiring.ValuesOf(p.Step.Inputs, p.Step.Outputs))
		s.end(g, 1)
		s.growing.steps++
		s.perform(g, x, source)
		s.bypass(g, x)
		s.observeCall(g.past, x, g.nodes, g.values, func(i int) []int { before, _ := g.Around(i); return before })
	}
	s.past.Set(g.past, g.asPast(source))
}

// asPast is the episode for recall and learning: its steps stand in the order in which they came.
func (g *grown) asPast(source int32) Episode {
	order := make([]int, len(g.Steps))
	for i := range order {
		order[i] = i
	}
	var before [][]int
	if g.branched {
		before = g.Before()
	}
	past := pastOf(&g.Episode, g.nodes, source, order, before)
	past.Limited = g.limited
	return past
}

// perform counts step x, which is new.
func (s *State) perform(g *grown, x int, source int32) {
	step, node := &g.Steps[x], g.nodes[x]
	s.totals.Steps++
	s.totals.StepOutcomes[outcomeIndex(step.Outcome)]++
	s.usedBy(node, source)
	s.shown.used.add(node)
	s.uses[node].Steps++
	before, after := g.Around(x)
	prior := make([]int32, len(before))
	for i, b := range before {
		prior[i] = g.nodes[b]
		if step.Outcome != episodic.Failure && g.Steps[b].Outcome != episodic.Failure {
			g.count(s, b, x, source)
		}
	}
	s.memory.Observe(node, prior, step.Outcome, g.Time, source)
	if len(before) == 0 {
		s.uses[node].Roots++
	}
	g.branched = g.branched || x > 0 && (len(before) != 1 || before[0] != x-1) || x+1 < len(g.Steps)
	for _, y := range after {
		if step.Outcome != episodic.Failure && g.Steps[y].Outcome != episodic.Failure {
			g.count(s, x, y, source)
		}
		others, _ := g.Around(y)
		known := func(b int) bool { return b != x && g.nodes[b] == node } // the pair is counted already
		if !slices.ContainsFunc(others, known) {
			s.memory.ObserveAfter(g.nodes[y], node, g.Steps[y].Outcome, g.Time, source)
		}
	}
}

// count counts the transition between two steps.
func (g *grown) count(s *State, from, to int, source int32) {
	p := pair{g.nodes[from], g.nodes[to]}
	g.limited = !s.count(p, halves(&g.Steps[to]), source, g.counted[p]) || g.limited
	if !s.trusted(source) {
		g.counted[p] = true
	}
}

// pairs are the transitions of an episode whose steps are these nodes.
func pairs(e *episodic.Episode, nodes []int32) map[pair]bool {
	all := map[pair]bool{}
	for _, t := range e.Transitions() {
		all[pair{nodes[t.From], nodes[t.To]}] = true
	}
	return all
}

// halves is the weight of what comes right before a step, as [episodic.Transition] counts it.
func halves(s *episodic.Step) uint64 {
	if s.DependsOn != nil {
		return 2
	}
	return 1
}

// end counts the last step of an episode as its end, or with sign -1 takes that back.
func (s *State) end(g *grown, sign int64) {
	if n := len(g.nodes); n > 0 {
		s.shown.used.add(g.nodes[n-1])
		s.uses[g.nodes[n-1]].Ends += uint64(sign)
	}
}

// image is what is written of the episodes that may still grow.
func (g *growing) image() []*grown {
	var image []*grown
	for o := range g.all {
		image = append(image, &grown{Grown: *o.Clone(), past: o.past, bypassed: o.bypassed, values: slices.Clone(o.values)})
	}
	return image
}

// writeGrowing writes the episodes that may still grow: as JSON, with their position among the counted ones,
// the capabilities that they bypassed, and the digests of their steps.
func (i *Image) writeGrowing(w *codec.Writer) error {
	w.Uint(uint64(len(i.growing)))
	for _, o := range i.growing {
		if err := writeJSON(w, &o.Grown); err != nil {
			return err
		}
		w.Int(int64(o.past))
		w.Texts(o.bypassed)
		for i := range o.values {
			o.values[i].Write(w)
		}
	}
	return nil
}

// readGrowing reads what writeGrowing wrote. What is damaged fails r.
func (s *State) readGrowing(r *codec.Reader) {
	for range r.Len(1) {
		o := &grown{}
		blob := r.Blob()
		o.past = int32(r.Int())
		o.bypassed = r.Texts()
		if r.Err() != nil {
			return
		}
		if err := json.Unmarshal(blob, &o.Grown); err != nil {
			r.Fail("an episode that grows: %w", err)
			return
		}
		if o.past < -1 || int(o.past) >= int(s.totals.Episodes) || len(o.Steps) != len(o.Numbers) || (o.past < 0) != (len(o.Steps) == 0) {
			r.Fail("episode %q that grows stands at %d of %d, with %d steps and %d numbers", o.ID, o.past, s.totals.Episodes, len(o.Steps), len(o.Numbers))
			return
		}
		for i := range o.Steps {
			if !s.Knows(o.Steps[i].Tool) {
				r.Fail("episode %q that grows has the tool %q, which was never seen", o.ID, o.Steps[i].Tool)
				return
			}
			o.nodes = append(o.nodes, s.node(o.Steps[i].Tool))
			o.values = append(o.values, wiring.ReadValues(r))
		}
		o.branched, o.counted = true, pairs(&o.Episode, o.nodes)
		if o.past >= 0 {
			o.limited = s.past.At(o.past).Limited
		}
		s.growing.steps += len(o.Steps)
		s.growing.put(o)
	}
}
