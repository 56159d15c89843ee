package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/ingest"
	"waymark/suggest"
	"waymark/suggest/evaluate"
)

// Report is a one-page summary of the sessions of this machine. Lists are cut to their most important rows.
type Report struct {
	Searched []Place   `json:"searched"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Sessions int       `json:"sessions"`
	Tasks    int       `json:"tasks"`
	Calls    int       `json:"calls"`
	Sections []Section `json:"sections"`

	Import ingest.Report `json:"import"` // of the sessions, as an import counts them
}

// Section is a table, sentences, or both.
type Section struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns,omitempty"`
	Rows    [][]any  `json:"rows,omitempty"` // texts, counts, fractions, milliseconds; null is unknown
	Notes   []string `json:"notes,omitempty"`
}

// share is a fraction between 0 and 1.
type share float64

func (s share) String() string { return fmt.Sprintf("%.1f %%", 100*float64(s)) }

// millis is a duration in milliseconds.
type millis int64

func (m millis) String() string {
	if m >= 10_000 {
		return fmt.Sprintf("%d s", m/1000)
	}
	return fmt.Sprintf("%d ms", int64(m))
}

// top sorts rows by calls, descending, then by name, and keeps the first mostShown.
func top(rows [][]any) [][]any {
	slices.SortFunc(rows, func(a, b []any) int {
		return cmp.Or(b[1].(int)-a[1].(int), strings.Compare(a[0].(string), b[0].(string)))
	})
	return rows[:min(len(rows), mostShown)]
}

// used returns the totals over tools: by server, by tool, and the failures by kind.
func (c *collection) used() []Section {
	table := func(title string, all map[string]*counts) Section {
		s := Section{Title: title, Columns: []string{"name", "calls", "failed", "p50", "p95"}}
		for name, t := range all {
			failed := share(float64(t.failures) / float64(t.calls))
			s.Rows = append(s.Rows, []any{name, t.calls, failed, t.quantile(.5), t.quantile(.95)})
		}
		return s
	}
	failures := Section{Title: "Failures", Columns: []string{"class", "calls", "of all", "most often"}}
	classes := map[string][][]any{}
	for id, t := range c.tools {
		for kind, n := range t.kinds {
			classes[kind] = append(classes[kind], []any{id, n, t.calls})
		}
	}
	for class, rows := range classes {
		calls, often := 0, []string{}
		for _, row := range rows {
			calls += row[1].(int)
		}
		for _, row := range top(rows)[:min(len(rows), 3)] {
			often = append(often, fmt.Sprintf("%s (%d of %d)", row...))
		}
		failures.Rows = append(failures.Rows, []any{class, calls, share(float64(calls) / float64(c.Calls)), strings.Join(often, ", ")})
	}
	all := []Section{table("Servers", c.servers), table("Tools", c.tools), failures}
	for i := range all {
		all[i].Rows = top(all[i].Rows)
	}
	return slices.DeleteFunc(all, func(s Section) bool { return len(s.Rows) == 0 })
}

// leastNamed is the minimum number of calls for which a share is reported.
const leastNamed = 30

// next evaluates a model of the earlier tasks on the calls of the newest fifth.
func (c *collection) next(ctx context.Context) (Section, error) {
	s := Section{Title: "Next calls", Notes: []string{"How many Waymark would have named: too few calls for a share."}}
	if len(c.newest) < 5 {
		return s, nil
	}
	examples, err := evaluate.HoldOut(slices.Clone(c.newest), .2)
	if err != nil {
		return s, err
	}
	for i := range examples { // predict the next call without the intent
		if examples[i].Split == evaluate.Test {
			examples[i].Episode.Intent = ""
		}
	}
	answer, err := evaluate.Evaluate(ctx, &evaluate.Data{Name: "report", Examples: examples},
		evaluate.Suggester(suggest.ProfileLearned, suggest.MeasureOptions{}), evaluate.Options{Profile: suggest.ProfileLearned})
	var refused *suggest.RequestError
	switch {
	case errors.Is(err, evaluate.ErrNothingToTest), errors.As(err, &refused):
		return s, nil
	case err != nil:
		return s, err
	}
	hits := map[string]share{}
	var asked, tasks int
	for _, row := range answer.Rows {
		if row.Question == evaluate.QuestionNext {
			hits[row.Metric], asked, tasks = share(row.Value), row.Asked, row.Tasks
		}
	}
	if asked >= leastNamed {
		s.Notes = []string{fmt.Sprintf("Waymark would have named %s of your next calls first, %s among three (%s of the newest %s, from those before).",
			hits["hit@1"], hits["hit@3"], catalog.Plural(asked, "call"), catalog.Plural(tasks, "task")),
			fmt.Sprintf("The tool that most often followed the last one names %s first.", share(answer.Baselines["markov1"]["hit@1"]))}
	}
	return s, nil
}

// Text returns the report for a terminal as a headline and sections.
func (r *Report) Text() (head string, sections []Section) {
	head = "No tool calls were found."
	if r.Calls > 0 {
		head = fmt.Sprintf("%s in %s of %s", catalog.Plural(r.Calls, "call"), catalog.Plural(r.Tasks, "task"), catalog.Plural(r.Sessions, "session"))
	}
	if !r.From.IsZero() {
		head += fmt.Sprintf(", %s to %s", r.From.UTC().Format(time.DateOnly), r.To.UTC().Format(time.DateOnly))
	}
	searched := Section{Title: "Searched", Columns: []string{"host", "path", "files", "size", "status"}}
	for _, p := range r.Searched {
		searched.Rows = append(searched.Rows, []any{p.Host, p.Shown, p.Files, size(p.Bytes), p.Status})
	}
	sections = append(slices.Clone(r.Sections), searched)
	if in := r.Import; in.Skipped > 0 || in.Dropped.Total() > 0 {
		in.Reasons = in.Reasons[:min(len(in.Reasons), 5)]
		sections = append(sections, Section{Title: "Read", Notes: strings.Split(strings.TrimSpace(in.String()), "\n")})
	}
	return head, sections
}

func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}
