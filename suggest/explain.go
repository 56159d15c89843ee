package suggest

import (
	"fmt"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/history"
)

// Explain returns why an id is, or is not, suggested in a situation: every term, every filter, and its
// rank among all candidates.
func (m *Model) Explain(r ExplainRequest) (ExplainAnswer, error) {
	limit, err := limitOf("limit", r.Limit, 5, MaxLimit)
	if err != nil {
		return ExplainAnswer{}, err
	}
	if r.ID == "" {
		return ExplainAnswer{}, &RequestError{Invalid, "id", "is empty"}
	}
	q, err := m.newQuery(r.Context, r.Intent, r.Allow)
	if err != nil {
		return ExplainAnswer{}, err
	}
	defer q.close()
	q.withheld = r.Withheld
	if err := q.ask(r.Profile, r.Vector); err != nil {
		return ExplainAnswer{}, err
	}
	r.Context, r.Limit, r.Profile = q.spelled, limit, q.profile
	a := ExplainAnswer{
		SuggestionID: m.suggestionID("explain", r, r.Withheld, nil), ID: r.ID, Mode: q.mode, Model: q.modelInfo(),
		Terms: []Term{}, Filters: []Filter{}, Considered: []Considered{},
	}
	n, ok, err := m.node(r.ID)
	if err != nil {
		return ExplainAnswer{}, &RequestError{Invalid, "id", err.Error()}
	}
	id := r.ID
	if ok {
		id = m.IDs[n]
	}
	held, isHeld := r.Withheld.Of(id)
	if isHeld {
		a.Filters = append(a.Filters, Filter{"withheld", false, held.Detail})
	}
	if !ok || !m.Live(n) {
		m.explainUnknown(n, ok, held, isHeld, &a)
		return a, nil
	}
	if r.Formula {
		if a.FormulaSteps, err = m.Formula(r); err != nil {
			return a, err
		}
	}
	dealt := true // in exploration mode only the selected hubs are candidates
	if q.mode == Exploration {
		q.hubs(limit)
		dealt = slices.Contains(q.nodes.candidateNodes, n)
	}
	q.consider(n)
	a.Staleness = m.staleness(n)
	a.ID, a.Kind, a.Evidence = m.IDs[n], m.Kind(n), q.evidence(n)
	a.Filters = append(a.Filters, Filter{"known", true, ""})
	allowed := q.permitted(a.ID)
	a.Filters = append(a.Filters, Filter{"allowed", allowed, allowDetail(r.Allow)})
	rate := q.Rates.After(n, q.last)
	excluded := rate.Excluded(q.Rates.Sources())
	a.Filters = append(a.Filters, Filter{"failures", !excluded, failureDetail(rate)})
	c, scored := q.explainScore(n, &a)
	done := q.exhausted(n)
	if m.Kind(n) == catalog.KindCapability {
		both, size := q.overlap(n)
		a.Filters = append(a.Filters, Filter{"work_left", !done, fmt.Sprintf("%d of its %d tools are in the context", both, size)})
		a.Evidence.Uses = m.Uses(a.ID)
	}
	a.Neighbours = m.hyperNeighbours(n)
	switch {
	case isHeld:
		a.Absent, a.Reason = held.Absent, held.Detail
		return a, nil
	case !allowed:
		a.Absent, a.Reason = AbsentNotAllowed, "no pattern of the request allows it"
		return a, nil
	case excluded:
		where := ""
		if q.last != episodic.NoTool && rate != q.Rates.Tool(n) {
			where = " after " + catalog.ShownID(q.IDs[q.last])
		}
		a.Absent, a.Reason = AbsentExcluded, fmt.Sprintf("it fails too often%s: %d of %d known outcomes", where, rate.Failures, rate.N)
		return a, nil
	case !scored && done:
		a.Absent, a.Reason = AbsentExhausted, "everything it would do is already in the context"
		return a, nil
	case !scored:
		a.Absent, a.Reason = AbsentNoSignal, "neither history nor text connects it with this situation"
		return a, nil
	}
	q.explainRank(c, dealt, limit, &a)
	return a, nil
}

// explainUnknown fills in the reason why an id that cannot be suggested is absent. If ok, the id has node n, because an
// earlier catalog had it.
func (m *Model) explainUnknown(n int32, ok bool, held Exclusion, isHeld bool, a *ExplainAnswer) {
	if ok {
		a.ID = m.IDs[n]
	}
	if isHeld {
		a.Kind, a.Absent, a.Reason = catalog.KindTool, held.Absent, held.Detail
		return
	}
	a.Absent, a.Reason = AbsentUnknown, "no catalog and no episode has this id"
	if ok {
		a.Reason = "the catalog no longer has it"
	}
	a.Filters = append(a.Filters, Filter{"known", false, a.Reason})
}

// explainScore fills in every formula that applies to a node, with its terms, and the score of the node. It returns the
// candidate with that score, or false if the node has no score in this situation.
func (q *query) explainScore(n int32, a *ExplainAnswer) (c candidate, scored bool) {
	for _, f := range append(q.formulas(n), capabilityOnly(q.Kind(n))...) {
		s := sum{keep: true}
		score := q.applyAny(f, n, &s)
		if s.terms != nil {
			a.Considered = append(a.Considered, Considered{f, score, s.terms})
		}
	}
	q.boundForeign()
	c, scored = q.scoredNode(n)
	if !q.reference && scored {
		a.Considered = append([]Considered{{FormulaLogistic, q.shownScore(c), q.explain(c)}}, a.Considered...)
	}
	if scored {
		a.Score, a.Confidence, a.Formula, a.Terms, a.Reason = q.shownScore(c), q.confidence(c), c.formula, q.explain(c), q.reason(c)
	}
	return c, scored
}

// explainRank fills in the rank of a candidate among all that pass the filters, and whether it is within the limit.
func (q *query) explainRank(c candidate, dealt bool, limit int, a *ExplainAnswer) {
	ahead, of := 0, 0
	q.candidates(func(o candidate) {
		if q.passes(o.node) {
			of++
			if q.better(o, c) {
				ahead++
			}
		}
	})
	a.Rank, a.Of, a.Suggested = ahead+1, of, dealt && ahead < limit
	if !dealt {
		a.Rank = of // behind the selected hubs
	}
	a.Filters = append(a.Filters, Filter{"cut", a.Suggested, fmt.Sprintf("rank %d of %d, the %d best are shown", a.Rank, of, limit)})
	if !a.Suggested {
		a.Absent = AbsentBelowCut
	}
}

// failureDetail describes the failure filter with the numbers from which its result can be recomputed.
func failureDetail(r episodic.Rate) string {
	failed, known, bound := r.FailureBound()
	return fmt.Sprintf("%d of %d known outcomes failed, from %s, in %d of which it mostly failed; weighted by age (half-life 30 days before the newest outcome of the workspace) %.4f of %.4f; "+
		"excluded from %d outcomes on if the 95 %% Wilson lower bound of the weighted share, %.4f, is above 0.5 and three sources agree, or the operator's own",
		r.Failures, r.N, catalog.Plural(r.Sources, "source"), min(r.Failing, r.Sources), failed, known, episodic.MinKnown, bound)
}

// allowDetail repeats the patterns of the request, the only inputs of this filter.
func allowDetail(allow []string) string {
	if len(allow) == 0 {
		return "everything is allowed"
	}
	return fmt.Sprintf("patterns %q", allow)
}

// capabilityOnly returns the formula that is shown for comparison, which is defined for capabilities only.
func capabilityOnly(k catalog.Kind) []string {
	if k == catalog.KindCapability {
		return []string{FormulaCapability}
	}
	return nil
}

// applyAny extends apply by capabilityScore, which is shown for comparison and never ranks.
func (q *query) applyAny(formula string, n int32, s *sum) float64 {
	if formula != FormulaCapability {
		if formula == FormulaTool && q.last == episodic.NoTool {
			return 0
		}
		return q.apply(formula, n, s)
	}
	both, size := q.overlap(n)
	s.capabilityScore(Containment(both, size), q.Rates.Tool(n).SuccessRate(), q.hyper(n), q.nodes.semantic[n])
	return s.close()
}

// hyper is the PageRank of a node in the incidence of tools and capabilities.
func (m *Model) hyper(n int32) float64 { return history.Of(m.measures.hyperRank, n, 0) }

// hyperNeighbours lists the ids one step away in the hypergraph: for a capability, the capabilities that
// share a tool with it; for a tool, the tools that share a capability with it.
func (m *Model) hyperNeighbours(n int32) []string {
	ids := []string{}
	add := func(v int32, _ int) {
		if m.Live(v) {
			ids = append(ids, m.IDs[v])
		}
	}
	if m.Kind(n) == catalog.KindTool {
		// A node newer than the last build has no row in the incidence.
		if int(n) < m.measures.incidence.Rows() {
			m.measures.incidence.HypergraphNeighbours(n, add)
		}
		slices.Sort(ids)
		return ids
	}
	seen := map[int32]bool{n: true}
	for _, t := range m.CapabilityTools(n) {
		for _, c := range m.ToolCapabilities(t) {
			if !seen[c] {
				seen[c] = true
				add(c, 1)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
