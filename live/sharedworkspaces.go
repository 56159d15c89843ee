package live

import (
	"context"
	"errors"
	"slices"
	"time"

	"waymark/storage"
	"waymark/storage/eventlog"
)

// Where processes share a log, its workspaces are opened here as they appear there. What another process deletes is wiped.

// openShared opens the workspaces of the shared log as they appear, so that they are followed before anybody asks.
func (w *Workspaces) openShared(ctx context.Context) {
	for ctx.Err() == nil {
		logs, err := w.opts.Shared.Workspaces(ctx)
		if err == nil {
			w.logged.Store(&logs)
		}
		names, e := w.sharedNames(ctx)
		err = errors.Join(err, e)
		for _, name := range names {
			_, e := w.Open(ctx, name)
			err = errors.Join(err, e)
		}
		if err != nil && ctx.Err() == nil {
			w.opts.Logger.Warn("workspaces of the shared log could not be opened; this is tried again", "error", err)
		}
		w.mu.Lock()
		w.pace.Store(int64(min(max(sharedLook, time.Duration(len(w.open))*perWorkspace), longestLook)))
		w.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(w.pace.Load())):
		}
	}
}

// sharedNames lists the workspaces that the shared log had when it was last looked at, without those deleted since.
func (w *Workspaces) sharedNames(ctx context.Context) (names []string, err error) {
	for _, log := range *w.logged.Load() {
		name := eventlog.Workspace(log)
		if now, e := w.logName(ctx, name); e != nil || now != log || name == eventlog.ControlLog {
			err = errors.Join(err, e)
			continue
		}
		names = append(names, name)
	}
	return names, err
}

// Replicas look at the log of each open workspace. With many they look at each less often, so that the log has 200 looks
// a second to answer, whatever their number; what is appended comes without a look.
const (
	perWorkspace = 5 * time.Millisecond
	longestLook  = 5 * time.Second
)

// deletions are what a store knows of deleted workspaces of the shared log; [eventlog.Shared] does.
type deletions interface {
	LogName(ctx context.Context, workspace string) (string, error)
	Retire(ctx context.Context, workspace string) error
	OnDeleted(ctx context.Context, deleted func(workspace string)) error
	Wipe(ctx context.Context, workspace string) (left bool, err error)
}

// copyRow is the row of a workspace with the name of the shared log that its log is a copy of; absent: its own name.
const copyRow = "copy-of"

// logName is the name of a workspace in the shared log.
func (w *Workspaces) logName(ctx context.Context, name string) (string, error) {
	if d, ok := w.store.(deletions); ok {
		return d.LogName(ctx, name)
	}
	return name, nil
}

// copyOf opens what the store has of a workspace, after what was deleted is removed.
func (w *Workspaces) copyOf(ctx context.Context, name string) (shared string, log storage.Log, table storage.Table, err error) {
	if err := w.wipe(ctx, name); err != nil {
		return "", nil, nil, err
	}
	if shared, err = w.logName(ctx, name); err != nil {
		return "", nil, nil, err
	}
	if log, err = w.store.Log(name); err != nil {
		return "", nil, nil, err
	}
	if table, err = w.store.Table(name); err == nil && shared != name && log.Head().Seq == 0 {
		_, err = table.Put(ctx, copyRow, []byte(shared))
	}
	return shared, log, table, err
}

// wipe removes what the store has of a workspace that was deleted since. It is not open.
func (w *Workspaces) wipe(ctx context.Context, name string) error {
	d, ok := w.store.(deletions)
	if !ok {
		return nil
	}
	names, err := w.store.Workspaces(ctx)
	if err != nil || !slices.Contains(names, name) {
		return err
	}
	shared, err := d.LogName(ctx, name)
	if err != nil || shared == name {
		return err
	}
	table, err := w.store.Table(name)
	if err != nil {
		return err
	}
	was, _, err := table.Get(ctx, copyRow)
	if err != nil && !errors.Is(err, storage.ErrNotFound) || string(was) == shared {
		return err
	}
	if left, err := d.Wipe(ctx, name); err != nil || !left {
		return err
	}
	if table, err = w.store.Table(name); err == nil {
		_, err = table.Put(ctx, copyRow, []byte(shared))
	}
	return err
}

// OnRemoved calls removed with each workspace that another process deletes from now on.
func (w *Workspaces) OnRemoved(removed func(name string)) { w.removed.Store(&removed) }

// followDeletions removes, until ctx ends, what other processes delete.
func (w *Workspaces) followDeletions(ctx context.Context) {
	d, ok := w.store.(deletions)
	if !ok {
		return
	}
	deleted := make(chan string, 1024)
	if err := d.OnDeleted(ctx, func(name string) {
		select {
		case deleted <- name:
		default: // it is wiped when it is opened next
		}
	}); err != nil {
		w.opts.Logger.Error("deleted workspaces are not followed", "error", err)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case name := <-deleted:
			if err := w.remove(ctx, name, w.wipe); err != nil && ctx.Err() == nil {
				w.opts.Logger.Error("a workspace that was deleted is wiped when it is opened next", "workspace", name, "error", err)
			} else if removed := w.removed.Load(); removed != nil {
				(*removed)(name)
			}
		}
	}
}
