package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/cmd/waymark/internal/client"
	"waymark/score"
	"waymark/score/contribution"
	"waymark/score/evidence"
)

// scoreKinds are the scorers with a rubric of the program.
var scoreKinds = []string{"hypothesis", "council", "contribution", "session"}

func (a *app) scoreCommand() *cobra.Command {
	var after []string
	cmd := &cobra.Command{
		Use:   "score hypothesis|council|contribution|session|FILE.yaml INPUT|-",
		Short: "Score by a rubric",
		Long: `Scores what INPUT holds (a file, or - for standard input, as JSON) by a rubric: one that comes with the
program, or one in a file of your own (YAML or JSON). Totals, verdicts and ranks follow from the scores
of the dimensions; totals that come with them are compared and never used.`,
		Example: `  waymark score hypothesis hypotheses.json
  waymark score review.yaml items.json --json`,
		Args: exactly(2, "a rubric and an input"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.score(cmd, args[0], args[1], after) },
	}
	a.judgeFlags(cmd)
	a.recordFlag(cmd)
	afterFlag(cmd, &after)
	return cmd
}

// afterFlag is what the scorer follows.
func afterFlag(cmd *cobra.Command, after *[]string) {
	cmd.Flags().StringSliceVar(after, "after", nil, "`ids` of the tools used so far whose output is scored, in order")
}

// following adds the tools that a scorer follows to its path.
func following(path string, after []string) string {
	if len(after) == 0 {
		return path
	}
	var list strings.Builder
	w := csv.NewWriter(&list)
	_ = w.Write(after) // into memory
	w.Flush()
	return path + "?" + url.Values{"after": {strings.TrimSuffix(list.String(), "\n")}}.Encode()
}

// judged posts what a scorer judges. Input that it refuses is an answer of "no"; a judge that is asked for and not
// configured is a matter of usage.
func judged[Answer any](cmd *cobra.Command, a *app, name, path string, input any, show func(*app, Answer)) error {
	return refusedBy(name, ask(cmd.Context(), a, path, input, show))
}

func refusedBy(name string, err error) error {
	var p *client.Problem
	if errors.As(err, new(usageError)) {
		return err
	}
	if errors.As(err, &p) && slices.ContainsFunc(p.Errors, func(e client.ProblemPart) bool { return e.Location == "body.judge" }) {
		return usageError{err}
	}
	if err == nil {
		return nil
	}
	return refusedInput(named(name), err)
}

// named is what an input is called in an error.
func named(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

func (a *app) score(cmd *cobra.Command, kind, name string, after []string) error {
	input, err := a.jsonInput(name)
	if err != nil {
		return err
	}
	if a.judging.url != "" {
		input = withJudge(input)
	}
	scorer := kind
	if !slices.Contains(scoreKinds, kind) {
		scorer = "custom"
		if input, err = a.withRubric(kind, input); err != nil {
			return err
		}
	}
	path := following("/v1/score/"+scorer, after)
	switch scorer {
	case "council":
		return judged(cmd, a, name, path, input, (*app).showCouncil)
	case "contribution":
		return judged(cmd, a, name, path, input, (*app).showContribution)
	case "session":
		return judged(cmd, a, name, path, input, (*app).showSession)
	}
	return judged(cmd, a, name, path, input, (*app).showItems)
}

// withJudge asks for a judge where one is configured and the input has things without scores, or answers without
// reviews, and says nothing of a judge itself. Other input stays as it is; the server checks it.
func withJudge(input json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil || fields["judge"] != nil {
		return input
	}
	unscored := (fields["responses"] != nil || fields["question"] != nil) && fields["reviews"] == nil
	for _, list := range []string{"hypotheses", "items"} {
		var things []map[string]json.RawMessage
		if json.Unmarshal(fields[list], &things) == nil {
			unscored = unscored || slices.ContainsFunc(things, func(t map[string]json.RawMessage) bool { return t["scores"] == nil })
		}
	}
	if !unscored {
		return input
	}
	fields["judge"] = json.RawMessage("{}")
	out, err := json.Marshal(fields)
	if err != nil {
		return input
	}
	return out
}

// withRubric puts the text of a rubric file into the input.
func (a *app) withRubric(file string, input json.RawMessage) (json.RawMessage, error) {
	source, err := a.readFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usagef("%s is neither a rubric (%s) nor a file", file, strings.Join(scoreKinds, ", "))
	}
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return nil, rejected{errors.New("the input is no JSON object")}
	}
	if fields["source"], err = json.Marshal(string(source)); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// jsonInput reads a file, or standard input, that the server will check.
func (a *app) jsonInput(name string) (json.RawMessage, error) {
	text, err := a.readInput(name)
	if err != nil {
		return nil, err
	}
	if err := jsonAt(text); err != nil {
		return nil, rejected{fmt.Errorf("%s is no JSON: %w", named(name), err)}
	}
	return text, nil
}

func rankText(rank *int) string {
	if rank == nil {
		return "-"
	}
	return fmt.Sprint(*rank)
}

func (a *app) showItems(h score.Answer) {
	a.printf("%s\n", clean(h.Message))
	results := slices.Clone(h.Results)
	slices.SortStableFunc(results, func(x, y score.ItemResult) int { return cmp.Compare(rankOr(x.Rank), rankOr(y.Rank)) })
	var rows, dimensions, reasons [][]string
	for _, r := range results {
		rows = append(rows, []string{rankText(r.Rank), r.ID, r.Composite.Fixed(2), r.Verdict, strings.Join(slices.Concat(r.FailReasons, r.Warnings), "; ")})
		for _, name := range slices.Sorted(maps.Keys(r.Dimensions)) {
			d := r.Dimensions[name]
			dimensions = append(dimensions, []string{r.ID, name, d.Score.String(), d.Weight.String(), d.Label, short(d.Explanation)})
			reasons = reason(reasons, r.ID, name, d.Rationale)
		}
	}
	if len(rows) > 0 {
		a.below([]string{"rank", "id", "composite", "verdict", "because"}, rows)
		a.below([]string{"of", "dimension", "score", "weight", "level", "meaning"}, dimensions)
		a.showReasons(reasons)
	}
	for _, m := range h.Mismatches {
		a.printf("\n%s reports %s %v, the scores give %v\n", clean(m.ID), m.Field, m.Reported, m.Computed)
	}
	a.showUnscored(h.Unscored)
	a.showLines("weights", h.Audit)
}

// reason adds why a dimension got its score, if that is known.
func reason(rows [][]string, id, dimension, why string) [][]string {
	if why == "" {
		return rows
	}
	return append(rows, []string{id, dimension, clean(why)})
}

func (a *app) showReasons(rows [][]string) {
	a.section([]string{"of", "dimension", "why"}, rows)
}

func rankOr(rank *int) int {
	if rank == nil {
		return int(^uint(0) >> 1)
	}
	return *rank
}

func (a *app) showUnscored(unscored []score.Unscored) {
	var rows [][]string
	for _, u := range unscored {
		rows = append(rows, []string{u.ID, string(u.Outcome), short(u.Detail)})
	}
	a.section([]string{"not scored", "outcome", "because"}, rows)
}

func (a *app) showLines(what string, lines []string) {
	for _, l := range lines {
		a.printf("%s: %s\n", what, clean(l))
	}
}

func (a *app) showCouncil(c score.CouncilAnswer) {
	a.printf("%s\n", clean(c.Message))
	a.showRanked(c.Ranking)
	var rows [][]string
	for _, r := range c.Reviews {
		declared := ""
		if r.DeclaredOrderMismatch {
			declared = "declared order contradicts its scores"
		}
		rows = append(rows, []string{r.Reviewer, string(r.Status), declared, strings.Join(r.Problems, "; ")})
	}
	a.below([]string{"reviewer", "status", "order", "problems"}, rows)
	for _, f := range c.SafetyGate.Failed {
		a.printf("\n%s failed the safety gate: %v\n", clean(f.ID), f.Categories)
	}
}

func (a *app) showRanked(ranking []score.RankedAnswer) {
	var rows [][]string
	for _, r := range ranking {
		ceiling := ""
		if r.Ceiling != nil {
			ceiling = r.Ceiling.String()
		}
		rows = append(rows, []string{rankText(r.Rank), r.ID, optional(r.Score), optional(r.Uncapped), ceiling, optional(r.Borda)})
	}
	a.below([]string{"rank", "id", "score", "uncapped", "ceiling", "borda"}, rows)
}

// optional prints a number that may not be known.
func optional(x *float64) string {
	if x == nil {
		return "-"
	}
	return number(*x)
}

func (a *app) showContribution(r contribution.Report) {
	a.printf("%s\n", clean(r.Message))
	var rows, criteria [][]string
	for i, d := range r.Deltas {
		id := fmt.Sprint(i + 1)
		of := "rejected"
		if d.Valid && d.Composite != nil && d.Max != nil && d.Percent != nil && d.Grade != nil {
			of = fmt.Sprintf("%v/%v  %s %%  %s", *d.Composite, *d.Max, d.Percent.Fixed(2), *d.Grade)
		}
		rows = append(rows, []string{id, string(d.Operation), string(d.Section), of, strings.Join(d.Errors, "; ")})
		for _, name := range slices.Sorted(maps.Keys(d.Criteria)) {
			c := d.Criteria[name]
			criteria = append(criteria, []string{id, name, fmt.Sprintf("%d/%d", c.Score, c.Max), c.Weight.String(), c.Source, short(c.NeedsHuman)})
		}
	}
	a.below([]string{"delta", "operation", "section", "score", "errors"}, rows)
	a.section([]string{"of delta", "criterion", "score", "weight", "source", "needs a person"}, criteria)
	for _, g := range r.Gates {
		a.printf("\ngate %s: %s: %s\n", g.Gate, g.Consequence, clean(g.Detail))
	}
	for _, d := range r.Dropped {
		a.printf("\ndropped: %s\n", clean(d.Reason))
	}
	a.showLines("warning", r.Warnings)
}

func (a *app) showSession(s contribution.SessionReport) {
	a.printf("%s\n", clean(s.Message))
	var rows [][]string
	for _, role := range slices.Sorted(maps.Keys(s.Volume)) {
		quality := "-"
		if q := s.QualityPercent[role]; q != nil {
			quality = q.Fixed(2)
		}
		rows = append(rows, []string{string(role), fmt.Sprint(s.Volume[role]), quality, s.Coverage[role].Percent.Fixed(2), strings.Join(s.Coverage[role].Missing, " ")})
	}
	a.below([]string{"role", "valid deltas", "mean percent", "operators %", "operators missing"}, rows)
	for _, g := range s.Gates {
		a.printf("\ngate %s: %s: %s\n", g.Gate, g.Consequence, clean(g.Detail))
	}
	a.showLines("warning", s.Warnings)
}

func (a *app) showTriangulation(t evidence.Answer) {
	a.printf("%s\n", clean(t.Message))
	if t.Inquiry != nil {
		a.showInquiry(t.Inquiry)
	}
	var rows [][]string
	for _, h := range t.Ranking {
		rows = append(rows, []string{h.Hypothesis, number(h.Weight), number(h.Support), number(h.Falsification), short(h.Text)})
	}
	a.section([]string{"hypothesis", "weight", "support", "falsification", "text"}, rows)
	rows = nil
	for i, r := range t.Rounds {
		rows = append(rows, []string{fmt.Sprint(i + 1), number(r.EntropyNats), number(r.EntropyShare), r.Lead, number(r.LeadWeight), string(r.Gate)})
	}
	a.section([]string{"round", "entropy (nats)", "share", "lead", "weight", "gate"}, rows)
	next := t.NextQueries
	if n := len(t.Rounds); n > 0 {
		next = t.Rounds[n-1].NextQueries
	}
	rows = nil
	for _, q := range next {
		rows = append(rows, []string{string(q.Intent), q.Text})
	}
	a.section([]string{"search next", "query"}, rows)
	for _, m := range t.Merged {
		a.printf("\nmerged into %s, which says the same: %s\n", clean(m[0]), list(m[1:]))
	}
	a.showLines("warning", t.Warnings)
}
