package storage

import (
	"context"
	"fmt"
)

// Delete removes a workspace and everything in it. One write makes it so for all processes; the entries go after it, and
// where that is cut short the next start goes on.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	space := ""
	err := s.submit(ctx, &op{workspaces: []string{workspace, ""}, size: 1024, apply: func(c *commit) error {
		h := c.headers[workspace]
		if !h.exists() || workspace == "" {
			return ErrNotFound
		}
		space = h.space(workspace)
		h.head, h.deleted, h.erasedAt, h.generation = Head{}, true, 0, h.generation+1
		c.change(workspace, h)
		c.put(Key{tableGarbage, "", space}, []byte{1})
		return nil
	}})
	if err == nil {
		err = s.collect(ctx, space)
	}
	if err != nil {
		return fmt.Errorf("delete workspace %q: %w", workspace, err)
	}
	return nil
}

// collect deletes the entries of a space that nobody uses any more.
func (s *Store) collect(ctx context.Context, space string) error {
	for _, t := range []kind{tableEvents, tableKeys, tableRows, tableSnapshots, tableParts} {
		if err := s.engine.Drop(ctx, t, space, "", ""); err != nil {
			return err
		}
	}
	return s.submit(ctx, &op{workspaces: []string{""}, size: 256, apply: func(c *commit) error {
		c.put(Key{tableGarbage, "", space}, nil)
		return nil
	}})
}

func (s *Store) resumeDeletes(ctx context.Context) error {
	var spaces []string
	err := s.view(ctx, func(r Reader) error {
		for p, err := range r.Scan(tableGarbage, "", "", "") {
			if err != nil {
				return err
			}
			spaces = append(spaces, p.Name)
		}
		return nil
	})
	for _, space := range spaces {
		if err == nil {
			err = s.collect(ctx, space)
		}
	}
	return err
}
