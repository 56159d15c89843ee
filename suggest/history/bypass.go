package history

import (
	"maps"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/codec"
)

// A bypass is a task that called all tools of a capability itself, in its order, although the capability was in
// the catalog and was not called. Many of them say that a capability is not found, not trusted or not what
// is wanted.
type bypasses struct {
	count map[string]uint64   // by capability
	using map[string][]string // by tool, the capabilities that have it, in order of id; nil after a change
	shown map[string]uint64   // count as it was last shown; nil after a change
}

// mostUsing bounds the capabilities of one tool that are looked at, the first by id.
const mostUsing = 64

// refresh lists the capabilities by tool, if the catalog has changed.
func (b *bypasses) refresh(caps map[string]catalog.Capability) {
	if b.using != nil {
		return
	}
	b.using = map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(caps)) {
		tools := caps[id].Tools
		for i, t := range tools {
			if len(tools) > 1 && !slices.Contains(tools[:i], t) && len(b.using[t]) < mostUsing {
				b.using[t] = append(b.using[t], id)
			}
		}
	}
}

// bypassed lists the capabilities with a tool, or with any if none is named, that an episode did by hand.
func (s *State) bypassed(e *episodic.Episode, order []int, tool string) []string {
	b := &s.bypasses
	if len(s.caps) == 0 {
		return nil
	}
	b.refresh(s.caps)
	first, last := map[string]int{}, map[string]int{} // places of calls that did not fail
	called := map[string]bool{}
	for at, i := range order {
		step := &e.Steps[i]
		called[step.Tool] = true
		if step.Outcome == episodic.Failure {
			continue
		}
		if _, ok := first[step.Tool]; !ok {
			first[step.Tool] = at
		}
		last[step.Tool] = at
	}
	tools := []string{tool}
	if tool == "" {
		tools = slices.Sorted(maps.Keys(first))
	}
	var done []string
	for _, t := range tools {
		for _, id := range b.using[t] {
			c := s.caps[id]
			if !called[id] && !slices.Contains(done, id) && byHand(&c, first, last) {
				done = append(done, id)
			}
		}
	}
	return done
}

// byHand reports whether calls at these places are all that a capability does, in its order.
func byHand(c *catalog.Capability, first, last map[string]int) bool {
	for _, t := range c.Tools {
		if _, ok := first[t]; !ok {
			return false
		}
	}
	tool := make(map[string]string, len(c.Tasks))
	for _, task := range c.Tasks {
		tool[task.ID] = task.Tool
		for _, before := range task.DependsOn {
			if from, ok := tool[before]; ok && first[from] >= last[task.Tool] {
				return false
			}
		}
	}
	return true
}

// add counts a bypass of each capability, or with sign -1 takes it back.
func (b *bypasses) add(ids []string, sign int64) {
	for _, id := range ids {
		if sign < 0 && b.count[id] == 0 { // it was not in the catalog when the episode was counted
			continue
		}
		b.shown = nil
		if b.count[id] += uint64(sign); b.count[id] == 0 {
			delete(b.count, id)
		}
	}
}

// show is what has been counted; it is not changed any more.
func (b *bypasses) show() map[string]uint64 {
	if b.shown == nil {
		b.shown = maps.Clone(b.count)
	}
	return b.shown
}

// bypass brings what is counted of an episode that grows up to date, with step x new.
func (s *State) bypass(g *grown, x int) {
	tool := g.Steps[x].Tool
	if i := slices.Index(g.bypassed, tool); i >= 0 { // it was called after all
		s.bypasses.add(g.bypassed[i:i+1], -1)
		g.bypassed = slices.Delete(slices.Clone(g.bypassed), i, i+1)
	}
	order := make([]int, len(g.Steps))
	for i := range order {
		order[i] = i
	}
	for _, id := range s.bypassed(&g.Episode, order, tool) {
		if !slices.Contains(g.bypassed, id) {
			g.bypassed = append(slices.Clip(g.bypassed), id)
			s.bypasses.add([]string{id}, 1)
		}
	}
}

func writeBypasses(w *codec.Writer, count map[string]uint64) {
	ids := slices.Sorted(maps.Keys(count))
	w.Texts(ids)
	for _, id := range ids {
		w.Uint(count[id])
	}
}

func (s *State) readBypasses(r *codec.Reader) {
	for _, id := range r.Texts() {
		s.bypasses.count[id] = r.Uint()
	}
}
