package live

import (
	"slices"

	"waymark/catalog"
	"waymark/suggest"
)

// Next suggests the next tools. tools is the set of tools that the caller may see; nil: all.
func (e *Engine) Next(m *suggest.Model, tools *suggest.ToolSet, r suggest.NextRequest) (a suggest.NextAnswer, err error) {
	r.Withheld, r.Pinned = e.ruled(m, tools, &r.Context, r.Intent)
	if a, err = m.Next(r); err != nil {
		return a, err
	}
	a.UnknownIDs = m.Unknown(r.Context, r.Withheld)
	a.Waiting = e.answered(a.SuggestionID, r.Context, a.Foremost(), a.Warnings, r.Withheld)
	return a, nil
}

// Search finds tools and capabilities.
func (e *Engine) Search(m *suggest.Model, tools *suggest.ToolSet, r suggest.SearchRequest) (a suggest.SearchAnswer, err error) {
	r.Withheld, r.Pinned = e.ruled(m, tools, nil, r.Query)
	if a, err = m.Search(r); err != nil {
		return a, err
	}
	a.UnknownIDs = m.Unknown(r.Context, r.Withheld)
	a.Waiting = e.answered(a.SuggestionID, r.Context, a.Foremost(), a.Warnings, r.Withheld)
	return a, nil
}

// Plan returns a DAG.
func (e *Engine) Plan(m *suggest.Model, tools *suggest.ToolSet, r suggest.DAGRequest) (a suggest.DAGAnswer, err error) {
	r.Withheld, r.Pinned = e.ruled(m, tools, nil, r.Intent)
	if a, err = m.Plan(r); err != nil {
		return a, err
	}
	a.UnknownIDs = m.Unknown(r.Context, r.Withheld)
	first := ""
	if len(a.DAG.Tasks) > 0 {
		first = a.DAG.Tasks[0].Tool
	}
	a.Waiting = e.answered(a.SuggestionID, r.Context, first, a.Warnings, r.Withheld)
	return a, nil
}

// answered stores an answer for feedback. If it suggests nothing or nothing likely, waiting
// counts the entries to approve.
func (e *Engine) answered(id string, context []string, first string, warnings []string, withheld *suggest.Exclusions) (waiting string) {
	e.answers.ContainsOrAdd(id, served{slices.Clone(context), first}) // an id always means the same list
	if n := withheld.Waiting(); n > 0 && (first == "" || slices.Contains(warnings, suggest.WarnLowConfidence)) {
		waiting = "left out until approved: " + catalog.Plural(n, "entry") + "; list and release with `waymark approve`"
	}
	return waiting
}

// Explain returns why an id is or is not suggested, including exclusions and what the model does not count yet.
func (e *Engine) Explain(m *suggest.Model, r suggest.ExplainRequest) (suggest.ExplainAnswer, error) {
	r.Withheld = e.withheld()
	a, err := m.Explain(r)
	if err != nil {
		return a, err
	}
	ids := r.Context
	if a.Absent == suggest.AbsentUnknown {
		ids = append([]string{r.ID}, ids...)
	}
	a.UnknownIDs = m.Unknown(ids, r.Withheld)
	if i := slices.IndexFunc(a.UnknownIDs, func(u suggest.UnknownID) bool { return u.ID == r.ID }); i >= 0 {
		a.Reason = a.UnknownIDs[i].Message
	}
	if behind := e.Behind(); behind != nil {
		a.Staleness = append(a.Staleness, behind.String())
	}
	return a, nil
}

func (e *Engine) withheld() *suggest.Exclusions {
	var base *suggest.Exclusions
	if e.opts.Withheld != nil {
		base = e.opts.Withheld(e.name)
	}
	return e.quarantine.exclusions(base)
}

// Waiting counts the entries that wait for approval.
func (e *Engine) Waiting() int { return e.withheld().Waiting() }

// Unknown lists the ids that the model does not have, with known ids of similar spelling that are not withheld.
func (e *Engine) Unknown(m *suggest.Model, ids ...string) []suggest.UnknownID {
	return m.Unknown(ids, e.withheld())
}
