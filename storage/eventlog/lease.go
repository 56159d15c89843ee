package eventlog

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
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

// nextLease is the row after the one given (nil: none) when holder takes or extends the lease.
func nextLease(row []byte, holder string, ttl time.Duration) (lease, error) {
	next := lease{epoch: 1, until: time.Now().Add(ttl), holder: holder}
	if row == nil {
		return next, nil
	}
	if len(row) < 16 {
		return next, fmt.Errorf("%w: row of a lease has %d bytes", storage.ErrDamaged, len(row))
	}
	epoch := binary.BigEndian.Uint64(row)
	until := time.UnixMilli(int64(binary.BigEndian.Uint64(row[8:])))
	switch same := string(row[16:]) == holder; {
	case !same && time.Now().Before(until):
		return next, ErrHeld
	case same && time.Now().Before(until):
		next.epoch = epoch
	default: // one that ran out may have been another's meanwhile for all the holder knows
		next.epoch = epoch + 1
	}
	return next, nil
}

func (l lease) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, l.epoch)
	b = binary.BigEndian.AppendUint64(b, uint64(l.until.UnixMilli()))
	return append(b, l.holder...)
}

// checkBlob reports whether data is what its name says.
func checkBlob(data []byte, sum [32]byte) error {
	if sha256.Sum256(data) != sum {
		return fmt.Errorf("%w: blob %x has other bytes than its hash says", storage.ErrDamaged, sum[:8])
	}
	return nil
}
