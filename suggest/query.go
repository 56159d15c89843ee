package suggest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/graph"
	nexttool "waymark/predict/next"
	planning "waymark/predict/plan"
	"waymark/semantic"
)

// Limits on a request.
const (
	MaxLimit   = 100
	MaxContext = 512
	MaxQuery   = 8 << 10
	MaxAllow   = 64
	MaxSteps   = 25
)

// scratch is the working memory of one query, reused: arrays by node. A value is valid only where the
// node was touched in this query; whoever reads one of a node from elsewhere touches it first.
type scratch struct {
	asked    query    // the query itself
	spelled  []string // the context by canonical ids, unknown elements as they came
	context  []int32  // known elements, in order
	distinct []int32  // known elements, sorted

	epoch    uint32
	stamp    []uint32 // node has been touched in this epoch
	near     []uint32 // aa and graph of the node are of this epoch
	touched  []int32
	aa       []float64 // Adamic-Adar with the last step
	weight   []float64 // of the transition from the last step
	count    []uint64
	graph    []float64 // GraphScore, the maximum over the context
	semantic []float64
	inFlight []bool // node is in the context
	adamic   graph.Scratch
	all, top []graph.Scored
	ways     graph.BreadthFirst
	ranked   []candidate
	hits     []semantic.Hit

	signs     nexttool.Signs
	predicted []nexttool.Ranked
	request   nexttool.Request
	sure      sureness
	together  together
	done      []int32 // tools of the context that can be learned of
	parents   [][]int32
}

// scratchFor is working memory for n nodes. Models hand it on to later ones, which have more.
func scratchFor(pool *sync.Pool, n int) *scratch {
	s, _ := pool.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	if len(s.stamp) < n {
		n += n/8 + 64
		s.near = make([]uint32, n)
		s.stamp, s.aa, s.weight, s.count = make([]uint32, n), make([]float64, n), make([]float64, n), make([]uint64, n)
		s.graph, s.semantic, s.inFlight = make([]float64, n), make([]float64, n), make([]bool, n)
	}
	return s
}

func (s *scratch) begin() {
	if s.epoch++; s.epoch == 0 {
		clear(s.stamp)
		clear(s.near)
		s.epoch = 1
	}
	s.spelled, s.context, s.distinct, s.touched = s.spelled[:0], s.context[:0], s.distinct[:0], s.touched[:0]
}

// touch makes a node a candidate; its signals start at zero.
func (s *scratch) touch(i int32) {
	if s.stamp[i] != s.epoch {
		s.stamp[i] = s.epoch
		s.weight[i], s.count[i], s.semantic[i], s.inFlight[i] = 0, 0, 0, false
		s.meet(i)
		s.touched = append(s.touched, i)
	}
}

// meet makes a node's nearness valid, whether it becomes a candidate or not; it starts at zero.
func (s *scratch) meet(i int32) {
	if s.near[i] != s.epoch {
		s.near[i] = s.epoch
		s.aa[i], s.graph[i] = 0, 0
	}
}

// query is one question to a model.
type query struct {
	*Model
	*scratch
	mode     Mode
	intent   string
	alpha    float64
	text     *semantic.Query // the intent, prepared; nil without one
	last     int32           // the last known one, or episodic.NoTool
	cluster  int32           // the cluster that stands for the situation, -1 = none
	allow    []string
	profile  string           // that answers
	rated    int32            // the node of rate, -1 = none
	rate     episodic.Rate    // of that node after the last step
	decided  *Decided         // why, if profile auto was asked
	learned  *learned         // what was learned, if that answers
	weights  []float64        // of its signals
	planned  *planning.Answer // of the planner, if it was asked
	looking  bool             // a search: what is asked for decides, not what usually comes next
	warnings []string
}

// open starts a query and fills in all signals; close must follow.
func (m *Model) open(context []string, intent string, vector []float32, allow []string) (*query, error) {
	q, err := m.ask(context, intent, allow)
	if err == nil {
		q.sense(vector)
	}
	return q, err
}

// ask starts a query; close must follow.
func (m *Model) ask(context []string, intent string, allow []string) (*query, error) {
	if len(context) > MaxContext {
		return nil, &RequestError{Invalid, "context", fmt.Sprintf("has %d elements, at most %d", len(context), MaxContext)}
	}
	if len(intent) > MaxQuery {
		return nil, &RequestError{Invalid, "intent", fmt.Sprintf("has %d bytes, at most %d", len(intent), MaxQuery)}
	}
	if len(allow) > MaxAllow {
		return nil, &RequestError{Invalid, "allow", fmt.Sprintf("has %d patterns, at most %d", len(allow), MaxAllow)}
	}
	s := scratchFor(m.Counts.scratch, len(m.ids))
	s.begin()
	q := &s.asked
	*q = query{Model: m, scratch: s, intent: strings.TrimSpace(intent), last: episodic.NoTool, cluster: -1, rated: -1, allow: allow, warnings: []string{}}
	for i, spelling := range context {
		n, ok, err := m.node(spelling)
		if err != nil {
			q.close()
			return nil, &RequestError{Invalid, fmt.Sprintf("context[%d]", i), err.Error()}
		}
		if !ok {
			q.warn(WarnUnknownContext)
			q.spelled = append(q.spelled, spelling)
			continue
		}
		q.context, q.spelled = append(q.context, n), append(q.spelled, m.ids[n])
	}
	q.distinct = append(q.distinct, q.context...)
	slices.Sort(q.distinct)
	q.distinct = slices.Compact(q.distinct)
	if len(q.context) > 0 {
		q.last = q.context[len(q.context)-1]
		q.cluster = m.cluster(q.last)
	}
	switch {
	case q.intent != "":
		q.mode, q.alpha = Active, 1
	case len(context) > 0:
		q.mode = Passive
	default:
		q.mode = Exploration
	}
	for _, u := range q.distinct {
		q.touch(u)
		q.inFlight[u] = true
	}
	if len(q.context) > 0 {
		q.alpha = m.info.Alpha
	}
	return q, nil
}

// sense fills in the signals of graph and text.
func (q *query) sense(vector []float32) {
	if len(q.context) > 0 {
		q.structure()
	}
	if q.mode == Active {
		q.meaning(vector)
	}
}

// glance fills in what an answer shows of a context if it was learned what comes next: how often it came,
// and the stored capabilities that have to do with the situation.
func (q *query) glance(vector []float32) {
	q.followers()
	q.capabilities()
	if q.mode == Active && len(q.roles.capNode) > 0 {
		if len(q.roles.capNode) > related {
			q.meaning(vector)
			return
		}
		q.text = q.measures.text.Query(q.intent, vector)
		for _, n := range q.roles.capNode {
			if n = q.canon[n]; q.live(n) {
				q.touch(n)
				q.semantic[n] = q.match(n)
			}
		}
	}
}

func (q *query) close() {
	if q.text != nil {
		q.text.Close()
	}
	s, pool := q.scratch, q.Counts.scratch
	*q = query{} // keeps no model alive
	pool.Put(s)
}

func (q *query) warn(w string) {
	if !slices.Contains(q.warnings, w) {
		q.warnings = append(q.warnings, w)
	}
}

// related bounds the candidates that one signal of the graph brings in: the nodes most alike a step by
// shared neighbours, the most important of a community, the neighbours of a step. What else brings a
// node in still finds how near it is.
const related = 256

// walk bounds the edges walked along to find how alike all nodes are to the steps of a context. Beyond
// it, where hubs are among the neighbours, only the most alike are found ([graph.View.AdamicAdarTop]);
// the others count as not alike.
const walk = 1 << 18

// structure fills in the graph signals of the context: of its last step, and for the hybrid score
// those of every step.
func (q *query) structure() {
	q.followers()
	left := q.alike(q.last, walk)
	if q.mode == Active {
		for _, u := range q.distinct {
			if u != q.last {
				left = q.alike(u, left)
			}
			q.neighbours(u)
		}
	}
	if c := q.comm(q.last); c >= 0 {
		for _, v := range q.measures.members[c] {
			q.touch(v)
		}
	}
	q.capabilities()
}

// followers fills in what came after the last step.
func (q *query) followers() {
	to, weights := q.g.Out(q.last)
	counts := q.g.Counts(q.last)
	for i, v := range to {
		q.touch(v)
		q.weight[v], q.count[v] = weights[i], counts[i]
	}
	if loop, ok := q.g.Loop(q.last); ok {
		q.weight[q.last], q.count[q.last] = loop.Weight, loop.Count
	}
}

// capabilities makes those that use a tool of the context candidates.
func (q *query) capabilities() {
	for _, u := range q.distinct {
		for _, c := range q.toolCaps(u) {
			q.touch(c)
		}
	}
}

// alike fills in which nodes share neighbours with step u, makes the most alike candidates, and returns
// how many edges may still be walked along.
func (q *query) alike(u int32, left int) int {
	for _, w := range q.g.Neighbours(u) {
		left -= q.g.Degree(w)
	}
	if left < 0 {
		q.top = q.g.AdamicAdarTop(u, related, &q.adamic, q.top)
	} else {
		q.all = q.all[:0]
		q.g.AdamicAdarFrom(u, &q.adamic, func(v int32, aa float64) { q.all = append(q.all, graph.Scored{Node: v, Score: aa}) })
		for _, v := range q.all {
			q.likeness(u, v)
		}
		if len(q.all) <= related {
			for _, v := range q.all {
				q.touch(v.Node)
			}
			return left
		}
		q.top = graph.Top(q.all, related, q.top)
	}
	for _, v := range q.top {
		q.likeness(u, v)
		q.touch(v.Node)
	}
	return max(left, 0)
}

func (q *query) likeness(u int32, v graph.Scored) {
	q.meet(v.Node)
	q.graph[v.Node] = max(q.graph[v.Node], graph.GraphScore(false, v.Score))
	if u == q.last {
		q.aa[v.Node] = v.Score
	}
}

// neighbours fills in what is next to step u. That something is next to a hub makes it no candidate:
// nearly everything is.
func (q *query) neighbours(u int32) {
	neighbours := q.g.Neighbours(u)
	for _, v := range neighbours {
		q.meet(v)
		q.graph[v] = 1
	}
	if len(neighbours) <= related {
		for _, v := range neighbours {
			q.touch(v)
		}
	}
	if _, ok := q.g.Loop(u); ok {
		q.graph[u] = 1
	}
}

// meaning fills in how well each text matches the intent.
func (q *query) meaning(vector []float32) {
	best, bestScore := int32(-1), 0.0
	q.text = q.measures.text.Query(q.intent, vector)
	for _, n := range q.touched { // what the graph brought in
		q.semantic[n] = q.match(n)
	}
	q.hits = q.text.Top(q.hits[:0], textCandidates)
	for _, h := range q.hits {
		n := q.measures.docNode[h.Doc]
		if !q.live(n) || !(h.Score > 0) {
			continue
		}
		q.touch(n)
		q.semantic[n] = h.Score
		if q.kind(n) == catalog.KindTool && (h.Score > bestScore || h.Score == bestScore && best >= 0 && q.ids[n] < q.ids[best]) {
			best, bestScore = n, h.Score
		}
	}
	if best >= 0 && len(q.context) == 0 {
		q.cluster = q.Model.cluster(best)
	}
	if best < 0 {
		q.warn(WarnNoIntentMatch)
	}
}

// textCandidates is how many of the best matches by text compete with what the graph brings in. Below
// the 512th place a match is too weak to be shown, whatever else speaks for it.
const textCandidates = 512

// match is how well a node's text fits the intent.
func (q *query) match(n int32) float64 {
	if d := q.doc(n); d >= 0 && q.live(n) {
		return max(0, q.text.Of(d).Score)
	}
	return 0
}

// consider makes a node a candidate that neither text nor graph may have brought in.
func (q *query) consider(n int32) {
	if q.stamp[n] == q.epoch {
		return
	}
	q.touch(n)
	if q.text != nil {
		q.semantic[n] = q.match(n)
	}
}

// candidate is a scored node.
type candidate struct {
	node    int32
	score   float64
	formula string
	p       float64 // probability, if the formula is learned
	row     int     // of the signs, if it comes from them
	stored  bool    // a capability by its tools
}

// better orders candidates: score, then id.
func (q *query) better(a, b candidate) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return q.ids[a.node] < q.ids[b.node]
}

// best keeps the limit best of all candidates that are wanted, in order.
func (q *query) best(limit int, want func(node int32) bool) []candidate {
	top := q.ranked[:0]
	q.candidates(func(c candidate) { top = q.keep(top, c, limit, want) })
	q.ranked = top
	for _, c := range top {
		q.consider(c.node)
	}
	return top
}

// candidates visits everything that has a score.
func (q *query) candidates(visit func(c candidate)) {
	if q.learned != nil {
		q.learnedCandidates(visit)
		return
	}
	for _, n := range q.touched {
		if c, ok := q.score(n); ok {
			visit(c)
		}
	}
}

// keep puts a candidate to its place among the limit best, if it is one of them and wanted.
func (q *query) keep(top []candidate, c candidate, limit int, want func(node int32) bool) []candidate {
	if len(top) == limit && !q.better(c, top[limit-1]) || !want(c.node) {
		return top
	}
	if len(top) < limit {
		top = append(top, c)
	}
	i := len(top) - 1
	for ; i > 0 && q.better(c, top[i-1]); i-- {
		top[i] = top[i-1]
	}
	top[i] = c
	return top
}

// passes are the filters every answer applies.
func (q *query) passes(n int32) bool {
	return q.live(n) && q.allowed(q.ids[n]) && !q.after(n).Excluded(q.rates.Sources())
}

// after is how a node did after the last step. Formulas ask for one node one after the other.
func (q *query) after(n int32) episodic.Rate {
	if q.rated != n {
		q.rated, q.rate = n, q.rates.After(n, q.last)
	}
	return q.rate
}

// score takes the better of the formulas that apply to a node. ok is false where none does.
func (q *query) score(n int32) (best candidate, ok bool) {
	if q.exhausted(n) {
		return candidate{}, false
	}
	for _, f := range q.formulas(n) {
		s := sum{}
		v := q.apply(f, n, &s)
		if v > 0 && (!ok || v > best.score) {
			best, ok = candidate{node: n, score: v, formula: f}, true
		}
	}
	return best, ok
}

// exhausted reports whether a capability has nothing left to do: all its tools are in the context.
func (q *query) exhausted(n int32) bool {
	both, size := q.overlap(n)
	return size > 0 && both == size
}

// formulas lists what applies to a node in this situation.
func (q *query) formulas(n int32) []string {
	capability := q.kind(n) == catalog.KindCapability
	switch {
	case q.mode == Exploration:
		return hybridOnly
	case q.looking && !capability:
		return hybridOnly
	case q.looking:
		return mixedOnly
	case capability && q.last != episodic.NoTool:
		return mixedOrTool
	case capability:
		return mixedOnly
	case q.mode == Active && q.last != episodic.NoTool:
		return toolOrHybrid
	case q.mode == Active:
		return hybridOnly
	case q.last == episodic.NoTool:
		return nil // a context of unknown ids alone says nothing
	}
	return toolOnly
}

var (
	toolOnly     = []string{FormulaTool}
	hybridOnly   = []string{FormulaHybrid}
	mixedOnly    = []string{FormulaMixed}
	mixedOrTool  = []string{FormulaTool, FormulaMixed}
	toolOrHybrid = []string{FormulaTool, FormulaHybrid}
)

// apply evaluates one formula, collecting terms in s if s.keep.
func (q *query) apply(formula string, n int32, s *sum) float64 {
	switch formula {
	case FormulaTool:
		return q.toolScore(n, s)
	case FormulaMixed:
		return q.mixed(n, s)
	}
	return q.hybrid(n, s)
}

// toolScore is ToolScore with the signals of the last step.
func (q *query) toolScore(n int32, s *sum) float64 {
	weight, count := q.weight[n], q.count[n]
	cooccurrence, community := 0.0, 0.0
	if count > 0 {
		cooccurrence = graph.CooccurrenceConfidence(weight, count)
	}
	aa := q.aa[n]
	if c := q.comm(n); c >= 0 && c == q.comm(q.last) && (n != q.last || count > 0) {
		community = graph.CommunityConfidence(q.rank(n), weight, aa)
	}
	if cooccurrence == 0 && community == 0 && aa == 0 {
		return 0 // importance alone makes no candidate
	}
	s.tool(cooccurrence, community, min(aa/2, 1), q.rank(n))
	q.episodic(n, s)
	return s.close()
}

// hybrid is RankScore: meaning, structure where there is a context, importance.
func (q *query) hybrid(n int32, s *sum) float64 {
	switch {
	case q.mode == Exploration:
		s.add("pagerank", q.rank(n), wRank)
	case q.semantic[n] == 0 && q.graph[n] == 0:
		return 0
	default:
		s.add("semantic", q.semantic[n], wHybrid*q.alpha)
		s.rank(q.alpha, q.graph[n], q.rank(n))
	}
	q.episodic(n, s)
	return s.close()
}

// mixed is MixedScore for a capability, mapped to the range of the other scores.
func (q *query) mixed(n int32, s *sum) float64 {
	relevance, boost, reliability := q.mixing(n)
	if relevance == 0 {
		return 0
	}
	x := MixedScore(relevance, boost, reliability)
	s.term("relevance", relevance, 1, relevance)
	s.term("structural_boost", 1+boost, 1, 1+boost)
	s.term("reliability", reliability, 1, reliability)
	s.term("comparable", 1/(1+x), 1, 1/(1+x))
	return Comparable(x)
}

// mixing are the factors of MixedScore for a capability.
func (q *query) mixing(n int32) (relevance, boost, reliability float64) {
	relevance = q.semantic[n]
	if q.mode != Active {
		both, size := q.overlap(n)
		relevance = Jaccard(both, len(q.distinct), size)
	}
	if relevance == 0 {
		return 0, 0, 0
	}
	rate := q.rates.Tool(n)
	return relevance, q.boost(n), Reliability(rate.SuccessRate(), rate.N)
}

// boost is StructuralBoost of a capability in this situation.
func (q *query) boost(n int32) float64 {
	c := q.Model.cluster(n)
	if c < 0 {
		return 0
	}
	if len(q.distinct) == 0 {
		// No context: the cluster of the best match stands in for it.
		if q.cluster == c {
			return StructuralBoost(true, 1)
		}
		return 0
	}
	in := 0
	for _, u := range q.distinct {
		if q.Model.cluster(u) == c {
			in++
		}
	}
	return StructuralBoost(q.Model.cluster(q.last) == c, float64(in)/float64(len(q.distinct)))
}

// overlap counts the capability's tools, and those already in the context.
func (q *query) overlap(n int32) (both, size int) {
	for _, t := range q.capTools(n) {
		if q.stamp[t] == q.epoch && q.inFlight[t] {
			both++
		}
	}
	return both, len(q.capTools(n))
}

// episodic adds what past outcomes say.
func (q *query) episodic(n int32, s *sum) {
	r := q.after(n)
	if r.N == 0 {
		return
	}
	boost, penalty, _ := episodic.Adjustment(r.SuccessRate(), r.FailureRate())
	s.add("episodic", boost-penalty, 1)
}

// explain returns the terms of a candidate.
func (q *query) explain(c candidate) []Term {
	if c.formula == FormulaLearned {
		return q.learnedTerms(c)
	}
	s := sum{keep: true}
	q.apply(c.formula, c.node, &s)
	return s.terms
}

// allowed matches an id against the patterns; without any, everything is.
func (q *query) allowed(id string) bool {
	if len(q.allow) == 0 {
		return true
	}
	for _, p := range q.allow {
		if matches(p, id) {
			return true
		}
	}
	return false
}

// matches reports whether the pattern, in which * stands for any run of characters, matches id.
func matches(pattern, id string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == id
	}
	if !strings.HasPrefix(id, head) {
		return false
	}
	id = id[len(head):]
	for {
		part, tail, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(id, part)
		}
		i := strings.Index(id, part)
		if i < 0 {
			return false
		}
		id, rest = id[i+len(part):], tail
	}
}

// limitOf checks a limit.
func limitOf(field string, n, preset, most int) (int, error) {
	if n == 0 {
		return preset, nil
	}
	if n < 0 || n > most {
		return 0, &RequestError{Invalid, field, fmt.Sprintf("is %d, must be 1 to %d", n, most)}
	}
	return n, nil
}

func want(explain *bool) bool { return explain == nil || *explain }

// confidence is the probability where there is one, else the score.
func (c candidate) confidence() float64 {
	if c.formula == FormulaLearned {
		return min(Cap, c.p)
	}
	return min(Cap, c.score)
}
