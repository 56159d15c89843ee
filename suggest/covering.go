package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
)

// A capability that does what is chosen stands above what it is made of. It covers the chosen tools where
//
//   - at least two of its tools are chosen, two thirds of all in a list and all of them in a plan. Chosen are
//     the tasks of a plan, or the first tools of a list, and what mostly follows those (half of the times);
//   - in a list after a context it begins with the first tool of the list, which all its others follow;
//   - none of them is done already, and it does not fail more often than others;
//   - in a list after a context, tasks do not mostly do by hand what it does (at least 5, and more than call
//     it): in the middle of a task the next step is asked for, and that history says what it is;
//   - its text, where there is an intent, matches about as well as that of the best tool it covers, in a search as well.
//
// In a list it then has the score of the best of its tools, as a formula of its own with that one term, and
// comes first among equals. In a plan it takes the place of the tasks it covers.
const (
	coveredShare = 2. / 3
	coveredTools = 2
	coverFirst   = 10  // tools of a list
	coverText    = 0.8 // of the match of the best tool: tools are also known by what they were asked for
	coverLeast   = 0.5 // of the match at all
	coverFollow  = 0.5 // of the times a tool was called, another one of the capability came next
	coverTasks   = 4   // capabilities in one plan
)

// covering is a capability in the place of tools.
type covering struct {
	node   int32
	tools  []int32 // those it covers, as they were chosen
	stages []int   // of the tasks of a plan
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
		share, seen = 1, tools[:1] // of which all else has to follow
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

// capabilitiesOf lists the capabilities that have any of the tools, rising, and makes them candidates.
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

// coveredBy lists the chosen tools that a capability covers, as they were chosen; false if it does not cover
// them.
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
	if q.looking { // one need is searched for, not a task
		bar = 1
	}
	if len(covered) == 0 || q.mode == Active && q.nodes.semantic[n] < max(coverLeast, bar*best) {
		return nil, false
	}
	expected := q.follow(covered, parts)
	return covered, expected >= coveredTools && float64(expected) >= share*float64(len(parts))
}

// follow counts the parts of a capability that are chosen or nearly always follow those that are.
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

// begins reports whether a capability has nothing to do before a tool.
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

// covering is how a node covers tools of the list, if it does.
func (q *query) covering(n int32) (candidate, bool) {
	i := slices.IndexFunc(q.covers, func(c candidate) bool { return c.node == n })
	if i < 0 {
		return candidate{}, false
	}
	return q.covers[i], true
}

// plain is a node by its own score, if it has one.
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

// orPlain is c, a capability that covers tools, or where that is better by its own score.
func (q *query) orPlain(c candidate) candidate {
	if own, ok := q.plain(c.node); ok && own.score > c.score {
		own.covers, own.part = c.covers, c.part
		return own
	}
	return c
}

// coveringTerms is the one term of a covering capability: the score of the best tool it covers.
func (q *query) coveringTerms(c candidate) []Term {
	score := q.shownScore(c)
	return []Term{{"its_best_tool", score, 1, score}}
}

// coveringReason names the best covered tool. One covered tool means that the others nearly always follow it.
func (q *query) coveringReason(c candidate) string {
	return fmt.Sprintf("a stored capability that does %s of those that are likely here, above all %s", catalog.Plural(c.covers, "tool"), q.IDs[c.part])
}

// cover puts capabilities in the place of the tasks they cover: the one that covers most first, ties by
// the best match, then by id.
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
			if slices.Contains(nodes, n) { // chosen by itself: what it does is not done twice
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

// The places of tasks around a capability: before it, covered by it, and after something that is.
const before, covered, after = 0, 1, 2

// stage finds the stages of the tasks around a capability. It reports whether what it covers can be done at once: nothing
// else comes between.
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

// replace puts a capability in the place of the tasks it covers.
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

// merged is the task of a capability that does the covered tasks: the best score of theirs, and a target if one of them
// is. A capability that was chosen by itself keeps its own task.
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
