package suggest

import (
	"cmp"
	"slices"
	"strings"

	"waymark/catalog"
)

// Search ranks tools and capabilities for a query. What the query names exactly, by id in any
// spelling or by name, comes first.
func (m *Model) Search(r SearchRequest) (SearchAnswer, error) {
	limit, err := limitOf("limit", r.Limit, 10, MaxLimit)
	if err != nil {
		return SearchAnswer{}, err
	}
	if strings.TrimSpace(r.Query) == "" {
		return SearchAnswer{}, &RequestError{Invalid, "query", "is empty"}
	}
	for _, k := range r.Kinds {
		if k != catalog.KindTool && k != catalog.KindCapability {
			return SearchAnswer{}, &RequestError{Invalid, "kinds", `"` + string(k) + `" is neither tool nor capability`}
		}
	}
	q, err := m.ask(r.Context, r.Query, r.Allow)
	if err != nil {
		return SearchAnswer{}, err
	}
	defer q.close()
	q.withheld = r.Withheld
	wanted := func(n int32) bool {
		return q.live(n) && q.allowed(q.ids[n]) && (len(r.Kinds) == 0 || slices.Contains(r.Kinds, q.kind(n)))
	}
	if err := q.decideFor(r.Profile, aboutIntent, r.Vector); err != nil {
		return SearchAnswer{}, err
	}
	q.looking = true
	exact := q.named()
	for _, n := range exact {
		q.consider(n)
	}
	q.coverList()
	top := q.best(limit, func(n int32) bool {
		return wanted(n) && !slices.Contains(exact, n) && (q.learned != nil || q.semantic[n] > 0 || q.graph[n] > 0) &&
			!q.rates.After(n, q.last).Excluded(q.rates.Sources())
	})
	r.Context, r.Limit, r.Profile = q.spelled, limit, q.profile
	show := want(r.Explain)
	r.Explain = nil // how much is shown is no part of the question
	a := SearchAnswer{
		SuggestionID: m.suggestionID("search", r), Results: make([]SearchResult, 0, limit), Mode: q.mode, Model: q.who(),
	}
	add := func(c candidate, terms func() []Term) {
		if len(a.Results) == limit {
			return
		}
		name, description := m.describe(c.node)
		res := SearchResult{
			ID: m.ids[c.node], Kind: m.kind(c.node), Name: name, Description: description, Confidence: c.confidence(),
			Score: c.score, Formula: c.formula, Semantic: q.semantic[c.node], Graph: q.graph[c.node],
		}
		if show {
			res.Terms = terms()
		}
		a.Results = append(a.Results, res)
	}
	for _, n := range exact {
		if wanted(n) {
			s := sum{keep: true}
			q.hybrid(n, &s)
			if s.total < Cap {
				s.add("exact_match", Cap-s.total, 1)
			}
			add(candidate{node: n, score: s.close(), formula: FormulaHybrid}, func() []Term { return s.terms })
		}
	}
	for _, c := range top {
		add(c, func() []Term { return q.explain(c) })
	}
	if len(a.Results) > 0 && a.Results[0].Confidence < LowConfidence {
		q.warn(WarnLowConfidence)
	}
	a.Warnings = q.warnings
	return a, nil
}

// named lists what the query names exactly, by id: first the node of the id it spells, then those
// whose name it is.
func (q *query) named() []int32 {
	var exact []int32
	if n, ok, err := q.node(q.intent); err == nil && ok && q.live(n) {
		exact = append(exact, n)
	}
	for _, n := range q.roles.named(q.view, q.intent) {
		if name, _ := q.describe(n); strings.EqualFold(name, q.intent) && !slices.Contains(exact, n) {
			exact = append(exact, n)
		}
	}
	return exact
}

// nameOf is the name of a tool, or what is left of an id that its server's name begins.
func nameOf(t *catalog.Tool) string {
	if t.Name != "" {
		return t.Name
	}
	if name, ok := strings.CutPrefix(t.ID, t.Server+":"); ok && t.Server != "" {
		return name
	}
	return t.ID
}

// describe returns a node's name and description from the catalog.
func (m *Model) describe(n int32) (name, description string) {
	id := m.ids[n]
	if i, ok := m.view.tool[id]; ok {
		t := &m.view.tools[i]
		return nameOf(t), t.Description
	}
	if i, ok := m.view.cap[id]; ok {
		c := &m.view.caps[i]
		return cmp.Or(c.Name, id), c.Description
	}
	return id, ""
}
