package runs

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/sse"

	"waymark/live/state"
	"waymark/run"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
)

type (
	runStarted struct {
		Status int
		Body   Answer
	}
	runEvent run.Status
	runEnd   run.Status

	runListQuery struct {
		State  string `query:"state" enum:"running,paused,done,failed,canceled" doc:"Only runs that stand so."`
		Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
		Cursor string `query:"cursor" maxLength:"1024" doc:"next_cursor of the page before."`
	}
	runPage struct {
		Runs       []state.RunHead `json:"runs" doc:"The newest first."`
		NextCursor string          `json:"next_cursor,omitempty"`
	}
	runDecision struct {
		route.ByID
		Body *struct {
			Nodes []string `json:"nodes,omitempty" maxItems:"1000" doc:"Of the nodes that wait; all of them if absent."`
			Deny  bool     `json:"deny,omitempty" doc:"They fail instead of being called."`
		}
	}
	// runBody asks for a run of a DAG or of a stored capability.
	runBody struct {
		ID         string `json:"id,omitempty" doc:"Id of the run, of the caller's choice: a request that is repeated with it starts nothing and is answered with the first run; 409 if it asks for something else. One is made if absent."`
		Capability string `json:"capability,omitempty" doc:"Id of a stored capability to run instead of a DAG; it takes params."`
		Request
	}
)

// maxRunBody is the longest request for a run: parameters and literal arguments are in it.
const maxRunBody = 4 << 20

// Routes registers all operations of
func (r *Runs) Routes(t *route.Table) {
	schemas := t.Schemas()
	begin := route.Rule{Scope: request.ScopeWrite, Body: maxRunBody}
	start := route.Op("Runs", "start-run", http.MethodPost, "/v1/runs", "Run a DAG or a stored capability",
		"Takes the answer of /v1/dag as it is, a DAG of one's own, or the id of a capability. Everything is checked before anything is called: 422 lists all that is wrong. "+
			"Where values of arguments are missing, the error at body.values has the JSON Schema of all of them as its value; an object that it accepts is sent as values. "+
			"With dry_run the plan is answered, with 200, and nothing is called. Calls of tools that are not annotated as harmless wait for approval; approve needs scope admin.")
	start.DefaultStatus = http.StatusAccepted
	route.Raw(t, begin, start, r.startRun)
	route.DocumentBody(t, "/v1/runs", http.MethodPost, map[string]*huma.Schema{"application/json": schemas.Schema(reflect.TypeFor[runBody](), true, "")})
	route.Add(t, route.Rule{Scope: request.ScopeRead}, route.Op("Runs", "list-runs", http.MethodGet, "/v1/runs", "List runs", "Those that go on and the last 500 that ended."), r.listRuns)
	route.Add(t, route.Rule{Scope: request.ScopeRead}, route.Op("Runs", "get-run", http.MethodGet, "/v1/runs/{id}", "A run", "Node by node, with results."), r.getRun)
	cancel := route.Op("Runs", "cancel-run", http.MethodPost, "/v1/runs/{id}/cancel", "Cancel a run", "Calls under way are given up; the rest is not begun.")
	cancel.DefaultStatus, cancel.Errors = http.StatusAccepted, []int{http.StatusConflict}
	route.Add(t, route.Rule{Scope: request.ScopeWrite}, cancel, r.cancelRun)
	approve := route.Op("Runs", "approve-run", http.MethodPost, "/v1/runs/{id}/approve", "Decide about nodes that wait",
		"A node waits because its tool is not annotated as harmless, or because it was running when a process ended.")
	approve.DefaultStatus, approve.Errors = http.StatusAccepted, []int{http.StatusConflict}
	route.Add(t, route.Rule{Scope: request.ScopeAdmin}, approve, r.approveRun)

	route.Stream(t, route.Rule{Scope: request.ScopeRead}, route.Op("Runs", "watch-run", http.MethodGet, "/v1/runs/{id}/events", "Progress of a run", "Server-sent events: progress until the run ends, then one end. Results are in the run itself."), map[string]any{"progress": runEvent{}, "end": runEnd{}},
		func(ctx context.Context, id string) error {
			_, err := r.Status(ctx, request.From(ctx).Workspace, id)
			return err
		}, r.watchRun)
}

func (r *Runs) startRun(ctx context.Context, in *route.RawInput) (*runStarted, error) {
	data, err := route.JsonBody(in.Request)
	if err != nil {
		return nil, err
	}
	body, err := jsonio.Decode[runBody](data)
	if err != nil {
		return nil, err
	}
	if body.Capability != "" && body.DAG == nil {
		body.DAG = &DAG{}
	}
	q, err := body.ToRun()
	if err == nil && body.Capability != "" {
		q.Capability, err = r.capability(ctx, body.Capability)
	}
	if err != nil {
		return nil, err
	}
	a := request.From(ctx)
	if len(q.Approve) > 0 && !a.May(request.ScopeAdmin) {
		return nil, problem.New(http.StatusForbidden, "approve needs the scope admin")
	}
	answer, err := r.Begin(ctx, a, body.ID, q, body.DryRun)
	if err != nil {
		return nil, err
	}
	if body.DryRun {
		return &runStarted{Status: http.StatusOK, Body: answer}, nil
	}
	return &runStarted{Status: http.StatusAccepted, Body: answer}, nil
}

// capability is the id of a stored capability by any of its spellings.
func (r *Runs) capability(ctx context.Context, id string) (string, error) {
	engine, err := r.cfg.Workspaces.Get(ctx, request.From(ctx).Workspace)
	if err != nil {
		return "", err
	}
	known := runCatalog{engine: engine}
	if _, ok := known.Capability(id); !ok {
		if id, err = engine.Model().Resolve(id); err != nil {
			return "", err
		}
		if _, ok := known.Capability(id); !ok {
			return "", problem.New(http.StatusNotFound, fmt.Sprintf("there is no capability %q", id))
		}
	}
	return id, nil
}

func (r *Runs) listRuns(ctx context.Context, q *runListQuery) (page runPage, err error) {
	workspace := request.From(ctx).Workspace
	before := ""
	if q.Cursor != "" {
		last, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
		if err != nil || len(last) == 0 {
			return page, route.ErrCursor
		}
		before = string(last)
	}
	j := r.journal(workspace)
	open, err := j.Open(ctx) // first: a run that has no owner now may begin before its head is read, but has not ended
	if err != nil {
		return page, err
	}
	all, err := j.Heads(ctx)
	if err != nil {
		return page, err
	}
	if before != "" {
		at := slices.IndexFunc(all, func(h state.RunHead) bool { return h.ID == before })
		if at < 0 {
			return page, route.ErrCursor
		}
		all = all[:at]
	}
	for _, h := range slices.Backward(all) {
		if owner, ok := open[h.ID]; ok && !h.State.Over() {
			if carried, err := r.carried(ctx, workspace, h.ID, owner); err != nil {
				return page, err
			} else if !carried {
				h.State = run.Paused
			}
		}
		if q.State != "" && string(h.State) != q.State {
			continue
		}
		if len(page.Runs) == q.Limit {
			page.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(page.Runs[q.Limit-1].ID))
			break
		}
		page.Runs = append(page.Runs, h)
	}
	return page, nil
}

func (r *Runs) getRun(ctx context.Context, q *route.ByID) (run.Status, error) {
	return r.Status(ctx, request.From(ctx).Workspace, q.ID)
}

func (r *Runs) cancelRun(ctx context.Context, q *route.ByID) (run.Status, error) {
	return r.Cancel(ctx, request.From(ctx).Workspace, q.ID)
}

func (r *Runs) approveRun(ctx context.Context, q *runDecision) (run.Status, error) {
	var nodes []string
	deny := false
	if q.Body != nil {
		nodes, deny = q.Body.Nodes, q.Body.Deny
	}
	return r.Approve(ctx, request.From(ctx).Workspace, q.ID, nodes, !deny)
}

func (r *Runs) watchRun(ctx context.Context, q *route.ByID, send sse.Sender) {
	workspace := request.From(ctx).Workspace
	left := !r.cfg.Store.Shared() && !r.GoesOn(workspace, q.ID) // nobody carries it out
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	route.Relay(ctx, r.cfg.Draining, r.Watch(ctx, workspace, q.ID), func(status run.Status) (any, bool) {
		if left || status.State.Over() {
			return runEnd(status), true
		}
		return runEvent(status), false
	}, send)
}

var _ run.Journal = state.Runs{}
