package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"waymark/suggest"
	"waymark/suggest/evaluate"
	"waymark/suggest/history"
)

// jobs holds the builds, rebuilds, evaluations, verifications and searches for proposals of a workspace: those that are
// running, and the last ones that ended.
type jobs struct {
	mu   sync.Mutex
	all  []*job         // in the order they started
	last map[string]int // number of the last job, by kind
}

type job struct {
	Job
	began   Job // as it started
	cancel  context.CancelFunc
	changed chan struct{} // closed and renewed at every change
	done    chan struct{} // closed when it has ended
	err     error         // why it did not succeed; to be read after done is closed
}

// keptJobs is how many jobs can be listed; running jobs are never dropped.
const keptJobs = 100

// requested is the reason of a job that a caller asked for.
const requested = "requested"

// errRefused ends a rebuild that the gate refuses.
var errRefused = errors.New("nothing was published")

// gateError is the error of a rebuild that the gate refuses.
func gateError(g *evaluate.Gate) error {
	if g.Loses() {
		return fmt.Errorf("the new model ranks held-out tasks worse than the active one by more than noise; %w", errRefused)
	}
	return fmt.Errorf("%v; %w", g.Source, errRefused)
}

// Rebuild starts a job that replays the log into a new model. The new model replaces the running one or, with verify,
// is compared with it bit by bit. If a job of the same kind is running, Rebuild returns that one.
//
// A rebuild is evaluated first: if it loses by more than noise against the running model on held-out tasks, or if one
// new key recorded most of the new episodes, it ends as [JobRefused], and the running model stays. With force it is
// published without an evaluation; the numbers of the last evaluation are kept.
func (e *Engine) Rebuild(verify, force bool) (Job, error) {
	switch {
	case verify && force:
		return Job{}, &suggest.RequestError{Kind: suggest.Invalid, Field: "force", Detail: "goes with a rebuild; verify publishes nothing"}
	case verify:
		return described(e.start(Job{Kind: "verify", Reason: requested}, e.verify))
	}
	return described(e.startRebuild(requested, force))
}

// JudgeRebuild starts a job that evaluates a rebuild and ends as it would, [JobDone] or
// [JobRefused]. It writes nothing.
func (e *Engine) JudgeRebuild() (Job, error) {
	return described(e.start(Job{Kind: "judge", Reason: requested}, func(ctx context.Context, j *job) error {
		gate, _, err := e.judge(ctx, j, 1)
		if err == nil && gate.Refuses() {
			err = gateError(gate)
		}
		return err
	}))
}

// startRebuild starts a rebuild, or returns the running one. If the options ask for it, proposals are mined after it.
func (e *Engine) startRebuild(reason string, force bool) (*job, error) {
	return e.start(Job{Kind: "rebuild", Reason: reason, Forced: force}, func(ctx context.Context, j *job) error {
		defer e.Hold()() // each build in between would require a new evaluation, without end if much is recorded
		err := e.rebuild(ctx, j, force)
		if err == nil && e.opts.Mine {
			if _, err := e.Mine(ctx, MineOptions{}); err != nil {
				e.opts.Logger.Warn("proposals were not mined after the rebuild", "workspace", e.name, "error", err)
			}
		}
		return err
	})
}

// rebuildAndWait starts a rebuild of everything acknowledged so far and waits for it. A refused rebuild is no error; with
// force it is repeated until one is published.
func (e *Engine) rebuildAndWait(ctx context.Context, force bool) error {
	for asked := e.Head().Seq; ; {
		j, err := e.startRebuild(requested, force)
		if err != nil {
			return err
		}
		select {
		case <-j.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		switch refused := errors.Is(j.err, errRefused); {
		case j.err != nil && !refused:
			return fmt.Errorf("%s: %w", j.ID, j.err)
		case j.At > asked && !(refused && force): // otherwise it is the job of another caller, begun before
			return nil
		}
	}
}

// described returns a job as it started.
func described(j *job, err error) (Job, error) {
	if err != nil {
		return Job{}, err
	}
	return j.began, nil
}

// start starts a job, or returns the running job of its kind. A build never joins another one,
// because each has an event of its own.
func (e *Engine) start(described Job, do func(context.Context, *job) error) (*job, error) {
	e.jobs.mu.Lock()
	defer e.jobs.mu.Unlock()
	if e.life.ctx.Err() != nil {
		return nil, ErrClosed
	}
	for _, j := range e.jobs.all {
		if described.At == 0 && j.Kind == described.Kind && j.State == JobRunning {
			return j, nil
		}
	}
	if e.jobs.last == nil {
		e.jobs.last = map[string]int{}
	}
	e.jobs.last[described.Kind]++
	described.ID = fmt.Sprintf("%s-%d", described.Kind, e.jobs.last[described.Kind])
	described.State, described.StartedAt, described.Phase = JobRunning, e.opts.Now(), "replay"
	ctx, cancel := context.WithCancel(e.life.ctx)
	j := &job{Job: described, began: described, cancel: cancel, changed: make(chan struct{}), done: make(chan struct{})}
	e.jobs.all = append(e.jobs.all, j)
	if len(e.jobs.all) > keptJobs {
		if i := slices.IndexFunc(e.jobs.all, func(j *job) bool { return j.State != JobRunning }); i >= 0 {
			e.jobs.all = slices.Delete(e.jobs.all, i, i+1)
		}
	}
	e.life.background.Go(func() {
		defer cancel()
		e.finish(j, guarded(func() error { return do(ctx, j) }))
	})
	return j, nil
}

// finish records how a job ended.
func (e *Engine) finish(j *job, err error) {
	e.update(j, func(j *Job) {
		j.FinishedAt, j.Progress, j.Version = e.opts.Now(), 1, e.Model().Info().Version
		switch {
		case err == nil:
			j.State, j.Phase = JobDone, "done"
		case errors.Is(err, context.Canceled):
			j.State = JobCanceled
		case errors.Is(err, errRefused):
			j.State, j.Error = JobRefused, err.Error()
		default:
			j.State, j.Error = JobFailed, err.Error()
		}
	})
	j.err = err
	close(j.done)
	returnMemory()
}

// returnMemory returns memory to the operating system after a build, an evaluation or a start, if it is a lot. An idle
// server allocates too little for the garbage collector to do so soon.
func returnMemory() {
	const much = 256 << 20 // bytes; less is not worth a forced collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapSys-m.HeapReleased > much {
		debug.FreeOSMemory()
	}
}

// The shares of a rebuild or verification that its phases are assumed to take, for its progress.
const judgeShare, replayShare, compareShare = 0.3, 0.2, 0.02

// errOvertaken is the error of an evaluation whose active model was replaced meanwhile.
var errOvertaken = errors.New("another build was published meanwhile")

// rebuild evaluates the new model, replays the log up to a new build event and activates state and measures, unless
// the new model loses. If another build was published meanwhile, the evaluation is repeated, because that build would
// be replaced. With force there is no evaluation, which takes twice as long as the rebuild itself.
func (e *Engine) rebuild(ctx context.Context, j *job, force bool) error {
	for {
		var u *unfinished
		gate, built, err := e.judge(ctx, j, judgeShare)
		if err == nil {
			err = e.alone(ctx, func(w *writer) (err error) {
				if !force && w.built.seq != built {
					return errOvertaken
				}
				u, err = w.beginRebuild(j, gate, force)
				return err
			})
		}
		switch {
		case err == nil:
			return e.build(ctx, j, u)
		case errors.Is(err, errOvertaken):
			continue
		case !errors.Is(err, errRefused):
			_ = e.do(e.life.ctx, func(w *writer) { w.notBuilt(j, w.folded, err) }) // a closed engine starts no other build
		}
		return err
	}
}

// beginRebuild appends the event of a rebuild or of its refusal; it returns a refusal as an error. A forced rebuild
// after a refusal keeps its gate.
func (w *writer) beginRebuild(j *job, gate *evaluate.Gate, force bool) (*unfinished, error) {
	b := w.newBuild()
	switch {
	case !force:
		b.Gate, b.Forced, b.Refused = gate, false, gate.Refuses()
	case w.refused != nil && !w.needsReplay: // a history that needs a replay is not the one that was refused
		b.Gate, b.Forced = w.refused.how.Gate, true
		w.update(j, func(j *Job) { j.Gate = b.Gate })
	}
	at, err := w.appendBuild(b)
	if err != nil {
		return nil, err
	}
	w.update(j, func(j *Job) { j.At = at.seq })
	if b.Refused {
		return nil, gateError(gate)
	}
	w.building, w.failed = j, nil
	return w.unfinished(at, b, true), nil
}

// alone runs f in the writer's goroutine when no build is running.
func (e *Engine) alone(ctx context.Context, f func(w *writer) error) (failed error) {
	for {
		var busy *job
		if err := e.do(ctx, func(w *writer) {
			if busy = w.building; busy == nil {
				failed = f(w)
			}
		}); err != nil || busy == nil {
			return cmp.Or(err, failed)
		}
		select {
		case <-busy.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// replayFor replays the log for a job.
func (e *Engine) replayFor(ctx context.Context, j *job, upTo, built uint64) (h *replayedLog, err error) {
	if upTo == 0 { // nothing was ever recorded or built
		h = &replayedLog{state: history.NewState()}
		h.measures, err = e.measure(ctx, h.state.Freeze(), build{}, 0)
		return h, err
	}
	before, all := replayShare, 1.0 // bounds of the progress of measuring
	if j.Kind == "rebuild" {
		before += judgeShare
	} else {
		all -= compareShare
	}
	h, _, err = replay(ctx, e.read, nil, upTo, built,
		func(ctx context.Context, c *history.Counts, b build, at uint64) (*suggest.Measures, error) {
			b.Options.Progress = func(phase string, done float64) {
				e.progress(j, phase, before+float64((all-before)*done))
			}
			return e.measured(ctx, c, b, at, j.Kind != "verify")
		},
		func(done float64) { e.progress(j, "replay", before+float64(replayShare*(done-1))) })
	return h, err
}

// verify replays the log up to the position of the running model and compares the two models.
func (e *Engine) verify(ctx context.Context, j *job) error {
	var running *suggest.Model
	var upTo, built uint64
	err := e.do(ctx, func(w *writer) {
		if w.dirty {
			if err := w.publish(); err != nil {
				w.opts.Logger.Error("model could not be published", "workspace", w.name, "error", err)
			}
		}
		running, upTo, built = w.Model(), w.head.Seq, w.built.seq
	})
	if err != nil {
		return err
	}
	h, err := e.replayFor(ctx, j, upTo, built)
	if err != nil {
		return err
	}
	e.progress(j, "compare", 1-compareShare)
	fresh, err := h.model()
	if err != nil {
		return err
	}
	report := VerifyReport{
		Events: upTo, Version: running.Info().Version, RunningHash: running.Hash(), ReplayHash: fresh.Hash(), Differences: []string{},
	}
	again := fresh.Parts()
	for i, p := range running.Parts() {
		if p != again[i] {
			report.Differences = append(report.Differences, p.Name)
		}
	}
	if v := fresh.Info().Version; v != report.Version {
		report.Differences = append(report.Differences, "version "+v)
	}
	report.Equal = len(report.Differences) == 0
	e.update(j, func(j *Job) { j.Verify = &report })
	return nil
}

// progress updates the phase and the progress of a job. The progress never decreases, even if a rebuild starts over.
func (e *Engine) progress(j *job, phase string, done float64) {
	e.update(j, func(j *Job) { j.Phase, j.Progress = phase, max(j.Progress, done) })
}

func (e *Engine) update(j *job, change func(*Job)) {
	e.jobs.mu.Lock()
	defer e.jobs.mu.Unlock()
	change(&j.Job)
	close(j.changed)
	j.changed = make(chan struct{})
}

func (e *Engine) find(id string) *job {
	for _, j := range e.jobs.all {
		if j.ID == id {
			return j
		}
	}
	return nil
}

// Jobs returns the running jobs and the last ones that ended, the newest first.
func (e *Engine) Jobs() []Job {
	e.jobs.mu.Lock()
	defer e.jobs.mu.Unlock()
	all := make([]Job, 0, len(e.jobs.all))
	for _, j := range slices.Backward(e.jobs.all) {
		all = append(all, j.Job)
	}
	return all
}

// Job returns a job by id.
func (e *Engine) Job(id string) (Job, bool) {
	e.jobs.mu.Lock()
	defer e.jobs.mu.Unlock()
	if j := e.find(id); j != nil {
		return j.Job, true
	}
	return Job{}, false
}

// WatchJob yields the state of a job now and after every change, until it has ended. A slow reader misses states in
// between, but never the last one. It yields nothing if there is no such job.
func (e *Engine) WatchJob(ctx context.Context, id string) iter.Seq[Job] {
	return func(yield func(Job) bool) {
		e.jobs.mu.Lock()
		j := e.find(id)
		e.jobs.mu.Unlock()
		for j != nil && ctx.Err() == nil {
			e.jobs.mu.Lock()
			now, changed := j.Job, j.changed
			e.jobs.mu.Unlock()
			if !yield(now) || now.State != JobRunning {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// CancelJob cancels a running job. The model stays as it is.
func (e *Engine) CancelJob(id string) bool {
	e.jobs.mu.Lock()
	defer e.jobs.mu.Unlock()
	j := e.find(id)
	if j == nil || j.State != JobRunning {
		return false
	}
	j.cancel()
	return true
}
