package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/storage"
)

// op is a task for the writer: entries to append, or a function to run.
type op struct {
	// prepare returns the entries to append, or an error. It sees the state before this batch. It runs again if
	// another process appended first.
	prepare func(w *writer) ([]entry, error)
	alone   bool            // it is the only one of its batch, since its entries depend on the state
	run     func(w *writer) // after the entries of the batch are durable and folded
	done    chan struct{}

	// The result. If there are fewer receipts than entries, err is set.
	entries  []entry
	receipts []storage.Receipt
	seq      uint64 // a model that counts this event counts the entries
	err      error
}

// entry is an event to append.
type entry struct {
	kind    byte
	key     string
	payload []byte
	value   any
	rows    []storage.Change // changed in the same transaction
}

// newEntry returns the entry that appends a value.
func newEntry(kind byte, key string, v any) (entry, error) {
	payload, err := encode(kind, v)
	if err == nil && len(payload) > storage.MaxPayload {
		err = fmt.Errorf("it has %d bytes, at most %d", len(payload), storage.MaxPayload)
	}
	return entry{kind: kind, key: key, payload: payload, value: v}, err
}

// fits rejects a row that is too large for any transaction, before it is batched with the entries of others.
func fits(c storage.Change) error {
	if len(c.Value) > storage.MaxPayload {
		return fmt.Errorf("row %s has %d bytes, at most %d", c.Key, len(c.Value), storage.MaxPayload)
	}
	return nil
}

// writer owns the history of a workspace. Its methods run only in its goroutine.
type writer struct {
	*Engine
	*replayedLog
	building             *job                       // the running build; nil: none
	failed               *eventTotals               // what a failed last build would have counted; nil: it did not fail
	outage               bool                       // it failed because the store was unavailable
	unread               bool                       // other processes changed the catalog: the quarantine has to be read
	grows                map[string]*episodic.Grown // episodes as they will be after the steps of the current batch
	known                *catalog.Inspector         // the entries that the checks compare with; nil: to be built
	vectors              string                     // digest of the vectors that new builds use; empty: none
	fetching, fetchAgain bool                       // vectors are being fetched; again afterwards, for new texts

	dirty     bool
	published time.Time
	took      time.Duration // duration of the last publish
}

// maxBatch is the maximum number of ops in one commit. publishDelay is the longest delay before a model is
// published, so that an acknowledged event counts within a second. A model that takes less than
// publishQuick is published at once.
const (
	maxBatch     = 128
	publishQuick = 3 * time.Millisecond
	publishDelay = 300 * time.Millisecond
)

// do runs f in the writer's goroutine and waits for it.
func (e *Engine) do(ctx context.Context, f func(w *writer)) error { return e.submit(ctx, &op{run: f}) }

// try is like do, and returns the error of f.
func (e *Engine) try(ctx context.Context, f func(w *writer) error) (err error) {
	failed := e.do(ctx, func(w *writer) { err = f(w) })
	return cmp.Or(failed, err)
}

// append stores and folds the entries that prepare returns; see [op].
func (e *Engine) append(ctx context.Context, alone bool, prepare func(w *writer) ([]entry, error)) (*op, error) {
	o := &op{prepare: prepare, alone: alone}
	err := e.submit(ctx, o)
	return o, cmp.Or(err, o.err)
}

// submit passes an op to the writer and waits for it. Once the op is queued, the end of ctx does not cancel it.
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

// run executes ops, several in one commit if they have queued up, and publishes the model after changes.
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

// gather returns a batch of o and the queued ops that may share its commit. next is the op after the batch, if
// gather has already received it.
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
	receipts, err := w.append(w.prepared(batch))
	for errors.Is(err, storage.ErrBehind) {
		receipts, err = w.append(w.prepared(batch))
	}
	for _, o := range batch {
		n := min(len(o.entries), len(receipts))
		if o.receipts, receipts = receipts[:n], receipts[n:]; n < len(o.entries) {
			o.err = err
		}
		if o.seq = w.relevant.seq; o.run != nil {
			o.run(w)
		}
		close(o.done)
	}
	w.buildIfDue()
	w.publishStatus()
}

// prepared returns the entries that a batch of ops appends.
func (w *writer) prepared(batch []*op) (entries []entry) {
	w.grows = map[string]*episodic.Grown{}
	for _, o := range batch {
		if o.prepare == nil {
			continue
		}
		if o.entries, o.err = o.prepare(w); o.err != nil {
			o.entries = nil
		}
		entries = append(entries, o.entries...)
	}
	return entries
}

// append stores entries and folds them, each in one transaction with its rows. The transaction of the first one also
// erases the payloads of the given events. If there are fewer receipts than entries, append returns an error. If that
// wraps [storage.ErrBehind], nothing was stored, and the events of the other process are folded.
func (w *writer) append(entries []entry, erase ...uint64) (receipts []storage.Receipt, err error) {
	records := make([]storage.Record, len(entries))
	for i, e := range entries {
		records[i] = storage.Record{Key: e.key, Payload: e.payload, Changes: e.rows}
	}
	for len(receipts) < len(entries) {
		at := w.head
		batch := storage.Batch{At: &at, Records: records[len(receipts):], Erase: erase}
		done, err := w.store.Append(context.WithoutCancel(w.life.ctx), w.name, batch)
		if len(done.Receipts) > 0 {
			w.countStored(entries[len(receipts):], done)
			receipts, erase = append(receipts, done.Receipts...), nil
		}
		if err == nil {
			continue
		}
		behind := errors.Is(err, storage.ErrBehind)
		// It is unknown whether entries without a receipt are stored. The log and the table show it.
		missed := w.foldMissed()
		switch {
		case missed != nil && behind:
			return receipts, missed
		case missed != nil:
			return receipts, errors.Join(err, missed)
		case !behind || len(receipts) == 0:
			return receipts, err
		} // otherwise the parts before are stored, so the rest is appended too
	}
	return receipts, nil
}

// appendNow appends one event. It repeats that while other processes append first.
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
			w.noticed(decodedEvent{place{r.Seq, r.Chain}, entries[i].kind, entries[i].value})
		}
		w.quarantine.stored(entries[i].rows)
	}
	w.head = done.Head
	w.publishStatus()
}

// noticed counts an event that was appended, and marks the model as out of date if models count such an event.
func (w *writer) noticed(e decodedEvent) {
	w.count(e)
	w.dirty = w.dirty || e.counts()
	if e.kind == kindForgotten {
		w.forgets.Add(1)
	}
}

// view is the state of a workspace that readers see besides its model.
type view struct {
	counted uint64 // the last event that a model counts
	rules   []Rule // in effect
	judged  *Judgement
	behind  *Behind
}

// publishStatus updates the view of readers and, if the rules changed, the bans.
func (w *writer) publishStatus() {
	now := &view{w.relevant.seq, w.rules, w.judgement(), w.behind()}
	if old := w.status.Swap(now); old == nil || !slices.Equal(old.rules, now.rules) {
		w.quarantine.ban(w.banned())
	}
}

// foldMissed folds the events of the log that are not folded yet: those of other processes, and those of a failed
// append of this process. A build among them still has to be measured.
func (w *writer) foldMissed() (err error) {
	known, same := w.head, w.head.Seq == 0
	defer w.publishStatus()
	var ev decodedEvent
	for ev, err = range decoded(context.WithoutCancel(w.life.ctx), w.read, max(known.Seq, 1)-1, math.MaxUint64, everything) {
		if err != nil {
			break
		}
		if ev.seq == known.Seq {
			if same = ev.chain == known.Chain; !same {
				return w.replaced()
			}
			continue
		}
		w.noticed(ev)
		if v, ok := ev.value.(*build); ok && !v.Refused {
			w.ahead = w.unfinished(ev.place, *v, false)
		}
		w.known = nil
		w.unread = w.unread || slices.Contains([]byte{kindTool, kindCapability, kindRemoved}, ev.kind)
	}
	if err == nil && !same {
		return w.replaced()
	}
	if w.unread { // before a model with quarantined entries is published
		failed := w.quarantine.load(context.WithoutCancel(w.life.ctx))
		w.unread, err = failed != nil, errors.Join(err, failed)
	}
	return err
}

// replaced closes a workspace that another process deleted, and returns the error for it.
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

// publish makes a model of the folded events and makes it the current model for readers.
func (w *writer) publish() error {
	began := time.Now()
	m, err := w.model()
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
