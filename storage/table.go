package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// badgerTable is the table of one workspace, or of none, in badger.
type badgerTable struct {
	b *Badger
	w *space
}

func (t *badgerTable) Get(ctx context.Context, key string) (value []byte, version uint64, err error) {
	err = ctx.Err()
	if err == nil {
		err = t.b.view(func(txn *badger.Txn) error {
			if t.w.gone.Load() {
				return ErrNotFound
			}
			item, err := txn.Get(rowKey(t.w.name, key))
			if errors.Is(err, badger.ErrKeyNotFound) {
				return ErrNotFound
			}
			if err != nil {
				return err
			}
			return item.Value(func(v []byte) error {
				version, value, err = decodeRow(v)
				if err != nil {
					return fmt.Errorf("%w: %w", ErrDamaged, err)
				}
				value = slices.Clone(value)
				return nil
			})
		})
	}
	if err != nil {
		return nil, 0, fmt.Errorf("table row %q: %w", key, err)
	}
	return value, version, nil
}

func (t *badgerTable) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	return t.write(ctx, key, value, func(uint64) bool { return true })
}

func (t *badgerTable) CAS(ctx context.Context, key string, version uint64, value []byte) (uint64, error) {
	return t.write(ctx, key, value, func(current uint64) bool { return current == version })
}

func (t *badgerTable) write(ctx context.Context, key string, value []byte, may func(version uint64) bool) (version uint64, err error) {
	if err := checkRow(key, value); err != nil {
		return 0, err
	}
	err = t.submit(ctx, key, len(value), func(x *tx, k []byte) error {
		current, err := rowVersion(x, k)
		if err != nil {
			return err
		}
		if !may(current) {
			return ErrConflict
		}
		version = current + 1
		return x.set(k, encodeRow(version, value))
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}

func (t *badgerTable) Delete(ctx context.Context, key string) error {
	return t.submit(ctx, key, 0, func(x *tx, k []byte) error {
		if current, err := rowVersion(x, k); err != nil || current == 0 {
			return err
		}
		return x.delete(k)
	})
}

func (t *badgerTable) submit(ctx context.Context, key string, size int, apply func(*tx, []byte) error) error {
	k := rowKey(t.w.name, key)
	err := t.b.submit(ctx, &request{records: 1, size: size + len(k) + 100, apply: func(x *tx) error {
		if t.w.gone.Load() {
			return ErrNotFound
		}
		return apply(x, k)
	}})
	if err != nil {
		return fmt.Errorf("table row %q: %w", key, err)
	}
	return nil
}

func rowVersion(x *tx, k []byte) (uint64, error) {
	v, err := x.get(k)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	version, _, err := decodeRow(v)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return version, nil
}

func (t *badgerTable) List(ctx context.Context, start string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		from := start
		for {
			page, more, err := t.page(ctx, start, from)
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("table rows %q: %w", start, err))
				return
			}
			if !more {
				return
			}
			from = page[len(page)-1].Key + "\x00" // the smallest key after it
		}
	}
}

func (t *badgerTable) page(ctx context.Context, start, from string) (page []Entry, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	err = t.b.view(func(txn *badger.Txn) error {
		if t.w.gone.Load() {
			return ErrNotFound
		}
		it := txn.NewIterator(badger.IteratorOptions{Prefix: rowKey(t.w.name, start)})
		defer it.Close()
		size := 0
		for it.Seek(rowKey(t.w.name, from)); it.Valid(); it.Next() {
			if len(page) == pageEvents || size >= pageBytes {
				more = true
				return nil
			}
			key := strings.TrimPrefix(string(it.Item().Key()), string(rowKey(t.w.name, "")))
			err := it.Item().Value(func(v []byte) error {
				version, value, err := decodeRow(v)
				if err != nil {
					return fmt.Errorf("%w: row %q: %w", ErrDamaged, key, err)
				}
				page = append(page, Entry{Key: key, Value: slices.Clone(value), Version: version})
				size += len(v)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return page, more, err
}
