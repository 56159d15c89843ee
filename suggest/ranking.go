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
	stored  bool    // a capability by its tools
	covers  int     // tools of the list that a capability covers
	part    int32   // the best of them
	newer   float64 // part of the score that rests on what came after the build
}

// better orders candidates: score, then what covers more of the others, then id.
func (q *query) better(a, b candidate) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	if a.covers != b.covers {
		return a.covers > b.covers
	}
	return q.IDs[a.node] < q.IDs[b.node]
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
	// A capability that covers tools is visited once, below, with the better of its two scores.
	q.plainCandidates(func(c candidate) {
		if _, ok := q.covering(c.node); !ok {
			visit(c)
		}
	})
	for _, c := range q.covers {
		visit(q.orPlain(c))
	}
}

// plainCandidates visits everything that has a score by itself.
func (q *query) plainCandidates(visit func(c candidate)) {
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
	return q.Live(n) && (len(q.kinds) == 0 || slices.Contains(q.kinds, q.Kind(n))) && q.allowed(q.IDs[n]) && !q.Unconfirmed(n) && !q.after(n).Excluded(q.Rates.Sources())
}

// after is how a node did after the last step. Formulas ask for one node one after the other.
func (q *query) after(n int32) episodic.Rate {
	if q.rated != n {
		q.rated, q.rate = n, q.Rates.After(n, q.last)
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

// signals are the measures of the graph for a node after the context.
func (q *query) signals(n int32) rank.Signals { return q.around.Signals(n) }

// toolScore is [rank.Signals.ToolScore], with outcomes.
func (q *query) toolScore(n int32, s *sum) float64 {
	terms, score := q.signals(n).ToolScore()
	return q.withOutcomes(n, s, terms[:], score)
}

// hybrid is [rank.Signals.RankScore], with outcomes; in an exploration only importance counts.
func (q *query) hybrid(n int32, s *sum) float64 {
	terms, score := q.signals(n).RankScore(q.around.Alpha(), q.nodes.semantic[n])
	if q.mode == Exploration {
		return q.withOutcomes(n, s, []rank.Term{{Name: "pagerank", Value: q.rank(n), Weight: rank.RankWeight}}, 1)
	}
	return q.withOutcomes(n, s, terms[:], score)
}

// withOutcomes adds the terms of a score that is not 0, and what past outcomes say.
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

// boost is StructuralBoost of a capability in this situation.
func (q *query) boost(n int32) float64 { return StructuralBoost(q.clustered(n)) }

// clustered says whether a capability is in the cluster of the last step, and which share of the context
// is in the capability's.
func (q *query) clustered(n int32) (same bool, share float64) {
	c := q.Model.cluster(n)
	if c < 0 {
		return false, 0
	}
	if len(q.distinct) == 0 {
		// No context: the cluster of the best match stands in for it.
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

// overlap counts the capability's tools, and those already in the context.
func (q *query) overlap(n int32) (both, size int) {
	for _, t := range q.CapabilityTools(n) {
		if q.nodes.stamp[t] == q.nodes.epoch && q.nodes.inFlight[t] {
			both++
		}
	}
	return both, len(q.CapabilityTools(n))
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
	switch c.formula {
	case FormulaLogistic:
		return withRest(q.learnedTerms(c), q.shownScore(c))
	case FormulaCovers:
		return q.coveringTerms(c)
	case FormulaName:
		return []Term{{"exact_match", 1, 1, 1}}
	}
	s := sum{keep: true}
	q.apply(c.formula, c.node, &s)
	return s.terms
}

// shownScore is the score of a candidate as answers give it: its probability where that was learned, in which case
// candidate.score orders candidates on the scale of log-odds or logarithms. It lies in [0, 1].
func (q *query) shownScore(c candidate) float64 {
	if c.formula == FormulaLogistic || c.formula == FormulaCovers && !q.reference {
		return min(max(c.p, 1e-300), 1-1e-15) // keeps the log-odds finite
	}
	return c.score
}

// withRest adds the term that makes the contributions add up to the log-odds of the score.
func withRest(terms []Term, score float64) []Term {
	rest := numeric.Ln(score / (1 - score))
	for _, t := range terms {
		rest -= t.Contribution
	}
	return append(terms, Term{"rest", rest, 1, rest})
}

// confidence is the probability where there is one, else the score.
func (c candidate) confidence() float64 {
	if c.formula == FormulaLogistic || c.formula == FormulaCovers {
		return min(Cap, c.p)
	}
	return min(Cap, c.score)
}

// confidence of a candidate for the next step.
func (q *query) confidence(c candidate) float64 { return min(q.bound, c.confidence()) }

// low is a lower bound, in 90 % of cases, of the confidence of a candidate, by the claims that were judged in such
// situations: held-out steps or past requests. It is 0 where none were.
func (q *query) low(c candidate) float64 {
	confidence := q.confidence(c)
	if q.reference {
		return 0
	}
	return q.ranking.Low(confidence)
}
