package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"
)

// A lease has one holder among the processes that share a store, by the clock of the engine. Its fencing number grows
// with every change of holder, so that what an earlier holder still writes can be refused.

const leaseHead = 8 + 8 // fencing number and end in Unix nanoseconds, then the holder

// Lease takes a lease, or extends the one of this process, for ttl from now: [ErrHeld] while another process has it. A
// store that is not shared has every lease, with fencing number 0.
func (s *Store) Lease(ctx context.Context, lease string, ttl time.Duration) (fence uint64, err error) {
	if !s.engine.Shared() {
		return 0, nil
	}
	k := Key{tableLeases, "", lease}
	err = s.submit(ctx, &op{
		workspaces: []string{""}, size: 256, reads: func(*commit) []Key { return []Key{k} },
		apply: func(c *commit) error {
			now, err := c.reader.Now()
			if err != nil {
				return c.fail(err)
			}
			var until time.Time
			holder := ""
			if fence, until, holder = decodeLease(c.get(k)); holder != s.holder {
				if now.Before(until) {
					return ErrHeld
				}
				fence++
			}
			c.put(k, encodeLease(fence, now.Add(ttl), s.holder))
			return nil
		},
	})
	if err != nil {
		return 0, fmt.Errorf("lease %q: %w", lease, err)
	}
	return fence, nil
}

// Leased reports whether any process has a lease.
func (s *Store) Leased(ctx context.Context, lease string) (held bool, err error) {
	err = s.view(ctx, func(r Reader) error {
		now, err := r.Now()
		if err != nil {
			return err
		}
		values, err := r.Get(Key{tableLeases, "", lease})
		if err == nil {
			_, until, _ := decodeLease(values[0])
			held = now.Before(until)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("lease %q: %w", lease, err)
	}
	return held, nil
}

// Release ends a lease of this process before its time, so that another one need not wait.
func (s *Store) Release(ctx context.Context, lease string) error {
	k := Key{tableLeases, "", lease}
	return s.submit(ctx, &op{
		workspaces: []string{""}, size: 256, reads: func(*commit) []Key { return []Key{k} },
		apply: func(c *commit) error {
			if fence, _, holder := decodeLease(c.get(k)); holder == s.holder {
				c.put(k, encodeLease(fence, time.Unix(0, 0), holder))
			}
			return nil
		},
	})
}

// Lease is [Store.Lease] of a name that belongs to the workspace.
func (t Table) Lease(ctx context.Context, lease string, ttl time.Duration) (fence uint64, err error) {
	return t.store.Lease(ctx, t.workspace+"/"+lease, ttl)
}

// Release is [Store.Release].
func (t Table) Release(ctx context.Context, lease string) error {
	return t.store.Release(ctx, t.workspace+"/"+lease)
}

func encodeLease(fence uint64, until time.Time, holder string) []byte {
	b := binary.BigEndian.AppendUint64(nil, fence)
	return append(binary.BigEndian.AppendUint64(b, uint64(until.UnixNano())), holder...)
}

// decodeLease of nothing is a lease that nobody had.
func decodeLease(b []byte) (fence uint64, until time.Time, holder string) {
	if len(b) < leaseHead {
		return 0, time.Time{}, ""
	}
	return binary.BigEndian.Uint64(b), time.Unix(0, int64(binary.BigEndian.Uint64(b[8:]))), string(b[leaseHead:])
}
