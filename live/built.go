package live

import (
	"context"
	"errors"
	"strconv"
	"time"

	"waymark/storage"
)

// When a build was put in force is kept in the table, by its event, for the reason that [judgedKey] has:
// equal histories are equal models, whenever they were built. The newest of these rows are kept, as many as
// there can be models to ask for.
const (
	builtRow  = "built/"
	keptBuilt = 4
)

// The number has a fixed width, so that rows are in order.
func builtKey(seq uint64) string {
	n := strconv.FormatUint(seq, 10)
	return builtRow + "00000000000000000000"[len(n):] + n
}

// noteBuilt keeps the time. Without it everything works; only the date is missing.
func (e *Engine) noteBuilt(ctx context.Context, seq uint64, at time.Time) {
	err := e.table.Put(ctx, builtKey(seq), []byte(at.Format(time.RFC3339Nano)))
	var old []string
	if err == nil {
		for row, failed := range e.table.List(ctx, builtRow) {
			if err = failed; err != nil {
				break
			}
			old = append(old, row.Key)
		}
	}
	if n := len(old) - keptBuilt; n > 0 {
		err = errors.Join(err, e.table.Delete(ctx, old[:n]...))
	}
	if err != nil {
		e.opts.Logger.Warn("when the model was built could not be kept", "workspace", e.name, "error", err)
	}
}

// timeBuilt is when a build was put in force; zero if there is none, or that is not known.
func (e *Engine) timeBuilt(ctx context.Context, seq uint64) time.Time {
	if seq == 0 {
		return time.Time{}
	}
	return e.timeAt(ctx, builtKey(seq), "when the model was built is not known")
}

// timeAt reads a time from the table; zero if there is none.
func (e *Engine) timeAt(ctx context.Context, key, otherwise string) time.Time {
	value, _, err := e.table.Get(ctx, key)
	if errors.Is(err, storage.ErrNotFound) {
		return time.Time{}
	}
	at := time.Time{}
	if err == nil {
		at, err = time.Parse(time.RFC3339Nano, string(value))
	}
	if err != nil {
		e.opts.Logger.Warn(otherwise, "workspace", e.name, "error", err)
		return time.Time{}
	}
	return at
}
