package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
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

// termRows are the lines of a table of terms: the largest contributions, then all others as one line, with the
// shown total less the shown terms, so that the lines add up to it. The factors of the mixed formula multiply, so
// they have no total.
func termRows(whose, formula string, terms []suggest.Term, all bool) [][]string {
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
	rest := round(total)
	var rows [][]string
	for _, t := range shown {
		rows = append(rows, []string{whose, t.Name, number(t.Value), number(t.Weight), number(t.Contribution)})
		rest -= round(t.Contribution)
	}
	if more := len(terms) - len(shown); more > 0 {
		rows = append(rows, []string{whose, fmt.Sprintf("other (%d)", more), "", "", number(round(rest))})
	}
	if name := totalName(formula); len(terms) > 0 && name != "" {
		rows = append(rows, []string{whose, name, "", "", number(total)})
	}
	return rows
}

// totalName names the sum of the contributions; empty where they multiply.
func totalName(formula string) string {
	switch formula {
	case suggest.FormulaMixed:
		return ""
	case suggest.FormulaLogistic:
		return "log-odds of the score"
	}
	return "total"
}

// round is the number that number prints.
func round(x float64) float64 {
	r, err := strconv.ParseFloat(number(x), 64)
	if err != nil {
		panic("a printed number does not parse: " + err.Error())
	}
	return r
}

func (a *app) showTerms(rows [][]string) {
	a.section([]string{"terms of", "term", "value", "weight", "contribution"}, rows)
}

func (a *app) showSearch(s suggest.SearchAnswer, explain bool) {
	a.showModel(s.Mode, s.Model, explain)
	header := []string{"rank", "id", "kind", "confidence"}
	if explain {
		header = append(header, "score", "semantic", "graph")
	}
	var rows, terms [][]string
	for i, r := range s.Results {
		row := []string{fmt.Sprint(i + 1), r.ID, string(r.Kind), number(r.Confidence)}
		if explain {
			row = append(row, number(r.Score), number(r.Semantic), number(r.Graph))
			terms = append(terms, termRows(r.ID, r.Formula, r.Terms, false)...)
		}
		rows = append(rows, append(row, cmp.Or(r.Description, r.Name)))
	}
	if len(rows) == 0 {
		a.showNothing(s.Model, "nothing found")
	} else {
		a.columnsThatFit(append(header, "description"), rows)
		a.printf("\n%s: %s\n", clean(s.Results[0].ID), clean(s.Results[0].Reason))
	}
	a.showTerms(terms)
	a.showNotes(s.Model, s.Warnings, s.UnknownIDs, s.Waiting)
	a.printf("\nsuggestion %s\n", clean(s.SuggestionID))
}

func (a *app) showNext(n suggest.NextAnswer, explain bool) {
	a.showModel(n.Mode, n.Model, explain)
	header := []string{"rank", "id", "kind", "confidence"}
	if explain {
		header = append(header, "at least", "score", "formula")
	}
	var rows, terms [][]string
	for i, s := range n.Suggestions {
		row := []string{fmt.Sprint(i + 1), s.ID, string(s.Kind), number(s.Confidence)}
		if explain {
			row = append(row, lowerBound(s.ConfidenceLow), number(s.Score), s.Formula)
			terms = append(terms, termRows(s.ID, s.Formula, s.Terms, false)...)
		}
		rows = append(rows, append(row, s.Reason))
	}
	switch {
	case len(rows) > 0:
		a.columnsThatFit(append(header, "reason"), rows)
	case len(n.UnknownIDs) > 0:
		a.showNothing(n.Model, "nothing is suggested")
	default:
		a.showNothing(n.Model, "nothing is suggested: no candidate is good enough")
	}
	a.showTerms(terms)
	a.showNotes(n.Model, n.Warnings, n.UnknownIDs, n.Waiting)
	stop := ""
	if n.Stop > 0 { // 0: nothing is known about how tasks end
		stop = "stop here: " + number(n.Stop) + " · "
	}
	a.printf("\n%ssuggestion %s\n", stop, clean(n.SuggestionID))
}

func (a *app) showDAG(d suggest.DAGAnswer, explain bool) {
	a.showModel(d.Mode, d.Model, explain)
	header := []string{"task", "tool", "kind", "confidence", "depends on"}
	if explain {
		header = append(header, "at least", "slot")
	}
	var rows, terms [][]string
	for _, t := range d.DAG.Tasks {
		kind := string(t.Kind)
		if t.Host {
			kind += " of the host"
		}
		row := []string{t.ID, t.Tool, kind, number(t.Confidence), list(t.DependsOn)}
		if explain {
			row = append(row, lowerBound(t.ConfidenceLow), t.Slot)
			terms = append(terms, termRows(t.ID, t.Formula, t.Terms, false)...)
		}
		rows = append(rows, append(row, arguments(t)))
	}
	if len(rows) == 0 {
		a.showNothing(d.Model, "no plan")
	} else {
		a.columnsThatFit(append(header, "arguments"), rows)
	}
	if explain {
		a.showTerms(append(terms, termRows("dag", "", d.Terms, false)...))
		a.showLinks(d)
	}
	if d.Rationale != "" && d.Model.Nodes > 0 {
		a.printf("\n")
		for line := range strings.SplitSeq(text.WrapSoft(clean(d.Rationale), a.width()), "\n") {
			a.printf("%s\n", strings.TrimRight(line, " "))
		}
	}
	a.showNotes(d.Model, d.Warnings, d.UnknownIDs, d.Waiting)
	confidence := number(d.Confidence)
	if explain {
		confidence += ", at least " + lowerBound(d.ConfidenceLow)
	}
	if d.Complete > 0 {
		confidence += " · complete " + number(d.Complete)
	}
	a.printf("\nconfidence %s · suggestion %s\n", confidence, clean(d.SuggestionID))
}

// lowerBound is the lower bound of a confidence; - where nothing was judged.
func lowerBound(low float64) string {
	if low == 0 {
		return "-"
	}
	return number(low)
}

// showLinks prints how the tasks of a plan are connected and what could replace them.
func (a *app) showLinks(d suggest.DAGAnswer) {
	var paths, alternatives [][]string
	for _, p := range d.Paths {
		paths = append(paths, []string{p.From, p.To, fmt.Sprint(p.Hops), list(p.Via), number(p.Confidence)})
	}
	for _, alt := range d.Alternatives {
		alternatives = append(alternatives, []string{alt.ID, cmp.Or(alt.For, "-"), number(alt.Score)})
	}
	a.section([]string{"path from", "to", "hops", "via", "confidence"}, paths)
	a.section([]string{"alternative", "for", "score"}, alternatives)
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
	if len(e.Filters) > 0 {
		var rows [][]string
		for _, f := range e.Filters {
			passed := "failed"
			if f.Passed {
				passed = "passed"
			}
			rows = append(rows, []string{f.Name, passed, f.Detail})
		}
		a.below([]string{"filter", "result", "detail"}, rows)
	}
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
