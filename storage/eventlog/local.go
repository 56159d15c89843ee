package eventlog

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"waymark/storage"
)

// Local is the log in a store of this process. Leases and blobs are rows of its system table.
type Local struct {
	store  storage.Store
	holder string
	mu     sync.Mutex
	grown  chan struct{} // closed at the next append
}

// NewLocal returns the log of a store. The store stays the caller's to close. Two of one store are two holders
// of leases; only one of them may append while others follow.
func NewLocal(store storage.Store) *Local {
	return &Local{store: store, holder: newHolder(), grown: make(chan struct{})}
}

func (l *Local) log(workspace string) (storage.Installer, error) {
	log, err := l.store.Log(workspace)
	if err != nil {
		return nil, err
	}
	return log.(storage.Installer), nil // every log of package storage is one
}

// Append implements [Log].
func (l *Local) Append(ctx context.Context, workspace string, events []storage.Sealed) error {
	if err := check(events); err != nil {
		return err
	}
	log, err := l.log(workspace)
	if err != nil {
		return err
	}
	if err := log.Install(ctx, events); err != nil {
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
		head := log.Head()
		if head.Seq+1 == events[0].Seq {
			if err := continues(head, &events[0]); err != nil {
				return err
			}
		}
		return ended(ctx, l, workspace, head, events)
	}
	l.mu.Lock()
	close(l.grown)
	l.grown = make(chan struct{})
	l.mu.Unlock()
	return nil
}

// Read implements [Log].
func (l *Local) Read(ctx context.Context, workspace string, after uint64, follow bool) iter.Seq2[storage.Sealed, error] {
	return func(yield func(storage.Sealed, error) bool) {
		log, err := l.log(workspace)
		if err != nil {
			yield(storage.Sealed{}, err)
			return
		}
		for {
			l.mu.Lock()
			grown := l.grown
			l.mu.Unlock()
			for e, err := range log.ReadSealed(ctx, after) {
				if !yield(e, err) || err != nil {
					return
				}
				after = e.Seq
			}
			if !follow {
				return
			}
			select {
			case <-grown:
			case <-ctx.Done():
				yield(storage.Sealed{}, ctx.Err())
				return
			}
		}
	}
}

// Head implements [Log].
func (l *Local) Head(_ context.Context, workspace string) (storage.Head, error) {
	log, err := l.log(workspace)
	if err != nil {
		return storage.Head{}, err
	}
	return log.Head(), nil
}

// Workspaces implements [Log].
func (l *Local) Workspaces(ctx context.Context) ([]string, error) {
	names, err := l.store.Workspaces(ctx)
	return slices.DeleteFunc(names, func(name string) bool {
		head, e := l.Head(ctx, name)
		err = errors.Join(err, e)
		return head.Seq == 0
	}), err
}

// Lease implements [Log].
func (l *Local) Lease(ctx context.Context, name string, ttl time.Duration) (uint64, error) {
	row := "lease/" + name
	value, version, err := l.store.System().Get(ctx, row)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return 0, err
	}
	next, err := nextLease(value, l.holder, ttl)
	if err != nil {
		return 0, err
	}
	if _, err = l.store.System().CAS(ctx, row, version, next.encode()); errors.Is(err, storage.ErrConflict) {
		err = ErrHeld
	}
	return next.epoch, err
}

// blobPart is the most of a blob that one row holds.
const blobPart = storage.MaxPayload

// PutBlob implements [Log]. The row with the length is written last: without it there is no blob.
func (l *Local) PutBlob(ctx context.Context, data []byte) ([32]byte, error) {
	sum := sha256.Sum256(data)
	row := "blob/" + hex.EncodeToString(sum[:])
	part := 0
	for chunk := range slices.Chunk(data, blobPart) {
		if _, err := l.store.System().Put(ctx, fmt.Sprintf("%s/%06d", row, part), chunk); err != nil {
			return sum, err
		}
		part++
	}
	_, err := l.store.System().Put(ctx, row, binary.BigEndian.AppendUint64(nil, uint64(len(data))))
	return sum, err
}

// Blob implements [Log].
func (l *Local) Blob(ctx context.Context, sum [32]byte) ([]byte, error) {
	row := "blob/" + hex.EncodeToString(sum[:])
	if _, _, err := l.store.System().Get(ctx, row); err != nil {
		if errors.Is(err, storage.ErrNotFound) {
			err = ErrNoBlob
		}
		return nil, err
	}
	data := []byte{}
	for e, err := range l.store.System().List(ctx, row+"/") {
		if err != nil {
			return nil, err
		}
		data = append(data, e.Value...)
	}
	return data, checkBlob(data, sum)
}

// DeleteBlob implements [Log].
func (l *Local) DeleteBlob(ctx context.Context, sum [32]byte) error {
	row := "blob/" + hex.EncodeToString(sum[:])
	keys := []string{row}
	for e, err := range l.store.System().List(ctx, row+"/") {
		if err != nil {
			return err
		}
		keys = append(keys, e.Key)
	}
	for _, key := range keys {
		if err := l.store.System().Delete(ctx, key); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}

// Close implements [Log]; it leaves the store open.
func (l *Local) Close() error { return nil }
