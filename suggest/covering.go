package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
)

// A capability that does the work of chosen tools ranks above them. It covers the chosen tools if
//
//   - at least two of its tools are chosen: two thirds of its tools in a list, all of them in a plan. The chosen
//     tools are the tasks of a plan or the first tools of a list, and the tools that follow one of these in at
//     least half of its calls;
//   - in a list after a context, it begins with the first tool of the list, and its other tools follow that tool;
//   - none of its tools is done already, and its reliability factor is not below 1;
//   - if there is an intent, its text matches nearly as well as that of the best tool it covers, and in a search
//     at least as well.
//
// In a list, it then has the score of its best tool, as a formula of its own with that one term, and comes first
// among candidates with equal scores. In a plan, it replaces the tasks that it covers.
const (
	coveredShare = 2. / 3
	coveredTools = 2
	coverFirst   = 10  // number of first tools of a list
	coverText    = 0.8 // least match relative to the best tool, whose match also counts past requests
	coverLeast   = 0.5 // least match of the text of the capability
	coverFollow  = 0.5 // least share of the calls of a tool that another tool of the capability follows
	coverTasks   = 4   // most capabilities in one plan
)

// covering is a capability that can replace tasks of a plan.
type covering struct {
	node   int32
	tools  []int32 // nodes of the plan that it replaces
	stages []int   // by task of the plan: before, covered or after
}

// coverList finds the capabilities that cover the first tools of a list.
func (q *query) coverList() {
	q.covers = q.covers[:0]
	if len(q.Roles.Capabilities) == 0 || q.mode == Exploration {
		return
	}
	var top []candidate
	q.plainCandidates(func(c candidate) {
		top = q.keep(top, c, coverFirst, func(n int32) bool { return q.Kind(n) == catalog.KindTool && q.passes(n) })
	})
	if len(top) == 0 {
		return
	}
	tools := make([]int32, len(top))
	for i, c := range top {
		tools[i] = c.node
	}
	share := coveredShare
	seen := tools
	under := q.last != episodic.NoTool // a task is under way
	if under {
		share, seen = 1, tools[:1] // all other tools of the capability must follow the first
	}
	for _, n := range q.capabilitiesOf(tools) {
		covered, ok := q.coveredBy(n, seen, share)
		if !ok || under && !q.begins(n, tools[0]) {
			continue
		}
		best := top[slices.Index(tools, covered[0])]
		q.covers = append(q.covers, candidate{node: n, score: best.score, p: q.shownScore(best), formula: FormulaCovers, covers: len(covered), part: best.node})
	}
}

// capabilitiesOf lists the capabilities that use any of the tools, ascending, and makes them candidates.
func (q *query) capabilitiesOf(tools []int32) []int32 {
	var caps []int32
	for _, t := range tools {
		caps = append(caps, q.ToolCapabilities(t)...)
	}
	slices.Sort(caps)
	caps = slices.Compact(caps)
	for _, n := range caps {
		q.consider(n)
	}
	return caps
}

// coveredBy lists the chosen tools that a capability covers, in the order of chosen. It returns false if it does
// not cover them.
func (q *query) coveredBy(n int32, chosen []int32, share float64) (covered []int32, ok bool) {
	parts := q.CapabilityTools(n)
	if len(parts) < coveredTools || q.nodes.inFlight[n] || !q.passes(n) {
		return nil, false
	}
	if rate := q.Rates.Tool(n); Reliability(rate.SuccessRate(), rate.Known()) < 1 {
		return nil, false
	}
	if both, _ := q.overlap(n); both > 0 {
		return nil, false
	}
	best := 0.0
	for _, t := range chosen {
		if slices.Contains(parts, t) {
			covered = append(covered, t)
			q.consider(t)
			best = max(best, q.nodes.semantic[t])
		}
	}
	bar := coverText
	if q.isSearch { // a search is for one need, not for a whole task
		bar = 1
	}
	if len(covered) == 0 || q.mode == Active && q.nodes.semantic[n] < max(coverLeast, bar*best) {
		return nil, false
	}
	expected := q.follow(covered, parts)
	return covered, expected >= coveredTools && float64(expected) >= share*float64(len(parts))
}

// follow counts the parts of a capability that are chosen or, directly or through other parts, follow a chosen one in
// at least coverFollow of its calls.
func (q *query) follow(chosen, parts []int32) int {
	expected := slices.Clone(chosen)
	for i := 0; i < len(expected); i++ {
		u := expected[i]
		uses := q.Usage.At(u).Steps
		for _, t := range parts {
			if _, count := q.transition(u, t); count > 0 && float64(count) >= coverFollow*float64(uses) && !slices.Contains(expected, t) {
				expected = append(expected, t)
			}
		}
	}
	return len(expected)
}

// begins reports whether a capability can begin with a tool: the tool is the first of its list or, if it has tasks,
// that of a task without dependencies.
func (q *query) begins(capability, tool int32) bool {
	i, ok := q.Catalog.CapabilityIndex[q.IDs[capability]]
	if !ok {
		return false
	}
	c := &q.Catalog.Capabilities[i]
	if len(c.Tasks) == 0 {
		first, ok := q.Find(c.Tools[0])
		return ok && q.Canonical[first] == tool
	}
	return slices.ContainsFunc(c.Tasks, func(t catalog.Task) bool {
		n, ok := q.Find(t.Tool)
		return ok && q.Canonical[n] == tool && len(t.DependsOn) == 0
	})
}

// covering returns the candidate of a capability that covers tools of the list.
func (q *query) covering(n int32) (candidate, bool) {
	i := slices.IndexFunc(q.covers, func(c candidate) bool { return c.node == n })
	if i < 0 {
		return candidate{}, false
	}
	return q.covers[i], true
}

// plain returns the candidate of a node with its own score, if it has one.
func (q *query) plain(n int32) (found candidate, ok bool) {
	if q.reference {
		return q.score(n)
	}
	q.plainCandidates(func(c candidate) {
		if c.node == n {
			found, ok = c, true
		}
	})
	return found, ok
}

// orPlain returns the better of c, a capability that covers tools, and the same capability with its own score.
func (q *query) orPlain(c candidate) candidate {
	if own, ok := q.plain(c.node); ok && own.score > c.score {
		own.covers, own.part = c.covers, c.part
		return own
	}
	return c
}

// coveringTerms returns the only term of a covering capability: the score of the best tool it covers.
func (q *query) coveringTerms(c candidate) []Term {
	score := q.shownScore(c)
	return []Term{{"its_best_tool", score, 1, score}}
}

// coveringReason names the best covered tool. If only one tool is covered, the others mostly follow it.
func (q *query) coveringReason(c candidate) string {
	return fmt.Sprintf("a stored capability that does %s of those that are likely here, above all %s", catalog.Plural(c.covers, "tool"), catalog.ShownID(q.IDs[c.part]))
}

// cover replaces tasks by the capabilities that cover them, first the one that covers most; ties go to the best
// match, then to the first id.
func (p *plan) cover() {
	if len(p.Roles.Capabilities) == 0 || p.mode == Exploration {
		return
	}
	for range coverTasks {
		nodes := make([]int32, len(p.tasks))
		for i, t := range p.tasks {
			nodes[i] = t.node
		}
		var best covering
		for _, n := range p.capabilitiesOf(nodes) {
			covered, ok := p.coveredBy(n, nodes, 1)
			if slices.Contains(nodes, n) { // chosen by itself: its tools need not run again
				covered, ok = append(slices.DeleteFunc(slices.Clone(nodes), func(t int32) bool { return !slices.Contains(p.CapabilityTools(n), t) }), n), true
			}
			c := covering{n, covered, nil}
			if !ok || len(covered) < coveredTools || !p.stage(&c) {
				continue
			}
			if best.stages == nil || cmp.Or(cmp.Compare(len(best.tools), len(covered)), cmp.Compare(p.nodes.semantic[best.node], p.nodes.semantic[n]), strings.Compare(p.IDs[n], p.IDs[best.node])) < 0 {
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
