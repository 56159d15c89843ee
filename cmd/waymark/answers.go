package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"

	"waymark/internal/plural"
	"waymark/suggest"
)

// Answers fit a screen: a line about the model, the results, warnings as sentences, and what the answer is called.
// Everything that explains a score comes only when asked for.
const (
	mostTerms   = 10 // terms of one score, without --all
	mostUnknown = 3  // sentences about unknown ids
)

// showModel prints the first line of an answer: what drove it and which model gave it.
func (a *app) showModel(mode suggest.Mode, m suggest.ModelInfo, explain bool) {
	a.printf("%s · %s profile · model %s\n", words(string(mode)), m.Profile, shortVersion(m.Version))
	if explain {
		a.printf("%s · %s · density %s · alpha %s\n", plural.Of(m.Nodes, "node"), plural.Of(m.Edges, "edge"), number(m.Density), number(m.Alpha))
	}
	a.printf("\n")
}

// words is a code of the API as words.
func words(code string) string { return strings.ReplaceAll(code, "_", " ") }

func shortVersion(v string) string {
	if algorithm, hex, ok := strings.Cut(v, ":"); ok && len(hex) > 12 {
		return algorithm + ":" + hex[:12]
	}
	return v
}

// showNothing says in one sentence why an answer is empty.
func (a *app) showNothing(m suggest.ModelInfo, why string) {
	if m.Nodes == 0 {
		why = fmt.Sprintf("nothing is recorded yet; begin with waymark import sample%[1]s, waymark import ~/.claude/projects%[1]s, or waymark serve%[1]s with servers that waymark import mcp.json%[1]s has taken", a.elsewhere())
	}
	a.printf("%s\n", why)
}

// warningSentences say what the warnings of answers mean.
var warningSentences = map[string]string{
	suggest.WarnForeign:        "nothing in the catalog or the history seems to serve this request",
	suggest.WarnLowConfidence:  fmt.Sprintf("confidence is low: the best candidate has less than %.2f", suggest.LowConfidence),
	suggest.WarnNoHistory:      "nothing was ever recorded after the last step",
	suggest.WarnUnknownContext: "an id of the context is unknown",
	suggest.WarnNoIntentMatch:  "no tool has a text in common with the intent",
	suggest.WarnTruncated:      "the limit of steps cut the plan",
	suggest.WarnNothingAllowed: "the patterns of allow match no tool and no capability",
	suggest.WarnProvisional:    "the learned profile is being fitted to this history; until that is done its prior weights or the seed profile answer",
}

// showNotes prints warnings and unknown ids, one sentence a line.
func (a *app) showNotes(m suggest.ModelInfo, warnings []string, unknown []suggest.UnknownID, waiting string) {
	if m.Nodes == 0 { // the one thing to say is how to begin
		return
	}
	var lines []string
	for _, w := range warnings {
		if w == suggest.WarnUnknownContext && len(unknown) > 0 {
			continue
		}
		lines = append(lines, cmp.Or(warningSentences[w], words(w)))
	}
	for i, u := range unknown {
		if i == mostUnknown {
			lines = append(lines, fmt.Sprintf("%d more ids of the context are unknown", len(unknown)-i))
			break
		}
		lines = append(lines, u.Message)
	}
	if waiting != "" {
		lines = append(lines, waiting)
	}
	if len(lines) > 0 {
		a.printf("\n")
	}
	for _, l := range lines {
		a.printf("%s\n", clean(l))
	}
}

// answered is an answer as it is printed.
type answered struct {
	mode        suggest.Mode
	model       suggest.ModelInfo
	header      []string
	rows, terms [][]string
	nothing     string // where there are no rows
	note        string // below the table
	warnings    []string
	unknown     []suggest.UnknownID
	waiting     string
	end         string
}

func (a *app) showAnswer(s answered, explain bool) {
	a.showModel(s.mode, s.model, explain)
	if len(s.rows) == 0 {
		a.showNothing(s.model, s.nothing)
	} else {
		columns(a.out, a.width(), s.header, s.rows)
	}
	if explain {
		a.showTerms(s.terms)
	}
	if s.note != "" && s.model.Nodes > 0 {
		a.printf("\n")
		for line := range strings.SplitSeq(text.WrapSoft(clean(s.note), a.width()), "\n") {
			a.printf("%s\n", strings.TrimRight(line, " "))
		}
	}
	a.showNotes(s.model, s.warnings, s.unknown, s.waiting)
	a.printf("\n%s\n", clean(s.end))
}

// termRows are the lines of a table of terms, the largest contributions, and their total where they add up: the factors
// of the mixed formula multiply.
func termRows(whose, formula string, terms []suggest.Term, all bool) (rows [][]string) {
	shown, total := slices.Clone(terms), 0.0
	for _, t := range terms {
		total += t.Contribution
	}
	if !all && len(terms) > mostTerms {
		slices.SortStableFunc(shown, func(a, b suggest.Term) int {
			return cmp.Compare(math.Abs(b.Contribution), math.Abs(a.Contribution))
		})
		shown = shown[:mostTerms]
	}
	for _, t := range shown {
		rows = append(rows, []string{whose, t.Name, number(t.Value), number(t.Weight), number(t.Contribution)})
	}
	if len(terms) > 0 && formula != suggest.FormulaMixed {
		rows = append(rows, []string{whose, fmt.Sprintf("total of %d", len(terms)), "", "", number(total)})
	}
	return rows
}

func (a *app) showTerms(rows [][]string) {
	a.section([]string{"terms of", "term", "value", "weight", "contribution"}, rows)
}

func (a *app) showSearch(s suggest.SearchAnswer, explain bool) {
	v := answered{mode: s.Mode, model: s.Model, nothing: "nothing found", warnings: s.Warnings, unknown: s.UnknownIDs, waiting: s.Waiting,
		header: []string{"rank", "id", "kind", "confidence", "description"}, end: "suggestion " + s.SuggestionID}
	for i, r := range s.Results {
		v.rows = append(v.rows, []string{fmt.Sprint(i + 1), r.ID, string(r.Kind), number(r.Confidence), cmp.Or(r.Description, r.Name)})
		v.terms = append(v.terms, termRows(r.ID, r.Formula, r.Terms, false)...)
	}
	if len(s.Results) > 0 {
		v.note = s.Results[0].ID + ": " + s.Results[0].Reason
	}
	a.showAnswer(v, explain)
}

func (a *app) showNext(n suggest.NextAnswer, explain bool) {
	v := answered{mode: n.Mode, model: n.Model, nothing: "nothing is suggested: no candidate is good enough", warnings: n.Warnings, unknown: n.UnknownIDs,
		waiting: n.Waiting, header: []string{"rank", "id", "kind", "confidence", "reason"}, end: "suggestion " + n.SuggestionID}
	for i, s := range n.Suggestions {
		v.rows = append(v.rows, []string{fmt.Sprint(i + 1), s.ID, string(s.Kind), number(s.Confidence), s.Reason})
		v.terms = append(v.terms, termRows(s.ID, s.Formula, s.Terms, false)...)
	}
	if n.Stop > 0 { // 0: nothing is known about how tasks end
		v.end = "stop here: " + number(n.Stop) + " · " + v.end
	}
	a.showAnswer(v, explain)
}

func (a *app) showDAG(d suggest.DAGAnswer, explain bool) {
	v := answered{mode: d.Mode, model: d.Model, nothing: "no plan", note: d.Rationale, warnings: d.Warnings, unknown: d.UnknownIDs, waiting: d.Waiting,
		header: []string{"task", "tool", "kind", "confidence", "depends on", "arguments"}, end: "confidence " + number(d.Confidence)}
	for _, t := range d.DAG.Tasks {
		kind := string(t.Kind)
		if t.Host {
			kind += " of the host"
		}
		v.rows = append(v.rows, []string{t.ID, t.Tool, kind, number(t.Confidence), list(t.DependsOn), arguments(t)})
		v.terms = append(v.terms, termRows(t.ID, t.Formula, t.Terms, false)...)
	}
	v.terms = append(v.terms, termRows("dag", "", d.Terms, false)...)
	for _, alt := range d.Alternatives {
		v.terms = append(v.terms, []string{cmp.Or(alt.For, "dag"), "alternative " + alt.ID, "", "", number(alt.Score)})
	}
	if d.Complete > 0 {
		v.end += " · complete " + number(d.Complete)
	}
	v.end += " · suggestion " + d.SuggestionID
	a.showAnswer(v, explain)
}

// arguments prints name=source pairs in order of the names, then those that are missing.
func arguments(t suggest.Task) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(t.Arguments)) {
		pairs = append(pairs, name+"="+t.Arguments[name].From)
	}
	for _, name := range t.Missing {
		pairs = append(pairs, name+"=?")
	}
	return list(pairs)
}

func (a *app) showExplain(e suggest.ExplainAnswer, all bool) {
	if len(e.FormulaSteps) > 0 {
		a.showFormula(e.FormulaSteps)
		if n := len(e.UnknownIDs); n > 0 {
			a.printf("%s: %s\n", plural.Of(n, "unknown id"), truncated(clean(e.UnknownIDs[0].Message), formulaWidth/2))
		}
		return
	}
	a.showModel(e.Mode, e.Model, all)
	switch {
	case e.Suggested:
		a.printf("%s is suggested: rank %d of %d, confidence %s\n", clean(e.ID), e.Rank, e.Of, number(e.Confidence))
	case e.Rank > 0:
		a.printf("%s is not suggested (%s): rank %d of %d, confidence %s\n", clean(e.ID), words(e.Absent), e.Rank, e.Of, number(e.Confidence))
	default:
		a.printf("%s is not suggested (%s)\n", clean(e.ID), words(e.Absent))
	}
	if e.Reason != "" {
		a.printf("%s\n", clean(e.Reason))
	}
	for _, line := range e.Staleness {
		a.printf("%s\n", clean(line))
	}
	if len(e.Terms) > 0 {
		a.printf("\nscore %s by %s\n", number(e.Score), e.Formula)
	}
	a.showTerms(termRows(e.ID, e.Formula, e.Terms, all))
	if r := e.Reports; r != nil && r.Observed > 0 {
		a.printf("\nobservations after the last step: %d, sources: %d, counted: %d\n", r.Observed, r.Sources, e.Evidence.Count)
	}
	var rows [][]string
	for _, f := range e.Filters {
		rows = append(rows, []string{f.Name, map[bool]string{true: "passed", false: "failed"}[f.Passed], f.Detail})
	}
	a.section([]string{"filter", "result", "detail"}, rows)
	unknown := slices.DeleteFunc(slices.Clone(e.UnknownIDs), func(u suggest.UnknownID) bool { return u.Message == e.Reason })
	a.showNotes(e.Model, nil, unknown, "")
}

// showFormula prints the steps of a score, each in one line where it has at most formulaWidth characters.
func (a *app) showFormula(steps []suggest.FormulaStep) {
	for _, s := range steps {
		line := truncated(clean(s.Name), formulaWidth/2)
		for _, part := range []string{" = " + s.Formula, " = " + s.Numbers, " = " + number(s.Value), truncated(" ("+clean(s.Note), formulaWidth-4) + ")"} {
			if part == " = " || part == " ()" {
				continue
			}
			if utf8.RuneCountInString(line+part) > formulaWidth {
				a.printf("%s\n", line)
				line = "   "
			}
			line += part
		}
		a.printf("%s\n", line)
	}
}

const formulaWidth = 100
