package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

// badgerLog is the log of one workspace in badger.
type badgerLog struct {
	b *Badger
	w *space
}

func (l *badgerLog) Head() Head { return *l.w.head.Load() }

// recordSize is at least what badger counts for a record: event and index entry with their keys.
func recordSize(workspace string, r Record) int { return len(r.Payload) + 2*len(workspace) + 400 }

// parts cuts records where a commit would become too large.
func parts(workspace string, records []Record) iter.Seq[[]Record] {
	return func(yield func([]Record) bool) {
		for len(records) > 0 {
			n, size := 0, 0
			for n < len(records) && n < maxRecords {
				size += recordSize(workspace, records[n])
				if n > 0 && size > maxBytes {
					break
				}
				n++
			}
			if !yield(records[:n]) {
				return
			}
			records = records[n:]
		}
	}
}

func (l *badgerLog) Append(ctx context.Context, records []Record) ([]Receipt, error) {
	if err := checkRecords(records); err != nil {
		return nil, fmt.Errorf("append to %q: %w", l.w.name, err)
	}
	receipts := make([]Receipt, 0, len(records))
	for part := range parts(l.w.name, records) {
		got, err := l.append(ctx, part)
		if err != nil {
			return receipts, fmt.Errorf("append to %q: %w", l.w.name, err)
		}
		receipts = append(receipts, got...)
	}
	return receipts, nil
}

// newEvent does what can be done for a record before its place in the log is known.
func newEvent(r Record) storedEvent {
	e := storedEvent{Event: Event{Digest: sha256.Sum256(r.Payload), Payload: r.Payload}}
	if r.Key != "" {
		e.keyed, e.keyHash = true, sha256.Sum256([]byte(r.Key))
	}
	return e
}

// append writes one part. Hashing happens here, on the caller's processor, not on the committer's.
func (l *badgerLog) append(ctx context.Context, records []Record) ([]Receipt, error) {
	events := make([]storedEvent, len(records))
	receipts := make([]Receipt, len(records))
	r := &request{records: len(records)}
	for i := range records {
		events[i] = newEvent(records[i])
		r.size += recordSize(l.w.name, records[i])
	}
	r.apply = func(t *tx) error {
		if l.w.gone.Load() {
			return ErrNotFound
		}
		h := t.head(l.w)
		for i := range events {
			e := &events[i]
			var k []byte
			if e.keyed {
				k = dedupKey(l.w.name, e.keyHash)
				switch v, err := t.get(k); {
				case err == nil:
					if receipts[i], err = again(v, e.Digest); err != nil {
						return fmt.Errorf("%w: workspace %q: index of keys: %w", ErrDamaged, l.w.name, err)
					}
					continue
				case !errors.Is(err, ErrNotFound):
					return err
				}
			}
			e.Seq = h.Seq + 1
			e.Chain = chainNext(h.Chain, e.Seq, e.Digest)
			if err := t.set(eventKey(l.w.name, e.Seq), encodeEvent(e)); err != nil {
				return err
			}
			if e.keyed {
				if err := t.set(k, encodeDedup(e.Seq, e.Digest)); err != nil {
					return err
				}
			}
			h = Head{Seq: e.Seq, Chain: e.Chain}
			receipts[i] = Receipt{Seq: e.Seq, Status: Stored}
			t.events++
		}
		t.heads[l.w] = h
		return nil
	}
	if err := l.b.submit(ctx, r); err != nil {
		return nil, err
	}
	return receipts, nil
}

// again answers a record whose key is known.
func again(entry []byte, digest [32]byte) (Receipt, error) {
	seq, known, err := decodeDedup(entry)
	if err != nil {
		return Receipt{}, err
	}
	if known != digest {
		return Receipt{Seq: seq, Status: Conflict}, nil
	}
	return Receipt{Seq: seq, Status: Duplicate}, nil
}

// A page is read in one transaction and handed out after it, so that a reader may take its time, or
// append, without holding anything open.
const (
	pageEvents = 1000
	pageBytes  = 1 << 20
)

func (l *badgerLog) Read(ctx context.Context, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		end := l.Head().Seq
		for first := true; first || after < end; first = false {
			page, err := l.page(ctx, after, end)
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("read %q: %w", l.w.name, err))
				return
			}
			after += uint64(len(page))
		}
	}
}

// page returns events from after+1 to end, at least one if there are any and no error.
func (l *badgerLog) page(ctx context.Context, after, end uint64) (page []Event, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = l.b.view(func(txn *badger.Txn) error {
		if l.w.gone.Load() {
			return ErrNotFound
		}
		if after >= end {
			return nil
		}
		it := txn.NewIterator(badger.IteratorOptions{Prefix: prefix(kindEvent, l.w.name)})
		defer it.Close()
		it.Seek(eventKey(l.w.name, after+1))
		for size, next := 0, after+1; next <= end && len(page) < pageEvents && size < pageBytes; next++ {
			if !it.Valid() {
				return fmt.Errorf("%w: event %d is missing", ErrDamaged, next)
			}
			_, seq, err := splitSeq(it.Item().Key())
			if err == nil && seq != next {
				err = errors.New("it is missing")
			}
			if err == nil {
				err = it.Item().Value(func(v []byte) error {
					e, err := decodeEvent(seq, v)
					e.Payload = slices.Clone(e.Payload)
					page = append(page, e.Event)
					size += len(v)
					return err
				})
			}
			if err != nil {
				page = page[:next-after-1]
				return fmt.Errorf("%w: event %d: %w", ErrDamaged, next, err)
			}
			it.Next()
		}
		return nil
	})
	return page, err
}

// eraseChunk bounds the events rewritten in one commit.
const eraseChunk = 256

// Erase overwrites events with their digest and no payload. From then on no method of this package
// returns the payload, backups included. Badger does not overwrite in place: the old bytes stay in
// its files until the write-ahead log is flushed and the tables are compacted, which happens as more
// is written and cannot be forced for single keys. A payload that must be gone from the medium at
// once needs a backup, a restore into a fresh directory, and the removal of the old one.
func (l *badgerLog) Erase(ctx context.Context, seqs []uint64) error {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	for chunk := range slices.Chunk(seqs, eraseChunk) {
		err := l.b.submit(ctx, &request{
			records: len(chunk), size: len(chunk) * recordSize(l.w.name, Record{}),
			apply: func(t *tx) error { return l.erase(t, chunk) },
		})
		if err != nil {
			return fmt.Errorf("erase in %q: %w", l.w.name, err)
		}
	}
	return nil
}

func (l *badgerLog) erase(t *tx, seqs []uint64) error {
	if l.w.gone.Load() {
		return ErrNotFound
	}
	for _, seq := range seqs {
		k := eventKey(l.w.name, seq)
		v, err := t.get(k)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		e, err := decodeEvent(seq, v)
		if err != nil {
			return fmt.Errorf("%w: event %d: %w", ErrDamaged, seq, err)
		}
		if e.Erased {
			continue
		}
		e.Erased, e.Payload = true, nil
		if err := t.set(k, encodeEvent(&e)); err != nil {
			return err
		}
	}
	return nil
}
