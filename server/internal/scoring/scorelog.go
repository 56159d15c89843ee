package scoring

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"waymark/live"
	"waymark/server/internal/api"
	"waymark/storage"
)

type (
	scoreLogQuery struct {
		Scorer string `query:"scorer" doc:"Only runs of this one, as in scorer:hypothesis."`
		Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
		Cursor string `query:"cursor" maxLength:"1024" doc:"next_cursor of the page before."`
	}
	scoreLogPage struct {
		Scores     []ScoreLog `json:"scores" doc:"The oldest first."`
		NextCursor string     `json:"next_cursor,omitempty"`
	}
)

func (c *Service) scoreLogRoutes(r *api.Table) {
	api.Add(r, api.Rule{Scope: api.ScopeRead}, huma.Operation{OperationID: "list-scores", Method: http.MethodGet, Path: "/v1/scores", Tags: []string{"Scorers"},
		Summary: "The log of scores", Description: "What scorers gave in this workspace, run by run: names, numbers and the reasons of a judge, not what was scored."}, c.listScores)
}

func (c *Service) listScores(ctx context.Context, q *scoreLogQuery) (page scoreLogPage, err error) {
	table := c.Store.Table(api.From(ctx).Workspace)
	page.Scores, page.NextCursor, err = scoreLog{table}.list(ctx, q.Scorer, q.Cursor, q.Limit)
	return page, err
}

// Forget deletes the logged runs and the triangulations that a selection means, whose episodes are about to be erased, and all kept
// replies of judges, of which it is not known what they were about.
func (c *Service) Forget(ctx context.Context, sel live.Selection) error {
	table := c.Store.Table(api.From(ctx).Workspace)
	if err := (scoreLog{table}).forget(ctx, sel.Source, sel.Episode, sel.Before); err != nil {
		return err
	}
	if err := forgetTriangulations(ctx, table, sel.Source, sel.Before); err != nil {
		return err
	}
	return deleteRows(ctx, table, replyRow, func(storage.Row) (bool, error) { return true, nil })
}
