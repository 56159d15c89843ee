package scoring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"waymark/live"
	"waymark/score"
	"waymark/server/internal/api"
)

// Scores are logged for analysis, such as the tuning of weights, in addition to the episodes of their runs. A row
// contains names, numbers and the reasons of a judge, not the scored content; its key begins with the time.
const loggedEntries = 1000 // of one run

// ScoreLog is the row of one run in the log.
type ScoreLog struct {
	Run     string        `json:"run" doc:"The id of its episode."`
	Time    time.Time     `json:"time"`
	Scorer  string        `json:"scorer"`
	Source  string        `json:"source"`
	Entries []score.Entry `json:"entries"`
	Omitted int           `json:"omitted,omitempty" doc:"Number of entries beyond the first 1000."`
}

type (
	scoreLogQuery struct {
		Scorer string `query:"scorer" doc:"Only runs of this capability or scorer, as in scorer:hypothesis."`
		Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
		Cursor string `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
	}
	scoreLogPage struct {
		Scores     []ScoreLog `json:"scores" doc:"Oldest first."`
		NextCursor string     `json:"next_cursor,omitempty"`
	}
)

func (c *Service) scoreLogRoutes(r *api.Table) {
	api.Add(r, api.Rule{Scope: api.ScopeRead}, api.Op("Scorers", "list-scores", http.MethodGet, "/v1/scores", "The log of scores",
		"What scorers gave in this workspace, run by run: names, numbers and the reasons of a judge, not what was scored."), c.listScores)
}

// scoreLog returns the log of scores of a workspace.
func (c *Service) scoreLog(workspace string) api.Rows[ScoreLog] {
	return api.Rows[ScoreLog]{Table: c.Store.Table(workspace), Prefix: "scores/"}
}

// logScores adds a run to the log if its answer has entries, and only the first loggedEntries of them.
func (c *Service) logScores(ctx context.Context, a api.Access, run, id string, at time.Time, out any) error {
	logged, ok := out.(score.Logged)
	if !ok {
		return nil
	}
	row := ScoreLog{Run: run, Time: at, Scorer: id, Source: a.Source, Entries: logged.Entries()}
	if n := len(row.Entries); n > loggedEntries {
		row.Entries, row.Omitted = row.Entries[:loggedEntries], n-loggedEntries
	}
	return c.scoreLog(a.Workspace).Set(ctx, fmt.Sprintf("%020d/%s", at.UnixNano(), run), row, nil)
}

func (c *Service) listScores(ctx context.Context, q *scoreLogQuery) (page scoreLogPage, err error) {
	var failed error
	rows := func(yield func(api.Row[ScoreLog]) bool) {
		for row, err := range c.scoreLog(api.From(ctx).Workspace).All(ctx) {
			if failed = err; err != nil || !yield(row) {
				return
			}
		}
	}
	lines, next, err := api.Page(rows, api.PageQuery{Cursor: q.Cursor, Limit: q.Limit}, true,
		func(row api.Row[ScoreLog]) string { return row.ID },
		func(row api.Row[ScoreLog]) bool { return q.Scorer == "" || row.Value.Scorer == q.Scorer })
	for _, line := range lines {
		page.Scores = append(page.Scores, line.Value)
	}
	page.NextCursor = next
	return page, cmp.Or(failed, err)
}

// Forget deletes the logged runs and the triangulations that a selection matches; their episodes are erased next. It
// also deletes all stored replies of judges, because it is not known what they are about.
func (c *Service) Forget(ctx context.Context, sel live.Selection) error {
	workspace := api.From(ctx).Workspace
	return errors.Join(
		c.scoreLog(workspace).Forget(ctx, func(row api.Row[ScoreLog]) bool {
			r := row.Value
			return sel.Source != "" && r.Source == sel.Source || sel.Episode != "" && r.Run == sel.Episode ||
				r.Time.Before(sel.Before)
		}),
		// A triangulation matches if the source began it or added to it, or if it was begun before the time.
		c.triangulations(workspace).Forget(ctx, func(row api.Row[kept]) bool {
			k := row.Value
			return slices.Contains(k.Sources, sel.Source) || !k.Time.IsZero() && k.Time.Before(sel.Before)
		}),
		c.replies(workspace).Forget(ctx, func(api.Row[keptReply]) bool { return true }))
}
