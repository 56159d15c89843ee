package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"waymark/storage"
)

// Rows are the rows of a table under a key prefix. The row of an id stores a value of T as JSON.
type Rows[T any] struct {
	storage.Table
	Prefix string
}

// Row is one row of [Rows].
type Row[T any] struct {
	ID      string
	Value   T
	Version uint64
}

// Decode decodes the value of a row.
func (r Rows[T]) Decode(id string, value []byte) (v T, err error) {
	if err = json.Unmarshal(value, &v); err != nil {
		err = fmt.Errorf("row %s%s: %w", r.Prefix, id, errors.Join(storage.ErrDamaged, err))
	}
	return v, err
}

// Get reads a row; it returns [storage.ErrNotFound] if there is none.
func (r Rows[T]) Get(ctx context.Context, id string) (row Row[T], err error) {
	value, version, err := r.Table.Get(ctx, r.Prefix+id)
	if err == nil {
		row = Row[T]{ID: id, Version: version}
		row.Value, err = r.Decode(id, value)
	}
	return row, err
}

// All yields the rows sorted by id, and stops at the first row that cannot be read.
func (r Rows[T]) All(ctx context.Context) iter.Seq2[Row[T], error] {
	return func(yield func(Row[T], error) bool) {
		for row, err := range r.Table.List(ctx, r.Prefix) {
			one := Row[T]{ID: strings.TrimPrefix(row.Key, r.Prefix), Version: row.Version}
			if err == nil {
				one.Value, err = r.Decode(one.ID, row.Value)
			}
			if !yield(one, err) || err != nil {
				return
			}
		}
	}
}

// Change returns the change that sets a row. With a version the row must have that version; 0: the row must not exist.
func (r Rows[T]) Change(id string, v T, version *uint64) (storage.Change, error) {
	value, err := json.Marshal(v)
	return storage.Change{Key: r.Prefix + id, Value: value, Version: version}, err
}

// Set applies the change at once; it returns [storage.ErrConflict] if the row has another version.
func (r Rows[T]) Set(ctx context.Context, id string, v T, version *uint64) error {
	change, err := r.Change(id, v, version)
	if err == nil {
		err = r.Apply(ctx, change)
	}
	return err
}

// Forget deletes the rows for which meets returns true.
func (r Rows[T]) Forget(ctx context.Context, meets func(Row[T]) bool) error {
	var keys []string
	for row, err := range r.All(ctx) {
		if err != nil {
			return err
		}
		if meets(row) {
			keys = append(keys, r.Prefix+row.ID)
		}
	}
	return r.Delete(ctx, keys...)
}
