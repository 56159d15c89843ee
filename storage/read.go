package storage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"waymark/internal/bounded"
)

// A page is read in one transaction and yielded after it, so a reader that is slow or appends
// does not hold a transaction open.
const (
	pageEntries = 1000
	pageBytes   = 1 << 20
)

// header reads the header of a workspace.
func (s *Store) header(ctx context.Context, workspace string) (h header, err error) {
	err = s.view(ctx, workspace, func(_ Reader, found header) error { h = found; return nil })
	return h, err
}

// entries yields the entries of a table with names in [from, to), page by page. h is the header of the workspace; if
// the workspace is deleted meanwhile, entries yields [ErrNotFound].
func (s *Store) entries(ctx context.Context, workspace string, h header, t kind, from, to string) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		for more := true; more; {
			var page []Pair
			err := s.view(ctx, workspace, func(r Reader, now header) error {
				if now.Generation != h.Generation {
					return ErrNotFound
				}
				size := 0
				for p, err := range r.Scan(t, h.space(workspace), from, to) {
					if err != nil {
						return err
					}
					page = append(page, Pair{p.Key, bytes.Clone(p.Value)})
					if size += len(p.Value); size >= pageBytes || len(page) == pageEntries {
						return nil
					}
				}
				more = false
				return nil
			})
			for _, p := range page {
				if !yield(p, nil) {
					return
				}
				from = p.Name + "\x00"
			}
			if err = cmp.Or(err, ctx.Err()); err != nil {
				yield(Pair{}, err)
				return
			}
		}
	}
}

// Read yields the events after a seq, in order, up to the end of the log at the start of the iteration. It
// verifies digests and the chain.
func (s *Store) Read(ctx context.Context, workspace string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		fail := func(err error) { yield(Event{}, fmt.Errorf("read workspace %q: %w", workspace, err)) }
		h, err := s.header(ctx, workspace)
		if err != nil || after >= h.Head.Seq {
			if err != nil {
				fail(err)
			}
			return
		}
		var last Head
		for p, err := range s.entries(ctx, workspace, h, tableEvents, name(max(after, 1)), name(h.Head.Seq+1)) {
			if err != nil {
				fail(err)
				return
			}
			e, err := decodeEvent(number(p.Name), p.Value)
			if err == nil && (after == 0 || e.Seq != after) { // the event with seq after is only the start of the chain
				err = e.follows(last)
			}
			if err != nil {
				fail(damaged("event %d: %v", max(after, last.Seq)+1, err))
				return
			}
			last = Head{e.Seq, e.Chain}
			if e.Seq > after && !yield(e, nil) {
				return
			}
		}
		if last != h.Head {
			fail(damaged("event %d is not the end of the log that the workspace knows", last.Seq))
		}
	}
}

// verify reads every log to its end.
func (s *Store) verify(ctx context.Context) error {
	names, err := s.Workspaces(ctx)
	for _, name := range names {
		for _, e := range s.Read(ctx, name, 0) {
			err = cmp.Or(err, e)
		}
	}
	return err
}

// Row is an entry of the map of a workspace. Versions start at 1; a row that was deleted and put again starts at 1
// again.
type Row struct {
	Key     string
	Value   []byte
	Version uint64
}

func encodeRow(version uint64, value []byte) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(value)), version), value...)
}

// decodeRow decodes a row. For nil it returns a row with version 0.
func decodeRow(key string, b []byte) (Row, error) {
	switch {
	case b == nil:
		return Row{Key: key}, nil
	case len(b) < 8:
		return Row{}, damaged("row %q is cut short", key)
	}
	return Row{key, b[8:], binary.BigEndian.Uint64(b)}, nil
}

// after returns the smallest name greater than all names with a prefix; "" if there is none.
func after(prefix string) string {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1])
		}
	}
	return ""
}

// Table gives access to the rows of one workspace.
type Table struct {
	store     *Store
	workspace string
}

// Table returns the rows of a workspace. The first write creates the workspace.
func (s *Store) Table(workspace string) Table { return Table{s, workspace} }

// System returns the rows that belong to no workspace.
func (s *Store) System() Table { return Table{s, ""} }

// Get reads a row; [ErrNotFound] if there is none.
func (t Table) Get(ctx context.Context, key string) (value []byte, version uint64, err error) {
	var row Row
	err = t.store.view(ctx, t.workspace, func(r Reader, h header) error {
		values, err := r.Get(Key{tableRows, h.space(t.workspace), key})
		if err == nil {
			row, err = decodeRow(key, values[0])
		}
		if err == nil && row.Version == 0 {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("row %q: %w", key, err)
	}
	return row.Value, row.Version, err
}

// List yields the rows whose keys have a prefix, in the order of keys.
func (t Table) List(ctx context.Context, prefix string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		h, err := t.store.header(ctx, t.workspace)
		for p, failed := range t.store.entries(ctx, t.workspace, h, tableRows, prefix, after(prefix)) {
			var row Row
			if err = cmp.Or(err, failed); err == nil {
				row, err = decodeRow(p.Name, p.Value)
			}
			if err != nil {
				yield(row, fmt.Errorf("rows %q of workspace %q: %w", prefix, t.workspace, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// Put sets a row.
func (t Table) Put(ctx context.Context, key string, value []byte) error {
	return t.Apply(ctx, Change{Key: key, Value: append([]byte{}, value...)})
}

// CAS sets a row if it has the given version, where 0 means that it must not exist.
// Otherwise it returns [ErrConflict].
func (t Table) CAS(ctx context.Context, key string, version uint64, value []byte) error {
	return t.Apply(ctx, Change{key, append([]byte{}, value...), &version})
}

// Delete deletes rows, many of them in several transactions. Missing rows and an empty list are no error.
func (t Table) Delete(ctx context.Context, keys ...string) error {
	for chunk := range slices.Chunk(keys, maxRecords) {
		changes := make([]Change, len(chunk))
		for i, key := range chunk {
			changes[i].Key = key
		}
		if err := t.Apply(ctx, changes...); err != nil {
			return err
		}
	}
	return nil
}

// cacheGrace is how long [Table.Cached] returns rows from memory while the database does not answer. It bounds how
// long a revoked key is still accepted.
const cacheGrace = 15 * time.Minute

type cachedRow struct {
	value   []byte
	changes uint64 // number of changes of the workspace when the row was read
}

// Cached is Get with a cache in memory, for rows that every request reads. Writes of other
// processes take effect within a second.
func (t Table) Cached(ctx context.Context, key string) (value []byte, err error) {
	s := t.store
	if !s.Shared() {
		value, _, err = t.Get(ctx, key)
		return value, err
	}
	n, _ := s.Changes(t.workspace)
	s.mu.Lock()
	w := s.space(t.workspace)
	kept, known := w.cached[key]
	known = known && time.Since(s.contact) <= cacheGrace
	s.mu.Unlock()
	if known && kept.changes == n {
		return kept.value, nil
	}
	value, _, err = t.Get(ctx, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		w.cached[key] = cachedRow{value, n}
	case errors.Is(err, ErrNotFound):
		delete(w.cached, key)
	case errors.Is(err, ErrUnavailable) && known: // the change may be of another row
		return kept.value, nil
	}
	return value, err
}

// Shared reports whether other processes write, too.
func (t Table) Shared() bool { return t.store.Shared() }

// Apply applies changes, all or none.
func (t Table) Apply(ctx context.Context, changes ...Change) error {
	_, err := t.store.Append(ctx, t.workspace, Batch{Changes: changes})
	return err
}

// Follow calls changed whenever another process may have changed rows, until ctx ends. If no other process writes, it
// returns at once. A caller that keeps rows in memory then reads them again.
func (t Table) Follow(ctx context.Context, changed func()) {
	for seen, more := t.store.Changes(t.workspace); t.store.Shared(); {
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
		n := seen
		if seen, more = t.store.Changes(t.workspace); seen != n {
			changed()
		}
		if !bounded.Wait(ctx, pollInterval) { // limits the rate, since a busy workspace changes more often than its rows
			return
		}
	}
}
