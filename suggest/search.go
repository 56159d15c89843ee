package suggest

import (
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
)

// Search ranks the tools and capabilities that match a query. Those that the query names, by id in any spelling or by
// name, come first. Every profile gives the same answer. For the tools that a whole task needs, use Next with an intent
// and without a context.
func (m *Model) Search(r SearchRequest) (SearchAnswer, error) {
	limit, err := limitOf("limit", r.Limit, 10, MaxLimit)
	if err != nil {
		return SearchAnswer{}, err
	}
	if err := checkSearch(r); err != nil {
		return SearchAnswer{}, err
	}
	q, err := m.newQuery(r.Context, r.Query, r.Allow)
	if err != nil {
		return SearchAnswer{}, err
	}
	defer q.close()
	q.withheld, q.kinds, q.isSearch = r.Withheld, r.Kinds, true
	if r.Profile != "" && r.Profile != ProfileSeed && r.Profile != ProfileLearned {
		return SearchAnswer{}, unknownProfile(r.Profile)
	}
	if err := q.ask("", r.Vector); err != nil {
		return SearchAnswer{}, err
	}
	q.boundForeign()
	named := slices.DeleteFunc(q.named(), func(n int32) bool {
		return !q.Live(n) || q.Unconfirmed(n) || !q.allowed(q.IDs[n]) || len(r.Kinds) > 0 && !slices.Contains(r.Kinds, q.Kind(n))
	})
	var top []candidate
	if !q.nothingFits() {
		top = q.best(limit, func(n int32) bool { return q.passes(n) && !slices.Contains(named, n) })
	}
	r.Context, r.Limit, r.Profile = q.spelled, limit, q.profile
	show := want(r.Explain)
	r.Explain = nil // the suggestion id does not depend on the amount of detail
	a := SearchAnswer{SuggestionID: m.suggestionID("search", r, r.Withheld, r.Pinned), Mode: q.mode, Model: q.modelInfo(), Results: make([]SearchResult, 0, limit)}
	for _, n := range named[:min(limit, len(named))] {
		a.Results = append(a.Results, q.searchResult(candidate{node: n, score: 1, formula: FormulaName}, show, len(a.Results) == 0))
	}
	for _, c := range top[:min(len(top), limit-len(a.Results))] {
		a.Results = append(a.Results, q.searchResult(c, show, len(a.Results) == 0))
	}
	a.Results = pinFirst(q, a.Results, r.Pinned, limit, func(n int32, was *SearchResult, rule string) SearchResult {
		if was == nil {
			was = new(q.searchResult(candidate{node: n, formula: FormulaPin}, false, false))
		}
		was.Reason = pinReason(rule)
		return *was
	})
	if len(a.Results) > 0 && a.Results[0].Confidence < LowConfidence {
		q.warn(WarnLowConfidence)
	}
	a.Warnings = q.warnings
	return a, nil
}

// checkSearch checks the fields that only a search has: the query, which must not be empty, and the kinds.
func checkSearch(r SearchRequest) error {
	if strings.TrimSpace(r.Query) == "" {
		return &RequestError{Invalid, "query", "is empty"}
	}
	if len(r.Query) > MaxQuery {
		return &RequestError{Invalid, "query", fmt.Sprintf("has %d bytes, at most %d", len(r.Query), MaxQuery)}
	}
	for _, k := range r.Kinds {
		if k != catalog.KindTool && k != catalog.KindCapability {
			return &RequestError{Invalid, "kinds", `"` + string(k) + `" is not a kind: want tool or capability`}
		}
	}
	return nil
}

// searchResult returns the result of a candidate, with terms if explain is true and a reason if explain or first is.
func (q *query) searchResult(c candidate, explain, first bool) SearchResult {
	name, description := q.describe(c.node)
	s := SearchResult{
		ID: q.IDs[c.node], Kind: q.Kind(c.node), Name: name, Description: description, Confidence: q.confidence(c), ConfidenceLow: q.low(c),
		Score: q.shownScore(c), Formula: c.formula, Semantic: q.nodes.semantic[c.node], Graph: q.signals(c.node).Graph,
	}
	if explain {
		s.Terms = q.explain(c)
	}
	if explain || first {
		s.Reason = q.reason(c)
	}
	return s
}

// describe returns a node's name and description from the catalog.
func (m *Model) describe(n int32) (name, description string) { return m.Catalog.Describe(m.IDs[n]) }
