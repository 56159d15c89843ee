package storage

import (
	"context"
	"fmt"
)

// Delete removes a workspace and everything in it. One write removes it for all processes. Its entries are deleted
// afterwards; if that is interrupted, the next start continues.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	var h header
	err := s.submit(ctx, []string{workspace}, func(c *commit) error {
		if h = c.headers[workspace]; !h.exists() || workspace == "" {
			return ErrNotFound
		}
		h = header{Changes: h.Changes, Generation: h.Generation + 1, Deleted: true}
		c.change(workspace, h)
		return nil
	})
	if err == nil {
		err = s.collect(ctx, workspace, h)
	}
	if err != nil {
		return fmt.Errorf("delete workspace %q: %w", workspace, err)
	}
	return nil
}

// collect deletes the entries that a workspace had before its last deletion.
func (s *Store) collect(ctx context.Context, workspace string, h header) error {
	if h.Generation > 0 {
		h.Generation--
		for _, t := range []kind{tableEvents, tableKeys, tableRows, tableLeases, tableSnapshots, tableParts} {
			if err := s.engine.Drop(ctx, t, h.space(workspace), "", ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectAll continues deletions that were interrupted.
func (s *Store) collectAll(ctx context.Context) error {
	for workspace, w := range s.spaces {
		if err := s.collect(ctx, workspace, w.header); err != nil {
			return err
		}
	}
	return nil
}
