package runs

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"waymark/live/state"
	"waymark/run"
	"waymark/storage"
	"waymark/storage/eventlog"
)

// Processes that share a log share the journal of runs. Each has a lease while it lives; a run has an owner, and only the
// owner writes its journal, which a call is in before it is made. So a run is carried out by one process. When the lease
// of an owner runs out, another process takes its runs over; a call that had begun is made again only if that does no harm.
const (
	runLease = 10 * time.Second
	runLook  = 3 * time.Second
)

// fleetTable is a table that several processes share.
type fleetTable interface {
	Sync(ctx context.Context) error
	Lease(ctx context.Context, name string, ttl time.Duration) error
}

// holdLease takes or extends the lease of this process.
func (r *Runs) holdLease(ctx context.Context) error {
	if r.shared == nil {
		return nil
	}
	err := r.shared.Lease(ctx, "process/"+r.process, runLease)
	if err != nil && !errors.Is(err, eventlog.ErrHeld) {
		err = errors.Join(eventlog.ErrUnavailable, err)
	}
	return err
}

// everyLook calls f again and again, in a fleet.
func (r *Runs) everyLook(ctx context.Context, f func(context.Context)) {
	for r.shared != nil {
		select {
		case <-ctx.Done():
			return
		case <-r.ctx.Done():
			return
		case <-time.After(runLook):
			f(ctx)
		}
	}
}

// firstTime reports whether an error was not met before: what cannot be resumed is tried at every look.
func (r *Runs) firstTime(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := err.Error() != r.complaint
	r.complaint = err.Error()
	return first
}

// free reports whether this process may go on with a run: it owns it, or its owner has ended.
func (r *Runs) free(ctx context.Context, j state.Runs, id string) (owner string, free bool, err error) {
	if r.shared == nil {
		return "", true, nil
	}
	if err := r.shared.Sync(ctx); err != nil {
		return "", false, err
	}
	owner, err = j.Owner(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return "", false, nil
	}
	if err != nil || owner == r.process || owner == "" {
		return owner, err == nil, err
	}
	err = r.shared.Lease(ctx, "process/"+owner, runLease)
	if errors.Is(err, eventlog.ErrHeld) {
		return owner, false, nil
	}
	return owner, err == nil, err
}

// others reports whether another process carries a run out that has not ended.
func (r *Runs) others(ctx context.Context, j state.Runs, id string) bool {
	owner, err := j.Owner(ctx, id)
	return err == nil && r.shared != nil && owner != r.process
}

// Replica is where the others reach the process that carries a run out; empty if none does, or it is not known.
func (r *Runs) Replica(ctx context.Context, workspace, id string) string {
	if r.GoesOn(workspace, id) {
		return r.cfg.Address
	}
	names, err := r.cfg.Store.Workspaces(ctx)
	if r.shared == nil || err != nil || !slices.Contains(names, workspace) { // asking for its table would make it
		return ""
	}
	table, err := r.cfg.Store.Table(workspace)
	if err != nil {
		return ""
	}
	owner, err := state.Runs{Table: table}.Owner(ctx, id)
	if errors.Is(err, storage.ErrNotFound) && r.shared.Sync(ctx) == nil { // it may have just begun
		owner, err = state.Runs{Table: table}.Owner(ctx, id)
	}
	_, escaped, _ := strings.Cut(owner, "@")
	address, e := url.QueryUnescape(escaped)
	if err != nil || e != nil {
		return ""
	}
	return address
}

// takeOver makes this process the owner of a run, and reads again what the owner before did until then.
func (r *Runs) takeOver(ctx context.Context, j state.Runs, past run.Past, owner string) (run.Past, error) {
	if r.shared == nil {
		return past, nil
	}
	if owner != r.process {
		if err := j.TakeOver(ctx, past.ID, owner); err != nil {
			return past, err
		}
	}
	return j.Past(ctx, past.ID)
}
