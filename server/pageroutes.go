package server

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"waymark/episodic"
	"waymark/live"
	"waymark/server/internal/api"
	"waymark/suggest"
)

// Routes for people, which agents do not need: the map of the graph, the episodes behind a transition, and statistics
// of tools.

type mapQuery struct {
	Nodes  int    `query:"nodes" minimum:"1" maximum:"20000" default:"2000" doc:"Maximum number of nodes, most important first."`
	Edges  int    `query:"edges" minimum:"0" maximum:"50000" default:"5000" doc:"Maximum number of transitions between these nodes, strongest first."`
	Around string `query:"around" maxLength:"1024" doc:"Only nodes within depth transitions of this id."`
	Depth  int    `query:"depth" minimum:"0" maximum:"4" default:"1"`
}

type mapAnswer struct {
	Model      suggest.ModelInfo    `json:"model"`
	Nodes      []suggest.MapNode    `json:"nodes"`
	Edges      []suggest.ExportEdge `json:"edges"`
	Uses       []suggest.ExportUse  `json:"uses" doc:"The tools of these that belong to each of these capabilities."`
	TotalNodes int                  `json:"total_nodes" doc:"Of the whole graph."`
	TotalEdges int                  `json:"total_edges" doc:"Of the whole graph."`
}

type evidenceQuery struct {
	From  string `query:"from" required:"true" minLength:"1" maxLength:"1024"`
	To    string `query:"to" required:"true" minLength:"1" maxLength:"1024"`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"Maximum number of episodes, newest first."`
}

type evidenceEpisode struct {
	ID      string           `json:"id"`
	Source  string           `json:"source,omitempty"`
	Outcome episodic.Outcome `json:"outcome"`
	Step    episodic.Outcome `json:"step_outcome" doc:"Of the first such call."`
}

type edgeEvidence struct {
	From      string            `json:"from"`
	To        string            `json:"to"`
	Total     int               `json:"total" doc:"Episodes in which the second tool directly followed the first, successful or not. The graph does not count failed calls."`
	Successes int               `json:"successes" doc:"Episodes among these in which the first such call of the second tool succeeded."`
	Failures  int               `json:"failures" doc:"Calls among these that failed."`
	Episodes  []evidenceEpisode `json:"episodes"`
}

// Tally counts calls.
type Tally struct {
	Calls     int `json:"calls"`
	Successes int `json:"successes"`
	Failures  int `json:"failures"`
}

func (t *Tally) count(o episodic.Outcome) {
	t.Calls++
	switch o {
	case episodic.Success:
		t.Successes++
	case episodic.Failure:
		t.Failures++
	}
}

type toolStats struct {
	ID    string `json:"id"`
	Known bool   `json:"known" doc:"True if the catalog contains it."`
	Tally
	Timed int   `json:"timed" doc:"Calls with a known duration."`
	P50   int64 `json:"p50_ms,omitempty"`
	P95   int64 `json:"p95_ms,omitempty"`

	Days []dayStats `json:"days,omitempty" doc:"Days with a call, newest first, from episodes with a known time."`

	durations []int64
	byDay     map[string]*Tally
}

type dayStats struct {
	Day string `json:"day" format:"date" doc:"In UTC."`
	Tally
}

type toolStatsQuery struct {
	Days int    `query:"days" minimum:"0" maximum:"366" default:"0" doc:"Maximum number of days per tool."`
	Tool string `query:"tool" maxLength:"1024" doc:"Only this one."`

	After string `query:"after" maxLength:"1024" doc:"Only calls directly after this tool, whether or not that call succeeded."`

	Limit int    `query:"limit" minimum:"0" maximum:"100000" default:"0" doc:"Maximum number of tools; 0 is all."`
	Order string `query:"order" enum:"calls,failures,p95,unused" default:"calls" doc:"Sort key, largest first. unused returns only the catalog tools that were never called, sorted by id."`
}

type toolStatsAnswer struct {
	Episodes int          `json:"episodes" doc:"Episodes that were read."`
	Sessions int          `json:"sessions" doc:"Different sessions among them."`
	Used     int          `json:"used" doc:"Tools that were called."`
	Unused   int          `json:"unused" doc:"Tools of the catalog that were never called."`
	Tools    []*toolStats `json:"tools"`
}

func (s *Server) peopleRoutes(r *api.Table) {
	long := api.Rule{Scope: api.ScopeRead, Long: true}
	api.AddForWorkspace(r, long, huma.Operation{OperationID: "map", Method: http.MethodGet, Path: "/v1/map", Tags: []string{"Model"}, Summary: "The graph with a position for each node",
		Description: "Laid out from the model when it is first asked for; equal models have equal maps. A graph larger than the limits comes as its backbone: the ends of the strongest transitions, and the strongest transitions between them."}, s.mapped)
	api.AddForWorkspace(r, long, huma.Operation{OperationID: "evidence", Method: http.MethodGet, Path: "/v1/evidence", Tags: []string{"History"}, Summary: "Episodes behind a transition",
		Description: "Reads the history from its begin. 404 if neither the catalog nor the history has an id.", Errors: []int{http.StatusNotFound}}, s.evidence)
	api.AddForWorkspace(r, long, huma.Operation{OperationID: "tool-stats", Method: http.MethodGet, Path: "/v1/tool-stats", Tags: []string{"History"}, Summary: "Calls, failures and durations of each tool, and its calls and failures a day",
		Description: "Reads the history from its begin.", Errors: []int{http.StatusNotFound}}, s.toolStats)
}

func (s *Server) mapped(ctx context.Context, e *live.Engine, q *mapQuery) (*mapAnswer, error) {
	m := e.Model()
	near := map[string]bool{}
	if q.Around != "" {
		part, err := m.Export(q.Around, q.Depth)
		if err != nil {
			return nil, api.InQuery(err)
		}
		for _, n := range part.Nodes {
			near[n.ID] = true
		}
	}
	return mapPart(m, m.Map(), q, near), nil
}

// mapPart returns the nodes of near and the edges between them. Without near it returns the graph, or its backbone.
func mapPart(m *suggest.Model, all *suggest.Map, q *mapQuery, near map[string]bool) *mapAnswer {
	in, out := map[string]bool{}, &mapAnswer{Model: m.Info(), TotalNodes: len(all.Nodes), TotalEdges: len(all.Edges)}
	if q.Around == "" && len(all.Nodes) > q.Nodes {
		near = all.Backbone(q.Nodes)
	}
	for _, n := range all.Nodes {
		if len(out.Nodes) < q.Nodes && (len(near) == 0 || near[n.ID]) {
			out.Nodes, in[n.ID] = append(out.Nodes, n), true
		}
	}
	for _, l := range all.Edges {
		if len(out.Edges) < q.Edges && in[l.From] && in[l.To] {
			out.Edges = append(out.Edges, l)
		}
	}
	for _, u := range all.Uses {
		if in[u.Tool] && in[u.Capability] {
			out.Uses = append(out.Uses, u)
		}
	}
	return out
}

func (s *Server) evidence(ctx context.Context, e *live.Engine, q *evidenceQuery) (b edgeEvidence, err error) {
	m := e.Model()
	b.Episodes = []evidenceEpisode{}
	if err := knownIDs(e, m, q.From, q.To); err != nil {
		return b, err
	}
	if b.From, err = m.Resolve(q.From); err != nil {
		return b, err
	}
	if b.To, err = m.Resolve(q.To); err != nil {
		return b, err
	}
	resolved, seen := resolver(m), Tally{}
	for item, err := range e.Items(ctx) {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return b, err
		}
		ep := item.Episode
		if ep == nil {
			continue
		}
		for i, before := range ep.Before() {
			if resolved(ep.Steps[i].Tool) != b.To || !among(ep, before, b.From, resolved) {
				continue
			}
			seen.count(ep.Steps[i].Outcome)
			b.Episodes = append(b.Episodes, evidenceEpisode{ep.ID, ep.Source, cmp.Or(ep.Outcome, episodic.Unknown), cmp.Or(ep.Steps[i].Outcome, episodic.Unknown)})
			if len(b.Episodes) > 2*q.Limit {
				b.Episodes = append(b.Episodes[:0], b.Episodes[len(b.Episodes)-q.Limit:]...)
			}
			break
		}
	}
	b.Total, b.Successes, b.Failures = seen.Calls, seen.Successes, seen.Failures
	b.Episodes = b.Episodes[max(0, len(b.Episodes)-q.Limit):]
	slices.Reverse(b.Episodes)
	return b, nil
}

// knownIDs returns a 404 for an id that is in neither the catalog nor the history.
func knownIDs(e *live.Engine, m *suggest.Model, ids ...string) error {
	if unknown := e.Unknown(m, ids...); len(unknown) > 0 {
		return api.Problem(http.StatusNotFound, unknown[0].Message)
	}
	return nil
}

// among reports whether one of the given steps called a tool.
func among(ep *episodic.Episode, steps []int, id string, resolved func(string) string) bool {
	return slices.ContainsFunc(steps, func(i int) bool { return resolved(ep.Steps[i].Tool) == id })
}

// resolver returns a function that caches the id of each spelling: a history has far more steps than spellings.
func resolver(m *suggest.Model) func(string) string {
	known := map[string]string{}
	return func(spelling string) string {
		id, ok := known[spelling]
		if !ok {
			var err error
			if id, err = m.Resolve(spelling); err != nil {
				id = spelling
			}
			known[spelling] = id
		}
		return id
	}
}

func (s *Server) toolStats(ctx context.Context, e *live.Engine, q *toolStatsQuery) (out toolStatsAnswer, err error) {
	m, sessions, by := e.Model(), map[string]bool{}, map[string]*toolStats{}
	if err := knownIDs(e, m, slices.DeleteFunc([]string{q.Tool, q.After}, func(id string) bool { return id == "" })...); err != nil {
		return out, err
	}
	of := func(id string) *toolStats {
		if by[id] == nil {
			by[id] = &toolStats{ID: id, byDay: map[string]*Tally{}}
		}
		return by[id]
	}
	resolved := resolver(m)
	after := resolved(q.After)
	for item, err := range e.Items(ctx) {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return out, err
		}
		switch {
		case item.Tool != nil:
			of(item.Tool.ID).Known = true
		case item.Episode != nil:
			out.Episodes++
			sessions[cmp.Or(item.Episode.Session, item.Episode.ID)] = true
			var before [][]int
			if q.After != "" {
				before = item.Episode.Before()
			}
			for i, step := range item.Episode.Steps {
				id := resolved(step.Tool)
				if _, ok := m.Capability(id); !ok && (before == nil || among(item.Episode, before[i], after, resolved)) {
					of(id).count(step, item.Episode.Time)
				}
			}
		}
	}
	out.Sessions, out.Tools = len(sessions), make([]*toolStats, 0, len(by))
	for _, t := range by {
		if t.Calls > 0 {
			out.Used++
		} else {
			out.Unused++
		}
		if (q.Tool == "" || t.ID == resolved(q.Tool)) && (q.Order != "unused" || t.Calls == 0) {
			t.summarize(q.Days)
			out.Tools = append(out.Tools, t)
		}
	}
	slices.SortFunc(out.Tools, func(a, b *toolStats) int {
		return cmp.Or(cmp.Compare(b.number(q.Order), a.number(q.Order)), cmp.Compare(b.Calls, a.Calls), strings.Compare(a.ID, b.ID))
	})
	if q.Limit > 0 {
		out.Tools = out.Tools[:min(q.Limit, len(out.Tools))]
	}
	return out, nil
}

// number returns the value that an order sorts by.
func (t *toolStats) number(order string) int64 {
	return map[string]int64{"calls": int64(t.Calls), "failures": int64(t.Failures), "p95": t.P95}[order]
}

func (t *toolStats) count(step episodic.Step, at time.Time) {
	t.Tally.count(step.Outcome)
	if !at.IsZero() {
		day := at.UTC().Format(time.DateOnly)
		if t.byDay[day] == nil {
			t.byDay[day] = &Tally{}
		}
		t.byDay[day].count(step.Outcome)
	}
	if step.DurationMS > 0 {
		t.durations = append(t.durations, step.DurationMS)
	}
}

// summarize computes the nearest-rank percentiles of the durations, and selects the last days.
func (t *toolStats) summarize(days int) {
	if t.Timed = len(t.durations); t.Timed > 0 {
		slices.Sort(t.durations)
		t.P50, t.P95 = t.durations[(t.Timed-1)/2], t.durations[(t.Timed*95+99)/100-1]
	}
	names := slices.Sorted(maps.Keys(t.byDay))
	for _, name := range names[max(0, len(names)-days):] {
		t.Days = append(t.Days, dayStats{name, *t.byDay[name]})
	}
	slices.Reverse(t.Days)
}
