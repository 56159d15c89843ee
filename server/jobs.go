package server

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/sse"

	"waymark/live"
	"waymark/server/internal/api"
	"waymark/suggest"
)

type rebuildInput struct{ Body *rebuildBody }

type rebuildBody struct {
	Verify bool `json:"verify,omitempty" doc:"Replay the whole log and compare with the running model, byte for byte, instead of replacing it."`
	Force  bool `json:"force,omitempty" doc:"Publish the model without evaluation, or although it was refused."`
	DryRun bool `json:"dry_run,omitempty" mcp:"-" doc:"Only evaluate: the job ends as done or refused, like a rebuild, and writes nothing."`
}

// Arguments returns the body, into which the arguments of the tool rebuild are decoded.
func (in *rebuildInput) Arguments() any {
	in.Body = new(rebuildBody)
	return in.Body
}

type (
	jobListQuery struct {
		api.PageQuery
		State live.JobState `query:"state" enum:"running,done,failed,canceled,refused" doc:"Only jobs in this state."`
	}
	jobPage struct {
		Jobs       []live.Job `json:"jobs" doc:"Newest first."`
		NextCursor string     `json:"next_cursor,omitempty"`
	}
)

// jobEvent is the progress of a job, as an event of a stream.
type jobEvent live.Job

func (s *Server) jobRoutes(r *api.Table) {
	read, admin := api.Rule{Scope: api.ScopeRead}, api.Rule{Scope: api.ScopeAdmin}
	api.AddForWorkspace(r, admin, huma.Operation{OperationID: "rebuild", Method: http.MethodPost, Path: "/v1/rebuild",
		Tags: []string{"Model"}, Summary: "Rebuild the model from the log", DefaultStatus: http.StatusAccepted,
		Description: "Starts a job; one that runs already is answered instead of a second. Held-out tasks are asked first: a model that " +
			"would lose more than noise against the active one is not published, and the job ends as refused."}, rebuild)
	r.Tools = append(r.Tools, api.NewTool(api.Tool{Rule: api.Rule{Scope: api.ScopeAdmin, Timeout: rebuildTimeout}, Name: "rebuild", Title: "Rebuild the model",
		Description: "Replay the whole history into a fresh model and wait for it. With verify, compare it with the running one instead of replacing it."},
		api.ForWorkspace(r, admin, s.rebuildAndWait), func(_ *rebuildInput, job live.Job) string { return job.String() }))
	api.AddForWorkspace(r, read, huma.Operation{OperationID: "list-jobs", Method: http.MethodGet, Path: "/v1/jobs",
		Tags: []string{"Model"}, Summary: "List jobs",
		Description: "Work on the model of the workspace since the process started: those that run and, of all, the last 100; builds and " +
			"judgements that start by themselves too. reason is why each started."}, listJobs)
	api.AddForWorkspace(r, read, huma.Operation{OperationID: "get-job", Method: http.MethodGet, Path: "/v1/jobs/{id}",
		Tags: []string{"Model"}, Summary: "A job"}, getJob)
	api.AddForWorkspace(r, admin, huma.Operation{OperationID: "cancel-job", Method: http.MethodDelete, Path: "/v1/jobs/{id}",
		Tags: []string{"Model"}, Summary: "Cancel a job", DefaultStatus: http.StatusAccepted,
		Description: "It ends soon, and the model stays as it is. A job that has ended is left as it ended."}, cancelJob)
	api.Stream(r, read, huma.Operation{OperationID: "watch-job", Method: http.MethodGet, Path: "/v1/jobs/{id}/events",
		Tags: []string{"Model"}, Summary: "Progress of a job", Description: "Server-sent events: progress until the job ends, then one end."},
		map[string]any{"progress": jobEvent{}, "end": live.Job{}},
		func(ctx context.Context, id string) error {
			_, err := api.ForWorkspace(r, read, getJob)(ctx, &api.ByID{ID: id})
			return err
		}, s.watchJob)
}

func rebuild(_ context.Context, e *live.Engine, in *rebuildInput) (job live.Job, err error) {
	switch b := in.Body; {
	case b == nil:
		job, err = e.Rebuild(false, false)
	case b.DryRun && (b.Verify || b.Force):
		err = &suggest.RequestError{Kind: suggest.Invalid, Field: "dry_run", Detail: "goes with neither verify nor force"}
	case b.DryRun:
		job, err = e.JudgeRebuild()
	default:
		job, err = e.Rebuild(b.Verify, b.Force)
	}
	return job, err
}

// rebuildTimeout limits how long rebuild waits: replaying a long history takes minutes.
const rebuildTimeout = time.Hour

// rebuildAndWait starts a job, or joins the one that is running, and waits for it. A cancelled call cancels the job
// only if the call started it.
func (s *Server) rebuildAndWait(ctx context.Context, e *live.Engine, in *rebuildInput) (job live.Job, err error) {
	before := s.cfg.Now()
	if job, err = rebuild(ctx, e, in); err != nil {
		return job, err
	}
	ours := !job.StartedAt.Before(before)
	for job = range e.WatchJob(ctx, job.ID) {
		api.ExchangeFrom(ctx).Report(job.Progress, 1, job.Phase)
	}
	switch {
	case ctx.Err() != nil:
		if ours {
			e.CancelJob(job.ID)
		}
		return job, ctx.Err()
	case job.State == live.JobFailed:
		return job, fmt.Errorf("rebuild %s: %s", job.ID, job.Error)
	case job.State == live.JobCanceled:
		return job, context.Canceled
	}
	return job, nil
}

func listJobs(_ context.Context, e *live.Engine, q *jobListQuery) (page jobPage, err error) {
	page.Jobs, page.NextCursor, err = api.Page(slices.Values(e.Jobs()), q.PageQuery, false, func(j live.Job) string { return j.ID },
		func(j live.Job) bool { return q.State == "" || j.State == q.State })
	return page, err
}

func getJob(_ context.Context, e *live.Engine, q *api.ByID) (job live.Job, err error) {
	job, ok := e.Job(q.ID)
	if !ok {
		err = api.Problem(http.StatusNotFound, fmt.Sprintf("there is no job %q", q.ID))
	}
	return job, err
}

func cancelJob(ctx context.Context, e *live.Engine, q *api.ByID) (live.Job, error) {
	job, err := getJob(ctx, e, q)
	if err == nil {
		e.CancelJob(job.ID)
	}
	return job, err
}

func (s *Server) watchJob(ctx context.Context, q *api.ByID, send sse.Sender) {
	e, err := s.engine(ctx)
	if err != nil {
		return // it was removed after the check; the stream stays empty
	}
	updates := func(ctx context.Context) iter.Seq[live.Job] { return e.WatchJob(ctx, q.ID) }
	api.Relay(ctx, s.draining, updates, func(job live.Job) (any, bool) {
		if job.State != live.JobRunning {
			return job, true
		}
		return jobEvent(job), false
	}, send)
}
