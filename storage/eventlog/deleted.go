package eventlog

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"waymark/storage"
)

// A workspace of a shared log is deleted by a row of the control log that counts how often it was. Engines keep what is
// appended to them, so the log of the next workspace of that name has a name of its own: the name, "~" and the count.
// Whoever folds the row forgets the control rows that stand before it.
const deletedPrefix = "deleted/"

// deletedIn is the workspace that a change deletes; ok is false for other changes.
func deletedIn(c change) (workspace string, ok bool) {
	if c.workspace != "" || c.value == nil {
		return "", false
	}
	return strings.CutPrefix(c.key, deletedPrefix)
}

func logName(workspace string, deletions []byte) string {
	if len(deletions) == 0 {
		return workspace
	}
	return workspace + "~" + string(deletions)
}

// Workspace is the name of the workspace that a log belongs to or belonged to; see [Shared.LogName].
func Workspace(log string) string {
	name, _, _ := strings.Cut(log, "~")
	return name
}

// LogName is the name of the log of a workspace.
func (s *Shared) LogName(ctx context.Context, workspace string) (string, error) {
	count, _, err := s.Store.System().Get(ctx, deletedPrefix+workspace)
	if errors.Is(err, storage.ErrNotFound) {
		err = nil
	}
	return logName(workspace, count), err
}

// Retire deletes a workspace on all replicas: its log has another name from now on, and its control rows are gone.
func (s *Shared) Retire(ctx context.Context, workspace string) error {
	for {
		count, version, err := s.Store.System().Get(ctx, deletedPrefix+workspace)
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		n, _ := strconv.ParseUint(string(count), 10, 64) // absent: 0
		_, err = s.System().CAS(ctx, deletedPrefix+workspace, version, strconv.AppendUint(nil, n+1, 10))
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
	}
}

// OnDeleted calls deleted with each workspace that was deleted, now and from now on. It must not write.
func (s *Shared) OnDeleted(ctx context.Context, deleted func(workspace string)) error {
	return s.System().(*sharedTable).Watch(ctx, deletedPrefix, func(key string, _ []byte) { deleted(strings.TrimPrefix(key, deletedPrefix)) })
}

// Wipe removes what a store has of a workspace, but for the control rows, which are those after its deletion: left says
// that there are any.
func (s *Shared) Wipe(ctx context.Context, workspace string) (left bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Store.Clear(ctx, workspace); err != nil {
		return false, err
	}
	kept, err := s.deleteRows(ctx, workspace, func(key string) bool { return !isControlled(workspace, key) })
	if err == nil && kept == 0 {
		err = s.Store.Delete(ctx, workspace)
	}
	return kept > 0, err
}

// deleteRows deletes rows of a workspace and counts those that it keeps.
func (s *Shared) deleteRows(ctx context.Context, workspace string, which func(key string) bool) (kept int, err error) {
	names, err := s.Store.Workspaces(ctx)
	if err != nil || !slices.Contains(names, workspace) { // asking for its table would make it
		return 0, err
	}
	table, err := s.Store.Table(workspace)
	if err != nil {
		return 0, err
	}
	var keys []string
	for e, err := range table.List(ctx, "") {
		if err != nil {
			return 0, err
		}
		if which(e.Key) {
			keys = append(keys, e.Key)
		} else {
			kept++
		}
	}
	for _, key := range keys {
		if err := table.Delete(ctx, key); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return 0, err
		}
	}
	return kept, nil
}
