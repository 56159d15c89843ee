// Package runs carries out DAGs and stored capabilities for HTTP and MCP: it checks a request, journals the run,
// resumes it after a restart and records its result for the model.
package runs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/gateway"
	"waymark/internal/bounded"
	"waymark/live"
	"waymark/run"
	"waymark/score"
	"waymark/server/internal/api"
	"waymark/server/internal/scoring"
	"waymark/storage"
	"waymark/suggest"
)

// Config configures the runs of a server.
type Config struct {
	*scoring.Service                  // the scorers, and the store and servers that runs share with them
	Gateway          *gateway.Gateway // of the upstream servers; may be nil
	Clients          func(api.Access) []api.Client
	Draining         <-chan struct{} // closed when shutdown begins
	Grace            time.Duration   // for calls in progress when the server ends
}

// Runs carries out DAGs and capabilities:
//
//	request ─▶ check against the catalog ─▶ journal ─▶ run.Run ─▶ scorers, in this process
//	                                                          └─▶ Config.Caller: servers
//
// A run belongs to a workspace and continues after the request that began it has ended.
type Runs struct {
	cfg    Config
	ctx    context.Context // of all runs; ends with the server
	stop   context.CancelFunc
	server string // name of this server among those that share the store

	mu     sync.Mutex
	active map[string]*going // by workspace and id
	joined bool              // the lease of this server is held
	ended  int
	all    sync.WaitGroup
}

// New returns the runs of a server; none is in progress yet.
func New(cfg Config) *Runs {
	ctx, stop := context.WithCancel(context.Background())
	return &Runs{cfg: cfg, ctx: ctx, stop: stop, server: rand.Text(), active: map[string]*going{}}
}

// Request requests a run. It accepts the fields of a DAG answer, so that an answer can be sent unchanged, and refuses
// all others. Of the fields of an answer, only dag has an effect.
type Request struct {
	DAG     *DAG                       `json:"dag,omitempty" doc:"The tasks, as returned by suggest_dag."`
	Intent  string                     `json:"intent,omitempty" doc:"Purpose of the run; default: the intent of the dag."`
	Params  map[string]json.RawMessage `json:"params,omitempty" doc:"Values of the references params.NAME."`
	Values  map[string]json.RawMessage `json:"values,omitempty" doc:"Values of arguments by task id, as in {t1: {path: ...}}; they replace those of the dag."`
	DryRun  bool                       `json:"dry_run,omitempty" doc:"Check the dag and return the plan without running it."`
	Approve []string                   `mcp:"-" json:"approve,omitempty" doc:"Reserved for people: refused here."`

	SuggestionID  string                `json:"suggestion_id,omitempty" doc:"The suggestion_id of the answer that contained this dag."`
	Message       string                `mcp:"-" json:"message,omitempty" doc:"Part of a suggest_dag answer, ignored; so are all fields that follow."`
	Confidence    float64               `mcp:"-" json:"confidence,omitempty"`
	Complete      float64               `mcp:"-" json:"complete,omitempty"`
	ConfidenceLow float64               `mcp:"-" json:"confidence_low,omitempty"`
	Mode          suggest.Mode          `mcp:"-" json:"mode,omitempty"`
	Paths         []suggest.Path        `mcp:"-" json:"paths,omitempty"`
	Alternatives  []suggest.Alternative `mcp:"-" json:"alternatives,omitempty"`
	Terms         []suggest.Term        `mcp:"-" json:"terms,omitempty"`
	Rationale     string                `mcp:"-" json:"rationale,omitempty"`
	Waiting       string                `mcp:"-" json:"waiting,omitempty"`
	Warnings      []string              `mcp:"-" json:"warnings,omitempty"`
	Model         suggest.ModelInfo     `mcp:"-" json:"model,omitzero"`
	UnknownIDs    []suggest.UnknownID   `mcp:"-" json:"unknown_ids,omitempty"`
}

// DAG contains the tasks of a request.
type DAG struct {
	Intent string                     `json:"intent,omitempty"`
	Params map[string]json.RawMessage `json:"params,omitempty"`
	Tasks  []Task                     `json:"tasks"`
	Output json.RawMessage            `json:"output,omitempty" doc:"The result of the run, written like an argument of a task; default: the results of the last tasks."`
}

// Task is a task of a capability or of a suggested DAG.
type Task struct {
	ID        string                     `json:"id"`
	Tool      string                     `json:"tool" doc:"Id of a tool or of a stored capability."`
	DependsOn []string                   `json:"depends_on,omitempty"`
	Arguments map[string]json.RawMessage `json:"arguments,omitempty" doc:"Values, or {$from: reference}, or {$expr: expression}."`
	When      string                     `json:"when,omitempty" doc:"An expression; the task is skipped unless it is true."`
	OnError   string                     `json:"on_error,omitempty" doc:"Continue: tasks that depend on this one run although it failed."`
	TimeoutMS int64                      `json:"timeout_ms,omitempty"`

	Kind          catalog.Kind    `mcp:"-" json:"kind,omitempty" doc:"Part of a suggest_dag answer, ignored; so are all fields that follow."`
	Host          bool            `mcp:"-" json:"host,omitempty"`
	Slot          string          `mcp:"-" json:"slot,omitempty"`
	Confidence    float64         `mcp:"-" json:"confidence,omitempty"`
	ConfidenceLow float64         `mcp:"-" json:"confidence_low,omitempty"`
	Formula       string          `mcp:"-" json:"formula,omitempty"`
	Reason        string          `mcp:"-" json:"reason,omitempty"`
	Terms         []suggest.Term  `mcp:"-" json:"terms,omitempty"`
	Wired         []suggest.Wired `mcp:"-" json:"wired,omitempty"`
	Missing       []string        `mcp:"-" json:"missing,omitempty"`
}

// ToRun converts the request to a request of package run.
func (q Request) ToRun() (run.Request, error) {
	if q.DAG == nil {
		return run.Request{}, api.WrongField("dag", "is required")
	}
	r := run.Request{Approve: q.Approve, DAG: run.DAG{Intent: q.DAG.Intent, Output: q.DAG.Output}}
	if q.Intent != "" {
		r.DAG.Intent = q.Intent
	}
	params := q.DAG.Params
	if q.Params != nil {
		params = q.Params
	}
	if params != nil {
		var err error
		if r.DAG.Params, err = json.Marshal(params); err != nil {
			return r, err
		}
	}
	for _, t := range q.DAG.Tasks {
		r.DAG.Tasks = append(r.DAG.Tasks, catalog.Task{ID: t.ID, Tool: t.Tool, DependsOn: t.DependsOn, Arguments: t.Arguments, When: t.When, OnError: t.OnError, TimeoutMS: t.TimeoutMS})
	}
	return r, r.Set(q.Values)
}

// Planned is the state of a run that was only checked.
const Planned run.State = "planned"

// Answer is the status of a run, or the plan of a run that was only checked.
type Answer struct {
	run.Status
	Plan *run.Plan `json:"plan,omitempty"`
}

// CallerOf returns the caller of the tools of a workspace's servers; nil if there are none.
func (r *Runs) CallerOf(workspace string) run.Caller {
	if workspace != r.cfg.Workspace {
		return nil
	}
	return r.cfg.Caller
}

// rules returns the rules of a workspace: what its runs can call, and which calls need approval first. For a tool of an
// upstream server the definition of the gateway takes precedence over the catalog, which others may have written.
func (r *Runs) rules(workspace string, engine *live.Engine) run.Rules {
	c, host := runCatalog{engine: engine}, engine.Model().Host
	g := r.cfg.Gateway
	if g == nil || workspace != r.cfg.Workspace {
		return run.Rules{Catalog: c, Host: host}
	}
	c.upstream = g.Tools()
	return run.Rules{Catalog: c, Host: host, Asks: func(t catalog.Tool) string {
		switch {
		case scoring.IsScorer(t.ID):
			return ""
		case !slices.ContainsFunc(c.upstream, func(u catalog.Tool) bool { return u.ID == t.ID }):
			return "its server is not connected and cannot say whether it is harmless"
		case g.NeedsGrant(t.ID):
			return cmp.Or(run.ApprovalReason(t), "it is not granted")
		}
		return ""
	}}
}

// Begin checks a request and begins its run, or only returns the plan if dry is set. An id given by the caller makes a
// repetition safe: the answer is then the run that has the id.
func (r *Runs) Begin(ctx context.Context, a api.Access, id string, q run.Request, dry bool) (Answer, error) {
	engine, err := r.cfg.Workspaces.Get(ctx, a.Workspace)
	if err != nil {
		return Answer{}, err
	}
	for _, t := range q.DAG.Tasks { // before errors of the check describe the tools
		if _, err := api.Resolve(a, engine.Model(), t.Tool); a.Tools != nil && err != nil {
			return Answer{}, err
		}
	}
	if c := (runCatalog{engine: engine}); q.Capability != "" { // the run stores this id
		if _, ok := c.Capability(q.Capability); !ok {
			if capability, err := c.Resolve(q.Capability); err == nil {
				q.Capability = capability
			}
		}
	}
	if known, err := r.known(ctx, a.Workspace, id, q); err != nil {
		return Answer{}, err
	} else if known && !dry {
		s, err := r.Status(ctx, a.Workspace, id)
		return Answer{Status: s}, err
	}
	p, err := run.Check(q, r.rules(a.Workspace, engine))
	if err != nil {
		return Answer{}, err
	}
	if a.Tools != nil && p.Calls(a.Tools.Has) {
		return Answer{}, api.Problem(http.StatusForbidden, a.Tools.Refusal("a tool of a capability of the DAG").Error())
	}
	if dry {
		return Answer{plannedStatus(q, p), p}, nil
	}
	if r.CallerOf(a.Workspace) == nil && p.Calls(scoring.IsScorer) {
		return Answer{}, ErrNoServers
	}
	s, err := r.carryOut(ctx, a, func(ctx context.Context, o run.Options) (*run.Run, error) {
		if err := r.mayBegin(ctx, a); err != nil {
			return nil, err
		}
		return run.Start(ctx, cmp.Or(id, r.newID()), p, o)
	})
	if errors.Is(err, storage.ErrConflict) {
		err = api.Problem(http.StatusConflict, fmt.Sprintf("run %q is being begun: ask again", id))
	}
	return Answer{Status: s}, err
}

// MostRuns limits the runs that are in progress or wait, in a workspace and on a server. Runs in progress hold their
// results in memory; runs that wait are only rows.
const MostRuns = 200

// ErrManyRuns refuses a run while MostRuns runs are in progress or wait.
var ErrManyRuns = api.Problem(http.StatusServiceUnavailable, fmt.Sprintf("%d runs go on or wait already: approve or cancel some", MostRuns))

// mayBegin checks MostRuns, and the caller's part of it among the callers that began the open runs.
func (r *Runs) mayBegin(ctx context.Context, a api.Access) error {
	open, err := r.journal(a.Workspace).Open(ctx)
	if err != nil {
		return err
	}
	if len(r.active) >= MostRuns || len(open) >= MostRuns {
		return ErrManyRuns
	}
	share := api.NewShare("runs", MostRuns)
	for _, o := range open {
		_, _ = share.Take(1, r.cfg.Clients(api.Access{Source: o.Source, Operator: o.Operator, Peer: o.Peer}))
	}
	_, err = share.Take(1, r.cfg.Clients(a))
	return err
}

// ErrNoServers refuses a run that calls tools although no servers are connected.
var ErrNoServers = api.Problem(http.StatusServiceUnavailable, "no servers are connected: a run can call scorers and scripts alone; run waymark serve --connect, after waymark gateway add FILE where none are defined")

// runID matches the ids that callers may give.
var runID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

// known reports whether a run with an id exists. A run that was begun by another request is a conflict.
func (r *Runs) known(ctx context.Context, workspace, id string, q run.Request) (bool, error) {
	if id == "" {
		return false, nil
	}
	if !runID.MatchString(id) {
		return false, api.WrongField("id", "must be 1 to 128 letters, digits, dots, colons, dashes and underscores, a letter or digit first")
	}
	was, err := r.journal(workspace).Record(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	before, failed := json.Marshal(was.Request)
	now, wrong := json.Marshal(q)
	if err = errors.Join(err, failed, wrong); err == nil && !bytes.Equal(before, now) {
		err = api.Problem(http.StatusConflict, fmt.Sprintf("run %q was begun by another request", id))
	}
	return true, err
}

// newID returns an id that sorts by creation time.
func (r *Runs) newID() string {
	return fmt.Sprintf("run-%012x-%s", r.cfg.Now().UnixMilli(), strings.ToLower(rand.Text()[:8]))
}

func plannedStatus(q run.Request, p *run.Plan) run.Status {
	s := run.Status{Capability: p.Capability, Intent: q.DAG.Intent, State: Planned, Waiting: []string{}, Warnings: p.Warnings}
	for _, n := range p.Nodes {
		s.Nodes = append(s.Nodes, run.Node{NodeInfo: n.NodeInfo, State: run.NodeWaiting, Reason: n.Approval})
	}
	return s
}

func (r *Runs) journal(workspace string) Journal {
	return Journal{Table: r.cfg.Store.Table(workspace), By: Owner{Server: r.server}}
}

// carryOut begins or resumes a run, which is active until it has ended or waits for a person. begin is called with r.mu held.
func (r *Runs) carryOut(ctx context.Context, a api.Access, begin func(context.Context, run.Options) (*run.Run, error)) (run.Status, error) {
	j := r.journal(a.Workspace)
	j.By.Source, j.By.Operator, j.By.Peer = a.Source, a.Operator, a.Peer
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return run.Status{}, live.ErrClosed
	}
	if err := r.join(ctx); err != nil {
		return run.Status{}, err
	}
	own, leave := context.WithCancel(api.With(r.ctx, a))
	one, err := begin(own, run.Options{
		Caller: runCaller{r.cfg.Service, a, r.CallerOf(a.Workspace)}, Journal: j, Now: r.cfg.Now, Grace: r.cfg.Grace, By: a.Source, Shown: r.cfg.Workspaces.Shown,
		Over: func(s run.Status, p *run.Plan) { r.over(a, j, s, p) },
	})
	if err != nil {
		leave()
		return run.Status{}, err
	}
	key := a.Workspace + "\n" + one.ID()
	g := &going{Run: one, workspace: a.Workspace, leave: leave, gone: make(chan struct{})}
	r.active[key] = g
	r.all.Go(func() {
		<-g.Over()
		leave()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.active, key)
		close(g.gone)
	})
	return one.Status(), nil
}

// over records the result of a run that has ended, and prunes the journal after every 32 runs.
func (r *Runs) over(a api.Access, j Journal, s run.Status, p *run.Plan) {
	ctx := context.WithoutCancel(r.ctx)
	if _, err := j.Owner(ctx, s.ID); !errors.Is(err, storage.ErrNotFound) {
		r.cfg.Logger.Warn("a run is left as it stands", "run", s.ID, "error", s.Error)
		return // the server that continues it records its end
	}
	if err := errors.Join(r.learn(ctx, a, s, p), r.outcome(ctx, a, s, p)); err != nil {
		r.cfg.Logger.Warn("a run could not be recorded", "run", s.ID, "error", err)
	}
	r.mu.Lock()
	r.ended++
	due := r.ended%32 == 0
	r.mu.Unlock()
	if due {
		if err := j.Prune(ctx); err != nil {
			r.cfg.Logger.Warn("old runs could not be erased", "error", err)
		}
	}
}

// outcome records the outcome of the episode that the tool calls of a run form. A run that was cancelled, or that found
// a server unavailable, has no outcome, because it gives no evidence about the work.
func (r *Runs) outcome(ctx context.Context, a api.Access, s run.Status, p *run.Plan) error {
	recorder, ok := r.CallerOf(a.Workspace).(interface {
		Ended(ctx context.Context, source, session string, o episodic.Outcome) error
	})
	switch {
	case ok && s.State == run.Done:
		return recorder.Ended(ctx, a.Source, s.ID, episodic.Success)
	case ok && p.Failure(s).Held():
		return recorder.Ended(ctx, a.Source, s.ID, episodic.Failure)
	}
	return nil
}

// Close stops the runs and waits for them; the next start or another server resumes them.
func (r *Runs) Close() {
	r.mu.Lock()
	r.stop()
	r.mu.Unlock()
	r.all.Wait()
	if !r.joined {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewEvery)
	defer cancel()
	if err := r.cfg.Store.System().Release(ctx, lease(r.server)); err != nil {
		r.cfg.Logger.Warn("other servers go on with the runs of this one when its lease has ended", "error", err)
	}
}

func (r *Runs) find(workspace, id string) *going {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active[workspace+"\n"+id]
}

// here returns the runs that this server carries out.
func (r *Runs) here() []*going {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.active))
}

// Start resumes, in the background, the runs that no server carries out: once, and periodically if other servers share
// the store, because these may end.
func (r *Runs) Start(ctx context.Context) {
	r.all.Go(func() {
		for r.Resume(ctx); r.cfg.Store.Shared() && bounded.Wait(ctx, renewEvery) && r.ctx.Err() == nil; r.Resume(ctx) {
		}
	})
}

// Resume continues the runs that no server carries out. A run that cannot continue stays unchanged.
func (r *Runs) Resume(ctx context.Context) {
	names, err := r.cfg.Workspaces.List(ctx)
	for _, workspace := range names {
		open, failed := r.journal(workspace).Open(ctx)
		err = errors.Join(err, failed)
		for id, owner := range open {
			carried, failed := r.carried(ctx, workspace, id, owner)
			if failed == nil && !carried && owner.Server != "" { // without a server it waits for a person
				_, failed = r.resume(ctx, workspace, id, owner, nil)
			}
			if failed != nil && !errors.Is(failed, storage.ErrConflict) { // a conflict: another server was first
				err = errors.Join(err, fmt.Errorf("run %s of workspace %s: %w", id, workspace, failed))
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		r.cfg.Logger.Error("runs could not be resumed", "error", err)
	}
}

// resume continues a run; first decides about the run before anything else happens.
func (r *Runs) resume(ctx context.Context, workspace, id string, owner Owner, first func(*run.Run)) (s run.Status, err error) {
	j := r.journal(workspace)
	past, err := j.Past(ctx, id)
	if err != nil {
		return s, err
	}
	engine, err := r.cfg.Workspaces.Get(ctx, workspace)
	if err != nil {
		return s, err
	}
	p, err := run.Check(past.Request, past.Rules(r.rules(workspace, engine)))
	if err == nil && r.CallerOf(workspace) == nil && p.Calls(scoring.IsScorer) {
		err = ErrNoServers
	}
	if err != nil {
		return s, err
	}
	a := api.Access{Workspace: workspace, Scopes: api.AllScopes, Source: past.By}
	return r.carryOut(ctx, a, func(own context.Context, o run.Options) (*run.Run, error) {
		owner.Server = r.server // last: a server that fails earlier leaves the run to others; what was read holds
		if err := j.SetOwner(ctx, id, owner); err != nil {
			return nil, err
		}
		r.cfg.Logger.Info("run is resumed", "workspace", workspace, "run", id)
		return run.Resume(own, past, p, o, first), nil
	})
}

// runCatalog contains what the runs of a workspace can call: tools, stored capabilities, and scorers, which are called
// like read-only tools.
type runCatalog struct {
	engine   *live.Engine
	upstream []catalog.Tool // of connected servers, as the gateway calls them
}

// Tool returns a tool that can be called.
func (c runCatalog) Tool(id string) (catalog.Tool, bool) {
	if s, ok := scorer(id); ok && scoring.IsScorer(id) {
		yes := true
		return catalog.Tool{ID: id, Name: s.Name, InputSchema: s.InputSchema, OutputSchema: s.OutputSchema, Annotations: &catalog.Annotations{ReadOnly: &yes, Idempotent: &yes}}, true
	}
	if i := slices.IndexFunc(c.upstream, func(t catalog.Tool) bool { return t.ID == id }); i >= 0 {
		return c.upstream[i], true
	}
	return c.engine.Model().Tool(id)
}

// Capability returns a stored capability or a scorer.
func (c runCatalog) Capability(id string) (catalog.Capability, bool) {
	if def, ok := c.engine.Model().Capability(id); ok {
		return def, true
	}
	return scorer(id)
}

var scorers = sync.OnceValue(score.Capabilities)

func scorer(id string) (catalog.Capability, bool) {
	if i := slices.IndexFunc(scorers(), func(s catalog.Capability) bool { return s.ID == id }); i >= 0 {
		return scorers()[i], true
	}
	return catalog.Capability{}, false
}

// Resolve returns the id that another spelling means.
func (c runCatalog) Resolve(spelling string) (string, error) {
	return c.engine.Model().Resolve(spelling)
}

// runCaller calls scorers itself, and all other tools through the servers.
type runCaller struct {
	scoring *scoring.Service
	access  api.Access
	servers run.Caller // nil: there are none
}

func (c runCaller) Call(ctx context.Context, call run.Call) (run.Result, error) {
	scorer, err := scoring.Named(call.Tool)
	switch {
	case err != nil && c.servers == nil:
		return run.Result{Failure: run.FailedUnavailable, Message: ErrNoServers.Error()}, nil
	case err != nil:
		return c.servers.Call(ctx, call)
	}
	service := *c.scoring
	service.Caller = nil // a run calls tools itself, with its approvals
	out, err := service.Run(ctx, c.access, scorer, nil, call.Arguments)
	var argument *api.BodyError
	var request *score.RequestError
	switch {
	case errors.As(err, &argument), errors.As(err, &request), errors.Is(err, score.ErrNoJudge):
		return run.Result{Failure: run.FailedArgument, Message: err.Error()}, nil
	case errors.Is(err, score.ErrJudge):
		return run.Result{Failure: run.FailedUnavailable, Message: err.Error()}, nil
	case err != nil:
		return run.Result{}, err
	}
	structured, err := api.Encode(out)
	return run.Result{Structured: structured}, err
}

// GoesOn reports whether this server carries out a run.
func (r *Runs) GoesOn(workspace, id string) bool { return r.find(workspace, id) != nil }
