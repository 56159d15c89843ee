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
	"waymark/storage"
)

// op is something for the writer to do: entries to append, or a function to run.
type op struct {
	// prepare lists what to append, seeing the state before this batch, or refuses. It runs again where another process
	// appended first.
	prepare func(w *writer) ([]entry, error)
	alone   bool            // it is the only one of its batch, since what it appends depends on the state
	run     func(w *writer) // after the entries of the batch are durable and folded
	done    chan struct{}

	// What became of it. Fewer receipts than entries come with an error.
	entries  []entry
	receipts []storage.Receipt
	seq      uint64 // the event from which on a model counts it
	err      error
}

// entry is an event to append.
type entry struct {
	kind    byte
	key     string
	payload []byte
	value   any
	rows    []storage.Change // take effect in the same transaction
}

// fits refuses a row that no transaction holds, before it is among the entries of others.
func fits(c storage.Change) error {
	if len(c.Value) > storage.MaxPayload {
		return fmt.Errorf("row %s has %d bytes, at most %d", c.Key, len(c.Value), storage.MaxPayload)
	}
	return nil
}

// writer owns the history of a workspace. Its methods run in its goroutine alone.
type writer struct {
	*Engine
	*foldedLog
	building             *job               // the build under way; nil: none
	failed               *extent            // what the last build, which failed, would have counted; nil: the next starts when it is due
	outage               bool               // of the store was the reason
	unread               bool               // the quarantine of what others did to the catalog is still to be read
	grows                grownEpisodes      // episodes as they will be after what the batch performs
	known                *catalog.Inspector // what the checks compare entries with; nil: to be made
	vectors              string             // digest of the vectors that new builds take in; empty: none
	fetching, fetchAgain bool               // vectors are being fetched; texts may have come since that began

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
func (e *Engine) do(ctx context.Context, f func(w *writer)) error { return e.submit(ctx, &op{run: f}) }

// append makes durable and folds what prepare lists; see [op].
func (e *Engine) append(ctx context.Context, alone bool, prepare func(w *writer) ([]entry, error)) (*op, error) {
	o := &op{prepare: prepare, alone: alone}
	err := e.submit(ctx, o)
	return o, cmp.Or(err, o.err)
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
	receipts, err := w.append(w.prepared(batch))
	for errors.Is(err, storage.ErrBehind) {
		receipts, err = w.append(w.prepared(batch))
	}
	for _, o := range batch {
		n := min(len(o.entries), len(receipts))
		if o.receipts, receipts = receipts[:n], receipts[n:]; n < len(o.entries) {
			o.err = err
		}
		if o.seq = w.matter.seq; o.run != nil {
			o.run(w)
		}
		close(o.done)
	}
	w.buildIfDue()
	w.show()
}

// prepared lists what a batch of ops appends.
func (w *writer) prepared(batch []*op) (entries []entry) {
	w.grows = grownEpisodes{}
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

// append makes entries durable and folds them, each in one transaction with its rows; in that of the first of them the
// payloads of some events are erased. Fewer receipts than entries come with an error. Where that wraps
// [storage.ErrBehind], nothing was stored, and what another process appended is folded.
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
		// What has no receipt is unknown. The log and the table say what there is of it.
		missed := w.foldMissed()
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
			w.noticed(decodedEvent{place{r.Seq, r.Chain}, entries[i].kind, entries[i].value})
		}
		w.quarantine.stored(entries[i].rows)
	}
	w.head = done.Head
	w.show()
}

// noticed counts an event that was appended.
func (w *writer) noticed(e decodedEvent) {
	w.count(e)
	w.dirty = w.dirty || e.counts()
	if e.kind == kindForgotten {
		w.forgets.Add(1)
	}
}

// view is what readers see of a workspace beside its model.
type view struct {
	counted uint64 // the last event that matters to a model
	rules   []Rule // in effect
	judged  *Judgement
	behind  *Behind
}

// show keeps what readers see up to date.
func (w *writer) show() {
	now := &view{w.matter.seq, w.rules, w.judgement(), w.behind()}
	if old := w.seen.Swap(now); old == nil || !slices.Equal(old.rules, now.rules) {
		w.quarantine.ban(w.banned())
	}
}

// foldMissed folds what the log holds beyond what is folded: what other processes appended, and an append of this one that
// did not end well. A build among it is to be measured.
func (w *writer) foldMissed() (err error) {
	known, same := w.head, w.head.Seq == 0
	defer w.show()
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
	if w.unread { // before a model with what is quarantined is published
		failed := w.quarantine.load(context.WithoutCancel(w.life.ctx))
		w.unread, err = failed != nil, errors.Join(err, failed)
	}
	return err
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
