package live

import (
	"context"
	"errors"
	"fmt"

	"waymark/storage"
	"waymark/suggest"
)

// A build starts by itself after a change of capabilities, and after so many tools or events that the measures are a
// tenth out of date. New tools are searched without one; with an embedder the first needs one, for its vector.
const (
	buildAfter = 64
	buildShare = 10
)

func (w *writer) buildIfDue() {
	if w.ahead != nil && w.building == nil && w.startsBuilds() {
		w.measureAhead()
	}
	again := w.failed == nil || w.failed.changes < w.folded.changes || w.failed.texts < w.folded.texts ||
		w.outage && w.failed.events < w.folded.events
	if w.building != nil || w.refused != nil || w.held.Load() > 0 || !again || !w.startsBuilds() {
		return
	}
	since, texts := w.since(), w.folded.texts-w.counted.texts
	catalog := w.changed() || texts > 0 && (w.opts.Embedder != nil || texts*buildShare >= w.state.Seen())
	if !catalog && (since < buildAfter || since*buildShare < int(w.built.seq)) && !w.doubled() {
		return
	}
	reason := "the catalog changed"
	if !catalog {
		reason = fmt.Sprintf("%d events were recorded since the last build", since)
	}
	if w.needsEvaluation() {
		_, _ = w.startRebuild(reason, false) // what it is judged for; a workspace that is closing needs none
	} else if _, err := w.startBuild(reason, w.newBuild()); err != nil && !errors.Is(err, ErrClosed) {
		w.notBuilt(&job{Job: Job{Kind: "build"}}, w.folded, err)
	}
}

// changed reports whether the catalog changed since the measures, in more than tools that were put.
func (w *writer) changed() bool { return w.folded.changes > w.counted.changes }

// doubled reports whether a short history has doubled since the last build, so that profile learned answers from the
// first task on.
func (w *writer) doubled() bool {
	before := w.measures.Episodes()
	return w.since() > 0 && !w.opts.Measure.WithoutLearned && before < buildAfter && w.state.Episodes() >= max(1, 2*before)
}

// startBuild appends a build event and measures in the background what is counted up to it; reason says why.
func (w *writer) startBuild(reason string, b build) (*job, error) {
	at, err := w.appendBuild(b)
	if err != nil {
		return nil, err
	}
	j, err := w.measureBuild(w.unfinished(at, b, false), reason)
	w.fetchVectors()
	return j, err
}

// measureBuild starts the job that measures a build, unless the workspace closes.
func (w *writer) measureBuild(u *unfinished, reason string) (*job, error) {
	j, err := w.start(Job{Kind: "build", Reason: reason, At: u.built.seq}, func(ctx context.Context, j *job) error {
		return w.build(ctx, j, u)
	})
	if err == nil {
		w.building, w.failed = j, nil
	}
	return j, err
}

// measureAhead computes the measures of a build that another process, or the one before, started.
func (w *writer) measureAhead() {
	u := w.ahead
	w.ahead = nil
	if u.built.seq <= w.built.seq {
		return
	}
	if w.tainted { // by what was forgotten since
		u.counts = nil
	}
	_, _ = w.measureBuild(u, "another process started it or ended before it did") // unless this one ends, too
}

// newBuild is how a model would be measured now.
func (w *writer) newBuild() build {
	b := build{Options: w.opts.Measure, Parent: w.version(), Gate: w.how.Gate, Forced: w.how.Forced}
	if w.opts.Embedder != nil && w.vectors != "" {
		b.Model, b.Vectors = w.opts.Embedder.Model(), w.vectors
	}
	return b
}

// appendBuild makes a build event durable and says where it stands.
func (w *writer) appendBuild(b build) (place, error) {
	payload, err := encode(kindBuild, b)
	if err != nil {
		return place{}, err
	}
	receipt, err := w.appendNow(entry{kindBuild, "", payload, &b, nil})
	return place{receipt.Seq, w.head.Chain}, err
}

// build measures a build, from its counts or, without, from the log, and activates it.
func (e *Engine) build(ctx context.Context, j *job, u *unfinished) error {
	var h *foldedLog
	failed := guarded(func() (err error) {
		if u.counts == nil {
			h, err = e.replayFor(ctx, j, u.built.seq, u.built.seq)
			return err
		}
		how := u.how
		how.Options.Progress = func(phase string, done float64) { e.progress(j, phase, done) }
		h = &foldedLog{}
		h.measures, err = e.measure(ctx, u.counts, how, u.built.seq)
		return err
	})
	err := e.do(e.life.ctx, func(w *writer) {
		w.building = nil
		if failed == nil {
			failed = w.activate(u, h)
		}
		if failed != nil {
			w.notBuilt(j, u.folded, failed)
		}
	})
	if err != nil { // it is left to the next start
		return context.Canceled
	}
	return failed
}

// notBuilt decides what follows a build that ended without measures; folded is what it would have counted. After a rebuild that
// somebody asked for a build starts when it is due. Any other waits for the next change of the catalog, after an outage for
// the next event, or it would start at once.
func (w *writer) notBuilt(j *job, folded extent, err error) {
	if w.life.ctx.Err() != nil { // it is left to the next start
		return
	}
	if j.Kind == "build" || j.Reason != requested {
		w.failed, w.outage = &folded, errors.Is(err, storage.ErrUnavailable)
	}
	if !errors.Is(err, context.Canceled) {
		w.opts.Logger.Error("build failed; the measures before stay", "workspace", w.name, "event", j.At, "error", err)
	}
}

// activate publishes a model with the measures of a build, and keeps a snapshot of it.
func (w *writer) activate(u *unfinished, h *foldedLog) error {
	shot := u.snapshot
	if h.state != nil { // a replay: what came since is counted in it too
		shot.image = h.shot.image
		if err := w.catchUp(h, shot.built.seq); err != nil {
			return err
		}
		w.state, w.tainted, w.treated = h.state, h.tainted, h.treated
	}
	w.measures, w.built, w.how, w.counted = h.measures, shot.built, shot.how, u.folded
	if w.builtAt = h.builtAt; w.builtAt.IsZero() { // else another process made it active
		w.builtAt = w.opts.Now().UTC().Round(0)
	}
	shot.at = w.builtAt
	if w.refused != nil && w.refused.seq < w.built.seq { // a build that a start finishes may have a refusal behind it
		w.refused = nil
	}
	w.show()
	if err := w.publish(); err != nil {
		return err
	}
	if shot.image != nil {
		w.keepBehind(shot, w.measures)
	}
	return nil
}

// warmBehind prepares in the background what a snapshot keeps of what was learned, which the first
// question that asks for it would wait for.
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
		returnMemory() // a fit leaves as much behind as it keeps, and so does reading a snapshot
	})
}

// guarded turns a panic of a background computation into its error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// catchUp folds into h what is folded after an event.
func (w *writer) catchUp(h *foldedLog, after uint64) error {
	for e, err := range decoded(context.WithoutCancel(w.life.ctx), w.read, after, w.head.Seq, everything) {
		if err != nil {
			return err
		}
		h.count(e)
	}
	return nil
}
