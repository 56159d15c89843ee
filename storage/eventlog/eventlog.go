// Package eventlog gives the logs of workspaces one interface, wherever they are kept: in this machine's store or in
// an engine that several machines share.
//
//	[Local]     a storage.Store: badger, or memory in tests
//	[Postgres]  one table with primary key (workspace, seq)
//
// An event arrives sealed: its place, its digest and the hash of the chain up to it are fixed before any engine sees
// it. That one rule gives the rest. Two writers at the same place conflict. Whether an append of unknown outcome was
// stored is told by the hash at its place, so trying again counts once. And an engine that loses or changes an event
// is found out by whoever reads, because the chain no longer continues.
package eventlog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"time"

	"waymark/storage"
)

// The most that one append holds, which one commit of badger takes.
const (
	MaxEvents = 1000
	MaxBytes  = 768 << 10
)

var (
	// ErrDiverged: two logs, or a log and what was sealed for it, have different pasts.
	ErrDiverged = errors.New("the logs have different histories")
	// ErrHeld: somebody else has the lease.
	ErrHeld = errors.New("the lease is held by another process")
	// ErrNewer: something was written by another version of the program.
	ErrNewer = errors.New("a newer version of the program wrote this event; export with that version (waymark export) and import here (waymark import)")
)

// ErrConflict answers an append where the log ends elsewhere; nothing of it is stored.
type ErrConflict struct{ At uint64 }

func (e *ErrConflict) Error() string {
	return fmt.Sprintf("the log ends at event %d: another writer appended to it", e.At)
}

// Shorter returns [ErrDiverged] for a log that ends before its copy.
func Shorter(log string, here, there uint64) error {
	if there >= here {
		return nil
	}
	return fmt.Errorf("%w: %s has %d events here and %d in the shared log", ErrDiverged, log, here, there)
}

// Log holds the histories of workspaces. All methods may be called concurrently.
type Log interface {
	// Append stores all of the events or, with [ErrConflict], none. They must be sealed one after the other, for the
	// end of the log. After any other error the outcome is unknown, and the same call may be made again: events that
	// are there already, at their place and with their hash, count as stored by it.
	Append(ctx context.Context, workspace string, events []storage.Sealed) error
	// Read yields the committed events after a place, in order, up to the end that it saw at the start. With follow it
	// goes on with what is appended later, until ctx ends.
	Read(ctx context.Context, workspace string, after uint64, follow bool) iter.Seq2[storage.Sealed, error]
	// Head is the last committed event of a workspace; the zero Head if it has none.
	Head(ctx context.Context, workspace string) (storage.Head, error)
	// Workspaces lists those with events, sorted.
	Workspaces(ctx context.Context) ([]string, error)
	// Lease takes a lease, or extends the one this Log holds, for ttl from now: [ErrHeld] while another has it.
	// The epoch grows with every change of holder, so that what an earlier holder still sends can be refused.
	Lease(ctx context.Context, name string, ttl time.Duration) (epoch uint64, err error)
	Close() error
}

// Options of an engine that is shared.
type Options struct {
	// Unsafe accepts an engine whose settings can lose acknowledged events.
	Unsafe bool
	// Holder has the leases that are taken, also after a restart; empty: this process has them.
	Holder string
}

// Open connects to a shared engine, checks its settings and creates what it needs. The address is postgres://…; the
// password in it is in no error.
func Open(ctx context.Context, address string, opts Options) (Log, error) {
	if scheme, _, ok := strings.Cut(address, "://"); !ok || scheme != "postgres" && scheme != "postgresql" {
		return nil, errors.New("a shared log has an address postgres://…")
	}
	l, err := openPostgres(ctx, address, opts)
	if err != nil {
		return nil, fmt.Errorf("open the log at %s: %w", Name(address), hide(address, err))
	}
	return l, nil
}

// Name is an address without what is secret in it.
func Name(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "?")
	return scheme + "://" + rest[strings.LastIndex(rest, "@")+1:]
}

// hidden is an error whose text lacks a secret.
type hidden struct {
	error
	text string
}

func (h hidden) Error() string { return h.text }
func (h hidden) Unwrap() error { return h.error }

// hide takes an address and the secrets in it out of an error, decoded and as they are written: what stands before @
// (but for the name of a user who has a password) and the passwords among the parameters.
func hide(address string, err error) error {
	_, rest, _ := strings.Cut(address, "://")
	servers, parameters, _ := strings.Cut(rest, "?")
	secrets := []string{address}
	for server := range strings.SplitSeq(servers, ",") {
		if at := strings.LastIndex(server, "@"); at >= 0 {
			secret := server[:at]
			if _, password, ok := strings.Cut(secret, ":"); ok {
				secret = password
			}
			secrets = append(secrets, secret)
		}
	}
	for parameter := range strings.SplitSeq(parameters, "&") {
		if name, value, _ := strings.Cut(parameter, "="); strings.Contains(name, "password") {
			secrets = append(secrets, value)
		}
	}
	text := err.Error()
	for _, secret := range secrets {
		decoded, _ := url.PathUnescape(secret)
		for _, s := range []string{secret, decoded} {
			if s != "" {
				text = strings.ReplaceAll(text, s, "xxxxx")
			}
		}
	}
	return hidden{err, text}
}

// check refuses events that are not one intact run, or too many.
func check(events []storage.Sealed) error {
	size := 0
	for i := range events {
		size += len(events[i].Payload)
		if i > 0 {
			if err := events[i].Follows(events[i-1].Head()); err != nil {
				return err
			}
		}
	}
	if len(events) == 0 || len(events) > MaxEvents || size > MaxBytes {
		return fmt.Errorf("%d events of %d bytes: an append holds 1 to %d of at most %d bytes", len(events), size, MaxEvents, MaxBytes)
	}
	return nil
}

// ended finds out what a log that ends at head means for an append: nil if the events are in it already,
// [ErrConflict] if others stand at their place or it ends before.
func ended(ctx context.Context, l Log, workspace string, head storage.Head, events []storage.Sealed) error {
	last := events[len(events)-1].Head()
	if head == last {
		return nil
	}
	if head.Seq > last.Seq {
		e, err := At(ctx, l, workspace, last.Seq)
		if err != nil || e.Head() == last {
			return err
		}
	}
	return &ErrConflict{At: head.Seq}
}

// At reads one event.
func At(ctx context.Context, l Log, workspace string, seq uint64) (storage.Sealed, error) {
	for e, err := range l.Read(ctx, workspace, seq-1, false) {
		if err == nil && e.Seq != seq {
			err = fmt.Errorf("%w: event %d is missing", storage.ErrDamaged, seq)
		}
		return e, err
	}
	return storage.Sealed{}, fmt.Errorf("event %d: %w", seq, storage.ErrNotFound)
}

// continues checks that events were sealed for a log with this end, once their place is known to be right.
func continues(head storage.Head, first *storage.Sealed) error {
	if err := first.Follows(head); err != nil {
		return fmt.Errorf("%w: event %d was sealed for another event %d", ErrDiverged, first.Seq, head.Seq)
	}
	return nil
}
