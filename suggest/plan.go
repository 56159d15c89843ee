package suggest

import (
	"cmp"
	"math"
	"slices"

	"waymark/catalog"
	"waymark/suggest/learn/rank"
)

// Parameters of plans. They were chosen on every sixth training episode of five public histories, not fitted.
const (
	targetShare    = 0.50 // share of the best text match below which a task that another depends on is a prerequisite
	stopAt         = 0.50 // probability of the end of the task at which a walk ends
	alternatives   = 5
	noHistorySteps = 5    // length of a walk without recorded episodes
	provides       = 0.50 // least share of the uses of a tool in which another one preceded it and provided its input
)

// Plan returns a DAG. For an intent, it has the tools that a task for the intent needs, ordered and linked as package
// rank plans them, with the sources of their arguments. For a context alone, it has the likeliest continuation, and
// without both the likeliest sequence from the usual first tool. An intent that nothing serves has an empty plan. If
// the evidence is weak, the confidence is low and warnings name the reason.
func (m *Model) Plan(r DAGRequest) (DAGAnswer, error) {
	if _, err := limitOf("max_steps", r.MaxSteps, MaxSteps, MaxSteps); err != nil {
		return DAGAnswer{}, err
	}
	q, err := m.newQuery(r.Context, r.Intent, r.Allow)
	if err != nil {
		return DAGAnswer{}, err
	}
	defer q.close()
	q.withheld = r.Withheld
	if r.CallableOnly {
		q.withheld = m.callable(r.Withheld)
	}
	fitted, err := q.decide(r.Profile)
	if err != nil {
		return DAGAnswer{}, err
	}
	p := &plan{query: q, request: r, most: cmp.Or(r.MaxSteps, MaxSteps)}
	if q.mode == Active {
		q.planRequest(fitted, r.Vector)
		if q.boundForeign(); !q.nothingFits() {
			p.take()
		}
	} else {
		p.walk()
	}
	p.pin()
	p.cover()
	a := p.answer()
	r.Context, r.Profile = q.spelled, q.profile
	r.Explain = nil // the suggestion id does not depend on the amount of detail
	a.SuggestionID = m.suggestionID("dag", r, r.Withheld, r.Pinned)
	return a, nil
}

// plan is a DAG under construction.
type plan struct {
	*query
	request DAGRequest
	most    int // maximum number of tasks
	tasks   []task
	repeats bool        // the plan repeats the steps of a task recorded since the build
	fresh   float64     // highest chance of a task planned by evidence from after the build
	others  []candidate // candidates that were not chosen, best first
}

// task is a node of the plan; after holds the positions of the tasks it depends on.
type task struct {
	node    int32
	slot    string
	score   float64
	low     float64 // lower bound of the confidence
	formula string
	terms   []Term
	reason  string
	after   []int
}

// planRequest requests the plan of the intent from package rank: with the fitted models or, for profile seed and until
// a fit is done, with the reference alone.
func (q *query) planRequest(fitted bool, vector []float32) {
	l, _ := q.fitted(fitted)
	s := q.situation(vector, len(q.context) > 0, func(t int32) bool {
		_, done := slices.BinarySearch(q.distinct, l.node[t])
		return !done && q.passes(l.node[t])
	})
	s.Around = q.graph.Around(nil) // a plan covers the whole task, so graph measures ignore the context
	defer s.Around.Close()
	q.planned, q.reference = l.ranker.Plan(s), false
	q.adopt(l, q.planned.Answer)
}

// take builds the tasks from the plan for the intent. It drops nodes that fail the filters, are in the context or are
// exhausted, and then the least likely tasks beyond the maximum length. It also uses evidence from after the build: if
// a request since then is similar to this one, and more than any before, the plan repeats its tools; and if the best
// text match is a new text, its tool or capability is added.
func (p *plan) take() {
	var tasks []task
	if near := p.recentTasks(); near.nearest >= recentCopy && near.nearest > p.value(rank.Nearest) {
		p.repeats = true
		e := p.Past.Episode(int(near.tasks[0].id))
		for i, before := range e.Parents() {
			t := p.recorded(p.Canonical[e.Nodes[i]])
			for _, b := range before {
				t.after = append(t.after, int(b))
			}
			tasks = append(tasks, t)
		}
	} else {
		for _, s := range p.planned.Steps {
			tasks = append(tasks, p.foreseen(s))
		}
	}
	if n := p.newest(); n >= 0 {
		tasks = append(tasks, p.recorded(n))
	}
	p.tasks = without(tasks, func(i int) bool {
		n := tasks[i].node
		return !p.passes(n) || p.nodes.inContext[p.considered(n)] || p.exhausted(n) || slices.ContainsFunc(tasks[:i], func(t task) bool { return t.node == n })
	})
	for len(p.tasks) > p.most {
		least := len(p.tasks) - 1
		for i := least; i >= 0; i-- {
			if p.tasks[i].score < p.tasks[least].score {
				least = i
			}
		}
		p.tasks = without(p.tasks, func(i int) bool { return i == least })
		p.warn(WarnTruncated)
	}
	p.learnedCandidates(func(c candidate) {
		p.others = p.keep(p.others, c, alternatives+p.most, p.mayAdd)
	})
	p.provide()
	p.others = slices.DeleteFunc(p.others, func(c candidate) bool { return p.has(c.node) })
	for j := range p.tasks {
		p.linkNeeds(j)
	}
	p.slot()
}

// considered makes n a candidate, so that its signals are valid, and returns it.
func (p *plan) considered(n int32) int32 {
	p.consider(n)
	return n
}

// foreseen returns the task of a step planned by package rank.
func (p *plan) foreseen(s rank.Step) task {
	c := candidate{node: p.learned.node[s.Tool], formula: FormulaLogistic, p: s.Chance}
	if i := slices.IndexFunc(p.ranking.Ranked, func(r rank.Ranked) bool { return r.Tool == s.Tool }); i >= 0 {
		c.score = p.ranking.Ranked[i].Score
	}
	t := p.shown(p.query, c, s.Chance)
	for _, a := range s.After {
		t.after = append(t.after, int(a))
	}
	return t
}

// recorded returns the task of a node chosen by evidence from after the build.
func (p *plan) recorded(n int32) task {
	t := p.added(n, 0)
	p.fresh = max(p.fresh, t.score)
	return t
}

// added returns the task of a node by its own score, with at least the given chance.
func (p *plan) added(n int32, least float64) task {
	c, ok := p.scoredNode(p.considered(n))
	if !ok {
		c = candidate{node: n, formula: FormulaLogistic}
	}
	c.p = max(c.p, least)
	return p.shown(p.query, c, c.p)
}

// newest returns the tool, or the new capability, with the best text match if its text is new since the build and matches well enough, else -1.
func (p *plan) newest() int32 {
	best := int32(-1)
	for _, n := range p.nodes.candidateNodes {
		if match := p.nodes.semantic[n]; match >= LowConfidence && (p.Kind(n) == catalog.KindTool || p.recent.changed(n)) && p.passes(n) &&
			(best < 0 || cmpFloatID(match, p.nodes.semantic[best], p.IDs[best], p.IDs[n]) > 0) {
			best = n
		}
	}
	if best >= 0 && p.recent.changed(best) {
		return best
	}
	return -1
}

func (p *plan) has(n int32) bool {
	return slices.ContainsFunc(p.tasks, func(t task) bool { return t.node == n })
}

// mayAdd reports whether a node passes the filters and is in neither the context nor the plan.
func (p *plan) mayAdd(n int32) bool {
	return !p.nodes.inContext[p.considered(n)] && p.passes(n) && !p.has(n)
}

// without removes tasks. A task that depends on a removed one inherits the dependencies of that one.
func without(tasks []task, drop func(i int) bool) (kept []task) {
	stands := make([][]int, len(tasks)) // by task, the kept tasks that replace it as a dependency
	for i, t := range tasks {
		var after []int
		for _, a := range t.after {
			after = append(after, stands[a]...)
		}
		slices.Sort(after)
		t.after = slices.Compact(after)
		if stands[i] = t.after; !drop(i) {
			stands[i] = []int{len(kept)}
			kept = append(kept, t)
		}
	}
	return kept
}

// pin adds the pinned ids of the request. If the plan has its maximum length, a pinned id replaces the last task.
func (p *plan) pin() {
	for _, pin := range p.request.Pinned {
		n, ok := p.Find(pin.ID)
		if !ok || !p.Live(n) || !p.allowed(pin.ID) {
			continue
		}
		pinned := task{node: p.considered(n), slot: SlotTarget, formula: FormulaPin, reason: pinReason(pin.Rule)}
		if i := slices.IndexFunc(p.tasks, func(t task) bool { return t.node == n }); i >= 0 {
			pinned.slot, pinned.score, pinned.low, pinned.after = p.tasks[i].slot, p.tasks[i].score, p.tasks[i].low, p.tasks[i].after
			p.tasks[i] = pinned
			continue
		}
		if last := len(p.tasks) - 1; last+1 == p.most {
			p.tasks = without(p.tasks, func(i int) bool { return i == last })
		}
		p.tasks = append(p.tasks, pinned)
	}
}

// shows reports whether the answer includes the terms and the reason of each task.
func (p *plan) shows() bool { return want(p.request.Explain) }

// shown returns the task of a candidate of a query, with terms if the answer includes them.
func (p *plan) shown(q *query, c candidate, score float64) task {
	t := task{node: c.node, slot: SlotTarget, score: score, low: q.low(c), formula: c.formula, reason: q.reason(c)}
	if p.shows() {
		t.terms = q.explain(c)
	}
	return t
}

// walk appends the likeliest next step repeatedly, from the context or from the usual first tool.
func (p *plan) walk() {
	most := cmp.Or(p.request.MaxSteps, max(1, p.usualLength()-len(p.context)))
	for way := slices.Clone(p.context); len(p.tasks) < most; {
		next, ok := p.step(way)
		if !ok {
			break
		}
		if n := len(p.tasks); n > 0 {
			next.after = []int{n - 1}
		}
		way = append(way, p.considered(next.node))
		p.tasks = append(p.tasks, next)
	}
	if len(p.tasks) == 0 {
		p.warn(WarnNoHistory)
	}
}

// step returns the best tool after the steps of way that is not among them. For an empty way, it is the usual first
// tool, else a hub. It returns false if the task probably ends or there is no such tool.
func (p *plan) step(way []int32) (task, bool) {
	ids := make([]string, len(way))
	for i, n := range way {
		ids[i] = p.IDs[n]
	}
	q, err := p.newQuery(ids, "", p.request.Allow)
	if err != nil {
		return task{}, false // the ids are valid, so the only possible error is a context that is too long
	}
	defer q.close()
	q.withheld = p.withheld
	if q.ask(p.request.Profile, nil) != nil {
		return task{}, false
	}
	if !q.reference {
		p.profile = q.profile
	}
	if len(p.tasks) > 0 && q.stop() >= stopAt {
		return task{}, false
	}
	passes := func(n int32) bool { return q.passes(n) && !slices.Contains(way, n) }
	if len(way) == 0 {
		q.hubs(1)
		if start := q.Start(); start >= 0 && q.passes(start) {
			q.addCandidate(start)
			passes = func(n int32) bool { return n == start }
		}
	}
	top := q.best(1, passes)
	if len(top) == 0 {
		return task{}, false
	}
	return p.shown(q, top[0], top[0].confidence()), true
}

// usualLength returns the rounded mean number of steps of an episode, between 1 and MaxSteps.
func (p *plan) usualLength() int {
	if p.Totals.Episodes == 0 {
		return noHistorySteps
	}
	return max(1, min(MaxSteps, int(math.Round(float64(p.Totals.Steps)/float64(p.Totals.Episodes)))))
}
