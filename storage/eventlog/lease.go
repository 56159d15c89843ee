package eventlog

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"waymark/storage"
)

// lease is who has something, as its row says. The clocks of the holders are compared with each other, so a lease
// says who works and not what is true: that its work counts is decided by the append that reports it.
type lease struct {
	epoch  uint64
	until  time.Time
	holder string
}

// newHolder names a process, or one of its handles, among the holders of leases.
func newHolder() string { return rand.Text() }

// holderRow is the row of the system table of a data directory with its name; it is not shared.
const holderRow = "holder"

// Holder names a data directory at a place among the holders of leases, so that a restart goes on with them. A copy of it
// at another place is another holder.
func Holder(ctx context.Context, store storage.Store, place string) (string, error) {
	name, _, err := store.System().Get(ctx, holderRow)
	if errors.Is(err, storage.ErrNotFound) {
		name = []byte(newHolder())
		_, err = store.System().Put(ctx, holderRow, name)
	}
	return string(name) + " " + place, err
}

// nextLease is the row after the one given (nil: none) when holder takes or extends the lease.
func nextLease(row []byte, holder string, ttl time.Duration) (lease, error) {
	next := lease{epoch: 1, until: time.Now().Add(ttl), holder: holder}
	if row == nil {
		return next, nil
	}
	was, err := decodeLease(row)
	if err != nil {
		return next, err
	}
	switch same := was.holder == holder; {
	case !same && was.held():
		return next, ErrHeld
	case same && was.held():
		next.epoch = was.epoch
	default: // one that ran out may have been another's meanwhile for all the holder knows
		next.epoch = was.epoch + 1
	}
	return next, nil
}

func (l lease) held() bool { return time.Now().Before(l.until) }

func decodeLease(row []byte) (lease, error) {
	if len(row) < 16 {
		return lease{}, fmt.Errorf("%w: row of a lease has %d bytes", storage.ErrDamaged, len(row))
	}
	return lease{binary.BigEndian.Uint64(row), time.UnixMilli(int64(binary.BigEndian.Uint64(row[8:]))), string(row[16:])}, nil
}

func (l lease) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, l.epoch)
	b = binary.BigEndian.AppendUint64(b, uint64(l.until.UnixMilli()))
	return append(b, l.holder...)
}
