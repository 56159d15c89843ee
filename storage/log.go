package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"
)

// badgerLog is the log of one workspace in badger.
type badgerLog struct {
	b *Badger
	w *space
}

func (l *badgerLog) Head() Head { return *l.w.head.Load() }

// recordSize is at least what badger counts for a record alone in an entry.
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

// digest makes events of records. It happens before the committer has them, many at once on all
// processors: a quarter of what an append costs.
func digest(events []storedEvent, records []Record) {
	const worthwhile = 128
	each := max(worthwhile, (len(records)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for from := each; from < len(records); from += each {
		to := min(from+each, len(records))
		group.Go(func() {
			for i := from; i < to; i++ {
				events[i] = newEvent(records[i])
			}
		})
	}
	for i := range min(each, len(records)) {
		events[i] = newEvent(records[i])
	}
	group.Wait()
}

// append writes one part.
func (l *badgerLog) append(ctx context.Context, records []Record) ([]Receipt, error) {
	events := make([]storedEvent, len(records))
	receipts := make([]Receipt, len(records))
	r := &request{records: len(records)}
	for i := range records {
		r.size += recordSize(l.w.name, records[i])
	}
	digest(events, records)
	r.apply = func(t *tx) error {
		if l.w.gone.Load() {
			return ErrNotFound
		}
		h := t.head(l.w)
		for i := range events {
			e := &events[i]
			if e.keyed {
				known, err := l.known(t, e, &receipts[i])
				if err != nil {
					return fmt.Errorf("key of a record: %w", err)
				}
				if known {
					continue
				}
			}
			e.Seq = h.Seq + 1
			e.Chain = chainNext(h.Chain, e.Seq, e.Digest)
			if err := t.put(l.w, e); err != nil {
				return err
			}
			if e.keyed {
				l.w.keys.add(&e.keyHash, e.Seq)
			}
			h = Head{Seq: e.Seq, Chain: e.Chain}
			receipts[i] = Receipt{Seq: e.Seq, Status: Stored}
			t.added[l.w] = append(t.added[l.w], e)
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

// known reports whether an event has the key of e, and answers e by it. Events of the same group are
// not in the database yet.
func (l *badgerLog) known(t *tx, e *storedEvent, receipt *Receipt) (bool, error) {
	seq, sure, ok := l.w.keys.find(&e.keyHash)
	if !ok {
		return false, nil
	}
	var earlier *storedEvent
	if durable := l.Head().Seq; seq > durable {
		earlier = t.added[l.w][seq-durable-1]
	} else {
		found, err := t.finder.event(l.b.db, l.w, seq)
		if err != nil {
			return false, fmt.Errorf("%w: workspace %q: event %d: %v", ErrDamaged, l.w.name, seq, err)
		}
		earlier = &found
	}
	if !earlier.keyed || earlier.keyHash != e.keyHash {
		if sure {
			return false, fmt.Errorf("%w: workspace %q: event %d has lost its key", ErrDamaged, l.w.name, seq)
		}
		return false, nil
	}
	*receipt = Receipt{Seq: seq, Status: Duplicate}
	if earlier.Digest != e.Digest {
		receipt.Status = Conflict
	}
	return true, nil
}

// A page is read in one transaction and handed out after it, so that a reader may take its time, or
// append, without holding anything open.
const (
	pageEvents = 1000
	pageBytes  = 1 << 20
)

func (l *badgerLog) Read(ctx context.Context, after uint64) iter.Seq2[Event, error] {
	return eventsOf(l.read(ctx, after))
}

// eventsOf leaves out what only the store needs.
func eventsOf(stored iter.Seq2[storedEvent, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range stored {
			if !yield(e.Event, err) {
				return
			}
		}
	}
}

func (l *badgerLog) read(ctx context.Context, after uint64) iter.Seq2[storedEvent, error] {
	return func(yield func(storedEvent, error) bool) {
		end := l.Head().Seq
		for first := true; first || after < end; first = false {
			page, err := l.page(ctx, after, end)
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(storedEvent{}, fmt.Errorf("read %q: %w", l.w.name, err))
				return
			}
			after += uint64(len(page))
		}
	}
}

// page returns events from after+1 to end, at least one if there are any and no error.
func (l *badgerLog) page(ctx context.Context, after, end uint64) (page []storedEvent, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var stored [][]byte
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
		for size, next := 0, after+1; next <= end && len(page) < pageEvents && size < pageBytes; it.Next() {
			if !it.Valid() {
				return fmt.Errorf("%w: event %d is missing", ErrDamaged, next)
			}
			entry, err := it.Item().ValueCopy(nil)
			if err != nil {
				return err
			}
			_, last, err := splitSeq(it.Item().Key())
			first := last
			if err == nil {
				first, stored, err = records(stored[:0], last, entry)
			}
			if err == nil && first > next {
				err = errors.New("it is missing")
			}
			for ; err == nil && next <= min(last, end) && len(page) < pageEvents && size < pageBytes; next++ {
				var e storedEvent
				if e, err = decodeEvent(next, stored[next-first]); err != nil {
					break
				}
				page = append(page, e)
				size += len(stored[next-first])
			}
			if err != nil {
				return fmt.Errorf("%w: event %d: %w", ErrDamaged, next, err)
			}
		}
		return nil
	})
	return page, err
}

// eraseChunk bounds the events erased in one commit: each may rewrite a block.
const eraseChunk = maxBytes / 2 / blockBytes

// Erase overwrites events with their digest and no payload. From then on no method of this package
// returns the payload, backups included. Badger does not overwrite in place: the old bytes stay in
// its files until the write-ahead log is flushed and the tables are compacted, which happens as more
// is written.
func (l *badgerLog) Erase(ctx context.Context, seqs []uint64) error {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	for chunk := range slices.Chunk(seqs, eraseChunk) {
		err := l.b.submit(ctx, &request{
			records: len(chunk), size: len(chunk) * (blockBytes + recordSize(l.w.name, Record{})),
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
	if err := t.flush(l.w); err != nil { // events of the same group
		return err
	}
	for len(seqs) > 0 {
		last, err := l.entryOf(t, seqs[0])
		if errors.Is(err, ErrNotFound) {
			seqs = seqs[1:]
			continue
		}
		if err != nil {
			return fmt.Errorf("%w: event %d: %w", ErrDamaged, seqs[0], err)
		}
		n, _ := slices.BinarySearch(seqs, last+1)
		if err := l.rewrite(t, last, seqs[:n]); err != nil {
			return err
		}
		seqs = seqs[n:]
	}
	return nil
}

// entryOf returns the last event of the entry that holds seq.
func (l *badgerLog) entryOf(t *tx, seq uint64) (last uint64, err error) {
	if seq <= l.Head().Seq {
		return t.finder.entry(l.b.db, l.w, seq)
	}
	if i, _ := slices.BinarySearch(t.blocks[l.w], seq); i < len(t.blocks[l.w]) {
		return t.blocks[l.w][i], nil
	}
	return 0, ErrNotFound
}

// rewrite stores an entry again with the payloads of seqs erased.
func (l *badgerLog) rewrite(t *tx, last uint64, seqs []uint64) error {
	k := eventKey(l.w.name, last)
	v, err := t.get(k) // the finder does not see what this group has erased
	if err != nil {
		return err
	}
	first, stored, err := records(nil, last, v)
	if err != nil {
		return fmt.Errorf("%w: event %d: %w", ErrDamaged, last, err)
	}
	var r run
	for i, b := range stored {
		seq := first + uint64(i)
		e, err := decodeEvent(seq, b)
		if err != nil {
			return fmt.Errorf("%w: event %d: %w", ErrDamaged, seq, err)
		}
		if _, erase := slices.BinarySearch(seqs, seq); erase {
			e.Erased, e.Payload = true, nil
		}
		r.add(&e)
	}
	return t.set(k, r.value())
}
