package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Sealed is an event with all that a store keeps of it: what one store hands to another. Its place and hash are
// fixed, so it fits only a log that ends where it was sealed.
type Sealed struct{ storedEvent }

// Seal makes the events that records become when they are appended to a log that ends at after.
func Seal(after Head, records []Record) ([]Sealed, error) {
	if err := checkRecords(records); err != nil {
		return nil, err
	}
	events := make([]Sealed, len(records))
	for i, r := range records {
		e := newEvent(r)
		e.Seq = after.Seq + 1
		e.Chain = chainNext(after.Chain, e.Seq, e.Digest)
		after, events[i] = Head{Seq: e.Seq, Chain: e.Chain}, Sealed{e}
	}
	return events, nil
}

// OpenSealed reads what [Sealed.Bytes] wrote; the payload stays in b.
func OpenSealed(seq uint64, b []byte) (Sealed, error) {
	e, err := decodeEvent(seq, b)
	if err != nil {
		return Sealed{}, fmt.Errorf("%w: event %d: %w", ErrDamaged, seq, err)
	}
	return Sealed{e}, nil
}

// Bytes is the event in the encoding of the database, which has a checksum of its own.
func (s *Sealed) Bytes() []byte { return encodeEvent(&s.storedEvent) }

// Head is the end of the log once the event is in it.
func (s *Sealed) Head() Head { return Head{Seq: s.Seq, Chain: s.Chain} }

// Follows checks that the event is intact and is the one that comes after before.
func (s *Sealed) Follows(before Head) error {
	if s.Seq != before.Seq+1 {
		return fmt.Errorf("%w: event %d comes after event %d", ErrDamaged, s.Seq, before.Seq)
	}
	if err := s.check(before); err != nil {
		return fmt.Errorf("%w: event %d: %w", ErrDamaged, s.Seq, err)
	}
	return nil
}

// Installer is a [Log] that takes and gives events as they are stored. The logs of this package are.
type Installer interface {
	Log
	// Install stores events that were sealed for the end of this log, all in one commit: ErrConflict if the log
	// ends elsewhere. Unlike Append it does not look whether a key is known.
	Install(ctx context.Context, events []Sealed) error
	// Known says which records Append would not store: their receipts, and the zero Receipt for a record whose key is
	// unknown or empty. Keys that repeat among the records are not compared.
	Known(ctx context.Context, records []Record) ([]Receipt, error)
	// ReadSealed is Read with all that is stored.
	ReadSealed(ctx context.Context, after uint64) iter.Seq2[Sealed, error]
}

func (l *badgerLog) Install(ctx context.Context, events []Sealed) error {
	r := &request{records: len(events)}
	for i := range events {
		r.size += recordSize(l.w.name, Record{Payload: events[i].Payload})
	}
	if r.size > maxBytes || r.records > maxRecords {
		return fmt.Errorf("install in %q: %d events are more than one commit holds", l.w.name, len(events))
	}
	r.apply = func(t *tx) error {
		if l.w.gone.Load() {
			return ErrNotFound
		}
		h := t.head(l.w)
		if err := fits(h, events); err != nil {
			return err
		}
		for i := range events {
			e := &events[i].storedEvent
			if err := t.put(l.w, e); err != nil {
				return err
			}
			if e.keyed {
				l.w.keys.add(&e.keyHash, e.Seq)
			}
			h = Head{Seq: e.Seq, Chain: e.Chain}
			t.added[l.w] = append(t.added[l.w], e)
			t.events++
		}
		t.heads[l.w] = h
		return nil
	}
	if err := l.b.submit(ctx, r); err != nil {
		return fmt.Errorf("install in %q: %w", l.w.name, err)
	}
	return nil
}

func (l *badgerLog) Known(ctx context.Context, records []Record) ([]Receipt, error) {
	if err := checkRecords(records); err != nil {
		return nil, fmt.Errorf("look up keys in %q: %w", l.w.name, err)
	}
	receipts := make([]Receipt, len(records))
	r := &request{apply: func(t *tx) error { // the committer alone may use the finder
		for i := range records {
			if e := newEvent(records[i]); e.keyed {
				if _, err := l.known(t, &e, &receipts[i]); err != nil {
					return fmt.Errorf("key of a record: %w", err)
				}
			}
		}
		return nil
	}}
	if err := l.b.submit(ctx, r); err != nil {
		return nil, fmt.Errorf("look up keys in %q: %w", l.w.name, err)
	}
	return receipts, nil
}

// fits reports ErrConflict unless events continue a log that ends at h.
func fits(h Head, events []Sealed) error {
	for i := range events {
		if err := events[i].Follows(h); err != nil {
			return fmt.Errorf("%w: %w", ErrConflict, err)
		}
		h = events[i].Head()
	}
	return nil
}

func (l *badgerLog) ReadSealed(ctx context.Context, after uint64) iter.Seq2[Sealed, error] {
	return func(yield func(Sealed, error) bool) {
		for e, err := range l.read(ctx, after) {
			if !yield(Sealed{e}, err) {
				return
			}
		}
	}
}

func (l memoryLog) Install(ctx context.Context, events []Sealed) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	err := errors.Join(l.usable(ctx), fits(l.head(), events))
	if err != nil {
		return fmt.Errorf("install in %q: %w", l.name, err)
	}
	for _, e := range events {
		e.Payload = slices.Clone(e.Payload)
		l.events = append(l.events, e.storedEvent)
		if e.keyed {
			l.byKey[e.keyHash] = e.Seq
		}
	}
	return nil
}

func (l memoryLog) Known(ctx context.Context, records []Record) ([]Receipt, error) {
	l.m.mu.RLock()
	defer l.m.mu.RUnlock()
	if err := errors.Join(l.usable(ctx), checkRecords(records)); err != nil {
		return nil, fmt.Errorf("look up keys in %q: %w", l.name, err)
	}
	receipts := make([]Receipt, len(records))
	for i := range records {
		e := newEvent(records[i])
		if seq, ok := l.byKey[e.keyHash]; e.keyed && ok {
			receipts[i] = Receipt{Seq: seq, Status: Duplicate}
			if l.events[seq-1].Digest != e.Digest {
				receipts[i].Status = Conflict
			}
		}
	}
	return receipts, nil
}

func (l memoryLog) ReadSealed(ctx context.Context, after uint64) iter.Seq2[Sealed, error] {
	return func(yield func(Sealed, error) bool) {
		for e, err := range l.read(ctx, after) {
			if !yield(Sealed{e}, err) {
				return
			}
		}
	}
}

var (
	_ Installer = (*badgerLog)(nil)
	_ Installer = memoryLog{}
)
