package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

// Delete removes a workspace. Its registry entry is first marked, then the high-water file is
// written without it, then its keys and snapshots are deleted and the entry last. A crash or an error
// in between leaves the mark: Open, or another call, finishes the work.
func (b *Badger) Delete(ctx context.Context, workspace string) error {
	if err := b.delete(ctx, workspace, flagDeleting); err != nil {
		return fmt.Errorf("deleting workspace %q: %w", workspace, err)
	}
	return nil
}

// Clear removes the log of a workspace in the same steps, and keeps its table.
func (b *Badger) Clear(ctx context.Context, workspace string) error {
	if err := b.delete(ctx, workspace, flagClearing); err != nil {
		return fmt.Errorf("clearing the log of workspace %q: %w", workspace, err)
	}
	return nil
}

func (b *Badger) delete(ctx context.Context, name string, flag byte) error {
	b.create.Lock()
	defer b.create.Unlock()
	if b.closed() {
		return ErrClosed
	}
	b.mu.Lock()
	w := b.spaces[name]
	b.mu.Unlock()
	if w == nil {
		return ErrNotFound
	}
	entry := registryKey(name)
	err := b.submit(ctx, &request{records: 1, size: 256, apply: func(t *tx) error {
		w.gone.Store(true) // on the committer: no append can come after the mark
		return t.set(entry, encodeWorkspace(flag))
	}})
	if err != nil {
		return err
	}
	if err := b.writeMark(); err != nil {
		return err
	}
	for _, kind := range map[byte][]byte{flagDeleting: {kindEvent, kindRow}, flagClearing: {kindEvent}}[flag] {
		if err := b.deletePrefix(ctx, prefix(kind, name)); err != nil {
			return err
		}
	}
	if err := b.dropSnapshots(w); err != nil {
		return err
	}
	if flag == flagClearing {
		if err := b.submit(ctx, &request{records: 1, size: 256, apply: func(t *tx) error { return t.set(entry, encodeWorkspace(0)) }}); err != nil {
			return err
		}
		b.mu.Lock()
		b.spaces[name] = newSpace(name, Head{})
		b.mu.Unlock()
		return nil
	}
	if err := b.deleteKeys(ctx, [][]byte{entry}); err != nil {
		return err
	}
	b.mu.Lock()
	delete(b.spaces, name)
	b.mu.Unlock()
	return nil
}

func registryKey(name string) []byte { return append(prefix(kindWorkspace, ""), name...) }

// deletePrefix deletes all keys with a prefix, without holding them all in memory.
func (b *Badger) deletePrefix(ctx context.Context, p []byte) error {
	for {
		var keys [][]byte
		err := b.view(func(txn *badger.Txn) error {
			it := txn.NewIterator(badger.IteratorOptions{Prefix: p})
			defer it.Close()
			for it.Rewind(); it.Valid() && len(keys) < maxRecords; it.Next() {
				keys = append(keys, it.Item().KeyCopy(nil))
			}
			return nil
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		if err := b.deleteKeys(ctx, keys); err != nil {
			return err
		}
	}
}

// deleteKeys deletes keys in their order, in as many commits as it takes.
func (b *Badger) deleteKeys(ctx context.Context, keys [][]byte) error {
	for chunk := range slices.Chunk(keys, maxRecords) {
		err := b.submit(ctx, &request{records: len(chunk), size: len(chunk) * 700, apply: func(t *tx) error {
			for _, k := range chunk {
				if err := t.delete(k); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Badger) resumeDeletes() error {
	for _, name := range slices.Sorted(maps.Keys(b.spaces)) {
		w := b.spaces[name]
		if !w.gone.Load() {
			continue
		}
		finish := b.Delete
		if w.clearing {
			finish = b.Clear
		}
		if err := finish(context.Background(), name); err != nil {
			return err
		}
	}
	return nil
}
