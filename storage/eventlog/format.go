package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"waymark/storage"
)

// The format of a shared log is a number that says which kinds of events, members of events and control rows may be in
// it. A program reads all formats up to its own and writes the active one, which is a row of the control log:
//
//	each process    lease reads/FORMAT/PROCESS    what it reads, while it lives
//	the operator    row event-format = FORMAT     once all that live read it; there is no way back
//
// So replicas are replaced one by one while all of them read what any of them writes.

const (
	formatRow    = "event-format" // of the system table; absent: 1
	readsName    = "reads"        // begins the names of leases
	readsLease   = 10 * time.Second
	readsRenewed = time.Second
)

// ErrNewer: something was written by a program that is newer than this one.
var ErrNewer = errors.New("a newer version of the program wrote this event; use that version, or restore a backup from before the upgrade")

// ErrFormat: the active format is one that this program does not read.
type ErrFormat struct{ Active, Reads int }

func (e *ErrFormat) Error() string {
	return fmt.Sprintf("the shared log is in event format %d and this program reads formats up to %d: start this replica with the version of the program that the others have (waymark fleet status)", e.Active, e.Reads)
}

// Is makes it an [ErrNewer] and an [ErrDiverged]: nothing is answered any more.
func (e *ErrFormat) Is(target error) bool { return target == ErrNewer || target == ErrDiverged }

// formatOf is the active format after a change, 0 for changes of other rows.
func formatOf(c change) (int, error) {
	if c.row != (row{key: formatRow}) || c.value == nil {
		return 0, nil
	}
	n, err := strconv.Atoi(string(c.value))
	if err != nil {
		return 0, fmt.Errorf("%w: row %s: %w", storage.ErrDamaged, formatRow, err)
	}
	return n, nil
}

// readable refuses a change to a format that this program does not read. Nothing of such a log is folded.
func (s *Shared) readable(c change) error { return s.reading(formatOf(c)) }

func (s *Shared) reading(format int, err error) error {
	if err == nil && format > s.reads {
		err = &ErrFormat{format, s.reads}
	}
	return err
}

// Format is the active format, as far as the control log is folded here.
func (s *Shared) Format(ctx context.Context) (int, error) {
	s.mu.Lock()
	broken := s.broken
	s.mu.Unlock()
	if broken != nil {
		return 0, broken
	}
	return formatIn(ctx, s.Store)
}

func formatIn(ctx context.Context, store storage.Store) (int, error) {
	value, _, err := store.System().Get(ctx, formatRow)
	if errors.Is(err, storage.ErrNotFound) {
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	return formatOf(change{row{key: formatRow}, value})
}

// announce says what this program reads, for as long as it renews that.
func (s *Shared) announce(ctx context.Context, ttl time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	_, _ = s.log.Lease(ctx, fmt.Sprintf("%s/%d/%s", readsName, s.reads, s.process), ttl) // repeated, or it runs out
}

// Readers counts the live replicas of a log by the format that they read.
func Readers(ctx context.Context, log Log) (map[int]int, error) {
	names, err := log.Held(ctx, readsName)
	if err != nil {
		return nil, err
	}
	readers := map[int]int{}
	for _, name := range names {
		_, rest, _ := strings.Cut(name, "/")
		number, _, _ := strings.Cut(rest, "/")
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("lease %q names no format", name)
		}
		readers[n]++
	}
	return readers, nil
}

// Raise activates a format that this program and all live replicas read. It returns the format that was active.
func Raise(ctx context.Context, log Log, to int) (was int, err error) {
	s := newShared(storage.NewMemory(), log, to)
	if _, err := s.foldAll(ctx, func(c change) error { return s.put(ctx, c) }); err != nil {
		return 0, err
	}
	if was, err = formatIn(ctx, s.Store); err != nil || was == to {
		return was, err
	}
	readers, err := Readers(ctx, log)
	if err != nil {
		return was, err
	}
	least := to
	for n := range readers {
		least = min(least, n)
	}
	if least < to {
		return was, fmt.Errorf("event format %d is not activated: %d live replicas read formats up to %d; start them with this version of the program first", to, readers[least], least)
	}
	return was, s.write(ctx, change{row{key: formatRow}, strconv.AppendInt(nil, int64(to), 10)}, func(uint64) error { return nil })
}
