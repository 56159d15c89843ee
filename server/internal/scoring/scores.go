package scoring

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"waymark/score"
	"waymark/server/internal/api"
	"waymark/storage"
)

// Scores are logged for analysis, such as the tuning of weights, beside the episodes that their runs are.
// A row holds names, numbers and the reasons of a judge, not what was scored; its key begins with the time.
const (
	scoreRow      = "scores/"
	loggedEntries = 1000 // of one run
)

// scoreLog is the log of scores of a workspace.
type scoreLog struct{ Table storage.Table }

// ScoreLog is one run in the log.
type ScoreLog struct {
	Run     string        `json:"run" doc:"The id of its episode."`
	Time    time.Time     `json:"time"`
	Scorer  string        `json:"scorer"`
	Source  string        `json:"source"`
	Entries []score.Entry `json:"entries"`
	Omitted int           `json:"omitted,omitempty" doc:"Entries beyond the first 1000."`
}

// add logs a run, its first entries where there are very many.
func (l scoreLog) add(ctx context.Context, row ScoreLog) error {
	if n := len(row.Entries); n > loggedEntries {
		row.Entries, row.Omitted = row.Entries[:loggedEntries], n-loggedEntries
	}
	value, err := json.Marshal(row)
	if err != nil {
		return err
	}
	err = l.Table.Put(ctx, fmt.Sprintf("%s%020d/%s", scoreRow, row.Time.UnixNano(), row.Run), value)
	return err
}

// list returns at most limit runs of a scorer ("": of all) after a cursor, the oldest first, and the cursor of the next
// page, "" at the end.
func (l scoreLog) list(ctx context.Context, scorer, cursor string, limit int) (page []ScoreLog, next string, err error) {
	var failed error
	rows := func(yield func(scoreLine) bool) {
		for row, err := range l.rows(ctx) {
			if failed = err; err != nil || !yield(row) {
				return
			}
		}
	}
	lines, next, err := api.Page(rows, api.PageQuery{Cursor: cursor, Limit: limit}, true, func(row scoreLine) string { return row.key },
		func(row scoreLine) bool { return scorer == "" || row.Scorer == scorer })
	page = []ScoreLog{}
	for _, line := range lines {
		page = append(page, line.ScoreLog)
	}
	return page, next, cmp.Or(failed, err)
}

// forget deletes the runs of a source, of an id, or logged before a moment.
func (l scoreLog) forget(ctx context.Context, source, run string, before time.Time) error {
	var keys []string
	for row, err := range l.rows(ctx) {
		if err != nil {
			return err
		}
		if source != "" && row.Source == source || run != "" && row.Run == run || row.Time.Before(before) {
			keys = append(keys, row.key)
		}
	}
	return l.Table.Delete(ctx, keys...)
}

type scoreLine struct {
	key string
	ScoreLog
}

func (l scoreLog) rows(ctx context.Context) func(yield func(scoreLine, error) bool) {
	return func(yield func(scoreLine, error) bool) {
		for row, err := range l.Table.List(ctx, scoreRow) {
			line := scoreLine{key: row.Key}
			if err == nil {
				if err = json.Unmarshal(row.Value, &line.ScoreLog); err != nil {
					err = fmt.Errorf("log of scores, %s: %w", row.Key, errors.Join(storage.ErrDamaged, err))
				}
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}
