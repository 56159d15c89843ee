package server

import (
	"context"
	"time"

	"waymark/internal/pause"
	"waymark/live"
	"waymark/server/internal/request"
)

// retainEvery is the time between two applications of Config.KeepFor. Each one that forgets costs a rebuild and the
// proposals that wait for a decision.
const retainEvery = 24 * time.Hour

// retain forgets the episodes of a workspace that are older than Config.KeepFor, and the scores and runs that are older than
// everything kept.
func (s *Server) retain(ctx context.Context, workspace string) (int, live.ForgetResult, error) {
	r, done, err := s.cfg.Workspaces.Retain(ctx, workspace, s.cfg.KeepFor, func(due *live.Due) error {
		if due.Before().IsZero() {
			return nil
		}
		return s.forgetBeside(request.With(ctx, request.Access{Workspace: workspace}), live.Selection{Before: due.Before()})
	})
	if err == nil && r.Episodes > 0 {
		err = s.forgetWhispers(workspace, live.Selection{Before: r.Before()})
		s.metrics.forgotten.Add(float64(r.Episodes))
	}
	return r.Episodes, done, err
}

// retainBehind applies Config.KeepFor to all workspaces, now and once a day until ctx ends. The channel that it returns is
// closed then.
func (s *Server) retainBehind(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s.cfg.KeepFor > 0 && ctx.Err() == nil {
			s.retainAll(ctx)
			pause.For(ctx, retainEvery)
		}
	}()
	return done
}

func (s *Server) retainAll(ctx context.Context) {
	names, err := s.cfg.Workspaces.List(ctx)
	if err != nil {
		s.cfg.Logger.Error("retention: workspaces could not be listed", "error", err)
	}
	for _, name := range names {
		episodes, done, err := s.retain(ctx, name)
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.Error("keep-for could not be applied; it is applied again in a day", "workspace", name, "error", err)
		}
		if episodes > 0 {
			s.cfg.Logger.Info("keep-for applied", "workspace", name, "keep_for", s.cfg.KeepFor, "episodes", episodes, "events", done.Erased)
		}
	}
}
