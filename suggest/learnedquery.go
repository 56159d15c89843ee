package suggest

import (
	"cmp"
	"fmt"
	"slices"

	"waymark/catalog"
	"waymark/learn/calibrate"
	nexttool "waymark/learn/next"
	planning "waymark/learn/plan"
	"waymark/semantic"
	"waymark/suggest/history"
)

// learn makes the query one for what was learned, if the situation has anything to do with it.
func (q *query) learn(k about) {
	l := q.measures.learning.get()
	q.fit.together.measured = false
	if l == nil {
		q.warn(WarnProvisional)
		return
	}
	if l.provisional {
		q.warn(WarnProvisional)
	}
	if k == aboutIntent {
		if l.provisional {
			return
		}
		q.planned = q.plans(l)
		if len(q.planned.Tools) == 0 {
			return
		}
	} else if !q.predict(l) {
		return
	}
	q.learned, q.profile = l, ProfileLearned
}

// predict asks what comes after the context. It reports whether any step of it can be learned of.
func (q *query) predict(l *learned) bool {
	if q.prefix(l); len(q.fit.done) == 0 {
		return false
	}
	kept := l.sure.plain
	q.weights = l.weights.Plain
	var request *nexttool.Request
	if q.mode == Active && q.encodeRequest(l) {
		request, q.weights, kept = &q.fit.request, l.weights.Asked, l.sure.asked
	}
	l.history.Compute(q.fit.done, q.fit.sources.Parents, len(q.fit.done), request, &q.fit.features)
	q.fit.predicted = l.history.Score(&q.fit.features, q.weights, q.fit.predicted)
	q.calibrate(kept)
	return true
}

// intentCache is what was worked out of the last intent. The questions of one task share its intent, so it is kept
// until another is asked, or another model.
type intentCache struct {
	by      *learned
	intent  string
	encoded bool // scratch.request is of this intent
	words   bool // it has words
	alike   bool // some tool's text is like it
	planned *planning.Answer
}

// cachedIntent is what is known of the intent.
func (q *query) cachedIntent(l *learned) *intentCache {
	if q.fit.intentCache.by != l || q.fit.intentCache.intent != q.wording.intent {
		q.fit.intentCache = intentCache{by: l, intent: q.wording.intent}
	}
	return &q.fit.intentCache
}

// encodeRequest computes the request signals of the intent and reports whether it has any words.
func (q *query) encodeRequest(l *learned) bool {
	s := q.cachedIntent(l)
	if !s.encoded {
		s.encoded = true
		if words := semantic.Tokens(q.wording.intent); len(words) > 0 {
			alike := l.wording.like(q.wording.intent)
			s.words, s.alike = true, len(alike) > 0
			l.history.AskInto(l.request(words, false), alike, &q.fit.request)
		}
	}
	if s.words && !s.alike {
		q.warn(WarnNoIntentMatch)
	}
	return s.words
}

// plans is what the intent needs, as learned.
func (q *query) plans(l *learned) *planning.Answer {
	s := q.cachedIntent(l)
	if s.planned == nil {
		s.planned = l.planner.Plan(q.wording.intent, nil)
	}
	return s.planned
}

// calibrate replaces the predicted probability of the top-ranked tool by the calibrated one, the share of such predictions that were
// kept. The others divide what is left as they did before, none above the likeliest.
func (q *query) calibrate(kept *calibrate.Curve) {
	if len(q.fit.predicted) == 0 {
		return
	}
	s := &q.fit.calibration
	best := q.fit.predicted[0]
	for _, r := range q.fit.predicted[1:] {
		if r.Score > best.Score {
			best = r
		}
	}
	s.curve, s.predicted, s.score = kept, best.Probability, best.Score
	s.first, s.rest = kept.At(s.predicted), 0
	if s.predicted < 1 {
		s.rest = (1 - s.first) / (1 - s.predicted)
	}
	for i := range q.fit.predicted {
		p := &q.fit.predicted[i].Probability
		*p = s.of(*p)
	}
}

// calibration turns the probabilities claimed in one situation into those that are kept.
type calibration struct {
	curve            *calibrate.Curve
	predicted, first float64 // of the likeliest
	score            float64 // of it
	rest             float64 // by which the others change
}

// of calibrates one probability: that of the likeliest tool by the curve; the others share what is left in
// proportion.
func (s *calibration) of(claimed float64) float64 {
	if claimed >= s.predicted {
		return s.curve.At(claimed)
	}
	return min(s.first, float64(claimed*s.rest))
}

// prefix fills in the steps of the context that can be learned of.
func (q *query) prefix(l *learned) {
	q.fit.done = q.fit.done[:0]
	for _, n := range q.context {
		if t := history.Of(l.tool, n, -1); t >= 0 {
			q.fit.done = append(q.fit.done, t)
		}
	}
	l.history.Guess(q.fit.done, &q.fit.sources)
}

// learnedCandidates visits what was learned to be possible.
func (q *query) learnedCandidates(visitAll func(c candidate)) {
	visit := visitAll
	if q.recent.any() || q.continued() {
		visit = func(c candidate) { visitAll(q.renewed(c)) }
	}
	if q.planned != nil {
		for _, t := range q.planned.Tools {
			if c, ok := q.asked(t.Tool, t.P); ok {
				q.visitStored(c, visit)
			}
		}
	} else {
		for _, r := range q.fit.predicted {
			q.visitStored(candidate{node: q.learned.node[r.Tool], score: r.Score, formula: FormulaLogistic, p: r.Probability, row: r.Row}, visit)
		}
	}
	q.outside(visit)
	q.recentCandidates(visitAll)
	for _, n := range q.nodes.candidateNodes {
		if q.Kind(n) == catalog.KindCapability && q.Live(n) && !q.exhausted(n) && !q.judged(n) {
			if c, ok := q.stored(n); ok {
				visit(c)
			}
		}
	}
}

// judged reports whether something was learned of a node itself.
func (q *query) judged(n int32) bool {
	t := history.Of(q.learned.tool, n, -1)
	if t < 0 || q.planned == nil {
		return t >= 0
	}
	_, ok := q.planned.Score(t)
	return ok
}

// asked is a tool that the intent may need, unless nothing speaks for it. Its score adds up the terms of
// its log-odds.
func (q *query) asked(tool int32, p float64) (c candidate, ok bool) {
	c = candidate{node: q.learned.node[tool], formula: FormulaLogistic, p: p, row: -1}
	c.score, ok = q.planned.Score(tool)
	return c, ok
}

// learnedTerms takes a learned score apart.
func (q *query) learnedTerms(c candidate) (terms []Term) {
	tool := history.Of(q.learned.tool, c.node, -1)
	if c.newer != 0 {
		defer func() { terms = append(terms, Term{"newer_history", c.newer, 1, c.newer}) }()
	}
	switch {
	case c.stored:
		terms = q.storedTerms(c.node)
	case c.outside:
		terms = []Term{{"as_unused_alike", c.score - c.newer, 1, c.score - c.newer}}
	case c.newer == c.score: // nothing else speaks for it
	case q.planned != nil:
		for _, t := range q.planned.Explain(tool) {
			if t.Adds != 0 {
				terms = append(terms, Term{t.Name, t.Adds, 1, t.Adds})
			}
		}
	case c.row < 0: // nothing speaks for it but what it has in every situation
		terms = q.alwaysTerms(tool)
	default:
		used := q.fit.features.Used(c.row)
		for k, x := range q.fit.features.Values[c.row] {
			if x == 0 {
				continue
			}
			w := nexttool.Weight(q.weights, nexttool.Signal(k), q.fit.features.Evidence[k], used)
			if v := float64(w * float64(x)); v != 0 {
				terms = append(terms, Term{nexttool.Features[k].Name, float64(x), w, v})
			}
		}
	}
	return terms
}

// alwaysTerms are those of a tool that nothing in the situation speaks for.
func (q *query) alwaysTerms(tool int32) []Term {
	var terms []Term
	for _, k := range nexttool.Always {
		x := q.learned.history.Always(k, tool)
		w := nexttool.Weight(q.weights, k, q.fit.features.Evidence[k], 0)
		if v := float64(w * x); v != 0 {
			terms = append(terms, Term{nexttool.Features[k].Name, x, w, v})
		}
	}
	return terms
}

// learnedReason says what speaks most for a candidate.
func (q *query) learnedReason(c candidate) string {
	switch {
	case c.stored:
		return q.storedReason(c.node)
	case c.outside:
		return "matches the intent" + q.words(c.node)
	}
	if q.planned == nil && q.nodes.count[c.node] > 0 {
		return fmt.Sprintf("followed %s %d of %d times", q.IDs[q.last], q.nodes.count[c.node], q.followedBy(q.last))
	}
	if q.planned != nil {
		if history.Of(q.learned.tool, c.node, -1) >= 0 && q.Usage.At(c.node).Steps > 0 {
			return "used for requests like this one" + q.words(c.node)
		}
		return "matches the intent" + q.words(c.node)
	}
	if c.newer == c.score {
		return "matches the intent" + q.words(c.node)
	}
	terms := q.learnedTerms(c)
	best := slices.MaxFunc(terms, func(a, b Term) int { return cmp.Compare(a.Contribution, b.Contribution) })
	if best.Contribution <= 0 {
		return "used in other situations"
	}
	return "largest contribution: " + best.Name
}

// hashLearned writes what is learned from, which decides what is learned; the texts are part "text", the
// tasks are the first of part "episodes".
func (m *Model) hashLearned(w *digest) {
	w.bool(m.measures.learning != nil)
	if m.measures.learning != nil {
		w.floats(nil) // weights of places, which earlier versions estimated: hashes of the same model stay the same
	}
	w.int(int64(m.measures.episodes))
	w.int(int64(m.measures.nodes))
	w.json(m.measures.choice)
}
