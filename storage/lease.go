package storage

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"time"
)

// lease has at most one holder among the processes that share a store, by the clock of the engine. The fencing number
// grows with every change of holder, so that late writes of an earlier holder can be rejected.
type lease struct {
	fence  uint64
	until  time.Time
	holder string
}

func (l lease) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, l.fence)
	return append(binary.BigEndian.AppendUint64(b, uint64(l.until.UnixNano())), l.holder...)
}

// decodeLease decodes a lease. For nil it returns a lease that was never held.
func decodeLease(b []byte) (l lease) {
	if len(b) >= 16 {
		l.fence, l.holder = binary.BigEndian.Uint64(b), string(b[16:])
		l.until = time.Unix(0, int64(binary.BigEndian.Uint64(b[8:])))
	}
	return l
}

// Lease acquires a lease, or extends the lease of this process, for ttl from now. It returns [ErrHeld] while another
// process holds it. In a store that is not shared every lease is granted, with fencing number 0.
func (t Table) Lease(ctx context.Context, name string, ttl time.Duration) (fence uint64, err error) {
	if !t.store.Shared() {
		return 0, nil
	}
	err = t.changeLease(ctx, name, func(l *lease, now time.Time) error {
		if l.holder != t.store.holder {
			if now.Before(l.until) {
				return ErrHeld
			}
			l.fence, l.holder = l.fence+1, t.store.holder
		}
		fence, l.until = l.fence, now.Add(ttl)
		return nil
	})
	return fence, err
}

// Release ends a lease of this process early, so that others need not wait.
func (t Table) Release(ctx context.Context, name string) error {
	return t.changeLease(ctx, name, func(l *lease, _ time.Time) error {
		if l.holder == t.store.holder {
			l.until = time.Unix(0, 0) // expired by any clock
		}
		return nil
	})
}

func (t Table) changeLease(ctx context.Context, name string, change func(l *lease, now time.Time) error) error {
	err := t.store.submit(ctx, []string{t.workspace}, func(c *commit) error {
		k := Key{tableLeases, c.headers[t.workspace].space(t.workspace), name}
		now, err := c.reader.Now()
		l := decodeLease(c.get(k))
		if err = cmp.Or(err, change(&l, now)); err == nil {
			c.put(Pair{k, l.encode()})
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("lease %q: %w", name, err)
	}
	return err
}

// Leased reports whether any process holds a lease.
func (t Table) Leased(ctx context.Context, name string) (held bool, err error) {
	err = t.store.view(ctx, t.workspace, func(r Reader, h header) error {
		now, err := r.Now()
		values, failed := r.Get(Key{tableLeases, h.space(t.workspace), name})
		if err = cmp.Or(err, failed); err == nil {
			held = now.Before(decodeLease(values[0]).until)
		}
		return err
	})
	return held, err
}
