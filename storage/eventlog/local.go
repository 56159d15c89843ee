package eventlog

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"waymark/storage"
)

// Local is the log in a store of this process. Leases are rows of its system table.
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

// Close implements [Log]; it leaves the store open.
func (l *Local) Close() error { return nil }
