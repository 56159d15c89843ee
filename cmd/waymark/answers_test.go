package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/suggest"
)

// manyTerms are as many as a learned answer has.
func manyTerms(r *rand.Rand) []suggest.Term {
	terms := make([]suggest.Term, 66)
	for i := range terms {
		x := r.NormFloat64() * math.Exp(-float64(i)/8)
		terms[i] = suggest.Term{Name: fmt.Sprintf("signal %d", i), Value: x, Weight: 1, Contribution: x}
	}
	return terms
}

// largeAnswers are answers of the default sizes with everything an answer may carry.
func largeAnswers() (suggest.SearchAnswer, suggest.NextAnswer, suggest.DAGAnswer) {
	r := rand.New(rand.NewPCG(1, 2))
	model := suggest.ModelInfo{Version: "sha256:" + strings.Repeat("0123456789abcdef", 4), Nodes: 148, Profile: "learned"}
	warnings := []string{suggest.WarnLowConfidence, suggest.WarnNoHistory, suggest.WarnUnknownContext}
	unknown := make([]suggest.UnknownID, 9)
	for i := range unknown {
		unknown[i] = suggest.UnknownID{ID: "read", Message: fmt.Sprintf(`unknown tool "read%d"; did you mean Read?`, i)}
	}
	prose := strings.Repeat("Searches 世界 pages by title and text. ", 20)
	search := suggest.SearchAnswer{SuggestionID: "sg_42ad0b39727591eca439bf09", Mode: suggest.Active, Model: model, Warnings: warnings, UnknownIDs: unknown}
	for i := range 10 {
		search.Results = append(search.Results, suggest.SearchResult{ID: fmt.Sprintf("metrics:acknowledge_alert_%d", i), Kind: "capability", Description: prose,
			Confidence: 0.25, Score: 0.25, Formula: suggest.FormulaLogistic, Terms: manyTerms(r)})
	}
	next := suggest.NextAnswer{SuggestionID: search.SuggestionID, Mode: suggest.Passive, Model: model, Warnings: warnings, UnknownIDs: unknown}
	for _, s := range search.Results[:5] {
		next.Suggestions = append(next.Suggestions, suggest.Suggestion{ID: s.ID, Kind: s.Kind, Confidence: s.Confidence, Formula: s.Formula, Reason: prose, Terms: s.Terms})
	}
	dag := suggest.DAGAnswer{SuggestionID: search.SuggestionID, Mode: suggest.Active, Model: model, Warnings: warnings, UnknownIDs: unknown[:2],
		Rationale: "3 targets chosen by meaning and by the 10 past tasks most like this one (trusted to 0.84); links follow learned transitions and schemas."}
	for i, s := range search.Results[:8] {
		dag.DAG.Tasks = append(dag.DAG.Tasks, suggest.Task{ID: fmt.Sprintf("t%d", i+1), Tool: s.ID, Kind: "tool", DependsOn: []string{"t1", "t2"},
			Arguments: map[string]suggest.Argument{"channel_id": {From: "t1.channel_id"}, "text": {From: "intent"}}, Terms: s.Terms, Formula: s.Formula})
		dag.Paths = append(dag.Paths, suggest.Path{From: s.ID, To: s.ID})
		dag.Alternatives = append(dag.Alternatives, suggest.Alternative{ID: s.ID})
	}
	return search, next, dag
}

// Answers of the default sizes fit a screen of 80 columns and 25 lines, with terms and without codes.
func TestAnswersFitAScreen(t *testing.T) {
	search, next, dag := largeAnswers()
	for _, columns := range []string{"80", "100", "200"} {
		t.Setenv("COLUMNS", columns)
		width, _ := strconv.Atoi(columns)
		for name, show := range map[string]func(*app){
			"search": func(a *app) { a.showSearch(search, false) },
			"next":   func(a *app) { a.showNext(next, false) },
			"dag":    func(a *app) { a.showDAG(dag, false) },
		} {
			var b bytes.Buffer
			show(&app{out: &b})
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			assert.LessOrEqual(t, len(lines), 25, "%s in %s columns:\n%s", name, columns, b.String())
			for _, l := range lines {
				assert.LessOrEqual(t, text.StringWidth(l), width, "%s: %s", name, l)
			}
			assert.NotRegexp(t, `[a-z]_[a-z]+_(context|search|suggestion)|low_confidence|unknown_context|signal 1`, b.String(), name)
			assert.Contains(t, lines[len(lines)-1], "sg_42ad0b39727591eca439bf09", name)
		}
	}
}

// Every warning of an answer has its sentence.
func TestEveryWarningIsASentence(t *testing.T) {
	source, err := os.ReadFile("../../suggest/answer.go")
	require.NoError(t, err)
	codes := regexp.MustCompile(`\n\tWarn\w+ += "(\w+)"`).FindAllSubmatch(source, -1)
	require.NotEmpty(t, codes)
	for _, code := range codes {
		assert.Contains(t, warningSentences, string(code[1]))
	}
}

// The formulas of a score fit on a screen, whatever is asked and however long ids are.
func TestFormulaFitsAScreen(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("世", 80)
	ask := func(in string, args ...string) []string {
		var out, errs bytes.Buffer
		require.Zero(t, run(t.Context(), append(args, "--data", dir), strings.NewReader(in), &out, &errs), errs.String())
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
	ask("", "import", sampleCut(t, 150, "chat", "cloud", "files", "forge", "metrics", "tracker", "wiki"))
	ask(`{"id":"1","steps":[{"tool":"metrics:list_alerts"},{"tool":"`+long+`"},{"tool":"metrics:query_metrics"}]}`, "record", "-")
	for _, args := range [][]string{
		{"metrics:query_metrics"}, {"metrics:query_metrics", "--after", "metrics:list_alerts"}, {"metrics:query_metrics", "--intent", "why is checkout slow"},
		{"metrics:query_metrics", "--after", "metrics:list_alerts," + long, "--intent", "why is checkout slow"},
		{"cap:triage_incident", "--after", "metrics:list_alerts"}, {"cap:triage_incident", "--intent", "triage the incident"},
		{"cap:triage_incident", "--after", "metrics:query_metrics", "--intent", "triage the incident"},
		{long, "--after", "metrics:list_alerts"}, {"cloud:get_service", "--after", "metrics:query_metrics", "--intent", "open the service"},
		{"metrics:query_metrics", "--after", "no:such" + long},
	} {
		lines := ask("", append([]string{"explain", "--formula"}, args...)...)
		assert.LessOrEqual(t, len(lines), 40, "%q", args)
		for _, line := range lines {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 100, line)
		}
		plain := strings.Join(ask("", append([]string{"explain", "--profile", "seed"}, args...)...), "\n")
		score := regexp.MustCompile(`(?m)^score ([0-9.]+) by`).FindStringSubmatch(plain)
		if score == nil {
			score = []string{"", "0.0000"}
		}
		assert.Regexp(t, `(?m)^score = (.* = )?`+regexp.QuoteMeta(score[1])+`( \(.*)?$`, strings.Join(lines, "\n"), "%q", args)
	}
}
