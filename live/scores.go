package live

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"waymark/score"
	"waymark/storage"
)

// Scores are logged for analysis, such as the tuning of weights, beside the episodes that their runs are.
// A row holds names, numbers and the reasons of a judge, not what was scored; its key begins with the time.
const (
	scoreRow      = "scores/"
	loggedEntries = 1000 // of one run
)

// ErrCursor is returned for a cursor that no page ended with.
var ErrCursor = errors.New("unknown cursor")

// Scores is the log of scores of a workspace.
type Scores struct{ Table storage.Table }

// ScoreLog is one run in the log.
type ScoreLog struct {
	Run     string        `json:"run" doc:"The id of its episode."`
	Time    time.Time     `json:"time"`
	Scorer  string        `json:"scorer"`
	Source  string        `json:"source"`
	Entries []score.Entry `json:"entries"`
	Omitted int           `json:"omitted,omitempty" doc:"Entries beyond the first 1000."`
}

// Add logs a run, its first entries where there are very many.
func (l Scores) Add(ctx context.Context, row ScoreLog) error {
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

// List returns at most limit runs of a scorer ("": of all) after a cursor, the oldest first, and the cursor of the next
// page, "" at the end.
func (l Scores) List(ctx context.Context, scorer, cursor string, limit int) (page []ScoreLog, next string, err error) {
	after := ""
	if cursor != "" {
		last, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
		if err != nil || !strings.HasPrefix(string(last), scoreRow) {
			return nil, "", ErrCursor
		}
		after = string(last)
	}
	last := ""
	for row, err := range l.rows(ctx) {
		switch {
		case err != nil:
			return nil, "", err
		case row.key <= after || scorer != "" && row.Scorer != scorer:
			continue
		case len(page) == limit:
			return page, base64.RawURLEncoding.EncodeToString([]byte(last)), nil
		}
		page, last = append(page, row.ScoreLog), row.key
	}
	return page, "", nil
}

// Forget deletes the runs of a source, of an id, or logged before a moment.
func (l Scores) Forget(ctx context.Context, source, run string, before time.Time) error {
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

func (l Scores) rows(ctx context.Context) func(yield func(scoreLine, error) bool) {
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
