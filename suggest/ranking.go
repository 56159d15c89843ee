package suggest

import (
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/numeric"
	"waymark/suggest/learn/rank"
)

// candidate is a scored node.
type candidate struct {
	node    int32
	score   float64
	formula string
	p       float64 // probability, if the formula is learned
	newer   float64 // part of the score from evidence after the build
}

// better orders candidates by score, then by id.
func (q *query) better(a, b candidate) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return q.IDs[a.node] < q.IDs[b.node]
}

// best returns the limit best of the wanted candidates, in order.
func (q *query) best(limit int, want func(node int32) bool) []candidate {
	top := q.ranked[:0]
	q.candidates(func(c candidate) { top = q.keep(top, c, limit, want) })
	q.ranked = top
	for _, c := range top {
		q.consider(c.node)
	}
	return top
}

// candidates visits all nodes that have a score.
func (q *query) candidates(visit func(c candidate)) {
	if !q.reference {
		q.learnedCandidates(visit)
		return
	}
	for ; q.looked < len(q.nodes.candidateNodes); q.looked++ {
		if c, ok := q.score(q.nodes.candidateNodes[q.looked]); ok {
			q.scored = append(q.scored, c)
		}
	}
	for _, c := range q.scored {
		visit(c)
	}
}

// scoredNode returns the candidate of a node, if it has a score.
func (q *query) scoredNode(n int32) (found candidate, ok bool) {
	if q.reference {
		return q.score(n)
	}
	q.candidates(func(c candidate) {
		if c.node == n {
			found, ok = c, true
		}
	})
	return found, ok
}

// keep inserts a candidate into the ordered list of the limit best if it is one of them and wanted.
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

// passes applies the filters of all answers to a node.
func (q *query) passes(n int32) bool {
	return q.Live(n) && (len(q.kinds) == 0 || slices.Contains(q.kinds, q.Kind(n))) && q.allowed(q.IDs[n]) && !q.Unconfirmed(n) && !q.after(n).Excluded(q.Rates.Sources())
}

// after returns the outcomes of a node after the last step. It caches the last node, because several formulas read the
// same node in succession.
func (q *query) after(n int32) episodic.Rate {
	if q.rated != n {
		q.rated, q.rate = n, q.Rates.After(n, q.last)
	}
	return q.rate
}

// score returns the best score of a node by the formulas that apply. ok is false if no score is above 0.
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

// exhausted reports whether all tools of a capability are in the context.
func (q *query) exhausted(n int32) bool {
	both, size := q.overlap(n)
	return size > 0 && both == size
}

// formulas lists the formulas that apply to a node in this situation.
func (q *query) formulas(n int32) []string {
	capability := q.Kind(n) == catalog.KindCapability
	switch {
	case q.mode == Exploration:
		return hybridOnly
	case capability && q.last != episodic.NoTool:
		return mixedOrTool
	case capability:
		return mixedOnly
	case q.mode == Active && q.last != episodic.NoTool:
		return toolOrHybrid
	case q.mode == Active:
		return hybridOnly
	case q.last == episodic.NoTool:
		return nil // a context of unknown ids only is no evidence
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

// signals returns the graph measures of a node after the context.
func (q *query) signals(n int32) rank.Signals { return q.around.Signals(n) }

// toolScore returns [rank.Signals.ToolScore] with outcomes.
func (q *query) toolScore(n int32, s *sum) float64 {
	terms, score := q.signals(n).ToolScore()
	return q.withOutcomes(n, s, terms[:], score)
}

// hybrid returns [rank.Signals.RankScore] with outcomes. In exploration mode only PageRank counts.
func (q *query) hybrid(n int32, s *sum) float64 {
	terms, score := q.signals(n).RankScore(q.around.Alpha(), q.nodes.semantic[n])
	if q.mode == Exploration {
		return q.withOutcomes(n, s, []rank.Term{{Name: "pagerank", Value: q.rank(n), Weight: rank.RankWeight}}, 1)
	}
	return q.withOutcomes(n, s, terms[:], score)
}

// withOutcomes adds the terms of a score and the adjustment by past outcomes. A score of 0 stays 0.
func (q *query) withOutcomes(n int32, s *sum, terms []rank.Term, score float64) float64 {
	if score == 0 {
		return 0
	}
	for _, t := range terms {
		if t.Weight > 0 {
			s.add(t.Name, t.Value, t.Weight)
		}
	}
	q.episodic(n, s)
	return s.close()
}

// mixed returns the MixedScore of a capability, mapped to the range of the other scores.
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

// mixing returns the factors of MixedScore for a capability: all 0 if it is not relevant.
func (q *query) mixing(n int32) (relevance, boost, reliability float64) {
	relevance = q.nodes.semantic[n]
	if q.mode != Active {
		both, size := q.overlap(n)
		relevance = Jaccard(both, len(q.distinct), size)
	}
	if relevance == 0 {
		return 0, 0, 0
	}
	rate := q.Rates.Tool(n)
	return relevance, q.boost(n), Reliability(rate.SuccessRate(), rate.Known())
}

// boost returns the StructuralBoost of a capability in this situation.
func (q *query) boost(n int32) float64 { return StructuralBoost(q.clustered(n)) }

// clustered reports whether a capability is in the cluster of the last step, and returns the share of the
// context that is in the cluster of the capability.
func (q *query) clustered(n int32) (same bool, share float64) {
	c := q.Model.cluster(n)
	if c < 0 {
		return false, 0
	}
	if len(q.distinct) == 0 {
		// Without a context, the cluster of the best match is used instead.
		if q.cluster == c {
			return true, 1
		}
		return false, 0
	}
	in := 0
	for _, u := range q.distinct {
		if q.Model.cluster(u) == c {
			in++
		}
	}
	return q.Model.cluster(q.last) == c, float64(in) / float64(len(q.distinct))
}

// overlap returns the number of tools of a capability that are in the context, and of all its tools.
func (q *query) overlap(n int32) (both, size int) {
	for _, t := range q.CapabilityTools(n) {
		if q.nodes.stamp[t] == q.nodes.epoch && q.nodes.inContext[t] {
			both++
		}
	}
	return both, len(q.CapabilityTools(n))
}

// episodic adds the term for past outcomes.
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
	switch c.formula {
	case FormulaLogistic:
		return withRest(q.learnedTerms(c), q.shownScore(c))
	case FormulaName:
		return []Term{{"exact_match", 1, 1, 1}}
	}
	s := sum{keep: true}
	q.apply(c.formula, c.node, &s)
	return s.terms
}

// shownScore returns the score of a candidate in answers, in [0, 1]. If the score was learned, it is the probability,
// while candidate.score orders candidates on the scale of log-odds or logarithms.
func (q *query) shownScore(c candidate) float64 {
	if c.formula == FormulaLogistic {
		return min(max(c.p, 1e-300), 1-1e-15) // keeps the log-odds finite
	}
	return c.score
}

// withRest appends the term "rest", so that the contributions add up to the log-odds of the score.
func withRest(terms []Term, score float64) []Term {
	rest := numeric.Ln(score / (1 - score))
	for _, t := range terms {
		rest -= t.Contribution
	}
	return append(terms, Term{"rest", rest, 1, rest})
}

// confidence returns the probability if the candidate has one, else the score, capped.
func (c candidate) confidence() float64 {
	if c.formula == FormulaLogistic {
		return min(Cap, c.p)
	}
	return min(Cap, c.score)
}

// confidence returns the confidence of a candidate, limited by the bound for foreign intents.
func (q *query) confidence(c candidate) float64 { return min(q.bound, c.confidence()) }

// low returns a lower bound of the confidence of a candidate that holds in 90 % of cases, estimated from the
// predictions for held-out steps or past requests in such situations. It is 0 without such predictions and for the
// reference.
func (q *query) low(c candidate) float64 {
	confidence := q.confidence(c)
	if q.reference {
		return 0
	}
	return q.ranking.Low(confidence)
}
