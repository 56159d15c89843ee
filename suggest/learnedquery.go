package suggest

import (
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/history"
	"waymark/suggest/learn/rank"
)

// rankLearned asks what was learned for what comes next or, in a search, for what the words name. It reports whether that
// answers.
func (q *query) rankLearned(vector []float32) bool {
	if q.mode == Exploration {
		return false
	}
	q.fit.together.measured = false
	l := q.measures.learning.get()
	if l == nil || l.provisional {
		q.warn(WarnProvisional)
	}
	if l == nil {
		return false
	}
	q.fit.done = q.fit.done[:0]
	for _, n := range q.context {
		if t := history.Of(l.tool, n, -1); t >= 0 {
			q.fit.done = append(q.fit.done, t)
		}
	}
	if len(q.fit.done) == 0 && q.wording.intent == "" {
		return false
	}
	s := rank.Situation{Context: q.fit.done, Intent: q.wording.intent}
	if len(q.allow)+len(q.kinds) > 0 || q.withheld != nil {
		s.Allowed = func(t int32) bool { // a capability is also ranked by its tools
			return q.passes(l.node[t]) || slices.ContainsFunc(q.ToolCapabilities(l.node[t]), q.passes)
		}
	}
	q.nearByEndpoint(vector)
	s.Near = q.wording.endpoint
	if q.looking {
		q.ranking = l.ranker.Find(s)
	} else {
		q.ranking = l.ranker.Next(s)
	}
	q.learned, q.profile = l, ProfileLearned
	q.ranking.Adjust(func(t int32) (adds, factor float64) { return q.outcomes(l.node[t]) })
	if q.last != episodic.NoTool {
		q.followers()
	}
	q.capabilities()
	best := int32(-1)
	for _, r := range q.ranking.Ranked {
		n := l.node[r.Tool]
		q.consider(n)
		if best < 0 && q.Kind(n) == catalog.KindTool {
			best = n
		}
	}
	found := q.matchRecent()
	if q.mode == Active && !found && q.value(rank.BestText)+q.value(rank.Known) == 0 {
		q.warn(WarnNoIntentMatch)
	}
	if best >= 0 && len(q.context) == 0 {
		q.cluster = q.Model.cluster(best)
	}
	return true
}

// outcomes are what the record of a node adds to the reference beyond that of any step, and the factor for a capability.
func (q *query) outcomes(n int32) (adds, factor float64) {
	all := q.Totals.StepOutcomes
	if good, bad := float64(all[1]), float64(all[2]); good+bad > 0 && q.after(n).N > 0 {
		r := q.after(n)
		adds = adjustment(r.SuccessRate(), r.FailureRate()) - adjustment(good/(good+bad), bad/(good+bad))
	}
	if q.Kind(n) != catalog.KindCapability {
		return adds, 1
	}
	rate := q.Rates.Tool(n)
	return adds, Reliability(rate.SuccessRate(), rate.Known())
}

func adjustment(good, bad float64) float64 {
	boost, penalty, _ := episodic.Adjustment(good, bad)
	return boost - penalty
}

// value is a row of the table for the first of the ranking; 0 without any.
func (q *query) value(k rank.Row) float64 {
	if len(q.ranking.Ranked) == 0 {
		return 0
	}
	return q.ranking.Value(q.ranking.Ranked[0].Tool, k)
}

// learnedCandidates visits what was learned to be possible, and what came after the build.
func (q *query) learnedCandidates(visitAll func(c candidate)) {
	visit := visitAll
	if q.recent.any() || q.continued() {
		visit = func(c candidate) { visitAll(q.renewed(c)) }
	}
	for i, r := range q.ranking.Ranked {
		if !q.changed(q.learned.node[r.Tool]) {
			q.visitStored(candidate{node: q.learned.node[r.Tool], score: r.Score, formula: FormulaLogistic, p: q.ranking.Chances[i]}, visit)
		}
	}
	q.recentCandidates(visitAll)
	for _, n := range q.nodes.candidateNodes {
		if q.Kind(n) == catalog.KindCapability && q.Live(n) && !q.exhausted(n) && !q.judged(n) {
			if c, ok := q.stored(n); ok {
				visit(c)
			}
		}
	}
}

// changed reports whether what was ranked of a node is no more: only its text spoke for it, and that is another one now.
func (q *query) changed(n int32) bool { return q.recent.changed(n) && q.Usage.At(n).Steps == 0 }

// judged reports whether a node itself is ranked by what it still is.
func (q *query) judged(n int32) bool {
	t := history.Of(q.learned.tool, n, -1)
	if t < 0 || q.changed(n) {
		return false
	}
	return slices.ContainsFunc(q.ranking.Ranked, func(r rank.Ranked) bool { return r.Tool == t })
}

// whole reports whether an answer is for a whole task, not for its next step.
func (q *query) whole() bool { return q.planned != nil || q.last == episodic.NoTool || q.looking }

// newerHistory is the term of what came after the build.
const newerHistory = "newer_history"

// learnedTerms takes a learned score apart: the reference, then what the trees add by group of rows.
func (q *query) learnedTerms(c candidate) (terms []Term) {
	tool := history.Of(q.learned.tool, c.node, -1)
	if c.newer != 0 {
		defer func() { terms = append(terms, Term{newerHistory, c.newer, 1, c.newer}) }()
	}
	switch {
	case c.stored:
		terms = q.storedTerms(c.node)
	case c.newer == c.score: // nothing else speaks for it
	default:
		e, ok := q.ranking.Explain(tool)
		if !ok {
			return nil
		}
		terms = append(terms, Term{rank.Features[e.Row].Name, e.Score, e.Slope, e.Slope * e.Score})
		if e.Outcomes != 0 {
			terms = append(terms, Term{"episodic", e.Outcomes, 1, e.Outcomes})
		}
		for _, g := range rank.Groups {
			if v := e.Groups[g]; v != 0 {
				terms = append(terms, Term{g, v, 1, v})
			}
		}
	}
	return terms
}

// hashLearned writes what is learned from, which decides what is learned; the texts are part "text", the
// tasks are the first of part "episodes".
func (m *Model) hashLearned(w *digest) {
	w.bool(m.measures.seed)
	w.int(int64(m.measures.episodes))
	w.int(int64(m.measures.nodes))
}
