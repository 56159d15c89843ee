package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"waymark/live"
	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
	"waymark/storage"
)

// retainEvery is the time between two applications of the retention rules. Each one that forgets costs a rebuild and the
// proposals that wait for a decision.
const retainEvery = 24 * time.Hour

type retentionQuery struct {
	KeepFor      string `query:"keep_for" doc:"Age above which an episode is forgotten, as in 2160h; the rule of the server if absent."`
	KeepEpisodes int    `query:"keep_episodes" minimum:"0" doc:"Number of newest episodes that are kept; the rule of the server if 0."`
}

type retentionBody struct {
	KeepFor      string `json:"keep_for,omitempty" doc:"Age above which an episode is forgotten, as in 2160h; the rule of the server if absent."`
	KeepEpisodes int    `json:"keep_episodes,omitempty" minimum:"0" doc:"Number of newest episodes that are kept; the rule of the server if 0."`
}

type retentionAnswer struct {
	Body struct {
		live.RetentionReport
		Disk *diskForecast `json:"disk,omitempty" doc:"Only for the operator, of a store on a disk."`
	}
}

type retentionDone struct {
	Body struct {
		live.ForgetResult
		Episodes int `json:"episodes" doc:"Episodes that were forgotten."`
	}
}

// diskForecast extends the growth of one workspace, without the rules, to the disk of all.
type diskForecast struct {
	storage.Space
	DaysUntilFull *float64       `json:"days_until_full" doc:"Days until writes are refused at the present rate; null: nothing was recorded in the last 30 days."`
	After         []sizeForecast `json:"after" doc:"Size of the database at the present rate."`
}

type sizeForecast struct {
	Days  int    `json:"days"`
	Bytes uint64 `json:"bytes"`
}

func (s *Server) retentionRoutes(r *route.Table) {
	op := func(id, method, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/v1/retention", Summary: summary, Description: text, Tags: []string{"Administration"}}
	}
	route.Add(r, route.Rule{Scope: request.ScopeAdmin}, op("retention", http.MethodGet, "Show what the retention rules would forget",
		"Size of the log, episodes a day, disk forecast, and the episodes that the rules forget now. Nothing is changed."), s.retention)
	route.Add(r, route.Rule{Scope: request.ScopeAdmin, Audit: true}, op("apply-retention", http.MethodPost, "Apply retention rules",
		"Forgets the episodes that GET shows, as POST /v1/forget does. The server applies its own rules at its start and once a day."), s.postRetention)
}

// keep returns the rules that a request names, or those of the server.
func (s *Server) keep(age string, episodes int) (live.Retention, error) {
	if age == "" && episodes == 0 {
		return s.cfg.Keep, nil
	}
	keep := live.Retention{Episodes: episodes}
	if age != "" {
		d, err := time.ParseDuration(age)
		if err != nil || d <= 0 {
			return keep, problem.New(http.StatusUnprocessableEntity, "keep_for must be a positive duration such as 2160h")
		}
		keep.For = d
	}
	return keep, nil
}

func (s *Server) retention(ctx context.Context, q *retentionQuery) (*retentionAnswer, error) {
	keep, err := s.keep(q.KeepFor, q.KeepEpisodes)
	if err != nil {
		return nil, err
	}
	a := request.From(ctx)
	out := new(retentionAnswer)
	if out.Body.RetentionReport, err = s.cfg.Workspaces.Retention(ctx, a.Workspace, keep); err != nil || !a.Operator {
		return out, err
	}
	space, err := s.cfg.Store.Space()
	if space.Used > 0 {
		out.Body.Disk = forecast(space, out.Body.BytesPerDay)
	}
	return out, err
}

// forecast extends a rate of growth in bytes a day. The reserve grows by half of the database, so writes are refused when
// two thirds of what is free above it are used.
func forecast(s storage.Space, perDay float64) *diskForecast {
	d := &diskForecast{Space: s}
	for _, days := range []int{30, 90, 365} {
		d.After = append(d.After, sizeForecast{days, s.Used + uint64(perDay*float64(days))})
	}
	if perDay > 0 {
		days := max(float64(s.Free)-float64(s.Reserve), 0) / 1.5 / perDay
		d.DaysUntilFull = &days
	}
	return d
}

func (s *Server) postRetention(ctx context.Context, q *question[retentionBody]) (*retentionDone, error) {
	keep, err := s.keep(q.Body.KeepFor, q.Body.KeepEpisodes)
	if err != nil {
		return nil, err
	}
	if keep.None() {
		return nil, problem.New(http.StatusUnprocessableEntity, "name keep_for or keep_episodes: the server has no retention rules")
	}
	out := new(retentionDone)
	out.Body.Episodes, out.Body.ForgetResult, err = s.retain(ctx, request.From(ctx).Workspace, keep)
	return out, err
}

// retain forgets what rules do not keep of a workspace, and the scores and runs that are older than everything kept.
func (s *Server) retain(ctx context.Context, workspace string, keep live.Retention) (int, live.ForgetResult, error) {
	r, done, err := s.cfg.Workspaces.Retain(ctx, workspace, keep, func(due *live.Due) error {
		if due.Before().IsZero() {
			return nil
		}
		return s.forgetBeside(request.With(ctx, request.Access{Workspace: workspace}), live.Selection{Before: due.Before()})
	})
	if err == nil && r.Due.Episodes > 0 {
		err = s.forgetWhispers(workspace, live.Selection{Before: r.Due.Before()})
		for _, t := range []*traffic{&s.metrics.traffic, s.metrics.of(workspace)} {
			t.forgotten.Add(float64(r.Due.Episodes))
		}
	}
	return r.Due.Episodes, done, err
}

// retainBehind applies the rules of the server to all workspaces, now and once a day until ctx ends. The function it
// returns waits for the end, at most as long as work without a request may take at shutdown.
func (s *Server) retainBehind(ctx context.Context) (wait func()) {
	if s.cfg.Keep.None() {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.retainDaily(ctx)
	}()
	return func() {
		select {
		case <-done:
		case <-time.After(s.cfg.Drain / 2):
		}
	}
}

func (s *Server) retainDaily(ctx context.Context) {
	tick := time.NewTicker(retainEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		s.retainAll(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (s *Server) retainAll(ctx context.Context) {
	names, err := s.cfg.Workspaces.List(ctx)
	if err != nil {
		s.cfg.Logger.Error("retention: workspaces could not be listed", "error", err)
	}
	for _, name := range names {
		if !s.cfg.Workspaces.Answers(name) {
			continue
		}
		episodes, done, err := s.retain(ctx, name, s.cfg.Keep)
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.Error("retention rules could not be applied; they are applied again in a day", "workspace", name, "error", err)
		}
		if episodes > 0 {
			s.auditRetention(name, episodes, done, err)
		}
	}
}

// auditRetention appends what the rules forgot to the audit log.
func (s *Server) auditRetention(workspace string, episodes int, done live.ForgetResult, failed error) {
	s.cfg.Logger.Info("retention rules applied", "workspace", workspace, "episodes", episodes, "events", done.Erased)
	if s.cfg.Data == "" {
		return
	}
	asked, err := json.Marshal(map[string]any{"keep_for": s.cfg.Keep.For.String(), "keep_episodes": s.cfg.Keep.Episodes, "episodes": episodes, "events": done.Erased})
	entry := auditEntry{Time: s.cfg.Now().UTC(), Act: "apply-retention", Source: "retention", Workspace: workspace, Asked: asked, Status: http.StatusOK}
	if failed != nil {
		entry.Status = problem.Of(failed).Status
	}
	if err == nil {
		err = s.appendAudit(entry)
	}
	if err != nil {
		s.cfg.Logger.Error("an act could not be written to the audit log", "act", entry.Act, "error", err)
	}
}
