package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"waymark/storage"
	"waymark/suggest"
)

// A build starts by itself after a change of capabilities, and when a tenth of the tools or events are newer than the
// measures. Search finds new tools without a build; with an embedder, the first new tool starts one, for its vector.
const (
	buildAfter = 64
	buildShare = 10
)

func (w *writer) buildIfDue() {
	if w.ahead != nil && w.building == nil && w.startsBuilds() {
		w.measureAhead()
	}
	if w.building != nil || w.refused != nil || w.held.Load() > 0 || !w.startsBuilds() {
		return
	}
	failed := w.failed
	if failed != nil && w.outage && w.folded.events > failed.events { // the store takes events again
		failed = nil
	}
	last := *cmp.Or(failed, &w.covered)
	since, texts := w.folded.events-last.events, w.folded.texts-last.texts
	catalog := w.folded.changes > last.changes || texts > 0 && (w.opts.Embedder != nil || texts*buildShare >= w.state.Seen())
	if !catalog && (since < buildAfter || since*buildShare < int(w.built.seq)) && (failed != nil || !w.doubled()) {
		return
	}
	reason := "the catalog changed"
	if !catalog {
		reason = fmt.Sprintf("%d events were recorded since the last build", since)
	}
	if w.needsEvaluation() {
		_, _ = w.startRebuild(reason, false) // it is evaluated first; a workspace that is closing needs none
	} else if _, err := w.startBuild(reason, w.newBuild()); err != nil && !errors.Is(err, ErrClosed) {
		w.notBuilt(&job{Job: Job{Kind: "build"}}, w.folded, err)
	}
}

// changed reports whether the catalog changed since the measures, other than by tools that were put.
func (w *writer) changed() bool { return w.folded.changes > w.covered.changes }

// doubled reports whether a short history has doubled since the last build. Then a build is due, so that profile
// learned answers from the first task on.
func (w *writer) doubled() bool {
	before := w.measures.Episodes()
	return w.since() > 0 && !w.opts.Measure.WithoutLearned && before < buildAfter && w.state.Episodes() >= max(1, 2*before)
}

// startBuild appends a build event and starts the job that measures it; reason is shown in the job.
func (w *writer) startBuild(reason string, b build) (*job, error) {
	at, err := w.appendBuild(b)
	if err != nil {
		return nil, err
	}
	j, err := w.measureBuild(w.unfinished(at, b, false), reason)
	w.fetchVectors()
	return j, err
}

// measureBuild starts the job that measures a build. It fails only if the workspace is closing.
func (w *writer) measureBuild(u *unfinished, reason string) (*job, error) {
	j, err := w.start(Job{Kind: "build", Reason: reason, At: u.built.seq}, func(ctx context.Context, j *job) error {
		return w.build(ctx, j, u)
	})
	if err == nil {
		w.building, w.failed = j, nil
	}
	return j, err
}

// measureAhead measures a build event that another process, or an earlier run of this one, appended.
func (w *writer) measureAhead() {
	u := w.ahead
	w.ahead = nil
	if u.built.seq <= w.built.seq {
		return
	}
	if w.needsReplay { // its counts may include something forgotten
		u.counts = nil
	}
	_, _ = w.measureBuild(u, "another process started it or ended before it did") // fails only if this one is closing, too
}

// newBuild returns the event of a build that would start now.
func (w *writer) newBuild() build {
	b := build{Options: w.opts.Measure, Parent: w.version(), Gate: w.how.Gate, Forced: w.how.Forced}
	if w.opts.Embedder != nil && w.vectors != "" {
		b.Model, b.Vectors = w.opts.Embedder.Model(), w.vectors
	}
	return b
}

// appendBuild stores a build event and returns its position.
func (w *writer) appendBuild(b build) (place, error) {
	one, err := newEntry(kindBuild, "", &b)
	if err != nil {
		return place{}, err
	}
	receipt, err := w.appendNow(one)
	return place{receipt.Seq, w.head.Chain}, err
}

// build measures a build and activates it. If u has no counts, it replays the log.
func (e *Engine) build(ctx context.Context, j *job, u *unfinished) error {
	var h *replayedLog
	failed := guarded(func() (err error) {
		if u.counts == nil {
			h, err = e.replayFor(ctx, j, u.built.seq, u.built.seq)
			return err
		}
		how := u.how
		how.Options.Progress = func(phase string, done float64) { e.progress(j, phase, done) }
		h = &replayedLog{}
		h.measures, err = e.measure(ctx, u.counts, how, u.built.seq)
		return err
	})
	err := e.do(e.life.ctx, func(w *writer) {
		w.building = nil
		if failed == nil {
			failed = w.activate(u, h)
		}
		if failed != nil {
			w.notBuilt(j, u.covered, failed)
		}
	})
	if err != nil { // the next start measures it
		return context.Canceled
	}
	return failed
}

// notBuilt decides when the next build starts after one that ended without measures; folded is what it would have
// counted. After a requested rebuild, the next build starts when it is due. After any other, it starts when as much was
// recorded since as makes a build due, or after an outage of the store with the next event, because it would otherwise
// start at once.
func (w *writer) notBuilt(j *job, folded eventTotals, err error) {
	if w.life.ctx.Err() != nil { // the next start measures it
		return
	}
	if j.Kind == "build" || j.Reason != requested {
		w.failed, w.outage = &folded, errors.Is(err, storage.ErrUnavailable)
	}
	if !errors.Is(err, context.Canceled) {
		w.opts.Logger.Error("build failed; the measures before stay", "workspace", w.name, "event", j.At, "error", err)
	}
}

// activate publishes a model with the measures of a build, and writes a snapshot of it in the background.
func (w *writer) activate(u *unfinished, h *replayedLog) error {
	shot := u.snapshot
	if h.state != nil { // after a replay, the later events are counted in it too
		shot.image = h.shot.image
		if err := w.catchUp(h, shot.built.seq); err != nil {
			return err
		}
		w.state, w.needsReplay, w.treated = h.state, h.needsReplay, h.treated
	}
	if shot.builtAt = h.builtAt; shot.builtAt.IsZero() { // otherwise another process made it active
		shot.builtAt = w.opts.Now().UTC().Round(0)
	}
	w.measures, w.active = h.measures, shot.active
	if w.refused != nil && w.refused.seq < w.built.seq { // a build finished after a start may precede a refusal
		w.refused = nil
	}
	w.publishStatus()
	if err := w.publish(); err != nil {
		return err
	}
	if shot.image != nil {
		w.keepBehind(shot, w.measures)
	}
	return nil
}

// warmBehind prepares profile learned from a snapshot or a short history in the background, so that the first
// request for it does not have to wait.
func (e *Engine) warmBehind(m *suggest.Measures) {
	if !m.Cold() {
		return
	}
	e.warming.Store(true)
	e.life.background.Go(func() {
		defer e.warming.Store(false)
		err := guarded(func() error {
			m.Warm(func() bool { return e.life.ctx.Err() != nil })
			return nil
		})

		if err != nil {
			e.opts.Logger.Error("nothing could be learned", "workspace", e.name, "error", err)
		}
		returnMemory() // a fit leaves as much garbage as it keeps, and so does reading a snapshot
	})
}

// guarded runs f and returns a panic of it as an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// catchUp folds into h the events after an event, up to the head of w.
func (w *writer) catchUp(h *replayedLog, after uint64) error {
	for e, err := range decoded(context.WithoutCancel(w.life.ctx), w.read, after, w.head.Seq, everything) {
		if err != nil {
			return err
		}
		h.count(e)
	}
	return nil
}
