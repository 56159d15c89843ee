package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"waymark/storage"
)

// When a build was activated and when one was judged is kept in the table, by an event: a log that says when would give no
// two workspaces the same model. The newest rows of each kind are kept, as many as there can be models to ask for.
const (
	builtRow  = "built/"
	judgedRow = "judged/"
	keptTimes = 4
)

// The number has a fixed width, so that rows are in order.
func timeKey(row string, seq uint64) string { return fmt.Sprintf("%s%020d", row, seq) }

// noteTime keeps a time. Without it everything works; only the date is missing.
func (e *Engine) noteTime(ctx context.Context, row string, seq uint64, at time.Time) {
	err := e.table.Put(ctx, timeKey(row, seq), []byte(at.Format(time.RFC3339Nano)))
	var old []string
	if err == nil {
		for row, failed := range e.table.List(ctx, row) {
			if err = failed; err != nil {
				break
			}
			old = append(old, row.Key)
		}
	}
	if n := len(old) - keptTimes; n > 0 {
		err = errors.Join(err, e.table.Delete(ctx, old[:n]...))
	}
	if err != nil {
		e.opts.Logger.Warn("the time of an event is not kept", "workspace", e.name, "row", row, "event", seq, "error", err)
	}
}

// timeOf reads a time; zero if there is none, or that is not known.
func (e *Engine) timeOf(ctx context.Context, row string, seq uint64) (at time.Time) {
	value, _, err := e.table.Get(ctx, timeKey(row, seq))
	if errors.Is(err, storage.ErrNotFound) {
		return at
	}
	if err == nil {
		at, err = time.Parse(time.RFC3339Nano, string(value))
	}
	if err != nil {
		e.opts.Logger.Warn("the time of an event is not known", "workspace", e.name, "row", row, "event", seq, "error", err)
	}
	return at
}
