package suggest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/semantic"
)

// How a plan is drawn up. Chosen on every sixth train episode of five public histories, not fitted.
const (
	recallNeighbours = 10   // past episodes asked
	recallTrust      = 3    // a mean likeness of ⅓ is full trust: requests for the same thing share few words
	targetShare      = 0.50 // a target scores at least this share of the best
	textShare        = 0.90 // or this one where only its text speaks for it: look-alikes are many
	prerequisite     = 0.50 // of the times a tool was used, this share came right after its prerequisite
	stopAt           = 0.50 // a walk ends where the task more likely ends than not
	alternatives     = 5
	noHistorySteps   = 5 // a plan's bound while no task was ever seen
)

// Plan returns a DAG. With an intent it selects targets by text similarity and by the nearest past episodes
// to it, adds what they need, and links them as the history and the schemas do; with a context alone
// it walks the likeliest way on; with neither it walks from the usual beginning. Without a context, an intent that
// matches nothing has an empty plan. Where the evidence is weak, the confidence is low and warnings name the reason.
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
	if err := q.decidePlan(r.Profile, r.Vector); err != nil {
		return DAGAnswer{}, err
	}
	p := &plan{query: q, request: r}
	if q.planned != nil {
		q.doubt()
		switch {
		case q.planIsStale():
			p.planned, p.ranking, p.learned, p.profile = nil, nil, nil, ProfileSeed
			p.computeSignals(r.Vector)
		case !q.nothingFits():
			p.take()
		}
	}
	if len(p.tasks) == 0 && q.mode == Active && q.planned == nil {
		p.choose()
	}
	if len(p.tasks) == 0 && (q.mode != Active || len(q.context) > 0) {
		p.walk()
	}
	p.pin()
	p.link()
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
	support map[int32]float64 // by node: share of the nearest past episodes that used it, weighed by likeness
	trust   float64           // how far those episodes are trusted, by their mean likeness
	length  int               // steps to expect

	required     map[int32][]int32 // by node: what it requires, as its catalog says
	recalledFrom int               // episodes that support comes from
	tasks        []task
	linked       bool        // links are drawn already
	walked       bool        // the tasks are the likeliest way on; no intent chose them
	others       []candidate // what was not chosen, best first
	rejected     []RejectedEdge
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

// choose picks targets and their prerequisites for an intent.
func (p *plan) choose() {
	p.remember()
	most := p.length // as long as such tasks usually are, and no longer than asked for
	if p.request.MaxSteps > 0 {
		most = min(most, p.request.MaxSteps)
	}
	var cs []candidate
	for _, n := range p.nodes.candidateNodes {
		if p.nodes.inFlight[n] || p.Kind(n) != catalog.KindTool || !p.passes(n) {
			continue
		}
		s := sum{}
		if v := p.relevance(n, &s); v > 0 {
			cs = append(cs, candidate{node: n, score: v, formula: FormulaHybrid})
		}
	}
	slices.SortFunc(cs, p.order)
	// A capability comes first, because the tools that it covers are neither targets nor alternatives.
	covered, best := p.capability(cs)
	for _, c := range cs {
		switch {
		// already done by the capability
		case slices.Contains(covered, c.node):
		case len(p.tasks) < most && c.score >= p.bar(c.node)*best && p.relevant(c.node) && p.addsWords(c.node):
			p.tasks = append(p.tasks, p.task(c, SlotTarget))
		default:
			p.others = append(p.others, c)
		}
	}
	if most < p.length && len(p.tasks) == most && len(p.others) > 0 && p.others[0].score >= p.bar(p.others[0].node)*best {
		p.warn(WarnTruncated)
	}
	for i := 0; i < len(p.tasks); i++ {
		p.require(i, most)
	}
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
		if last := len(p.tasks) - 1; last+1 == cmp.Or(p.request.MaxSteps, MaxSteps) {
			p.tasks = p.tasks[:last]
			for i := range p.tasks {
				p.tasks[i].after = slices.DeleteFunc(p.tasks[i].after, func(j int) bool { return j == last })
			}
		}
		p.tasks = append(p.tasks, pinned)
	}
}

// addsWords reports whether a tool may stand beside the targets chosen so far. Past episodes vouch for one that they
// used; of those that only their texts speak for, each has to have a word of the intent that no earlier target has:
// a catalog of many servers offers the same service several times, and one of them is enough.
func (p *plan) addsWords(n int32) bool {
	if len(p.tasks) == 0 || p.support[n] > 0 {
		return true
	}
	var terms []string
	for _, term := range semantic.Terms(p.wording.intent) {
		terms = append(terms, term)
	}
	has, had := make([]bool, len(terms)), make([]bool, len(terms))
	p.markOwn(n, terms, has)
	for _, t := range p.tasks {
		p.markOwn(t.node, terms, had)
	}
	for i := range has {
		if has[i] && !had[i] {
			return true
		}
	}
	return false
}

// markOwn marks the terms that a node's own text has.
func (m *Model) markOwn(n int32, terms []string, has []bool) {
	d := m.Document(m.IDs[n])
	for _, text := range [...]string{d.Name, d.Text, d.Properties} {
		semantic.Mark(text, terms, has)
	}
}

// needs are the nodes that a tool requires, as its catalog says.
func (p *plan) needs(n int32) []int32 {
	if !p.Catalog.HasRequirements {
		return nil
	}
	if _, ok := p.required[n]; !ok {
		if p.required == nil {
			p.required = map[int32][]int32{}
		}
		p.required[n] = p.Requires(n)
	}
	return p.required[n]
}

// bar is the share of the best score that a target needs.
func (p *plan) bar(n int32) float64 {
	if p.support[n] == 0 {
		return textShare
	}
	return targetShare
}

// relevant asks for more than a place in the ranking: PageRank alone is no reason to be in a plan.
func (p *plan) relevant(n int32) bool { return p.nodes.semantic[n] > 0 || p.support[n] > 0 }

// remember collects what the past episodes nearest to the intent used and how long they were. Where the intent was
// asked before in the same words, only these episodes count.
func (p *plan) remember() {
	p.support = map[int32]float64{}
	var likeness, length float64
	near := slices.DeleteFunc(p.nearestTasks(recallNeighbours), func(s similarTask) bool { return p.Past.Episode(int(s.episode)).Failed() })
	// The same words again: the longest of other requests would only blur what this one needs.
	if len(near) > 0 && near[0].similarity >= verbatim {
		near = slices.DeleteFunc(near, func(s similarTask) bool { return s.similarity < verbatim })
	}
	for _, h := range near {
		e := p.Past.Episode(int(h.episode))
		seen := map[int32]bool{}
		for _, raw := range e.Nodes {
			if n := p.Canonical[raw]; !seen[n] && p.measures.counts(int(h.episode), n) {
				seen[n] = true
				p.consider(n)
				p.support[n] += h.similarity
			}
		}
		p.recalledFrom++
		likeness += h.similarity
		length += float64(h.similarity * float64(len(seen)))
	}
	p.length = p.usualLength()
	if likeness > 0 {
		for n := range p.support { // each entry is changed by itself; order does not matter
			p.support[n] /= likeness
		}
		p.trust = min(1, float64(recallTrust*likeness)/float64(p.recalledFrom))
		p.length = max(1, min(MaxSteps, int(math.Round(length/likeness))))
	}
}

// usualLength is the mean number of steps of an episode.
func (p *plan) usualLength() int {
	if p.Totals.Episodes == 0 {
		return noHistorySteps
	}
	return max(1, min(MaxSteps, int(math.Round(float64(p.Totals.Steps)/float64(p.Totals.Episodes)))))
}

// relevance is sum.rankScore with one more signal: where the text does not match, past
// episodes with a similar intent still may, semantic' = 1 - (1-semantic)·(1-trust·support).
func (p *plan) relevance(n int32, s *sum) float64 {
	recalled := float64(float64(p.trust*p.support[n]) * (1 - p.nodes.semantic[n]))
	s.rankScore(p.alpha, p.nodes.semantic[n], &recalled, p.nodes.graph[n], p.rank(n))
	p.episodic(n, s)
	return s.close()
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

// task scores a node by relevance. c.score is not used: prerequisites come here without one. The lower bound
// of the confidence stays 0, which means that it is not known.
func (p *plan) task(c candidate, slot string) task {
	s := sum{keep: p.shows()}
	t := task{node: c.node, slot: slot, score: p.relevance(c.node, &s), formula: FormulaHybrid}
	if !p.shows() {
		return t
	}
	t.terms, t.reason = s.terms, "matches the intent"+p.words(c.node)
	if sup := p.support[c.node]; sup > 0 && float64(p.trust*sup) > p.nodes.semantic[c.node] {
		t.reason = fmt.Sprintf("used in %.0f %% of the past tasks most like this one, by likeness", 100*sup)
	}
	return t
}

// capability takes a stored capability as one task where its text matches the intent better than any
// single tool's. It returns the tools it covers, and the best score of a target: others have to come near it.
func (p *plan) capability(tools []candidate) (covered []int32, top float64) {
	if len(tools) > 0 {
		top = tools[0].score
	}
	best, bestMatch := candidate{node: -1}, 0.0
	for _, n := range p.nodes.candidateNodes {
		if p.Kind(n) != catalog.KindCapability || !p.passes(n) || p.nodes.semantic[n] == 0 {
			continue
		}
		s := sum{}
		if c := (candidate{node: n, score: p.mixed(n, &s), formula: FormulaMixed}); c.score > 0 && (best.node < 0 || p.better(c, best)) {
			best, bestMatch = c, p.nodes.semantic[n]
		}
	}
	for _, t := range tools {
		if p.nodes.semantic[t.node] >= bestMatch {
			best.node = -1
		}
	}
	if best.node < 0 {
		return nil, top
	}
	p.tasks = append(p.tasks, p.shown(p.query, best, best.score))
	return p.CapabilityTools(best.node), max(top, p.relevance(best.node, &sum{}))
}

// require adds what a task needs and nothing in the plan or the context gives: what its catalog says it
// requires and, up to most tasks, the tool that most often came right before it or a tool whose output is
// one of its required inputs.
func (p *plan) require(i, most int) {
	t := p.tasks[i].node
	for _, need := range p.needs(t) {
		if len(p.tasks) < cmp.Or(p.request.MaxSteps, MaxSteps) && p.missing(need) {
			p.add(need, fmt.Sprintf("%s requires it", p.IDs[t]))
		}
	}
	if len(p.tasks) < most && !p.requireUsual(i) {
		p.requireInputs(i)
	}
}

// requireUsual adds the tool that most often came right before task i, and reports whether there is one.
func (p *plan) requireUsual(i int) bool {
	t := p.tasks[i].node
	before, share := p.usualBefore(t)
	if before < 0 || share < prerequisite || !p.missing(before) {
		return false
	}
	p.add(before, fmt.Sprintf("came right before %s in %.0f %% of its uses", p.IDs[t], 100*share))
	return true
}

// requireInputs adds a tool whose output is a required input of a task that nothing in the plan or the
// context gives, and reports whether there is one.
func (p *plan) requireInputs(i int) bool {
	t := p.tasks[i].node
	for _, in := range p.inputs(t) {
		if !in.Required || p.provided(t, in.Name) {
			continue
		}
		if from := p.provider(t, in.Name); from >= 0 && p.missing(from) {
			p.add(from, fmt.Sprintf("gives the %s that %s needs", in.Name, p.IDs[t]))
			return true
		}
	}
	return false
}

// add appends a prerequisite and takes it off the alternatives. Its own prerequisites follow later: the loop
// of choose reaches the appended task too.
func (p *plan) add(n int32, reason string) {
	t := p.task(candidate{node: n}, SlotPrerequisite)
	t.reason = reason
	p.tasks = append(p.tasks, t)
	p.others = slices.DeleteFunc(p.others, func(c candidate) bool { return c.node == n })
}

// missing reports whether a node may be added: it passes the filters and neither the context nor the plan has
// it.
func (p *plan) missing(n int32) bool {
	p.consider(n)
	return !p.nodes.inFlight[n] && p.passes(n) && !slices.ContainsFunc(p.tasks, func(t task) bool { return t.node == n })
}

// usualBefore is the tool that most often came right before t, and in what share of t's uses.
func (p *plan) usualBefore(t int32) (best int32, share float64) {
	best = -1
	var most uint64
	for _, u := range p.Graph.Sources(t) {
		if _, n := p.transition(u, t); n > most || n == most && best >= 0 && p.IDs[u] < p.IDs[best] {
			best, most = u, n
		}
	}
	// An episode may repeat the pair more often than the tool has counted uses; a share above 1 would mean
	// nothing.
	if uses := p.Usage.At(t).Steps; uses > 0 {
		share = min(1, float64(most)/float64(uses))
	}
	return best, share
}

// walk goes the likeliest way on from the context, or from the usual beginning.
func (p *plan) walk() {
	p.linked, p.walked = true, true
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

// order sorts by falling score, ties by id, so that equal questions have equal plans.
func (p *plan) order(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(p.IDs[a.node], p.IDs[b.node]))
}
