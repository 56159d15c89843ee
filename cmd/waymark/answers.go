package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/suggest"
)

// showModel prints the line under which every answer stands: what drove it and which model gave it.
func (a *app) showModel(mode suggest.Mode, m suggest.ModelInfo) {
	a.printf("%s · model %s · %s profile · %d nodes · %d edges · density %s · alpha %s\n",
		mode, shortVersion(m.Version), m.Profile, m.Nodes, m.Edges, number(m.Density), number(m.Alpha))
}

func shortVersion(v string) string {
	if algorithm, hex, ok := strings.Cut(v, ":"); ok && len(hex) > 12 {
		return algorithm + ":" + hex[:12]
	}
	return v
}

func (a *app) showWarnings(warnings []string) {
	if len(warnings) > 0 {
		a.printf("\nwarnings: %s\n", list(warnings))
	}
}

// termRows are the lines of a table of terms, each marked with whose terms they are. For the mixed
// formula the values multiply; everywhere else the contributions add up to the score.
func termRows(whose string, terms []suggest.Term) [][]string {
	var rows [][]string
	for _, t := range terms {
		rows = append(rows, []string{whose, t.Name, number(t.Value), number(t.Weight), number(t.Contribution)})
	}
	return rows
}

func (a *app) showTerms(rows [][]string) {
	if len(rows) > 0 {
		a.printf("\n")
		columns(a.out, []string{"terms of", "term", "value", "weight", "contribution"}, rows)
	}
}

func (a *app) showSearch(s suggest.SearchAnswer) {
	a.showModel(s.Mode, s.Model)
	if len(s.Results) == 0 {
		a.printf("\nnothing found\n")
	} else {
		var rows, terms [][]string
		for i, r := range s.Results {
			text := r.Description
			if text == "" {
				text = r.Name
			}
			rows = append(rows, []string{fmt.Sprint(i + 1), r.ID, string(r.Kind), number(r.Score), number(r.Semantic), number(r.Graph), short(text)})
			terms = append(terms, termRows(r.ID, r.Terms)...)
		}
		a.printf("\n")
		columns(a.out, []string{"rank", "id", "kind", "score", "semantic", "graph", "description"}, rows)
		a.showTerms(terms)
	}
	a.showWarnings(s.Warnings)
}

func (a *app) showNext(n suggest.NextAnswer) {
	a.showModel(n.Mode, n.Model)
	switch {
	case n.Abstained:
		a.printf("\nnothing is suggested: no candidate is good enough\n")
	case len(n.Suggestions) == 0:
		a.printf("\nnothing to suggest\n")
	}
	if len(n.Suggestions) > 0 {
		var rows, terms [][]string
		for i, s := range n.Suggestions {
			rows = append(rows, []string{fmt.Sprint(i + 1), s.ID, string(s.Kind), number(s.Confidence), number(s.Score), s.Formula, s.Reason})
			terms = append(terms, termRows(s.ID, s.Terms)...)
		}
		a.printf("\n")
		columns(a.out, []string{"rank", "id", "kind", "confidence", "score", "formula", "reason"}, rows)
		a.showTerms(terms)
	}
	a.printf("\nstop here: %s · suggestion %s\n", number(n.Stop), clean(n.SuggestionID))
	a.showWarnings(n.Warnings)
}

func (a *app) showDAG(d suggest.DAGAnswer) {
	a.showModel(d.Mode, d.Model)
	if len(d.DAG.Tasks) == 0 {
		a.printf("\nno plan\n")
	} else {
		var rows, terms [][]string
		for _, t := range d.DAG.Tasks {
			rows = append(rows, []string{t.ID, t.Tool, string(t.Kind), list(t.DependsOn), t.Slot, number(t.Confidence), arguments(t.Arguments)})
			terms = append(terms, termRows(t.ID, t.Terms)...)
		}
		a.printf("\n")
		columns(a.out, []string{"task", "tool", "kind", "depends on", "slot", "confidence", "arguments"}, rows)
		a.showTerms(append(terms, termRows("dag", d.Terms)...))
	}
	if len(d.Paths) > 0 {
		var rows [][]string
		for _, p := range d.Paths {
			rows = append(rows, []string{p.From, p.To, fmt.Sprint(p.Hops), list(p.Via), number(p.Confidence)})
		}
		a.printf("\n")
		columns(a.out, []string{"path from", "to", "hops", "via", "confidence"}, rows)
	}
	if len(d.RejectedEdges) > 0 {
		var rows [][]string
		for _, e := range d.RejectedEdges {
			rows = append(rows, []string{e.From, e.To, e.Reason})
		}
		a.printf("\n")
		columns(a.out, []string{"left out from", "to", "because"}, rows)
	}
	if len(d.Alternatives) > 0 {
		var rows [][]string
		for _, alt := range d.Alternatives {
			instead := alt.For
			if instead == "" {
				instead = "-"
			}
			rows = append(rows, []string{alt.ID, instead, number(alt.Score)})
		}
		a.printf("\n")
		columns(a.out, []string{"alternative", "for", "score"}, rows)
	}
	a.printf("\nconfidence %s · %s\n", number(d.Confidence), clean(d.Rationale))
	a.showWarnings(d.Warnings)
}

// arguments prints name=source pairs in order of the names.
func arguments(args map[string]suggest.Argument) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		pairs = append(pairs, name+"="+args[name].From)
	}
	return list(pairs)
}

func (a *app) showExplain(e suggest.ExplainAnswer) {
	a.showModel(e.Mode, e.Model)
	switch {
	case e.Suggested:
		a.printf("\n%s is suggested: rank %d of %d, confidence %s\n", clean(e.ID), e.Rank, e.Of, number(e.Confidence))
	case e.Rank > 0:
		a.printf("\n%s is not suggested (%s): rank %d of %d, confidence %s\n", clean(e.ID), e.Absent, e.Rank, e.Of, number(e.Confidence))
	default:
		a.printf("\n%s is not suggested (%s)\n", clean(e.ID), e.Absent)
	}
	if e.Reason != "" {
		a.printf("%s\n", clean(e.Reason))
	}
	for _, line := range e.Behind {
		a.printf("%s\n", clean(line))
	}
	if len(e.Terms) > 0 {
		a.printf("\nscore %s by %s\n", number(e.Score), e.Formula)
	}
	a.showTerms(termRows(e.ID, e.Terms))
	if len(e.Filters) > 0 {
		var rows [][]string
		for _, f := range e.Filters {
			passed := "failed"
			if f.Passed {
				passed = "passed"
			}
			rows = append(rows, []string{f.Name, passed, f.Detail})
		}
		a.printf("\n")
		columns(a.out, []string{"filter", "result", "detail"}, rows)
	}
}
