package suggest

import (
	"cmp"
	"slices"

	"waymark/internal/plural"
	"waymark/learn/rank"
)

// planLearned asks what was learned for the plan of an intent. It reports whether that answers.
func (q *query) planLearned(vector []float32) bool {
	q.fit.together.measured = false
	l := q.measures.learning.get()
	if l == nil || l.provisional {
		q.warn(WarnProvisional)
		return false
	}
	s := rank.Situation{Intent: q.wording.intent}
	if len(q.allow)+len(q.context) > 0 || q.withheld != nil {
		s.Allowed = func(t int32) bool {
			_, done := slices.BinarySearch(q.distinct, l.node[t])
			return !done && q.passes(l.node[t])
		}
	}
	q.nearByEndpoint(vector)
	s.Near = q.wording.endpoint
	plan := l.ranker.Plan(s)
	if len(plan.Ranked) == 0 {
		return false
	}
	q.planned, q.ranking, q.learned, q.profile = plan, plan.Answer, l, ProfileLearned
	q.ranking.Adjust(func(t int32) (adds, factor float64) { return q.outcomes(l.node[t]) })
	return true
}

// take takes over the plan that was learned for the intent: without what is exhausted, of the rest the likeliest as far as
// it may be long. What a schema asks for and nothing gives comes before the task that needs it.
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
		slices.SortStableFunc(chosen, func(a, b int) int { return cmp.Compare(steps[b].Chance, steps[a].Chance) })
		chosen = chosen[:most]
		slices.Sort(chosen)
		p.warn(WarnTruncated)
	}
	at := make([]int, len(steps))
	for i := range at {
		at[i] = -1
	}
	for k, i := range chosen {
		at[i] = k
		t := p.foreseen(steps[i])
		t.after = p.before(i, at)
		p.tasks = append(p.tasks, t)
	}
	p.learnedCandidates(func(c candidate) {
		n := c.node
		if p.passes(n) && !p.nodes.inFlight[p.considered(n)] && !slices.ContainsFunc(p.tasks, func(t task) bool { return t.node == n }) {
			p.others = p.keep(p.others, c, alternatives+most, func(int32) bool { return true })
		}
	})
	asked := len(p.ranking.Ranked) > 0 && p.value(rank.Nearest) > 0 // past requests say what comes before what
	for i := 0; i < len(p.tasks) && len(p.tasks) < most; i++ {
		if !asked && p.requireUsual(i) || p.requireInputs(i) {
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

// considered makes n a candidate, so that its signals are valid, and returns it.
func (p *plan) considered(n int32) int32 {
	p.consider(n)
	return n
}

// foreseen is the task of a step that the learned plan has.
func (p *plan) foreseen(s rank.Step) task {
	c := candidate{node: p.learned.node[s.Tool], formula: FormulaLogistic, p: s.Chance}
	if i := slices.IndexFunc(p.ranking.Ranked, func(r rank.Ranked) bool { return r.Tool == s.Tool }); i >= 0 {
		c.score = p.ranking.Ranked[i].Score
	}
	return p.shown(p.query, c, s.Chance)
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
