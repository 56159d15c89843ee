package runs

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/sse"

	"waymark/catalog"
	"waymark/run"
	"waymark/server/internal/api"
)

type (
	runStarted struct {
		Status int
		Body   Answer
	}
	runEvent run.Status
	runEnd   run.Status

	runListQuery struct {
		api.PageQuery
		State string `query:"state" enum:"running,paused,done,failed,canceled" doc:"Only runs in this state."`
	}
	runPage struct {
		Runs       []RunHead `json:"runs" doc:"Newest first."`
		NextCursor string    `json:"next_cursor,omitempty"`
	}
	runDecision struct {
		api.ByID
		Body *struct {
			Nodes []string `json:"nodes,omitempty" maxItems:"1000" doc:"Ids of waiting tasks; default: all of them."`
			Deny  bool     `json:"deny,omitempty" doc:"The tasks fail instead of being called."`
		}
	}
	// runBody requests a run of a DAG or of a stored capability.
	runBody struct {
		ID         string `json:"id,omitempty" doc:"Id of the run, chosen by you or generated. A repeated request with it returns the first run, a different one is a conflict. In MCP, without dag and capability: the run to wait for."`
		Capability string `json:"capability,omitempty" doc:"Id of a stored capability to run instead of a DAG; it takes params."`
		Request
	}
)

// maxRunBody is the largest request for a run: it contains parameters and literal arguments.
const maxRunBody = 4 << 20

// Routes registers all operations of runs.
func (r *Runs) Routes(t *api.Table) {
	schemas := t.Schemas()
	begin := api.Rule{Scope: api.ScopeWrite, Body: maxRunBody}
	start := api.Op("Runs", "start-run", http.MethodPost, "/v1/runs", "Run a DAG or a stored capability",
		"Takes the answer of /v1/dag as it is, a DAG of one's own, or the id of a capability. Everything is checked before anything is called: 422 lists all that is wrong. "+
			"Where values of arguments are missing, the error at body.values has the JSON Schema of all of them as its value; an object that it accepts is sent as values. "+
			"With dry_run the plan is answered, with 200, and nothing is called. Calls of tools that are not annotated as harmless wait for approval; approve needs scope admin.")
	start.DefaultStatus = http.StatusAccepted
	api.Raw(t, begin, start, r.startRun)
	api.DocumentBody(t, "/v1/runs", http.MethodPost, map[string]*huma.Schema{"application/json": schemas.Schema(reflect.TypeFor[runBody](), true, "")})
	t.Tools = append(t.Tools, api.NewTool(api.Tool{Rule: api.Rule{Scope: api.ScopeWrite, Timeout: time.Hour}, Name: "run_dag", Title: "Run a plan",
		Destructive: true, OpenWorld: true, Servers: true,
		Description: "Run a plan, the answer of suggest_dag or tasks of your own, and get the result of each task. It is checked first; all errors are reported at once. " +
			"If arguments lack values, the answer has their JSON Schema as form: call again with values. " +
			"A task that may change something waits for the approval of a person. Call again with the id of the run to follow it."},
		r.runAndWait, func(_ *struct{ Body runBody }, a Answer) string { return runText(a) }))
	api.Add(t, api.Rule{Scope: api.ScopeRead}, api.Op("Runs", "list-runs", http.MethodGet, "/v1/runs", "List runs", "Active runs and the last 500 that ended."), r.listRuns)
	api.Add(t, api.Rule{Scope: api.ScopeRead}, api.Op("Runs", "get-run", http.MethodGet, "/v1/runs/{id}", "A run", "With the state and result of each node."), r.getRun)
	cancel := api.Op("Runs", "cancel-run", http.MethodPost, "/v1/runs/{id}/cancel", "Cancel a run", "Cancels running calls; the remaining tasks do not start.")
	cancel.DefaultStatus, cancel.Errors = http.StatusAccepted, []int{http.StatusConflict}
	api.Add(t, api.Rule{Scope: api.ScopeWrite}, cancel, r.cancelRun)
	approve := api.Op("Runs", "approve-run", http.MethodPost, "/v1/runs/{id}/approve", "Approve or deny waiting nodes",
		"A node waits because its tool is not annotated as harmless, or because it was running when a process ended.")
	approve.DefaultStatus, approve.Errors = http.StatusAccepted, []int{http.StatusConflict}
	api.Add(t, api.Rule{Scope: api.ScopeAdmin}, approve, r.approveRun)

	api.Stream(t, api.Rule{Scope: api.ScopeRead}, api.Op("Runs", "watch-run", http.MethodGet, "/v1/runs/{id}/events", "Progress of a run", "Server-sent events: progress until the run ends, then one end. Results are in the run itself."), map[string]any{"progress": runEvent{}, "end": runEnd{}},
		func(ctx context.Context, id string) error {
			_, err := r.Status(ctx, api.From(ctx).Workspace, id)
			return err
		}, r.watchRun)
}

func (r *Runs) startRun(ctx context.Context, in *api.RawInput) (*runStarted, error) {
	data, err := api.JsonBody(in.Request)
	if err != nil {
		return nil, err
	}
	body, err := api.Decode[runBody](data)
	if err != nil {
		return nil, err
	}
	if len(body.Approve) > 0 && !api.From(ctx).May(api.ScopeAdmin) {
		return nil, api.Problem(http.StatusForbidden, "approve needs the scope admin")
	}
	answer, err := r.start(ctx, body)
	status := http.StatusAccepted
	if body.DryRun {
		status = http.StatusOK
	}
	return &runStarted{status, answer}, err
}

func (r *Runs) start(ctx context.Context, body runBody) (Answer, error) {
	if body.Capability != "" && body.DAG == nil {
		body.DAG = &DAG{}
	}
	q, err := body.ToRun()
	if err != nil {
		return Answer{}, err
	}
	q.Capability = body.Capability
	return r.Begin(ctx, api.From(ctx), body.ID, q, body.DryRun)
}

// runAndWait begins a run, or selects the one with the given id, and waits until it ends or needs a person. A cancelled
// call cancels the run that it began.
func (r *Runs) runAndWait(ctx context.Context, in *struct{ Body runBody }) (answer Answer, err error) {
	a, body := api.From(ctx), in.Body
	if len(body.Approve) > 0 {
		return answer, api.WrongField("approve", "is for a person to say; see the answer of a run that waits")
	}
	begins := body.ID == "" || body.DAG != nil || body.Capability != ""
	if begins {
		answer, err = r.start(ctx, body)
	} else {
		answer.Status, err = r.ofAccess(ctx, a, body.ID)
	}
	if err != nil || answer.State == Planned {
		return answer, err
	}
	for s := range r.Watch(ctx, a.Workspace, answer.ID) {
		if report(ctx, s); s.State == run.Paused {
			break
		}
	}
	if ctx.Err() != nil {
		if begins {
			_, _ = r.Cancel(context.WithoutCancel(ctx), a.Workspace, answer.ID) // an error means that the run has ended
		}
		return answer, ctx.Err()
	}
	answer.Status, err = r.Status(ctx, a.Workspace, answer.ID)
	return answer, err
}

// ofAccess returns the status of a run if the caller's tool set contains all its tools.
func (r *Runs) ofAccess(ctx context.Context, a api.Access, id string) (run.Status, error) {
	s, err := r.Status(ctx, a.Workspace, id)
	if err != nil || a.Tools == nil {
		return s, err
	}
	engine, err := r.cfg.Workspaces.Get(ctx, a.Workspace)
	for _, n := range s.Nodes {
		if err == nil {
			_, err = api.Resolve(a, engine.Model(), n.Tool)
		}
	}
	return s, err
}

// report sends the progress of a run, in nodes, to a client that requested it.
func report(ctx context.Context, s run.Status) {
	settled, now := 0, []string{}
	for _, n := range s.Nodes {
		switch n.State {
		case run.NodeRunning:
			now = append(now, catalog.ShownID(n.Tool))
		case run.NodeDone, run.NodeFailed, run.NodeSkipped:
			settled++
		}
	}
	api.ExchangeFrom(ctx).Report(float64(settled), float64(len(s.Nodes)), cmp.Or(strings.Join(now, ", "), string(s.State)))
}

func runText(a Answer) string {
	switch a.State {
	case Planned:
		waits := 0
		for _, n := range a.Plan.Nodes {
			if n.Approval != "" {
				waits++
			}
		}
		return fmt.Sprintf("Nothing was run. The plan is sound: %s in %s, %d of them would wait for approval.", catalog.Plural(len(a.Plan.Nodes), "task"), catalog.Plural(len(a.Plan.Layers), "step"), waits)
	case run.Paused:
		if len(a.Waiting) == 0 {
			return fmt.Sprintf("Run %s stands still: %s.", a.ID, strings.Join(a.Warnings, "; "))
		}
		return fmt.Sprintf("Run %s waits for a person to approve %s. Ask the user to run: waymark runs approve %s. Then call run_dag with id %q.", a.ID, api.ShownIDs(a.Waiting), a.ID, a.ID)
	case run.Done:
		own := []string{}
		for _, n := range a.Nodes {
			if n.Kind == run.KindHost {
				own = append(own, n.ID)
			}
		}
		message := fmt.Sprintf("Done: %s done, %d failed, %d skipped.", catalog.Plural(a.Done, "task"), a.Failed, a.Skipped)
		if len(own) > 0 {
			message += " Tools of the host, to be called by you: " + api.ShownIDs(own) + "."
		}
		return message
	case run.Failed:
		return fmt.Sprintf("Failed: %s done, %d failed, %d skipped. First: %s", catalog.Plural(a.Done, "task"), a.Failed, a.Skipped, api.ShownText(a.Error))
	}
	return fmt.Sprintf("Run %s is %s.", a.ID, a.State)
}

func (r *Runs) listRuns(ctx context.Context, q *runListQuery) (page runPage, err error) {
	workspace := api.From(ctx).Workspace
	j := r.journal(workspace)
	open, err := j.Open(ctx) // first: a run that is missing here has ended, or begins before its head is read
	if err != nil {
		return page, err
	}
	all, err := j.Heads(ctx)
	if err != nil {
		return page, err
	}
	slices.Reverse(all)
	for i, h := range all {
		if g := r.find(workspace, h.ID); g != nil {
			all[i] = headOf(g.Status(), h.Source)
		} else if owner := open[h.ID]; owner.Server != "" {
			carried, err := r.carried(ctx, workspace, h.ID, owner)
			if err != nil {
				return page, err
			}
			if all[i].State = run.Running; !carried {
				all[i].State = run.Paused
			}
		}
	}
	page.Runs, page.NextCursor, err = api.Page(slices.Values(all), q.PageQuery, false, func(h RunHead) string { return h.ID },
		func(h RunHead) bool { return q.State == "" || string(h.State) == q.State })
	return page, err
}

func (r *Runs) getRun(ctx context.Context, q *api.ByID) (run.Status, error) {
	return r.Status(ctx, api.From(ctx).Workspace, q.ID)
}

func (r *Runs) cancelRun(ctx context.Context, q *api.ByID) (run.Status, error) {
	return r.Cancel(ctx, api.From(ctx).Workspace, q.ID)
}

func (r *Runs) approveRun(ctx context.Context, q *runDecision) (run.Status, error) {
	var nodes []string
	deny := false
	if q.Body != nil {
		nodes, deny = q.Body.Nodes, q.Body.Deny
	}
	return r.Approve(ctx, api.From(ctx).Workspace, q.ID, nodes, !deny)
}

func (r *Runs) watchRun(ctx context.Context, q *api.ByID, send sse.Sender) {
	workspace := api.From(ctx).Workspace
	updates := func(ctx context.Context) iter.Seq[run.Status] { return r.Watch(ctx, workspace, q.ID) }
	api.Relay(ctx, r.cfg.Draining, updates, func(status run.Status) (any, bool) {
		left := !r.cfg.Store.Shared() && slices.Contains(status.Warnings, notCarried) // no server takes it over
		if left || status.State.Over() {
			return runEnd(status), true
		}
		return runEvent(status), false
	}, send)
}
