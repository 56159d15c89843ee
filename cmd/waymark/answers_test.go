package main

import (
	"bytes"
	"github.com/stretchr/testify/require"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

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
		score := regexp.MustCompile(`(?m)^score: (0\.[0-9]+)$`).FindStringSubmatch(plain)
		if score == nil {
			score = []string{"", "0.0000"}
		}
		assert.Regexp(t, `(?m)^score = (.* = )?`+regexp.QuoteMeta(score[1])+`( \(.*)?$`, strings.Join(lines, "\n"), "%q", args)
	}
}
