package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"waymark/catalog"
	"waymark/ingest"
	"waymark/internal/plural"
	"waymark/suggest"
	"waymark/suggest/evaluate"
)

// Report is one page on the sessions of this machine. Lists are cut to their most important rows.
type Report struct {
	Searched []Place   `json:"searched"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Sessions int       `json:"sessions"`
	Tasks    int       `json:"tasks"`
	Calls    int       `json:"calls"`
	Sections []Section `json:"sections"`

	Lines   int             `json:"lines"`
	Skipped int             `json:"skipped_lines"` // of these, of a kind that is not known
	Dropped int             `json:"dropped"`       // lines and tasks that could not be used
	Unknown []string        `json:"unknown_versions"`
	Damaged []ingest.Reason `json:"damaged"` // of what was dropped the first maxDamaged, with the file
}

// Section is a table, sentences, or both.
type Section struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns,omitempty"`
	Rows    [][]any  `json:"rows,omitempty"` // texts, counts, shares of 1, milliseconds; null is not known
	Notes   []string `json:"notes,omitempty"`
}

// share of 1.
type share float64

func (s share) String() string { return fmt.Sprintf("%.1f %%", 100*float64(s)) }

// millis is a duration.
type millis int64

func (m millis) String() string {
	if m >= 10_000 {
		return fmt.Sprintf("%d s", m/1000)
	}
	return fmt.Sprintf("%d ms", int64(m))
}

// Sources are what is known beside the sessions.
type Sources struct {
	Configs  []Config
	Tools    []catalog.Tool // definitions
	Progress func(phase string)
}

// Report sums up what was collected.
func (c *Collection) Report(ctx context.Context, s Sources) (*Report, error) {
	r := &c.page
	r.Sessions, r.Sections = len(c.sessions), []Section{}
	slices.Sort(r.Unknown)
	if r.Calls == 0 {
		return r, ctx.Err()
	}
	s.Progress("what Waymark would have named")
	named, err := c.named(ctx)
	if err != nil {
		return nil, err
	}
	servers, tools, failures := c.used()
	for _, section := range []Section{named, servers, tools, failures, c.repeated(), c.unused(s.Configs), c.definitions(s.Tools)} {
		if section.Rows != nil || section.Notes != nil {
			r.Sections = append(r.Sections, section)
		}
	}
	return r, ctx.Err()
}

// top sorts rows, largest first by a column and then by name, and keeps as many as a page shows.
func top(rows [][]any, column int) [][]any {
	slices.SortFunc(rows, func(a, b []any) int {
		return cmp.Or(b[column].(int)-a[column].(int), strings.Compare(a[0].(string), b[0].(string)))
	})
	return rows[:min(len(rows), mostShown)]
}

func (t *counts) row(name string) []any {
	return []any{name, t.calls, share(float64(t.failures) / float64(max(t.calls, 1))), t.quantile(.5), t.quantile(.95)}
}

// used are the sums over tools.
func (c *Collection) used() (servers, tools, failures Section) {
	columns := []string{"name", "calls", "failed", "p50", "p95"}
	servers, tools = Section{Title: "Servers", Columns: columns}, Section{Title: "Tools", Columns: columns}
	failures = Section{Title: "Failures", Columns: []string{"class", "calls", "of all", "most often"}}
	sums, classes := map[string]*counts{}, map[string][][]any{}
	for _, id := range slices.Sorted(maps.Keys(c.tools)) {
		t, server := c.tools[id], cmp.Or(serverOf(id), "(tools of the hosts)")
		if sums[server] == nil {
			sums[server] = newCounts()
		}
		sums[server].add(t)
		tools.Rows = append(tools.Rows, t.row(id))
		for kind, n := range t.kinds {
			classes[kind] = append(classes[kind], []any{id, n, t.calls})
		}
	}
	for name, sum := range sums {
		servers.Rows = append(servers.Rows, sum.row(name))
	}
	for class, rows := range classes {
		calls, often := 0, []string{}
		for _, row := range rows {
			calls += row[1].(int)
		}
		for _, row := range top(rows, 1)[:min(len(rows), 3)] {
			often = append(often, fmt.Sprintf("%s (%d of %d)", row...))
		}
		failures.Rows = append(failures.Rows, []any{class, calls, share(float64(calls) / float64(c.page.Calls)), strings.Join(often, ", ")})
	}
	servers.Rows, tools.Rows, failures.Rows = top(servers.Rows, 1), top(tools.Rows, 1), top(failures.Rows, 1)
	return servers, tools, failures
}

func (c *Collection) repeated() Section {
	s := Section{Title: "Loops: three or more calls in a row with arguments of one shape", Columns: []string{"tool", "loops", "calls", "longest", "failed"}}
	for tool, l := range c.loops {
		s.Rows = append(s.Rows, []any{tool, l.times, l.calls, l.longest, l.failed})
	}
	s.Rows = top(s.Rows, 2)
	return s
}

// bytesPerToken is a common estimate for English and JSON.
const bytesPerToken = 4

// definitions estimates what tool definitions cost: a session that called a tool of a server had all of its definitions in
// its context. Sessions that did not call it are not counted.
func (c *Collection) definitions(tools []catalog.Tool) Section {
	s := Section{Title: "Tokens spent on tool definitions (estimate)"}
	size, number := map[string]int{}, map[string]int{}
	for _, t := range tools {
		text, err := json.Marshal(struct {
			Name, Description string
			InputSchema       json.RawMessage
		}{t.Name, t.Description, t.InputSchema})
		if server := serverOf(t.ID); err == nil && len(c.servers[server]) > 0 { // a schema that is no JSON reaches no host
			size[server], number[server] = size[server]+len(text), number[server]+1
		}
	}
	if len(size) == 0 {
		s.Notes = []string{"Not known: the workspace has no definitions of the tools that were called (waymark gateway add, waymark import)."}
		return s
	}
	s.Columns = []string{"server", "tools", "tokens a session", "sessions", "tokens"}
	for server, sessions := range c.servers {
		if each := (size[server] + bytesPerToken - 1) / bytesPerToken; each > 0 {
			s.Rows = append(s.Rows, []any{server, number[server], each, len(sessions), each * len(sessions)})
		}
	}
	if unknown := len(c.servers) - len(s.Rows); unknown > 0 {
		s.Notes = []string{fmt.Sprintf("Not counted: %d servers whose definitions are not known.", unknown)}
	}
	s.Rows = top(s.Rows, 4)
	return s
}

// Limits of the last question: a share is said of no fewer calls, and of no more tasks than are learned from quickly.
const (
	leastNamed = 30
	mostNamed  = 5_000
)

// named asks a model of the tasks before for the calls of the newest fifth.
func (c *Collection) named(ctx context.Context) (Section, error) {
	s := Section{Title: "Next calls", Notes: []string{"How many Waymark would have named: too few calls for a share."}}
	episodes := c.newest[max(0, len(c.newest)-mostNamed):]
	if len(episodes) < 5 {
		return s, nil
	}
	examples, err := evaluate.HoldOut(slices.Clone(episodes), .2)
	if err != nil {
		return s, err
	}
	for i := range examples { // asked for the next call alone
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
			hits["hit@1"], hits["hit@3"], plural.Of(asked, "call"), plural.Of(tasks, "task")),
			fmt.Sprintf("The tool that most often followed the last one names %s first.", share(answer.Baselines["markov1"]["hit@1"]))}
	}
	return s, nil
}

// WriteText writes the report for a terminal.
func (r *Report) WriteText(out io.Writer) error {
	w := &sheet{Writer: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	if r.Calls == 0 {
		w.line("No tool calls were found.")
	} else {
		span := ""
		if !r.From.IsZero() {
			span = fmt.Sprintf(", %s to %s", r.From.UTC().Format(time.DateOnly), r.To.UTC().Format(time.DateOnly))
		}
		w.line(fmt.Sprintf("%s in %s of %s%s", plural.Of(r.Calls, "call"), plural.Of(r.Tasks, "task"), plural.Of(r.Sessions, "session"), span))
	}
	searched := Section{Title: "Searched", Columns: []string{"host", "path", "files", "size", "status"}}
	for _, p := range r.Searched {
		searched.Rows = append(searched.Rows, []any{p.Host, p.Shown, p.Files, size(p.Bytes), p.Status})
	}
	for _, u := range r.Unknown {
		searched.Notes = append(searched.Notes, "Not read: "+u)
	}
	sections := append(slices.Clone(r.Sections), searched)
	if r.Skipped > 0 || r.Dropped > 0 {
		lost := Section{Title: "Not understood", Notes: []string{
			fmt.Sprintf("%d of %d lines are of a kind that is not known; lines or tasks that could not be used: %d.", r.Skipped, r.Lines, r.Dropped)}}
		for _, d := range r.Damaged[:min(len(r.Damaged), 5)] {
			lost.Notes = append(lost.Notes, d.Place()+": "+d.Reason)
		}
		if more := r.Dropped - 5; more > 0 {
			lost.Notes = append(lost.Notes, fmt.Sprintf("… and %d more", more))
		}
		sections = append(sections, lost)
	}
	for _, s := range sections {
		w.section(s)
	}
	if w.err != nil {
		return w.err
	}
	return w.Flush()
}

// sheet writes sections, and remembers the first error.
type sheet struct {
	*tabwriter.Writer
	err error
}

func (s *sheet) line(cells ...string) {
	for i := range cells {
		cells[i] = plain(cells[i])
	}
	_, err := fmt.Fprintln(s.Writer, strings.Join(cells, "\t"))
	s.err = cmp.Or(s.err, err)
}

func (s *sheet) section(t Section) {
	s.err = cmp.Or(s.err, s.Flush())
	s.line("")
	s.line(t.Title)
	if t.Columns != nil {
		s.line(slices.Clone(t.Columns)...)
	}
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			if cells[i] = "-"; v != nil {
				cells[i] = fmt.Sprint(v)
			}
		}
		s.line(cells...)
	}
	for _, note := range t.Notes {
		s.line(note)
	}
}

func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

// plain leaves out characters that steer a terminal or reorder what is read.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
}
