package live

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"waymark/internal/bounded"
	"waymark/storage"
)

// If several processes share a store, each folds the events that the others append. The process that holds a lease
// starts the builds and stores their measures in snapshots, from which the others take them:
//
//	holder   append the build event ─▶ measure ─▶ snapshot
//	others   fold the build event ─▶ wait for the snapshot ─▶ take its state and measures
//
// At equal positions of the log, all processes have equal models.
const (
	buildLease = "build"
	leaseTime  = 10 * time.Second // after this time without a renewal another process may hold it
	leaseRenew = 3 * time.Second

	followPause = 250 * time.Millisecond // minimum time between two checks for changes of other processes
	followRetry = time.Second
)

// lead is the state of the lease to start builds in this process.
type lead struct {
	store *storage.Store
	fence atomic.Uint64
	until atomic.Pointer[time.Time] // when it ends, by the monotonic clock, which cannot be set; nil: not held
}

func (l *lead) holds() bool {
	until := l.until.Load()
	return !l.store.Shared() || until != nil && time.Now().Before(*until)
}

// seek acquires and renews the lease until ctx ends, and then releases it.
func (l *lead) seek(ctx context.Context, log *slog.Logger) {
	for held := false; ctx.Err() == nil; {
		began := time.Now()
		ask, cancel := context.WithTimeout(ctx, leaseRenew)
		fence, err := l.store.System().Lease(ask, buildLease, leaseTime)
		cancel()
		switch {
		case err == nil:
			l.fence.Store(fence)
			until := began.Add(leaseTime)
			l.until.Store(&until)
		case errors.Is(err, storage.ErrHeld):
			l.until.Store(nil)
		}
		if l.holds() != held {
			held = !held
			log.Info("lease to start builds", "held", held)
		}
		bounded.Wait(ctx, leaseRenew)
	}
	if l.holds() {
		l.until.Store(nil)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseRenew)
		defer cancel()
		if err := l.store.System().Release(end, buildLease); err != nil {
			log.Warn("the lease to start builds ends by itself", "error", err)
		}
	}
}

// tend opens the workspaces with new events while this process starts builds, because the process that
// appended the events starts none.
func (w *Workspaces) tend(ctx context.Context) {
	for heads := map[string]storage.Head{}; ctx.Err() == nil; bounded.Wait(ctx, leaseRenew) {
		if !w.opts.lead.holds() {
			clear(heads)
			continue
		}
		names, err := w.store.Workspaces(ctx)
		for _, name := range names {
			head := w.store.Head(name)
			if head == heads[name] {
				continue
			}
			e, failed := w.Open(ctx, name)
			if failed == nil {
				failed = e.do(ctx, (*writer).fetchVectors) // makes the writer check whether a build is due, too
			}
			if failed == nil {
				heads[name] = head
			}
			err = errors.Join(err, failed)
		}
		if err != nil && ctx.Err() == nil {
			w.opts.Logger.Warn("workspaces could not be opened to start builds; this is tried again", "error", err)
		}
	}
}

// startsBuilds reports whether this process starts the builds that nobody requested.
func (e *Engine) startsBuilds() bool { return e.opts.lead.holds() }

// follow takes over the changes of other processes.
func (e *Engine) follow() {
	ctx := e.life.ctx
	for existed := false; ctx.Err() == nil; bounded.Wait(ctx, followPause) {
		_, more := e.store.Changes(e.name)
		exists, err := e.takeIn(ctx)
		if err == nil && existed && !exists {
			e.opts.gone(e)
		}
		existed = exists
		var again <-chan time.Time
		if err != nil && ctx.Err() == nil {
			e.opts.Logger.Warn("changes of other processes are not known here yet", "workspace", e.name, "error", err)
			again = time.After(followRetry)
		}
		select {
		case <-more:
		case <-again:
		case <-ctx.Done():
		}
	}
}

// takeIn folds the events that other processes appended, and reads the rows and measures that they changed.
func (e *Engine) takeIn(ctx context.Context) (exists bool, err error) {
	exists = e.store.Exists(e.name)
	err = e.try(ctx, func(w *writer) (err error) {
		if w.store.Head(w.name) != w.head {
			err = w.foldMissed()
		}
		return errors.Join(err, w.quarantine.load(ctx)) // a release appends no event
	})
	return exists, errors.Join(err, e.adopt(ctx))
}

// adopt activates the measures that another process computed for the last build.
func (e *Engine) adopt(ctx context.Context) error {
	var u *unfinished
	if err := e.do(ctx, func(w *writer) {
		if !w.startsBuilds() {
			u = w.ahead
		}
	}); err != nil || u == nil {
		return err
	}
	kept, err := e.store.Snapshots(ctx, e.name)
	i := slices.IndexFunc(kept, func(s storage.Snapshot) bool { return s.Seq == u.built.seq })
	if err != nil || i < 0 {
		return err
	}
	h, err := e.readSnapshot(ctx, kept[i])
	if err == nil && e.opts.Serves {
		h.measures.PrepareSearch()
	}
	return e.alone(ctx, func(w *writer) error {
		switch {
		case w.ahead != u:
		case err != nil: // another version of the program wrote it
			e.opts.Logger.Warn("snapshot cannot be read; the build is measured here", "workspace", e.name, "event", u.built.seq, "error", err)
			w.measureAhead()
			return err
		default:
			w.ahead = nil
			if u.built.seq > w.built.seq {
				if err := w.activate(u, h); err != nil {
					return err
				}
			}
			if e.opts.Serves {
				e.warmBehind(h.measures)
			}
		}
		return nil
	})
}
