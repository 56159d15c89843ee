package suggest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/history"
	"waymark/suggest/learn/rank"
	"waymark/suggest/semantic"
)

// Next ranks the tools and capabilities that may come after the context in one list, each by the best
// formula that applies to it.
func (m *Model) Next(r NextRequest) (NextAnswer, error) {
	limit, err := limitOf("limit", r.Limit, 5, MaxLimit)
	if err != nil {
		return NextAnswer{}, err
	}
	if !(r.MinConfidence >= 0 && r.MinConfidence <= 1) {
		return NextAnswer{}, &RequestError{Invalid, "min_confidence", fmt.Sprintf("is %v, must be 0 to 1", r.MinConfidence)}
	}
	q, err := m.newQuery(r.Context, r.Intent, r.Allow)
	if err != nil {
		return NextAnswer{}, err
	}
	defer q.close()
	q.withheld = r.Withheld
	if err := q.ask(r.Profile, r.Vector); err != nil {
		return NextAnswer{}, err
	}
	if q.mode == Exploration {
		q.hubs(limit)
	}
	q.boundForeign()
	var top []candidate
	if !q.nothingFits() {
		top = q.best(limit, q.passes)
	}
	if len(top) > 0 && q.confidence(top[0]) < LowConfidence {
		q.warn(WarnLowConfidence)
	}
	top = slices.DeleteFunc(top, func(c candidate) bool { return q.confidence(c) < r.MinConfidence })
	r.Context, r.Limit, r.Profile = q.spelled, limit, q.profile
	show := want(r.Explain)
	r.Explain = nil // the suggestion id does not depend on the amount of detail
	a := NextAnswer{
		SuggestionID: m.suggestionID("next", r, r.Withheld, r.Pinned), Suggestions: make([]Suggestion, 0, len(top)),
		Stop: q.stop(), Mode: q.mode, Model: q.modelInfo(),
	}
	for i, c := range top {
		s := Suggestion{
			ID: m.IDs[c.node], Kind: m.Kind(c.node), Confidence: q.confidence(c), Score: q.shownScore(c), Formula: c.formula,
			Evidence: q.evidence(c.node),
		}
		if show {
			s.Terms, s.ConfidenceLow = q.explain(c), q.low(c)
		}
		if show || i == 0 {
			s.Reason = q.reason(c)
		}
		a.Suggestions = append(a.Suggestions, s)
	}
	a.Suggestions = pinFirst(q, a.Suggestions, r.Pinned, limit, q.pinned)
	a.Abstained = len(a.Suggestions) == 0
	if q.last != episodic.NoTool && q.followedBy(q.last) == 0 {
		q.warn(WarnNoHistory)
	}
	a.Warnings = q.warnings
	return a, nil
}

// pinned returns the suggestion of a node that a rule pins. If the answer does not suggest the node (was is nil),
// its score and confidence are 0.
func (q *query) pinned(n int32, was *Suggestion, rule string) Suggestion {
	if was == nil {
		was = &Suggestion{ID: q.IDs[n], Kind: q.Kind(n), Formula: FormulaPin, Evidence: q.evidence(n)}
	}
	was.Reason = pinReason(rule)
	return *was
}

func pinReason(rule string) string { return "pinned by the operator (rule " + rule + ")" }

// pinFirst moves pinned ids to the front of a ranking, in the order of the pins. It passes a nil was for an id that is
// not in the list.
func pinFirst[T interface{ id() string }](q *query, ranked []T, pins []Pin, limit int, pinned func(n int32, was *T, rule string) T) []T {
	for _, p := range slices.Backward(pins) { // each is inserted at the front
		n, ok := q.Find(p.ID)
		if !ok || !q.Live(n) || !q.allowed(p.ID) {
			continue
		}
		q.consider(n)
		var was *T
		if i := slices.IndexFunc(ranked, func(s T) bool { return s.id() == p.ID }); i >= 0 {
			was = new(ranked[i])
			ranked = slices.Delete(ranked, i, i+1)
		}
		ranked = slices.Insert(ranked, 0, pinned(n, was, p.Rule))
	}
	return ranked[:min(limit, len(ranked))]
}

// boundForeign bounds the confidences for a foreign intent by the probability that it can be served. It does nothing after a
// context, which is evidence by itself.
func (q *query) boundForeign() {
	if q.mode != Active || q.last != episodic.NoTool {
		return
	}
	if served := q.served(); served < foreignBelow {
		q.bound = served
		q.warn(WarnForeign)
	}
}

// nothingFits reports whether the answer must be empty because nothing serves the intent. It is false after a context.
func (q *query) nothingFits() bool {
	return q.last == episodic.NoTool && (slices.Contains(q.warnings, WarnForeign) || slices.Contains(q.warnings, WarnNoIntentMatch))
}

// stop returns the probability that the task ends after the last step.
func (q *query) stop() float64 {
	if q.last == episodic.NoTool {
		return 0
	}
	if !q.reference {
		return min(Cap, q.learned.ranker.Over(q.contextTools))
	}
	u := q.Usage.At(q.last)
	return min(Cap, StopProbability(u.Ends, u.Steps, q.Totals.Episodes, q.Totals.Steps))
}

// followedBy counts the transitions from a node, including those to itself.
func (q *query) followedBy(n int32) uint64 {
	var total uint64
	for _, count := range q.Graph.Counts(n) {
		total += count
	}
	if loop, ok := q.Graph.Loop(n); ok {
		total += loop.Count
	}
	return total
}

// evidence returns the counts behind a suggestion: outcomes after the last step, how often the node followed that
// step and, for a capability, the overlap of its tools with the context.
func (q *query) evidence(n int32) Evidence {
	r := q.after(n)
	e := Evidence{Successes: r.N - r.Failures, Failures: r.Failures}
	if q.last != episodic.NoTool {
		_, e.Count = q.transition(q.last, n)
		e.Of = q.followedBy(q.last)
	}
	if q.Kind(n) == catalog.KindCapability && len(q.distinct) > 0 {
		both, size := q.overlap(n)
		e.Jaccard = Jaccard(both, len(q.distinct), size)
		e.Contained = Containment(both, size)
	}
	return e
}

// reason describes in one phrase the evidence for the largest term of the score of a candidate. Models read it, so ids
// in it are quoted if they could be taken for its words.
func (q *query) reason(c candidate) string {
	n := c.node
	switch {
	case c.formula == FormulaName:
		return "the request is its id or its name"
	case q.mode == Exploration:
		return "a hub of its group of tools"
	case c.formula == FormulaMixed && q.mode == Active:
		return "a stored capability: its text matches the request" + q.words(n)
	case c.formula == FormulaMixed:
		both, size := q.overlap(n)
		return fmt.Sprintf("a stored capability: %d of its %d tools are already in use", both, size)
	case c.newer != 0 && c.newer == c.score:
		return "recorded since the last build"
	}
	term := q.largestTerm(c)
	switch term {
	case "match", "text", "semantic":
		return "its text matches the request" + q.words(n)
	case newerHistory:
		return "recorded since the last build"
	case "episodic":
		return fmt.Sprintf("worked in %d of %d known outcomes", q.after(n).N-q.after(n).Failures, q.after(n).N)
	case "request":
		if used, of := q.learned.ranker.Used(q.ranking, history.Of(q.learned.tool, n, -1)); used > 0 {
			return fmt.Sprintf("%d of the %d past requests most like this one used it", used, of)
		}
		return "past tasks used it with words of the request, or with tools that it needs"
	case "catalog":
		for _, r := range q.ranking.Ranked {
			if by := q.learned.node[r.Tool]; slices.Contains(q.Requires(by), n) {
				return "required by " + catalog.ShownID(q.IDs[by])
			}
		}
		return "on a server that is in use or that the request needs"
	case "sequence", "cooccurrence", "community", "adamic_adar", "graph":
		if q.last != episodic.NoTool {
			return q.afterReason(n, term)
		}
	}
	return fmt.Sprintf("%d of %d recorded steps used it", q.Usage.At(n).Steps, q.Totals.Steps)
}

// largestTerm returns the name of the largest term of a score, empty if no term is positive. If the largest term of a
// learned score is the reference, it returns the name of the largest term of the reference.
func (q *query) largestTerm(c candidate) string {
	largest := func(terms []Term) string {
		return slices.MaxFunc(append([]Term{{}}, terms...), func(a, b Term) int { return cmp.Compare(a.Contribution, b.Contribution) }).Name
	}
	if c.formula != FormulaLogistic {
		return largest(q.explain(c))
	}
	name, tool := largest(q.learnedTerms(c)), history.Of(q.learned.tool, c.node, -1)
	if s := (sum{keep: true}); name == rank.Features[rank.Reference].Name {
		q.apply(choose(q.mode == Active, FormulaHybrid, FormulaTool), c.node, &s)
		name = largest(slices.DeleteFunc(s.terms, func(t Term) bool { return t.Name == "episodic" }))
	}
	if (name == "match" || name == "semantic") && q.ranking.Recalled(tool) {
		return "request"
	}
	return name
}

// afterReason describes how a node is related to the last step in past tasks, for the given term of the score.
func (q *query) afterReason(n int32, term string) string {
	_, count := q.transition(q.last, n)
	last, shared := catalog.ShownID(q.IDs[q.last]), len(q.Graph.Shared(q.last, n))
	switch ordered := term == "sequence" || term == "cooccurrence"; {
	case ordered && count > 0:
		return fmt.Sprintf("followed %s %d of %d times", last, count, q.followedBy(q.last))
	case ordered:
		return "past tasks with such steps used it, though it never followed " + last
	case term == "community" || shared == 0 && q.comm(n) >= 0 && q.comm(n) == q.comm(q.last):
		return "used in the same kind of task as " + last
	case shared > 0:
		return fmt.Sprintf("shares %s with %s", catalog.Plural(shared, "neighbour"), last)
	}
	return "close to the context in the graph"
}

// words lists up to four words of the intent that the node's own text has.
func (q *query) words(n int32) string {
	var words, terms, own []string
	for word, term := range semantic.Terms(q.wording.intent) {
		words, terms = append(words, word), append(terms, term)
	}
	has := make([]bool, len(terms))
	q.markOwn(n, terms, has)
	for i, word := range words {
		if has[i] {
			own = append(own, word)
		}
	}
	if len(own) == 0 {
		return " by topic"
	}
	return " in: " + strings.Join(own[:min(4, len(own))], ", ")
}

// suggestionID returns the id of an answer. Equal requests to the same model with the same thesaurus, exclusions and
// pins have the same id.
func (m *Model) suggestionID(operation string, request any, held *Exclusions, pinned []Pin) string {
	b, err := json.Marshal(request)
	if err == nil && (held != nil || len(pinned) > 0) {
		b, err = json.Marshal([]any{json.RawMessage(b), held, pinned})
	}
	if err != nil {
		panic(fmt.Sprintf("suggest: a request cannot be encoded: %v", err)) // requests are plain structs
	}
	h := sha256.New()
	h.Write([]byte(operation + "\x00" + m.info.Version + "\x00"))
	if words := m.measures.thesaurus; words != nil && words.String() != semantic.DefaultThesaurus().String() {
		h.Write([]byte(words.String() + "\x00"))
	}
	h.Write(b)
	return "sg_" + hex.EncodeToString(h.Sum(nil)[:12])
}
