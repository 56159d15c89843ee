package suggest

import (
	"cmp"
	"slices"

	"waymark/catalog"
	"waymark/internal/plural"
	planning "waymark/learn/plan"
	"waymark/semantic"
)

// take takes over the plan that was learned for the intent: without what is done or may not be done, of
// the rest the likeliest as far as it may be long. What a schema asks for and nothing gives comes
// before the task that needs it.
func (p *plan) take() {
	steps := p.planned.Steps
	most := cmp.Or(p.request.MaxSteps, MaxSteps)
	var chosen []int
	for i, s := range steps {
		if n := p.learned.node[s.Tool]; p.passes(n) && !p.nodes.inFlight[p.considered(n)] && !p.exhausted(n) {
			chosen = append(chosen, i)
		}
	}
	if len(chosen) > most {
		slices.SortStableFunc(chosen, func(a, b int) int { return cmp.Compare(steps[b].P, steps[a].P) })
		chosen = chosen[:most]
		slices.Sort(chosen)
		p.warn(WarnTruncated)
	}
	if len(chosen) == 0 { // nothing of it may be done: what else fits is no matter of learning
		p.unlearn()
		return
	}
	at := make([]int, len(steps))
	for i := range at {
		at[i] = -1
	}
	for k, i := range chosen {
		at[i] = k
		t := p.foreseen(steps[i].Tool, steps[i].P)
		t.after = p.before(i, at)
		p.tasks = append(p.tasks, t)
	}
	p.learnedCandidates(func(c candidate) {
		n := c.node
		if p.passes(n) && !p.nodes.inFlight[p.considered(n)] && !slices.ContainsFunc(p.tasks, func(t task) bool { return t.node == n }) {
			p.others = p.keep(p.others, c, alternatives+most, func(int32) bool { return true })
		}
	})
	p.addNamed(most)
	for i := 0; i < len(p.tasks) && len(p.tasks) < most; i++ {
		if p.requireInputs(i) {
			p.moveTo(i)
			i-- // it may need something itself
		}
	}
	for j := range p.tasks {
		p.linkSchema(j)
	}
	p.slot()
	p.linked = true
}

// namedLeast is the probability from which on a tool that the intent names is taken. Without it, Node-F1 fell from .818
// to .760 on ultratool, whose requests name many tools that they do not use.
const namedLeast = 0.1

// addNamed adds tools that the intent names in full: it has all words of the name, two at least. Each comes after the
// task that usually comes right before it.
func (p *plan) addNamed(most int) {
	said := map[string]bool{}
	for _, term := range semantic.Terms(p.wording.intent) {
		said[term] = true
	}
	for _, o := range slices.Clone(p.others) {
		if len(p.tasks) == most || o.confidence() < namedLeast || p.Kind(o.node) != catalog.KindTool || !p.says(o.node, said) {
			continue
		}
		t := p.shown(p.query, o, o.confidence())
		before, _ := p.usualBefore(o.node)
		if i := slices.IndexFunc(p.tasks, func(t task) bool { return t.node == before }); i >= 0 {
			t.after = []int{i}
		}
		p.tasks = append(p.tasks, t)
		p.others = slices.DeleteFunc(p.others, func(c candidate) bool { return c.node == o.node })
	}
}

// says reports whether the name of a tool is of two words or more that are all said.
func (p *plan) says(n int32, said map[string]bool) bool {
	name, _ := p.describe(n)
	terms := 0
	for _, term := range semantic.Terms(name) {
		if !said[term] {
			return false
		}
		terms++
	}
	return terms > 1
}

// unlearn lets profile seed answer.
func (p *plan) unlearn() {
	p.planned, p.learned, p.profile = nil, nil, ProfileSeed
	p.closeText()
	p.computeSignals(p.request.Vector)
}

// unsure reports whether no step of the learned plan is likely, while the text of a tool answers the intent: past
// requests then say little about this one, and profile seed, which plans by texts, answers.
func (q *query) unsure() bool {
	if slices.ContainsFunc(q.planned.Steps, func(s planning.Step) bool { return s.P >= LowConfidence }) {
		return false
	}
	x := q.measures.texts.matcher().Match(q.wording.intent)
	defer x.Close()
	q.hits = x.Top(q.hits[:0], 1, nearShare)
	return len(q.hits) > 0 && q.hits[0].Score >= LowConfidence
}

const nearShare = .3 // of the nearness by word vectors

// considered makes n a candidate, so that its signals are valid, and returns it.
func (p *plan) considered(n int32) int32 {
	p.consider(n)
	return n
}

// foreseen is the task of a tool that the learned plan has.
func (p *plan) foreseen(tool int32, probability float64) task {
	c, _ := p.asked(tool, probability) // something spoke for what is planned
	return p.shown(p.query, c, probability)
}

// before lists the tasks that step i of the learned plan comes after. Steps left out hand on what they
// came after, unless they are done.
func (p *plan) before(i int, at []int) []int {
	var after []int
	met := make([]bool, len(p.planned.Steps))
	var visit func(i int)
	visit = func(i int) {
		for _, j := range p.planned.Steps[i].After {
			if met[j] {
				continue
			}
			met[j] = true
			switch k := at[j]; {
			case k >= 0:
				after = append(after, k)
			case !p.nodes.inFlight[p.considered(p.learned.node[p.planned.Steps[j].Tool])]:
				visit(int(j))
			}
		}
	}
	visit(i)
	slices.Sort(after)
	return slices.Compact(after)
}

// moveTo moves the last task before task i, which needs it.
func (p *plan) moveTo(i int) {
	last := len(p.tasks) - 1
	added := p.tasks[last]
	p.tasks = slices.Insert(p.tasks[:last], i, added)
	for j := i + 1; j < len(p.tasks); j++ {
		after := p.tasks[j].after
		for k := range after {
			if after[k] >= i {
				after[k]++
			}
		}
	}
	t := &p.tasks[i+1]
	t.after = append(t.after, i)
	slices.Sort(t.after)
}

// learnedRationale says where the plan comes from.
func (p *plan) learnedRationale(targets, prerequisites int) string {
	s := plural.Of(targets, "target") + " as learned from past requests"
	if prerequisites > 0 {
		s += ", with " + plural.Of(prerequisites, "prerequisite")
	}
	return s + "; order and links as learned and as schemas ask for."
}
