package runs

import (
	"context"
	"errors"

	"waymark/live/state"
	"waymark/storage"
)

// others reports whether another process carries a run out that has not ended: processes that share a log share the
// journal, too. The run goes on where it began, also after a restart.
func (r *Runs) others(ctx context.Context, j state.Runs, id string) bool {
	owner, err := j.Owner(ctx, id)
	return err == nil && r.cfg.Process != "" && owner != r.cfg.Process
}

// takeOver makes this process the owner of a run that has none, as after a restore, and reports whether it is.
func (r *Runs) takeOver(ctx context.Context, j state.Runs, id string) (bool, error) {
	if r.cfg.Process == "" {
		return true, nil
	}
	owner, err := j.Owner(ctx, id)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return false, nil
	case err != nil || owner != "":
		return owner == r.cfg.Process, err
	}
	return true, j.TakeOver(ctx, id)
}
