package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"waymark/storage"
)

// builtRow has the time at which the last build was activated. It is no part of the log: a log that says when would give
// no two workspaces the same model.
const builtRow = "built"

// noteBuilt keeps the time of a build. Without it everything works; only the date is missing.
func (e *Engine) noteBuilt(ctx context.Context, seq uint64, at time.Time) {
	if err := e.table.Put(ctx, builtRow, fmt.Appendf(nil, "%d %s", seq, at.Format(time.RFC3339Nano))); err != nil {
		e.opts.Logger.Warn("the time of the build is not kept", "workspace", e.name, "event", seq, "error", err)
	}
}

// builtAt is the time of a build; zero if it is not known.
func (e *Engine) builtAt(ctx context.Context, seq uint64) (at time.Time) {
	value, _, err := e.table.Get(ctx, builtRow)
	if errors.Is(err, storage.ErrNotFound) {
		return at
	}
	var of uint64
	var text string
	if err == nil {
		_, err = fmt.Sscan(string(value), &of, &text)
	}
	if err == nil && of == seq {
		at, err = time.Parse(time.RFC3339Nano, text)
	}
	if err != nil {
		e.opts.Logger.Warn("the time of the build is not known", "workspace", e.name, "event", seq, "error", err)
	}
	return at
}
