package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrNoRollback: there is no judgement to return to, or it cannot be returned to now.
var ErrNoRollback = errors.New("cannot roll back")

// Rollback starts a build with the judgement before the active one: which profile answers what, and the calibration of
// scores. Everything recorded since counts. The build is an event of the log, so it outlasts restarts, until a rebuild
// is accepted: one that somebody asks for, or one that is due because the log has grown by half. A second rollback goes
// one judgement further back.
func (e *Engine) Rollback(ctx context.Context) (j Job, err error) {
	if err := e.rollbackable(); err != nil { // before the writer is asked, which may be busy with that job
		return Job{}, err
	}
	var active uint64
	if err := e.do(ctx, func(w *writer) { active = w.how.judged() }); err != nil {
		return Job{}, err
	}
	if active == 0 {
		return Job{}, fmt.Errorf("%w: the active model was not judged", ErrNoRollback)
	}
	before, err := e.judgedBefore(ctx, active)
	if err != nil {
		return Job{}, err
	}
	var failed error
	err = e.alone(ctx, func(w *writer) {
		if w.how.judged() != active {
			failed = fmt.Errorf("%w: %w", ErrNoRollback, errOvertaken)
			return
		}
		b := w.newBuild()
		b.Auto, b.Gate, b.Forced = before.Auto, before.Gate, before.Forced
		b.Rollback = w.log.Head().Seq
		var started *job
		if started, failed = w.startBuild("rollback", requested, b); failed == nil {
			w.update(started, func(j *Job) { j.Auto = b.Auto })
			j, _ = w.Job(started.ID)
		}
	})
	return j, errors.Join(err, failed)
}

// rollbackable refuses a rollback beside a job that it would wait for, or that would undo it.
func (e *Engine) rollbackable() error {
	for _, j := range e.Jobs() {
		if j.State == JobRunning && slices.Contains([]string{"rebuild", "rollback", "verify"}, j.Kind) {
			return fmt.Errorf("%w while %s is running: wait for it or cancel it", ErrNoRollback, j.ID)
		}
	}
	return nil
}

// judged is the last event that the judgement of a build knew; 0: there was no judgement.
func (b *build) judged() (seq uint64) {
	if b.Auto != nil {
		seq = b.Auto.Seq
	}
	if b.Gate != nil {
		seq = max(seq, b.Gate.Seq)
	}
	return seq
}

// judgedBefore is the newest published build with an earlier judgement than that of event seq; the zero build if there
// was none.
func (e *Engine) judgedBefore(ctx context.Context, seq uint64) (before build, err error) {
	for ev, err := range e.log.Read(ctx, 0) {
		if err != nil {
			return before, fmt.Errorf("read the log: %w", err)
		}
		if ev.Erased || len(ev.Payload) == 0 || ev.Payload[0] != kindBuild {
			continue
		}
		_, v, err := decode(ev.Payload)
		if err != nil {
			return before, fmt.Errorf("event %d: %w", ev.Seq, err)
		}
		if b := v.(*build); !b.Refused && b.judged() < seq {
			before = *b
		}
	}
	return before, nil
}
