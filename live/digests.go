package live

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"waymark/episodic"
	"waymark/storage"
)

// digestRow is the row of the digest key in a workspace's table. It is not history: a log without it is complete.
const digestRow = "digest-key"

// DigestKey returns the key for hashing the values of this workspace's calls, and creates it at the first call. Each
// workspace has a key of its own, so digests of two workspaces cannot be compared.
func (e *Engine) DigestKey(ctx context.Context) (key episodic.DigestKey, err error) {
	for {
		row, _, err := e.table.Get(ctx, digestRow)
		if err == nil && len(row) == len(key) {
			return episodic.DigestKey(row), nil
		}
		if !errors.Is(err, storage.ErrNotFound) {
			return key, errors.Join(err, fmt.Errorf("read the digest key of workspace %q: %d bytes", e.name, len(row)))
		}
		if _, err := rand.Read(key[:]); err != nil {
			return key, err
		}
		if err := e.table.CAS(ctx, digestRow, 0, key[:]); err != nil && !errors.Is(err, storage.ErrConflict) {
			return key, fmt.Errorf("keep the digest key of workspace %q: %w", e.name, err)
		}
	}
}
