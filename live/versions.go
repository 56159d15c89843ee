package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"waymark/catalog"
	"waymark/storage"
	"waymark/suggest/history"
)

// The catalog holds the newest version of a capability. Those before it are kept in the table, where a run
// that names one finds it: capability-versions/ID@VERSION.
const versionRow = "capability-versions/"

// numbered gives a capability that is about to be put its version, and keeps the one that it replaces. One without
// tasks or script cannot be run and has no versions.
func (e *Engine) numbered(ctx context.Context, s *history.State, c *catalog.Capability) error {
	if len(c.Tasks) == 0 && c.Script == nil {
		return nil
	}
	now, known := s.Capability(c.ID)
	if !known {
		last, err := e.lastVersion(ctx, c.ID)
		if err != nil {
			return err
		}
		c.Version = max(c.Version, last+1)
		return nil
	}
	given := c.Version
	c.Version = now.Version
	same, err := sameJSON(now, *c)
	if err != nil || same {
		return err
	}
	if now.Version == 0 { // it was put before there were versions, or could not be run
		c.Version = max(given, 1)
		return nil
	}
	c.Version = max(given, now.Version+1)
	return e.keepVersion(ctx, now)
}

// keepVersion keeps a version that is about to go.
func (e *Engine) keepVersion(ctx context.Context, c catalog.Capability) error {
	b, err := json.Marshal(c)
	if err == nil {
		_, err = e.table.Put(ctx, versionKey(c.ID, c.Version), b)
	}
	if err != nil {
		return fmt.Errorf("keep version %d of capability %q: %w", c.Version, c.ID, err)
	}
	return nil
}

func versionKey(id string, version int) string { return versionRow + id + "@" + strconv.Itoa(version) }

// lastVersion is the highest of the versions that are kept, or 0.
func (e *Engine) lastVersion(ctx context.Context, id string) (last int, err error) {
	prefix := versionRow + id + "@"
	for row, err := range e.table.List(ctx, prefix) {
		if err != nil {
			return 0, err
		}
		if v, err := strconv.Atoi(strings.TrimPrefix(row.Key, prefix)); err == nil {
			last = max(last, v)
		}
	}
	return last, nil
}

// CapabilityVersion is a capability as it was in one of its versions; storage.ErrNotFound if there is no
// such version.
func (e *Engine) CapabilityVersion(ctx context.Context, id string, version int) (catalog.Capability, error) {
	if c, ok := e.Model().Capability(id); ok && c.Version == version {
		return c, nil
	}
	var c catalog.Capability
	b, _, err := e.table.Get(ctx, versionKey(id, version))
	if err != nil {
		return c, fmt.Errorf("version %d of capability %q: %w", version, id, err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("version %d of capability %q: %w", version, id, errors.Join(storage.ErrDamaged, err))
	}
	return c, nil
}

func sameJSON(a, b catalog.Capability) (bool, error) {
	x, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := json.Marshal(b)
	return bytes.Equal(x, y), err
}
