package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"waymark/live"
	"waymark/score"
	"waymark/storage"
)

// Scores are logged for analysis, such as the tuning of weights, beside the episodes that their runs are.
// A row holds names, numbers and the reasons of a judge, not what was scored; its key begins with the time.
const (
	scoreRow      = "scores/"
	loggedEntries = 1000 // of one run
)

// scoreLog is one run in the log.
type scoreLog struct {
	Run     string        `json:"run" doc:"The id of its episode."`
	Time    time.Time     `json:"time"`
	Scorer  string        `json:"scorer"`
	Source  string        `json:"source"`
	Entries []score.Entry `json:"entries"`
	Omitted int           `json:"omitted,omitempty" doc:"Entries beyond the first 1000."`
}

// logScores adds a run to the log, if its answer has anything to log.
func (c Config) logScores(ctx context.Context, a access, run, id string, at time.Time, out any) error {
	logged, ok := out.(score.Logged)
	if !ok {
		return nil
	}
	row := scoreLog{Run: run, Time: at, Scorer: id, Source: a.Source, Entries: logged.Entries()}
	if n := len(row.Entries); n > loggedEntries {
		row.Entries, row.Omitted = row.Entries[:loggedEntries], n-loggedEntries
	}
	value, err := json.Marshal(row)
	if err != nil {
		return err
	}
	table, err := c.Store.Table(a.Workspace)
	if err != nil {
		return err
	}
	_, err = table.Put(ctx, fmt.Sprintf("%s%020d/%s", scoreRow, at.UnixNano(), run), value)
	return err
}

type (
	scoreLogQuery struct {
		Scorer string `query:"scorer" doc:"Only runs of this one, as in scorer:hypothesis."`
		Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
		Cursor string `query:"cursor" maxLength:"1024" doc:"next_cursor of the page before."`
	}
	scoreLogPage struct {
		Link string `header:"Link"`
		Body struct {
			Scores     []scoreLog `json:"scores" doc:"The oldest first."`
			NextCursor string     `json:"next_cursor,omitempty"`
		}
	}
)

func (s *Server) scoreLogRoutes(api huma.API) {
	add(s, api, rule{scope: scopeRead}, huma.Operation{OperationID: "list-scores", Method: http.MethodGet, Path: "/v1/scores", Tags: []string{"Scorers"},
		Summary: "The log of scores", Description: "What scorers gave in this workspace, run by run: names, numbers and the reasons of a judge, not what was scored."}, s.listScores)
}

func (s *Server) listScores(ctx context.Context, q *scoreLogQuery) (*scoreLogPage, error) {
	table, err := s.cfg.Store.Table(accessFrom(ctx).Workspace)
	if err != nil {
		return nil, err
	}
	after := ""
	if q.Cursor != "" {
		last, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
		if err != nil || !strings.HasPrefix(string(last), scoreRow) {
			return nil, refuse(http.StatusUnprocessableEntity, "cursor: not one of ours", &huma.ErrorDetail{Location: "query.cursor", Message: "not one of ours"})
		}
		after = string(last)
	}
	page := &scoreLogPage{}
	last := ""
	for row, err := range table.List(ctx, scoreRow) {
		if err != nil {
			return nil, err
		}
		if row.Key <= after {
			continue
		}
		var one scoreLog
		if err := json.Unmarshal(row.Value, &one); err != nil {
			return nil, fmt.Errorf("log of scores, %s: %w", row.Key, errors.Join(storage.ErrDamaged, err))
		}
		if q.Scorer != "" && one.Scorer != q.Scorer {
			continue
		}
		if len(page.Body.Scores) == q.Limit {
			page.Body.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(last))
			break
		}
		page.Body.Scores, last = append(page.Body.Scores, one), row.Key
	}
	page.Link = nextLink("/v1/scores", page.Body.NextCursor, q.Limit)
	return page, nil
}

// forgetScores deletes the logged runs that a selection means, whose episodes are about to be erased, and all kept
// replies of judges, of which it is not known what they were about.
func (s *Server) forgetScores(ctx context.Context, sel live.Selection) error {
	table, err := s.cfg.Store.Table(accessFrom(ctx).Workspace)
	if err != nil {
		return err
	}
	var keys []string
	for row, err := range table.List(ctx, scoreRow) {
		if err != nil {
			return err
		}
		var one scoreLog
		if err := json.Unmarshal(row.Value, &one); err != nil {
			return fmt.Errorf("log of scores, %s: %w", row.Key, errors.Join(storage.ErrDamaged, err))
		}
		if sel.Source != "" && one.Source == sel.Source || sel.Episode != "" && one.Run == sel.Episode || one.Time.Before(sel.Before) {
			keys = append(keys, row.Key)
		}
	}
	for row, err := range table.List(ctx, replyRow) {
		if err != nil {
			return err
		}
		keys = append(keys, row.Key)
	}
	for _, key := range keys {
		if err := table.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
