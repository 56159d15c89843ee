package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"waymark/catalog/inspect"
	"waymark/storage"
)

// op is something for the writer to do: entries to append, then a function with the result.
type op struct {
	// prepare runs first and lists what to append, seeing the state before this batch. It runs again where another
	// process appended first.
	prepare func(w *writer) []entry
	// alone: it is the only one of its batch, since what it appends depends on the state.
	alone bool
	// finish runs after the entries are durable and folded; err says which were not.
	finish func(w *writer, receipts []storage.Receipt, err error)
	done   chan struct{}
}

// entry is an event to append.
type entry struct {
	kind    byte
	key     string
	payload []byte
	value   any
	rows    []storage.Change // take effect in the same transaction
}

// The most that [writer.append] gives to one transaction: less than the store holds in one, with its own entries.
const (
	mostEntries = 1000
	mostBytes   = 2 << 20
	entryBytes  = 1000 // beside what is given
)

// fits refuses a row that no transaction holds, before it is among the entries of others.
func fits(c storage.Change) error {
	if len(c.Value) > storage.MaxPayload {
		return fmt.Errorf("row %s has %d bytes, at most %d", c.Key, len(c.Value), storage.MaxPayload)
	}
	return nil
}

// together is how many entries go into the next transaction, with their rows.
func together(entries []entry) (n int, changes []storage.Change) {
	for size := 0; n < min(len(entries), mostEntries); n++ {
		size += len(entries[n].payload) + entryBytes
		for _, c := range entries[n].rows {
			size += len(c.Key) + len(c.Value) + entryBytes
		}
		if n > 0 && size > mostBytes {
			break
		}
		changes = append(changes, entries[n].rows...)
	}
	return n, changes
}

// writer owns the history of a workspace. Its methods run in its goroutine alone.
type writer struct {
	*Engine
	*foldedLog
	builtAt  time.Time
	building *job             // the build under way; nil: none
	ahead    *unfinished      // the last build that another process started, to be measured here; nil: none
	failed   bool             // the last build failed: the next waits for a change or a request
	grows    grownEpisodes    // episodes as they will be after what the batch performs
	known    *inspect.Catalog // what the checks compare entries with; nil: to be made
	vectors  string           // digest of the vectors that new builds take in; empty: none

	dirty     bool
	published time.Time
	took      time.Duration // to publish, last time
}

// The most ops and the longest delay before a model is published. An acknowledged event counts
// within a second; a small model is published at once.
const (
	maxBatch     = 128
	publishQuick = 3 * time.Millisecond
	publishDelay = 300 * time.Millisecond
)

// do runs f in the writer's goroutine and waits for it.
func (e *Engine) do(ctx context.Context, f func(w *writer)) error {
	return e.submit(ctx, &op{
		prepare: func(*writer) []entry { return nil },
		finish:  func(w *writer, _ []storage.Receipt, _ error) { f(w) },
	})
}

// submit hands an op to the writer and waits. An op that was handed over is carried out even if ctx
// ends first.
func (e *Engine) submit(ctx context.Context, o *op) error {
	o.done = make(chan struct{})
	select {
	case e.ops <- o:
	case <-ctx.Done():
		return ctx.Err()
	case <-e.life.ctx.Done():
		return ErrClosed
	}
	select {
	case <-o.done:
		return nil
	case <-e.life.closed:
		select {
		case <-o.done:
			return nil
		default:
			return ErrClosed
		}
	}
}

// run carries out ops, several in one commit where they have queued up.
func (w *writer) run() {
	defer close(w.life.closed)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case o := <-w.ops:
			for o != nil {
				var batch []*op
				batch, o = w.gather(o)
				w.carryOut(batch)
			}
		case <-timer.C:
		case <-w.life.ctx.Done():
			return
		}
		if w.dirty {
			if wait := w.delay(); wait > 0 {
				timer.Reset(wait)
			} else if err := w.publish(); err != nil {
				w.opts.Logger.Error("model could not be published; the one before stays", "workspace", w.name, "error", err)
			}
		}
	}
}

// gather returns an op with those that have queued up behind it, as far as they may share a commit, and the op after them,
// if it was taken.
func (w *writer) gather(o *op) (batch []*op, next *op) {
	for batch = []*op{o}; !o.alone && len(batch) < maxBatch; batch = append(batch, o) {
		select {
		case o = <-w.ops:
			if o.alone {
				return batch, o
			}
		default:
			return batch, nil
		}
	}
	return batch, nil
}

func (w *writer) carryOut(batch []*op) {
	entries, bounds := w.prepared(batch)
	receipts, err := w.append(entries)
	for errors.Is(err, storage.ErrBehind) {
		entries, bounds = w.prepared(batch)
		receipts, err = w.append(entries)
	}
	for i, o := range batch {
		mine := receipts[min(bounds[i], len(receipts)):min(bounds[i+1], len(receipts))]
		var failed error
		if len(mine) < bounds[i+1]-bounds[i] {
			failed = err
		}
		o.finish(w, mine, failed)
		close(o.done)
	}
	w.buildIfDue()
	w.noteBehind()
}

// prepared lists what a batch of ops appends, and where the entries of each begin.
func (w *writer) prepared(batch []*op) (entries []entry, bounds []int) {
	bounds = make([]int, len(batch)+1)
	w.grows = grownEpisodes{}
	for i, o := range batch {
		entries = append(entries, o.prepare(w)...)
		bounds[i+1] = len(entries)
	}
	return entries, bounds
}

// append makes entries durable and folds them, each in one transaction with its rows; in that of the first of them the
// payloads of some events are erased. Fewer receipts than entries come with an error. Where that wraps
// [storage.ErrBehind], nothing was stored, and what another process appended is folded.
func (w *writer) append(entries []entry, erase ...uint64) (receipts []storage.Receipt, err error) {
	records := make([]storage.Record, len(entries))
	for i, e := range entries {
		records[i] = storage.Record{Key: e.key, Payload: e.payload}
	}
	for len(receipts) < len(entries) {
		at := w.head
		n, changes := together(entries[len(receipts):])
		batch := storage.Batch{At: &at, Records: records[len(receipts):][:n], Changes: changes, Erase: erase}
		done, err := w.store.Append(context.WithoutCancel(w.life.ctx), w.name, batch)
		if len(done.Receipts) > 0 {
			w.countStored(entries[len(receipts):], done)
			receipts, erase = append(receipts, done.Receipts...), nil
		}
		if err == nil {
			continue
		}
		behind := errors.Is(err, storage.ErrBehind)
		// What has no receipt is unknown. The log and the table say what there is of it.
		missed := w.foldMissed()
		if len(changes) > 0 && !behind {
			missed = errors.Join(missed, w.quarantine.load(context.WithoutCancel(w.life.ctx)))
		}
		switch {
		case missed != nil && behind:
			return receipts, missed
		case missed != nil:
			return receipts, errors.Join(err, missed)
		case !behind || len(receipts) == 0:
			return receipts, err
		} // else the parts before stand, so the rest does too
	}
	return receipts, nil
}

// appendNow appends one event.
func (w *writer) appendNow(e entry, erase ...uint64) (storage.Receipt, error) {
	for {
		receipts, err := w.append([]entry{e}, erase...)
		switch {
		case err == nil:
			return receipts[0], nil
		case !errors.Is(err, storage.ErrBehind):
			return storage.Receipt{}, err
		}
	}
}

// countStored folds the entries that were stored as the last events of the log.
func (w *writer) countStored(entries []entry, done storage.Done) {
	for i, r := range done.Receipts {
		if r.Status == storage.Stored {
			w.count(decodedEvent{place{seq: r.Seq}, entries[i].kind, entries[i].value})
			w.noticed(entries[i].kind)
		}
		w.quarantine.stored(entries[i].rows)
	}
	w.head = done.Head
	if w.matter.seq == w.head.Seq {
		w.matter.chain = w.head.Chain
	} else if w.matter.chain == [32]byte{} && w.matter.seq > 0 { // events that no model counts came after it
		for e, err := range w.read(context.WithoutCancel(w.life.ctx), w.matter.seq-1) {
			if err != nil {
				w.opts.Logger.Error("the hash of an event cannot be read; the model has another version than a replay", "workspace", w.name, "event", w.matter.seq, "error", err)
			}
			w.matter.chain = e.Chain
			break
		}
	}
	w.folded()
}

// noticed follows each event that was folded.
func (w *writer) noticed(kind byte) {
	w.dirty = w.dirty || counts(kind)
	if kind == kindForgotten {
		w.forgets.Add(1)
	}
}

// folded follows all events of one reading or appending.
func (w *writer) folded() {
	head := w.head
	w.ends.Store(&head)
	w.counted.Store(w.matter.seq)
	w.applyRules()
	w.noteBehind()
}

// foldMissed folds what the log holds beyond what is folded: what other processes appended, and an append of this one that
// did not end well. A build among it is to be measured.
func (w *writer) foldMissed() error {
	known, same := w.head, w.head.Seq == 0
	defer w.folded()
	for ev, err := range decoded(context.WithoutCancel(w.life.ctx), w.read, max(known.Seq, 1)-1, math.MaxUint64) {
		switch {
		case err != nil:
			return err
		case ev.seq == known.Seq:
			if same = ev.chain == known.Chain; !same {
				return w.replaced()
			}
			continue
		}
		w.count(ev)
		w.noticed(ev.kind)
		if v, ok := ev.value.(*build); ok && !v.Refused {
			w.ahead = w.unfinished(ev.place, *v)
		}
		w.known = nil
	}
	if !same {
		return w.replaced()
	}
	return nil
}

// replaced is the error of a workspace that another process deleted, which is closed.
func (w *writer) replaced() error {
	w.opts.gone(w.Engine)
	return fmt.Errorf("workspace %q was deleted by another process: %w", w.name, ErrClosed)
}

func (w *writer) delay() time.Duration {
	if w.took < publishQuick {
		return 0
	}
	return min(publishDelay, 4*w.took) - time.Since(w.published)
}

// publish makes a model of what is counted and shows it to readers.
func (w *writer) publish() error {
	began := time.Now()
	m, err := w.model(w.builtAt)
	if err != nil {
		return err
	}
	w.dirty, w.published, w.took = false, began, time.Since(began)
	old := w.current.Swap(&edition{m, w.built.seq, w.how.Model, make(chan struct{})})
	if old != nil {
		close(old.next)
	}
	return nil
}
