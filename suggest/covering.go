package suggest

import (
	"cmp"
	"slices"
	"strings"
)

// A capability replaces the tasks of a plan that use its tools, at least two, if
//
//   - the plan has all of its tools, or the capability itself;
//   - none of its tools is done already, and its reliability factor is not below 1;
//   - its text matches nearly as well as that of the best tool that it replaces;
//   - no other task comes between them.
const (
	coveredTools = 2
	coverText    = 0.8 // least match relative to the best tool, whose match also counts past requests
	coverLeast   = 0.5 // least match of the text of the capability
	coverTasks   = 4   // most capabilities in one plan
)

// covering is a capability that can replace tasks of a plan.
type covering struct {
	node   int32
	tools  []int32 // nodes of the plan that it replaces
	stages []int   // by task of the plan: before, covered or after
}

// covers reports whether a capability may replace its tools in a plan of the given nodes.
func (p *plan) covers(n int32, nodes []int32) bool {
	parts := p.CapabilityTools(n)
	if len(parts) < coveredTools || p.nodes.inContext[p.considered(n)] || !p.passes(n) {
		return false
	}
	if rate := p.Rates.Tool(n); Reliability(rate.SuccessRate(), rate.Known()) < 1 {
		return false
	}
	best := 0.0
	for _, t := range parts {
		if p.nodes.inContext[p.considered(t)] || !slices.Contains(nodes, t) {
			return false
		}
		best = max(best, p.nodes.semantic[t])
	}
	return p.mode != Active || p.nodes.semantic[n] >= max(coverLeast, coverText*best)
}

// cover replaces tasks by the capabilities that cover them, first the one that covers most; ties go to the best
// match, then to the first id.
func (p *plan) cover() {
	for range coverTasks {
		nodes := make([]int32, len(p.tasks))
		for i, t := range p.tasks {
			nodes[i] = t.node
		}
		var best covering
		for _, n := range p.Roles.Capabilities {
			chosen := slices.Contains(nodes, n) // then its tools need not run again
			c := covering{n, slices.DeleteFunc(slices.Clone(nodes), func(t int32) bool { return t != n && !slices.Contains(p.CapabilityTools(n), t) }), nil}
			if len(c.tools) < coveredTools || !chosen && !p.covers(n, nodes) || !p.stage(&c) {
				continue
			}
			if best.stages == nil || cmp.Or(cmp.Compare(len(best.tools), len(c.tools)), cmp.Compare(p.nodes.semantic[best.node], p.nodes.semantic[n]), strings.Compare(p.IDs[n], p.IDs[best.node])) < 0 {
				best = c
			}
		}
		if best.stages == nil {
			return
		}
		p.replace(&best)
	}
}

// The stages of tasks around a capability: before it, covered by it, and after a covered task.
const before, covered, after = 0, 1, 2

// stage computes the stages of the tasks around a capability. It reports whether the covered tasks can run as one: no
// other task comes between them.
func (p *plan) stage(c *covering) bool {
	c.stages = make([]int, len(p.tasks))
	for i, t := range p.tasks { // in topological order
		late := slices.ContainsFunc(t.after, func(a int) bool { return c.stages[a] == after })
		switch {
		case slices.Contains(c.tools, t.node):
			if c.stages[i] = covered; late {
				return false
			}
		case late || slices.ContainsFunc(t.after, func(a int) bool { return c.stages[a] == covered }):
			c.stages[i] = after
		}
	}
	return true
}

// replace replaces the covered tasks by the capability.
func (p *plan) replace(c *covering) {
	at := make([]int, len(p.tasks))
	var tasks []task
	for stage := before; stage <= after; stage++ {
		if stage == covered {
			tasks = append(tasks, p.merged(c))
		}
		for i, t := range p.tasks {
			if c.stages[i] == stage {
				if stage != covered {
					t.after = nil
					tasks = append(tasks, t)
				}
				at[i] = len(tasks) - 1
			}
		}
	}
	for i, t := range p.tasks {
		for _, a := range t.after {
			if from, to := at[a], &tasks[at[i]]; from != at[i] && !slices.Contains(to.after, from) {
				to.after = append(to.after, from)
				slices.Sort(to.after)
			}
		}
	}
	p.tasks = tasks
	p.others = slices.DeleteFunc(p.others, func(o candidate) bool { return o.node == c.node })
}

// merged returns the task of a capability that replaces the covered tasks. It has their best score and is a target if
// one of them is. A capability that is in the plan already keeps its own task.
func (p *plan) merged(c *covering) task {
	made := task{node: c.node, slot: SlotPrerequisite, formula: FormulaCovers}
	var named []string
	for i, t := range p.tasks {
		if c.stages[i] != covered {
			continue
		}
		if t.node == c.node {
			t.after = nil
			return t
		}
		if made.score = max(made.score, min(Cap, t.score)); t.slot == SlotTarget {
			made.slot = SlotTarget
		}
		named = append(named, p.IDs[t.node])
	}
	if p.shows() {
		made.terms = []Term{{"its_best_tool", made.score, 1, made.score}}
	}
	made.reason = "a stored capability that does what would be " + strings.Join(named, ", ")
	return made
}
