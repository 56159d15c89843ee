package eventlog

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"

	"waymark/storage"
)

// row names a row of a table; the system table belongs to no workspace.
type row struct{ workspace, key string }

// change is an event of the control log: a row has a value, or is deleted (nil).
type change struct {
	row
	value []byte
}

// The first byte of a change; others are of a newer version.
const (
	changePut    = 'P'
	changeDelete = 'D'
)

func (c *change) encode() []byte {
	b := []byte{changePut}
	if c.value == nil {
		b[0] = changeDelete
	}
	for _, text := range []string{c.workspace, c.key} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return append(b, c.value...)
}

func decodeChange(b []byte) (c change, err error) {
	if len(b) == 0 {
		return c, fmt.Errorf("%w: empty change of a row", storage.ErrDamaged)
	}
	kind, b := b[0], b[1:]
	if kind != changePut && kind != changeDelete {
		return c, fmt.Errorf("%w: kind %q: %w", ErrDiverged, kind, ErrNewer)
	}
	for _, text := range []*string{&c.workspace, &c.key} {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return c, fmt.Errorf("%w: change of a row is cut short", storage.ErrDamaged)
		}
		*text, b = string(b[n:n+int(size)]), b[n+int(size):]
	}
	if kind == changePut {
		c.value = append([]byte{}, b...)
	}
	return c, nil
}

// controlRows yields the control rows of a store, without those of one log.
func controlRows(ctx context.Context, store storage.Store) iter.Seq2[change, error] {
	return func(yield func(change, error) bool) {
		names, err := store.Workspaces(ctx)
		for _, name := range append([]string{""}, names...) {
			table := store.System()
			if name != "" && err == nil {
				table, err = store.Table(name)
			}
			if err != nil {
				yield(change{}, err)
				return
			}
			for _, prefix := range controlled[name != ""] {
				for e, err := range table.List(ctx, prefix) {
					c := change{row{name, e.Key}, append([]byte{}, e.Value...)}
					if err == nil && c.ofLog() {
						continue
					}
					if !yield(c, err) || err != nil {
						return
					}
				}
			}
		}
	}
}

// foldAll gives each event of the control log to fold and returns the last change of each row.
func (s *Shared) foldAll(ctx context.Context, fold func(change) error) (last map[row]*change, err error) {
	last = map[row]*change{}
	for e, err := range s.log.Read(ctx, ControlLog, 0, false) {
		if err == nil {
			err = e.Follows(s.head)
		}
		if err != nil {
			return nil, err
		}
		c, err := decodeChange(e.Payload)
		if err != nil {
			return nil, fmt.Errorf("event %d of %s: %w", e.Seq, ControlLog, err)
		}
		if workspace, ok := deletedIn(c); ok {
			maps.DeleteFunc(last, func(of row, _ *change) bool { return of.workspace == workspace })
		}
		s.head, last[c.row] = e.Head(), &c
	}
	for _, c := range last {
		if err := fold(*c); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// ofLog reports whether a row is of one log and not for copies of it: what was deleted there.
func (c *change) ofLog() bool {
	_, deletes := deletedIn(*c)
	return deletes
}

// PublishControl gives a log the control rows of a store.
func PublishControl(ctx context.Context, store storage.Store, log Log) error {
	s := newShared(storage.NewMemory(), log)
	for c, err := range controlRows(ctx, store) {
		if err == nil {
			err = s.write(ctx, c, func(uint64) error { return nil })
		}
		if err != nil {
			return err
		}
	}
	return nil
}
