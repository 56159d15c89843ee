package server

import (
	"context"
	"time"

	"waymark/internal/bounded"
	"waymark/live"
	"waymark/server/internal/api"
)

// retainEvery is the interval between two applications of Config.KeepFor. Each one that erases something costs a
// rebuild and discards the proposals that wait for a decision.
const retainEvery = 24 * time.Hour

// retain erases the episodes of a workspace whose last step is older than Config.KeepFor, with the scores and runs of
// that age. It does not load a workspace without such episodes.
func (s *Server) retain(ctx context.Context, workspace string) (episodes int, done live.ForgetResult, err error) {
	sel := live.Selection{Before: s.cfg.Now().Add(-max(s.cfg.KeepFor, live.StillOpen))}
	if episodes, err = s.cfg.Workspaces.Older(ctx, workspace, sel.Before); err != nil || episodes == 0 {
		return 0, done, err
	}
	if done, err = s.erase(api.With(ctx, api.Access{Workspace: workspace}), sel); err == nil {
		s.metrics.forgotten.Add(float64(episodes))
	}
	return episodes, done, err
}

// retainDaily applies Config.KeepFor to all workspaces: now and once a day until ctx ends.
func (s *Server) retainDaily(ctx context.Context) {
	for s.cfg.KeepFor > 0 && ctx.Err() == nil {
		s.retainAll(ctx)
		bounded.Wait(ctx, retainEvery)
	}
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
