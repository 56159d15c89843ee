package suggest

import (
	"cmp"
	"math"
	"slices"

	"waymark/catalog"
	"waymark/learn/rank"
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
	a.SuggestionID = m.suggestionID("dag", r)
	return a, nil
}

// plan is a DAG being drawn up.
type plan struct {
	*query
	request DAGRequest
	most    int // tasks
	tasks   []task
	repeats bool        // the tasks are those of a task recorded since the build
	newer   float64     // chance of the best task that is planned for what came after the build
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
	q.fit.together.measured = false
	var l *learned
	if fitted {
		if l = q.measures.learning.get(); l == nil || l.provisional {
			q.warn(WarnProvisional)
		}
	}
	if l != nil {
		q.profile = ProfileLearned
	} else {
		l = q.measures.assumed()
	}
	s := rank.Situation{Intent: q.wording.intent}
	if len(q.allow)+len(q.context) > 0 || q.withheld != nil {
		s.Allowed = func(t int32) bool {
			_, done := slices.BinarySearch(q.distinct, l.node[t])
			return !done && q.passes(l.node[t])
		}
	}
	if len(vector) > 0 {
		q.wording.text = q.measures.texts.text.Query(q.wording.intent, vector)
		s.Near = q.nearByEndpoint(l)
		q.closeText()
	}
	q.planned = l.ranker.Plan(s)
	q.ranking, q.learned = q.planned.Answer, l
	q.ranking.Adjust(func(t int32) (adds, factor float64) { return q.outcomes(l.node[t]) })
	q.computeLearnedPlanSignals(vector)
}

// take takes over the plan for the intent: without what is exhausted, of the rest the likeliest as far as it may be long.
// What came after the build counts: a request like this one, more than any before, has its tools, and the tool whose text
// matches best is added.
func (p *plan) take() {
	var tasks []task
	if near := p.recentTasks(); near.nearest >= recentCopy && near.nearest > p.value(rank.Nearest) {
		p.repeats = true
		e := p.Past.Episode(int(near.tasks[0].episode))
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
	if len(p.tasks) > p.most {
		scores := make([]float64, len(p.tasks))
		for i, t := range p.tasks {
			scores[i] = t.score
		}
		p.tasks = without(p.tasks, func(i int) bool { return placeOf(scores, i) >= p.most })
		p.warn(WarnTruncated)
	}
	p.learnedCandidates(func(c candidate) {
		p.others = p.keep(p.others, c, alternatives+p.most, func(n int32) bool { return p.Live(n) && p.mayAdd(n) })
	})
	p.provide()
	p.others = slices.DeleteFunc(p.others, func(c candidate) bool { return p.has(c.node) })
	for j := range p.tasks {
		p.linkNeeds(j)
	}
	p.slot()
}

// placeOf is how many values stand before the one at i, the largest first.
func placeOf(values []float64, i int) (before int) {
	for j, v := range values {
		if v > values[i] || v == values[i] && j < i {
			before++
		}
	}
	return before
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
	p.newer = max(p.newer, t.score)
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

// shows reports whether terms and reasons are wanted.
func (p *plan) shows() bool { return want(p.request.Explain) }

// shown is the task of a candidate of a query, with what is wanted of terms and reason.
func (p *plan) shown(q *query, c candidate, score float64) task {
	t := task{node: c.node, slot: SlotTarget, score: score, low: q.low(c), formula: c.formula}
	if p.shows() {
		t.terms, t.reason = q.explain(c), q.reason(c)
	}
	return t
}

// walk goes the likeliest way on from the context, or from the usual beginning.
func (p *plan) walk() {
	most := p.request.MaxSteps
	if most == 0 {
		most = max(1, p.usualLength()-len(p.context))
	}
	at := slices.Clone(p.context)
	if len(at) == 0 {
		start, why := p.beginning()
		if start < 0 {
			p.warn(WarnNoHistory)
			return
		}
		p.consider(start)
		s := sum{keep: true}
		s.add("pagerank", p.rank(start), wRank)
		p.episodic(start, &s)
		p.tasks = append(p.tasks, task{node: start, slot: SlotTarget, score: s.close(), formula: FormulaHybrid, terms: s.terms, reason: why})
		at = append(at, start)
	}
	for len(p.tasks) < most {
		next, ok := p.step(at)
		if !ok {
			break
		}
		p.consider(next.node)
		if n := len(p.tasks); n > 0 {
			next.after = []int{n - 1}
		}
		p.tasks = append(p.tasks, next)
		at = append(at, next.node)
	}
	if len(p.tasks) == 0 {
		p.warn(WarnNoHistory)
	}
}

// beginning is where a walk without a context starts: the usual first tool, else a hub, else, in a
// catalog without any history, the first tool by id.
func (p *plan) beginning() (start int32, why string) {
	if p.Start >= 0 && p.passes(p.Start) {
		return p.Start, "most tasks begin with it"
	}
	if q, err := p.newQueryWithSignals(nil, "", nil, p.request.Allow); err == nil {
		defer q.close()
		q.withheld = p.withheld
		q.hubs(1)
		if top := q.best(1, q.passes); len(top) > 0 {
			return top[0].node, "a hub of its group of tools"
		}
	}
	for _, n := range p.Roles.Tools {
		if p.passes(n) {
			p.warn(WarnNoHistory)
			return n, "nothing is known yet; the first tool of the catalog"
		}
	}
	return -1, ""
}

// step is the best tool after a way that is not on it yet.
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
	if q.decideNext(p.request.Profile, nil) != nil {
		return task{}, false
	}
	if q.learned != nil {
		p.profile = q.profile
	}
	if len(p.tasks) > 0 && q.stop() >= stopAt {
		return task{}, false
	}
	top := q.best(1, func(n int32) bool { return q.passes(n) && !slices.Contains(way, n) })
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
