package storage

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Group commit. Badger syncs its log once per transaction, concurrent ones included, so the cost of
// durability is the number of transactions. One goroutine, the committer, takes whatever is queued
// from all workspaces into one transaction; while that is being synced the next group queues up. A
// single writer never waits for company.
//
//	Append ─┐                       ┌─ ack
//	Append ─┼─▶ queue ─▶ committer ─┼─ ack
//	Put    ─┘      one Txn, one sync└─ ack
//
// Being the only writer, the committer needs no conflict detection, and a transaction sees its own
// writes, so two records with one key in one group are told apart like any others.
const (
	maxRecords = 1000 // in a commit
	// Badger takes at most 15 % of a memtable in one transaction: 2.4 MiB of 16.
	maxBytes = 2 << 20

	markEvents = 4096 // events after which the high-water file is due
	markDelay  = time.Second
)

// A request is one unit of writing, applied whole or not at all. apply runs on the committer; it may
// refuse with ErrConflict or ErrNotFound before it has set anything, any other error ends all
// writing. size and records are upper bounds of what it sets.
type request struct {
	apply   func(*tx) error
	size    int
	records int

	state   atomic.Int32
	refusal error // why apply refused; told after the commit, since it may rest on the same group
	err     error
	done    chan struct{}
}

const (
	requestQueued int32 = iota
	requestTaken
	requestWithdrawn
)

func (r *request) move(to int32) bool { return r.state.CompareAndSwap(requestQueued, to) }

func (r *request) finish(err error) {
	r.err = err
	if err == nil {
		r.err = r.refusal
	}
	close(r.done)
}

// submit queues a request and waits for its commit. A request that is still queued when ctx ends is
// withdrawn; one that is being committed is waited for.
func (b *Badger) submit(ctx context.Context, r *request) error {
	r.done = make(chan struct{})
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.closed() {
		return ErrClosed
	}
	select {
	case b.committer.queue <- r:
	case <-b.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		if r.move(requestWithdrawn) {
			return ctx.Err()
		}
	case <-b.stopped:
		if r.move(requestWithdrawn) {
			return ErrClosed // it came into the queue after the committer had emptied it
		}
	}
	<-r.done
	return r.err
}

// tx is a transaction being filled.
type tx struct {
	txn    *badger.Txn
	heads  map[*space]Head
	runs   map[*space]*run
	blocks map[*space][]uint64       // last events of the entries set
	added  map[*space][]*storedEvent // from the durable head on
	finder finder
	*buffers
	events int
	writes int
}

func (t *tx) set(key, value []byte) error {
	t.writes++
	return t.txn.Set(key, value)
}

func (t *tx) delete(key []byte) error {
	t.writes++
	return t.txn.Delete(key)
}

// get reads a value, own writes included; it is valid until the transaction ends.
func (t *tx) get(key []byte) ([]byte, error) {
	item, err := t.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return item.ValueCopy(nil)
}

func (t *tx) head(w *space) Head {
	if h, ok := t.heads[w]; ok {
		return h
	}
	return *w.head.Load()
}

func (b *Badger) commitLoop() {
	defer close(b.stopped)
	var next *request
	company := 0
	for {
		if next == nil {
			select {
			case next = <-b.committer.queue:
			case <-b.closing:
				b.refuseQueued()
				return
			}
			b.gather(company - 1)
		}
		next, company = b.commitGroup(next)
	}
}

// gather lets the writers of the group before, who have just been told, queue up again: without it
// the first of them would be committed alone and the others wait for that. It gives up as soon as
// nobody has come while others could run, so a writer who was alone is alone again at once.
func (b *Badger) gather(writers int) {
	for idle := 0; idle < 2 && len(b.committer.queue) < writers; idle++ {
		n := len(b.committer.queue)
		runtime.Gosched()
		if len(b.committer.queue) > n {
			idle = -1
		}
	}
}

func (b *Badger) refuseQueued() {
	for {
		select {
		case r := <-b.committer.queue:
			if r.move(requestTaken) {
				r.finish(ErrClosed)
			}
		default:
			return
		}
	}
}

// commitGroup commits first and what is queued behind it, as far as one transaction holds. It returns
// the request that did not fit and the size of the group.
func (b *Badger) commitGroup(first *request) (left *request, size int) {
	if err := b.writable(); err != nil {
		if first.move(requestTaken) {
			first.finish(err)
		}
		return nil, 0
	}
	var group []*request
	t := &tx{
		heads: make(map[*space]Head), runs: make(map[*space]*run),
		blocks: make(map[*space][]uint64), added: make(map[*space][]*storedEvent),
		buffers: &b.committer.buffers,
	}
	b.committer.buffers.used = 0
	defer func() {
		t.finder.close()
		if t.txn != nil {
			t.txn.Discard()
		}
	}()
	left, err := b.fill(t, first, &group)
	if err == nil && t.writes > 0 {
		err = b.commit(t)
	}
	if err != nil {
		err = fmt.Errorf("commit: %w", err)
		b.failed.CompareAndSwap(nil, &err)
		b.log.Error("storage accepts no more writes", "error", err)
	}
	for _, r := range group {
		r.finish(err)
	}
	return left, len(group)
}

// fill takes requests into the transaction.
func (b *Badger) fill(t *tx, next *request, group *[]*request) (left *request, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("badger panicked: %.200v", p)
		}
	}()
	size, records := 0, 0
	defer func() { b.committer.guard.bytes += size }()
	for ; next != nil; next = b.queued() {
		if len(*group) > 0 && (size+next.size > maxBytes || records+next.records > maxRecords) {
			return next, t.flushAll()
		}
		if !next.move(requestTaken) {
			continue
		}
		if t.txn == nil {
			t.txn = b.db.NewTransaction(true)
		}
		*group = append(*group, next)
		switch err := next.apply(t); {
		case err == nil:
			size, records = size+next.size, records+next.records
		case errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
			next.refusal = err
		default:
			return nil, err
		}
	}
	return nil, t.flushAll()
}

func (b *Badger) queued() *request {
	select {
	case r := <-b.committer.queue:
		return r
	default:
		return nil
	}
}

func (b *Badger) writable() error {
	if err := b.refused(); err != nil {
		return err
	}
	return b.committer.guard.check()
}

// commit makes the transaction durable and only then lets others see the new heads.
func (b *Badger) commit(t *tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("badger panicked: %.200v", p)
		}
	}()
	n := b.committer.commits.Load() + 1
	if err := t.set(metaKey(metaCommits), encodeRow(n, nil)); err != nil {
		return err
	}
	if err := b.opts.commit(t.txn); err != nil {
		return err
	}
	b.committer.commits.Store(n)
	for w, h := range t.heads {
		w.head.Store(&h)
	}
	signal(b.marker.dirty)
	if b.marker.uncovered.Add(int64(t.events)) >= markEvents {
		signal(b.marker.due)
	}
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// markLoop keeps the high-water file at most a second or about markEvents events behind. It runs
// beside the committer, so that its two syncs do not add to the latency of an append; events that
// are committed while a mark is being written belong to the next one.
func (b *Badger) markLoop() {
	defer close(b.marker.marked)
	for {
		select {
		case <-b.marker.dirty:
		case <-b.closing:
			return // Close writes the last mark
		}
		timer := time.NewTimer(b.opts.rest)
		select {
		case <-b.marker.due:
		case <-timer.C:
		case <-b.closing:
		}
		timer.Stop()
		b.keepMark(b.writeMark())
		b.keepPrivate()
	}
}

// keepMark notes how writing a mark ended. Without room for it writes are refused until it is written, since a log
// that goes on without marks could lose its end unseen; another failure ends writing for good.
func (b *Badger) keepMark(err error) {
	switch {
	case err == nil:
		b.marker.unwritten.Store(nil)
	case errors.Is(err, syscall.ENOSPC):
		b.log.Warn("too little disk space for the high-water file; writes wait until there is", "error", err)
		b.marker.unwritten.Store(&err)
		signal(b.marker.dirty)
	default:
		b.failed.CompareAndSwap(nil, &err)
		b.log.Error("storage accepts no more writes", "error", err)
	}
}

// refused is nil, or says why writes are refused before the disk is looked at.
func (b *Badger) refused() error {
	if err := b.failed.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrReadOnly, *err)
	}
	if err := b.marker.unwritten.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoSpace, *err)
	}
	return nil
}

// keepPrivate has nobody but the owner read what the database has written. The directory is closed to others
// already, unless somebody opened it.
func (b *Badger) keepPrivate() {
	if err := keepPrivate(b.path()); err != nil {
		b.log.Warn("others may be able to read files of the database", "error", err)
	}
}

// writeMark writes the high-water file. Whatever it names is durable already; the count of commits
// is taken before the heads and may only be too small.
func (b *Badger) writeMark() error {
	b.marker.markMu.Lock()
	defer b.marker.markMu.Unlock()
	b.marker.uncovered.Store(0)
	return writeMark(b.dir, b.mark())
}

func (b *Badger) mark() mark {
	m := mark{commits: b.committer.commits.Load(), heads: make(map[string]Head)}
	b.mu.Lock()
	for name, w := range b.spaces {
		if !w.gone.Load() {
			m.heads[name] = *w.head.Load()
		}
	}
	b.mu.Unlock()
	return m
}
