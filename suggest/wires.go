package suggest

import (
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/pages"
	"waymark/learn/wiring"
)

// observeWires looks which values of an episode went from one call to another.
func (s *State) observeWires(e *episodic.Episode, nodes []int32, order []int, before [][]int) {
	if !slices.ContainsFunc(e.Steps, func(step episodic.Step) bool { return len(step.Inputs) > 0 || len(step.Outputs) > 0 }) {
		return
	}
	values := make([]wiring.Values, len(e.Steps))
	for _, i := range order {
		values[i] = s.wires.Values(e.Steps[i].Inputs, e.Steps[i].Outputs)
		s.observeCall(int32(s.totals.episodes), i, nodes, values, func(i int) []int { return before[i] })
	}
}

// observeCall looks where the values of step x come from: from the steps it came after, directly or not,
// the nearest [wiring.Back] of them.
func (s *State) observeCall(episode int32, x int, nodes []int32, values []wiring.Values, before func(i int) []int) {
	var calls []wiring.Call
	if len(values[x].In) > 0 {
		seen := map[int]bool{}
		near := append([]int{}, before(x)...)
		for at := 0; at < len(near); at++ {
			if seen[near[at]] {
				near = slices.Delete(near, at, at+1)
				at--
				continue
			}
			seen[near[at]] = true
			if len(seen) == wiring.Back {
				near = near[:at+1]
				break
			}
			near = append(near, before(near[at])...)
		}
		slices.Sort(near)
		for _, i := range near {
			calls = append(calls, wiring.Call{Tool: nodes[i], Values: &values[i]})
		}
	}
	if s.wires.Observe(episode, nodes[x], &values[x], calls) {
		s.shown.wired.add(nodes[x])
	}
}

// showWires brings the wires up to date: of the nodes whose arguments were seen since, or of all.
func (s *State) showWires(all bool) {
	h := &s.shown
	defer h.wired.clear()
	canon := func(i int32) int32 { return h.canon[i] }
	show := func(as int32) {
		if w := s.wires.Wires(append([]int32{as}, h.spelled[as]...), canon); len(w) > 0 || len(h.wires.At(as)) > 0 {
			h.wires.Set(as, w)
		}
	}
	if all {
		h.wires = pages.List[[]wiring.Wire]{}
		for i, as := range h.canon {
			if as == int32(i) {
				show(as)
			}
		}
		return
	}
	for _, i := range h.wired.nodes {
		show(h.canon[i])
	}
}

// wired are the arguments of task j whose values were seen to come from results of tasks it comes after: of
// several the one with most evidence, of equal tasks the nearest.
func (p *plan) wired(j int) (args map[string]Argument, why []Wired) {
	args = map[string]Argument{}
	for _, w := range p.wires.At(p.tasks[j].node) {
		name, path, ok := reference(w.In, w.Out)
		if _, taken := args[name]; !ok || taken || !p.agree(w.From, p.tasks[j].node, &w) {
			continue
		}
		for i := j - 1; i >= 0; i-- {
			if p.tasks[i].node == w.From && p.reaches(i, j) {
				from := fmt.Sprintf("t%d.result%s", i+1, path)
				args[name] = Argument{from}
				why = append(why, Wired{name, from, int(w.Count), int(w.Of)})
				break
			}
		}
	}
	return args, why
}

// reference is a wire as an argument and the path of a reference: the first item stands for a list where one
// value is asked for, the list itself where all are. Not ok for arguments inside of others, and for names
// that were not kept.
func reference(in, out string) (name, path string, ok bool) {
	name, all := strings.CutSuffix(in, "[]")
	if all {
		if out, ok = strings.CutSuffix(out, "[]"); !ok || strings.Contains(out, "[]") {
			return "", "", false
		}
	}
	if name == "" || strings.ContainsAny(name, ".[*") || strings.Contains(out, "*") {
		return "", "", false
	}
	path = strings.ReplaceAll(out, "[]", "[0]")
	if path != "" && path[0] != '[' {
		path = "." + path
	}
	return name, path, true
}

// agree reports whether the schemas, as far as they say anything, let a wire be: the argument exists, and
// the types fit.
func (m *Model) agree(a, b int32, w *wiring.Wire) bool {
	property := func(all []catalog.Property, name string) (p catalog.Property, ok bool) {
		i := slices.IndexFunc(all, func(p catalog.Property) bool { return p.Name == name })
		if i < 0 {
			return catalog.Property{}, len(all) == 0
		}
		return all[i], true
	}
	in, known := property(m.inputs(b), strings.TrimSuffix(w.In, "[]"))
	if !known {
		return false
	}
	out, known := property(m.outputs(a), strings.TrimSuffix(w.Out, "[]"))
	return !known || in.Type == "" || in.Type == "any" || out.Type == "any" || compatible(out.Type, in.Type)
}
