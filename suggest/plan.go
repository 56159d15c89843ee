package suggest

import (
	"cmp"
	"math"
	"slices"

	"waymark/catalog"
	"waymark/suggest/learn/rank"
)

// How a plan is drawn up. Chosen on every sixth train episode of five public histories, not fitted.
const (
	targetShare    = 0.50 // of the best match of a text, below which a task that feeds another only serves it
	stopAt         = 0.50 // a walk ends where the task more likely ends than not
	alternatives   = 5
	noHistorySteps = 5    // of a walk while no task was ever seen
	provides       = 0.50 // of the uses of a tool, another one came right before it and gave what it takes
)

// Plan returns a DAG: for an intent the tools that a task for it needs, in order and linked, as package rank plans, with
// the sources of what they take; for a context alone the likeliest way on, with neither that from the usual beginning. An
// intent that nothing serves has an empty plan. Where the evidence is weak, the confidence is low and warnings name the
// reason.
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
		if q.doubt(); !q.nothingFits() {
			p.take()
		}
	} else {
		p.walk()
	}
	p.pin()
	p.cover()
	a := p.answer()
	r.Context, r.Profile = q.spelled, q.profile
	r.Explain = nil // how much is shown is no part of the question
	a.SuggestionID = m.suggestionID("dag", r, r.Withheld, r.Pinned)
	return a, nil
}

// plan is a DAG being drawn up.
type plan struct {
	*query
	request DAGRequest
	most    int // tasks
	tasks   []task
	repeats bool        // the tasks are those of a task recorded since the build
	fresh   float64     // chance of the best task that is planned for what came after the build
	others  []candidate // what was not chosen, best first
}

// task is a node of the plan; after holds the positions of the tasks it depends on.
type task struct {
	node    int32
	slot    string
	score   float64
	low     float64 // bound of the confidence
	formula string
	terms   []Term
	reason  string
	after   []int
}

// planRequest asks package rank for the plan of the intent: with what was fitted or, for profile seed and until that is
// done, with the reference alone.
func (q *query) planRequest(fitted bool, vector []float32) {
	l, _ := q.fitted(fitted)
	s := q.situation(vector, len(q.context) > 0, func(t int32) bool {
		_, done := slices.BinarySearch(q.distinct, l.node[t])
		return !done && q.passes(l.node[t])
	})
	s.Around = q.graph.Around(nil) // a plan is of the whole task
	defer s.Around.Close()
	q.planned, q.reference = l.ranker.Plan(s), false
	q.adopt(l, q.planned.Answer)
}

// take takes over the plan for the intent: without what is exhausted, of the rest the likeliest as far as it may be long.
// What came after the build counts: a request like this one, more than any before, has its tools, and the tool whose text
// matches best is added.
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
		return !p.passes(n) || p.nodes.inFlight[p.considered(n)] || p.exhausted(n) || slices.ContainsFunc(tasks[:i], func(t task) bool { return t.node == n })
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

// foreseen is the task of a step that package rank plans.
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

// recorded is the task of a node that what came after the build speaks for.
func (p *plan) recorded(n int32) task {
	t := p.added(n, 0)
	p.fresh = max(p.fresh, t.score)
	return t
}

// added is the task of a node by its own score, at least with the chance given.
func (p *plan) added(n int32, least float64) task {
	c, ok := p.plain(p.considered(n))
	if !ok {
		c = candidate{node: n, formula: FormulaLogistic}
	}
	c.p = max(c.p, least)
	return p.shown(p.query, c, c.p)
}

// newest is the tool whose text matches best, if that is new; else -1.
func (p *plan) newest() int32 {
	best := int32(-1)
	for _, n := range p.nodes.candidateNodes {
		if match := p.nodes.semantic[n]; match >= LowConfidence && p.Kind(n) == catalog.KindTool && p.passes(n) &&
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

// mayAdd reports whether a node passes the filters and neither the context nor the plan has it.
func (p *plan) mayAdd(n int32) bool {
	return !p.nodes.inFlight[p.considered(n)] && p.passes(n) && !p.has(n)
}

// without drops tasks. What came after one comes after what that came after.
func without(tasks []task, drop func(i int) bool) (kept []task) {
	stands := make([][]int, len(tasks)) // what a link from a task becomes
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

// pin adds what rules pin to this intent. Where the plan is as long as it may be, it takes the place of the last task.
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

// shows reports whether terms and the reason of each task are wanted.
func (p *plan) shows() bool { return want(p.request.Explain) }

// shown is the task of a candidate of a query, with terms where they are wanted.
func (p *plan) shown(q *query, c candidate, score float64) task {
	t := task{node: c.node, slot: SlotTarget, score: score, low: q.low(c), formula: c.formula, reason: q.reason(c)}
	if p.shows() {
		t.terms = q.explain(c)
	}
	return t
}

// walk goes the likeliest way on from the context, or from the usual beginning.
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

// step is the best tool after a way that is not on it yet; at its beginning the usual first tool, else a hub.
func (p *plan) step(way []int32) (task, bool) {
	ids := make([]string, len(way))
	for i, n := range way {
		ids[i] = p.IDs[n]
	}
	q, err := p.newQuery(ids, "", p.request.Allow)
	if err != nil {
		return task{}, false // the ids are the model's own; only a context too long ends here
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

// usualLength is the mean number of steps of an episode.
func (p *plan) usualLength() int {
	if p.Totals.Episodes == 0 {
		return noHistorySteps
	}
	return max(1, min(MaxSteps, int(math.Round(float64(p.Totals.Steps)/float64(p.Totals.Episodes)))))
}
