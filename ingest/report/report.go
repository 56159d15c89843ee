package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/ingest"
	"waymark/suggest"
	"waymark/suggest/evaluate"
	"waymark/suggest/mine"
)

// Report is one page on the sessions of this machine. Lists are cut to their most important rows.
type Report struct {
	Searched []Place   `json:"searched"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Sessions int       `json:"sessions"`
	Tasks    int       `json:"tasks"`
	Calls    int       `json:"calls"`
	Reading
	Servers   []Row      `json:"servers"`
	Tools     []Row      `json:"tools"`
	Failures  []Failure  `json:"failures"`
	Loops     []Loop     `json:"loops"`
	Weeks     []Week     `json:"weeks"`
	Workflows []Workflow `json:"workflows"`
	Unused    []Unused   `json:"unused_servers"`
	Judged    int        `json:"servers_judged"` // configured servers that enough sessions had
	Schemas   *Schemas   `json:"schemas"`        // null: no definitions are known
	Named     *Named     `json:"named"`          // null: too few calls to tell
	NamedWhy  string     `json:"named_why,omitempty"`
}

// Reading is what became of the lines that were read.
type Reading struct {
	Lines   int      `json:"lines"`
	Skipped int      `json:"skipped_lines"` // of these, of a kind that is not known
	Dropped int      `json:"dropped"`       // lines and tasks that could not be used
	Unknown []string `json:"unknown_versions"`

	Damaged []ingest.Reason `json:"damaged"` // of what was dropped the first maxDamaged, with the file
}

// Row is a server or a tool. The server "" are tools of the hosts themselves.
type Row struct {
	Name        string  `json:"name"`
	Calls       int     `json:"calls"`
	Failures    int     `json:"failures"`
	FailureRate float64 `json:"failure_rate"`
	P50         *int64  `json:"p50_ms"`
	P95         *int64  `json:"p95_ms"`
}

// Failure counts the failed calls of one class.
type Failure struct {
	Class string  `json:"class"`
	Calls int     `json:"calls"`
	Rate  float64 `json:"rate"`  // of all calls
	Tools []Row   `json:"tools"` // those that failed so most often, with the failures of this class
}

// Loop is one tool called again and again with arguments of one shape.
type Loop struct {
	Tool    string `json:"tool"`
	Times   int    `json:"times"`
	Calls   int    `json:"calls"`
	Longest int    `json:"longest"`
	Failed  int    `json:"failed"` // of the calls
}

// Week counts the calls of seven days from a Monday on, so that an owner sees whether failures and repeats became fewer
// since hosts ask Waymark.
type Week struct {
	Monday   time.Time `json:"monday"`
	Tasks    int       `json:"tasks"`
	Calls    int       `json:"calls"`
	Failed   int       `json:"failed"`
	Repeated int       `json:"repeated"` // the call before it again, with arguments of the same shape
}

// LeastCalls is how many calls a week needs for its shares to say something.
const LeastCalls = 20

// Share is a count of all calls of the week as a percentage; too few calls tell nothing.
func (w *Week) Share(n int) string {
	if w.Calls < LeastCalls {
		return "too few to tell"
	}
	return percent(float64(n) / float64(w.Calls))
}

// mostWeeks is how many weeks a report shows, the newest.
const mostWeeks = 13

// Workflow is a DAG of calls that tasks have in common, in topological order.
type Workflow struct {
	Tools    []string `json:"tools"`
	Tasks    int      `json:"tasks"`
	Sessions int      `json:"sessions"`
}

// Unused is a configured server that none of its sessions called.
type Unused struct {
	Server   string `json:"server"`
	Host     string `json:"host"`
	Sessions int    `json:"sessions"`
}

// Schemas estimates what tool definitions cost: four bytes of a definition are a token, and a session that called a
// tool of a server had all of its definitions in its context. Sessions that did not call it are not counted.
type Schemas struct {
	Servers []SchemaRow `json:"servers"`
	Tokens  int         `json:"tokens"`
	Unknown int         `json:"servers_without_definitions"`
}

// SchemaRow is the cost of one server.
type SchemaRow struct {
	Server   string `json:"server"`
	Tools    int    `json:"tools"`
	Each     int    `json:"tokens_per_session"`
	Sessions int    `json:"sessions"`
	Tokens   int    `json:"tokens"`
}

// Named says how many of the calls of the newest fifth a model of the tasks before them names.
type Named struct {
	Calls     int     `json:"calls"`
	Tasks     int     `json:"tasks"`
	First     float64 `json:"first"` // named as the first suggestion
	Three     float64 `json:"among_three"`
	MarkovOne float64 `json:"markov1_first"` // what the tool that most often follows the last one would have named
}

// Sources are what is known beside the sessions.
type Sources struct {
	Configs  []Config
	Tools    []catalog.Tool // definitions
	Progress func(phase string)
}

// Report sums up what was collected.
func (c *Collection) Report(ctx context.Context, s Sources) (*Report, error) {
	r := &Report{Searched: c.places, From: c.from, To: c.to, Sessions: len(c.sessions), Tasks: c.episodes, Calls: c.calls,
		Reading: Reading{c.tally.Lines, c.tally.Skipped, c.dropped, sortedKeys(c.unread), c.damaged}}
	c.count(r)
	r.Unused, r.Judged = c.unused(s.Configs)
	r.Schemas = c.schemas(s.Tools)
	s.Progress("repeated workflows")
	c.workflows(ctx, r)
	s.Progress("what Waymark would have named")
	if err := c.named(ctx, r); err != nil {
		return nil, err
	}
	return r, ctx.Err()
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// top sorts rows, largest first and by name, and keeps as many as a page shows.
func top[T any](rows []T, size func(T) int, name func(T) string) []T {
	slices.SortFunc(rows, func(a, b T) int { return cmp.Or(size(b)-size(a), strings.Compare(name(a), name(b))) })
	return rows[:min(len(rows), mostShown)]
}

func topRows(rows []Row) []Row {
	return top(rows, func(r Row) int { return r.Calls }, func(r Row) string { return r.Name })
}

func (t *counts) row(name string) Row {
	r := Row{Name: name, Calls: t.calls, Failures: t.failures, P50: t.quantile(.5), P95: t.quantile(.95)}
	if t.calls > 0 {
		r.FailureRate = float64(t.failures) / float64(t.calls)
	}
	return r
}

// count fills the lists that are sums over tools.
func (c *Collection) count(r *Report) {
	servers, classes := map[string]*counts{}, map[string][]Row{}
	r.Servers, r.Tools, r.Failures, r.Loops = []Row{}, []Row{}, []Failure{}, []Loop{}
	for _, id := range sortedKeys(c.tools) {
		t := c.tools[id]
		server := serverOf(id)
		if servers[server] == nil {
			servers[server] = &counts{kinds: map[string]int{}, durations: map[int]int{}}
		}
		servers[server].add(t)
		r.Tools = append(r.Tools, t.row(id))
		for kind, n := range t.kinds {
			classes[kind] = append(classes[kind], Row{Name: id, Calls: t.calls, Failures: n, FailureRate: float64(n) / float64(t.calls)})
		}
	}
	for _, name := range sortedKeys(servers) {
		r.Servers = append(r.Servers, servers[name].row(name))
	}
	r.Servers, r.Tools = topRows(r.Servers), topRows(r.Tools)
	for _, class := range sortedKeys(classes) {
		f := Failure{Class: class}
		for _, row := range classes[class] {
			f.Calls += row.Failures
		}
		f.Rate = float64(f.Calls) / float64(c.calls)
		f.Tools = top(classes[class], func(r Row) int { return r.Failures }, func(r Row) string { return r.Name })
		f.Tools = f.Tools[:min(len(f.Tools), 3)]
		r.Failures = append(r.Failures, f)
	}
	r.Failures = top(r.Failures, func(f Failure) int { return f.Calls }, func(f Failure) string { return f.Class })
	r.Weeks = []Week{}
	for _, monday := range sortedKeys(c.weeks) {
		r.Weeks = append(r.Weeks, *c.weeks[monday])
	}
	r.Weeks = r.Weeks[max(0, len(r.Weeks)-mostWeeks):]
	byTool := map[string]*Loop{}
	for _, l := range c.loops {
		sum := byTool[l.Tool]
		if sum == nil {
			sum = &Loop{Tool: l.Tool}
			byTool[l.Tool] = sum
		}
		sum.Times, sum.Calls, sum.Failed, sum.Longest = sum.Times+l.Times, sum.Calls+l.Calls, sum.Failed+l.Failed, max(sum.Longest, l.Longest)
	}
	for _, tool := range sortedKeys(byTool) {
		r.Loops = append(r.Loops, *byTool[tool])
	}
	r.Loops = top(r.Loops, func(l Loop) int { return l.Calls }, func(l Loop) string { return l.Tool })
}

// bytesPerToken is a common estimate for English and JSON.
const bytesPerToken = 4

func (c *Collection) schemas(tools []catalog.Tool) *Schemas {
	size, number := map[string]int{}, map[string]int{}
	for _, t := range tools {
		server := serverOf(t.ID)
		if len(c.servers[server]) == 0 {
			continue
		}
		text, err := json.Marshal(struct {
			Name, Description string
			InputSchema       json.RawMessage
		}{t.Name, t.Description, t.InputSchema})
		if err != nil {
			continue // a schema that is no JSON reaches no host
		}
		size[server], number[server] = size[server]+len(text), number[server]+1
	}
	if len(size) == 0 {
		return nil
	}
	s := &Schemas{}
	for _, server := range sortedKeys(c.servers) {
		if size[server] == 0 {
			s.Unknown++
			continue
		}
		each := (size[server] + bytesPerToken - 1) / bytesPerToken
		n := len(c.servers[server])
		s.Servers = append(s.Servers, SchemaRow{server, number[server], each, n, each * n})
		s.Tokens += each * n
	}
	s.Servers = top(s.Servers, func(r SchemaRow) int { return r.Tokens }, func(r SchemaRow) string { return r.Server })
	return s
}

// workflows finds what the newest tasks have in common.
func (c *Collection) workflows(ctx context.Context, r *Report) {
	tasks, _, names, _ := mine.Tasks(func(yield func(*episodic.Episode, error) bool) {
		for i := range c.newest {
			if !yield(&c.newest[i], nil) {
				return
			}
		}
	}, nil, len(c.newest))
	r.Workflows = []Workflow{}
	found := mine.Patterns(tasks, len(names), mine.Options{Least: 3, Patterns: mostShown, Work: 1 << 18, Stop: func() bool { return ctx.Err() != nil }})
	for _, p := range found.Patterns {
		w := Workflow{Tasks: p.Support, Sessions: p.Sessions}
		for _, t := range p.Tools {
			w.Tools = append(w.Tools, names[t])
		}
		r.Workflows = append(r.Workflows, w)
	}
}

// Limits of the last question: a share is said of no fewer calls, and of no more tasks than are learned from quickly.
const (
	leastNamed = 30
	mostNamed  = 5_000
)

// named asks a model of the tasks before for the calls of the newest fifth.
func (c *Collection) named(ctx context.Context, r *Report) error {
	r.NamedWhy = "too few calls to tell"
	episodes := c.newest[max(0, len(c.newest)-mostNamed):]
	if len(episodes) < 5 {
		return nil
	}
	examples, err := evaluate.HoldOut(slices.Clone(episodes), .2)
	if err != nil {
		return err
	}
	for i := range examples {
		examples[i].Intent = false
	}
	answer, err := evaluate.Evaluate(ctx, &evaluate.Data{Name: "report", Examples: examples},
		evaluate.Suggester(suggest.ProfileLearned, suggest.MeasureOptions{}), evaluate.Options{Profile: suggest.ProfileLearned})
	var refused *suggest.RequestError
	switch {
	case errors.Is(err, evaluate.ErrNothingToTest), errors.As(err, &refused):
		return nil
	case err != nil:
		return err
	}
	for _, row := range answer.Rows {
		switch {
		case row.Question != evaluate.QuestionNext:
		case row.Asked < leastNamed:
			return nil
		case row.Metric == "hit@1":
			r.NamedWhy = ""
			r.Named = &Named{Calls: row.Asked, Tasks: row.Tasks, First: row.Value, MarkovOne: answer.Baselines["markov1"]["hit@1"]}
		case row.Metric == "hit@3":
			r.Named.Three = row.Value
		}
	}
	return nil
}
