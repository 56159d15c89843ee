package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"time"
)

// A page is read in one transaction and handed out after it, so that a reader may take its time, or append,
// without holding anything open.
const (
	pageEntries = 1000
	pageBytes   = 1 << 20
)

// Read yields the events after a seq, in order, up to the end of the log when the reading began. It verifies digests
// and the chain.
func (s *Store) Read(ctx context.Context, workspace string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var h header
		last := Head{Seq: after}
		for begun := false; !begun || last.Seq < h.head.Seq; begun = true {
			var page []Event
			err := s.view(ctx, func(r Reader) (err error) {
				if !begun {
					if h, last, err = startRead(r, workspace, after); err != nil {
						return err
					}
				}
				now, err := readHeader(r, workspace)
				if err == nil && now.generation != h.generation {
					err = ErrNotFound // it was deleted meanwhile
				}
				if err == nil {
					page, err = readPage(r, h.space(workspace), last, h.head)
				}
				return err
			})
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				last = Head{e.Seq, e.Chain}
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("read workspace %q: %w", workspace, err))
				return
			}
		}
	}
}

// startRead returns the end of the log, and the event after which to read.
func startRead(r Reader, workspace string, after uint64) (h header, last Head, err error) {
	if h, err = readHeader(r, workspace); err != nil || after == 0 || after >= h.head.Seq {
		return h, Head{Seq: after}, err
	}
	values, err := r.Get(Key{tableEvents, h.space(workspace), name(after)})
	if err != nil {
		return h, last, err
	}
	e, err := decodeEvent(after, values[0])
	if err != nil {
		return h, last, damaged("event %d: %v", after, err)
	}
	return h, Head{after, e.Chain}, nil
}

// readPage returns events after last up to end, at least one if there are any and no error.
func readPage(r Reader, space string, last, end Head) (page []Event, err error) {
	if last.Seq >= end.Seq {
		return nil, nil
	}
	size := 0
	for p, err := range r.Scan(tableEvents, space, name(last.Seq+1), name(min(end.Seq, last.Seq+pageEntries)+1)) {
		if err != nil {
			return page, err
		}
		e, err := decodeEvent(number(p.Name), append([]byte(nil), p.Value...))
		if err == nil {
			err = e.follows(last)
		}
		if err != nil {
			return page, damaged("event %d: %v", last.Seq+1, err)
		}
		page, last = append(page, e), Head{e.Seq, e.Chain}
		if size += len(p.Value); size >= pageBytes {
			break
		}
	}
	if len(page) == 0 {
		return nil, damaged("event %d is missing", last.Seq+1)
	}
	if last.Seq == end.Seq && last != end {
		return page, damaged("event %d is not the end of the log that the workspace knows", last.Seq)
	}
	return page, nil
}

// verify reads every log to its end.
func (s *Store) verify(ctx context.Context) error {
	names, err := s.Workspaces(ctx)
	for _, name := range names {
		for _, e := range s.Read(ctx, name, 0) {
			if e != nil {
				return e
			}
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

// decodeRow of nothing is a row with version 0.
func decodeRow(key string, b []byte) (Row, error) {
	switch {
	case b == nil:
		return Row{Key: key}, nil
	case len(b) < 8:
		return Row{}, damaged("row %q is cut short", key)
	}
	return Row{key, b[8:], binary.BigEndian.Uint64(b)}, nil
}

// Get reads a row; [ErrNotFound] if there is none.
func (s *Store) Get(ctx context.Context, workspace, key string) (row Row, err error) {
	err = s.view(ctx, func(r Reader) error {
		h, err := readHeader(r, workspace)
		if err != nil {
			return err
		}
		values, err := r.Get(Key{tableRows, h.space(workspace), key})
		if err == nil {
			row, err = decodeRow(key, values[0])
		}
		if err == nil && row.Version == 0 {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return Row{}, fmt.Errorf("row %q: %w", key, err)
	}
	return row, nil
}

// List yields the rows of which the key has a prefix, in the order of keys.
func (s *Store) List(ctx context.Context, workspace, prefix string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		end := after(prefix)
		for from, more := prefix, true; more; {
			var page []Row
			err := s.view(ctx, func(r Reader) error {
				h, err := readHeader(r, workspace)
				if err != nil {
					return err
				}
				size := 0
				more = false
				for p, err := range r.Scan(tableRows, h.space(workspace), from, end) {
					if err != nil {
						return err
					}
					row, err := decodeRow(p.Name, append([]byte(nil), p.Value...))
					if err != nil {
						return err
					}
					page = append(page, row)
					if size += len(p.Value); size >= pageBytes || len(page) == pageEntries {
						more = true
						return nil
					}
				}
				return nil
			})
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
				from = row.Key + "\x00"
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Row{}, fmt.Errorf("rows %q of workspace %q: %w", prefix, workspace, err))
				return
			}
		}
	}
}

// after is the first name behind those with a prefix; "": there is none.
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

// Table is the rows of one workspace.
type Table struct {
	store     *Store
	workspace string
}

// Table returns the rows of a workspace, which the first write creates.
func (s *Store) Table(workspace string) Table { return Table{s, workspace} }

// System returns the rows that belong to no workspace.
func (s *Store) System() Table { return Table{s, ""} }

// Get is [Store.Get].
func (t Table) Get(ctx context.Context, key string) (value []byte, version uint64, err error) {
	row, err := t.store.Get(ctx, t.workspace, key)
	return row.Value, row.Version, err
}

// List is [Store.List].
func (t Table) List(ctx context.Context, prefix string) iter.Seq2[Row, error] {
	return t.store.List(ctx, t.workspace, prefix)
}

// Put sets a row.
func (t Table) Put(ctx context.Context, key string, value []byte) error {
	return t.Apply(ctx, Change{Key: key, Value: notNil(value)})
}

// CAS sets a row if it has a version, 0 for a row that must not exist; else [ErrConflict].
func (t Table) CAS(ctx context.Context, key string, version uint64, value []byte) error {
	return t.Apply(ctx, Change{key, notNil(value), &version})
}

// Delete deletes rows, many in several transactions; none is no error.
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

// cacheGrace is how long rows in memory are answered while the database does not answer. After that a key may have been
// revoked for too long.
const cacheGrace = 15 * time.Minute

// Cached is Get from memory, for rows that every request asks for. What another process wrote counts within a second.
func (t Table) Cached(ctx context.Context, key string) (value []byte, err error) {
	s := t.store
	if !s.Shared() {
		value, _, err = t.Get(ctx, key)
		return value, err
	}
	n, _ := t.store.Changes(t.workspace)
	s.mu.Lock()
	w := s.space(t.workspace)
	if w.cachedAt != n || time.Since(s.contact) > cacheGrace {
		w.cachedAt, w.cached = n, map[string][]byte{}
	}
	value, ok := w.cached[key]
	s.mu.Unlock()
	if ok {
		return value, nil
	}
	if value, _, err = t.Get(ctx, key); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if w.cachedAt == n {
			w.cached[key] = value
		}
	}
	return value, err
}

// Apply makes changes, all or none.
func (t Table) Apply(ctx context.Context, changes ...Change) error {
	_, err := t.store.Append(ctx, t.workspace, Batch{Changes: changes})
	return err
}

// Follow calls changed, until ctx ends, when another process may have changed rows; not at all where no other process
// writes. Whoever keeps rows in memory then reads them again.
func (t Table) Follow(ctx context.Context, changed func()) {
	if !t.store.Shared() {
		return
	}
	for seen, more := t.store.Changes(t.workspace); ; {
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
		n := seen
		if seen, more = t.store.Changes(t.workspace); seen != n {
			changed()
		}
		select { // a busy workspace changes more often than rows that are kept
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return
		}
	}
}

func notNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
