package suggest

import (
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
)

// Search ranks tools and capabilities by how well their texts, and the requests they served, match a query. What the
// query names, by id in any spelling or by name, comes first. Every profile gives the same answer: the tools that a
// whole request needs, learned from past tasks, are what Next returns for an intent without a context.
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
	q.withheld = r.Withheld
	wanted := func(n int32) bool {
		return q.Live(n) && q.allowed(q.IDs[n]) && (len(r.Kinds) == 0 || slices.Contains(r.Kinds, q.Kind(n)))
	}
	q.looking, q.wording.phrase = true, q.spellOut()
	if q.profile, err = searchProfile(r.Profile); err != nil {
		return SearchAnswer{}, err
	}
	if len(q.context) > 0 {
		q.graphSignals()
	}
	q.searchSignals(r.Vector, limit)
	// Named results stand in front, in their own order; the ranking below leaves them out.
	named := q.named()
	q.coverList()
	top := q.best(limit, func(n int32) bool {
		isNamed := slices.ContainsFunc(named, func(m nameMatch) bool { return m.node == n })
		return wanted(n) && !isNamed && (q.nodes.semantic[n] > 0 || q.nodes.graph[n] > 0) && !q.after(n).Excluded(q.Rates.Sources())
	})
	r.Context, r.Limit, r.Profile = q.spelled, limit, q.profile
	show := want(r.Explain)
	r.Explain = nil // how much is shown is no part of the question
	a := SearchAnswer{
		SuggestionID: m.suggestionID("search", r), Mode: q.mode, Model: q.who(),
	}
	a.Results = q.searchResults(named, top, limit, show, wanted)
	a.Results = pinFirst(q, a.Results, r.Pinned, limit, func(n int32, was *SearchResult, _ string) SearchResult {
		if was != nil {
			return *was
		}
		return q.searchResult(candidate{node: n, formula: FormulaPin})
	})
	if len(a.Results) > 0 && a.Results[0].Confidence < LowConfidence {
		q.warn(WarnLowConfidence)
	}
	a.Warnings = q.warnings
	return a, nil
}

// checkSearch checks what only a search has: a query that is not empty, and kinds.
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

// searchResults lists what the query names and then the ranking, at most limit results. An exact name is shown even if
// the tool fails too often to be suggested: who names it wants to find it.
func (q *query) searchResults(named []nameMatch, top []candidate, limit int, show bool, wanted func(n int32) bool) []SearchResult {
	results := make([]SearchResult, 0, limit)
	add := func(c candidate, terms func() []Term) {
		if len(results) == limit {
			return
		}
		res := q.searchResult(c)
		if show {
			res.Terms = terms()
		}
		results = append(results, res)
	}
	for _, n := range named {
		if wanted(n.node) && (n.exact || !q.after(n.node).Excluded(q.Rates.Sources())) {
			s := sum{keep: true}
			q.nameScore(n, &s)
			add(candidate{node: n.node, score: s.close(), formula: FormulaHybrid}, func() []Term { return s.terms })
		}
	}
	for _, c := range top {
		add(c, func() []Term { return q.explain(c) })
	}
	return results
}

// searchResult shows a candidate, without its terms.
func (q *query) searchResult(c candidate) SearchResult {
	name, description := q.describe(c.node)
	return SearchResult{
		ID: q.IDs[c.node], Kind: q.Kind(c.node), Name: name, Description: description, Confidence: c.confidence(), ConfidenceLow: q.low(c),
		Score: q.shownScore(c), Formula: c.formula, Semantic: q.nodes.semantic[c.node], Graph: q.nodes.graph[c.node],
	}
}

// describe returns a node's name and description from the catalog.
func (m *Model) describe(n int32) (name, description string) { return m.Catalog.Describe(m.IDs[n]) }
