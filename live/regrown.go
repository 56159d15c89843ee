package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"waymark/episodic"
	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/history"
)

// A transcript may be imported while its session goes on, and again later. The second import of an episode may contain
// steps that the first did not; see [outcomes]. An episode can grow only under the source that recorded it, and only
// if its steps have no ids of their own: a source that names its steps reports a final state.

// compare decides about episodes whose ids are recorded with other content. If several have one id, each is compared
// with the result of the one before.
func (e *Engine) compare(ctx context.Context, known []report, r *RecordResult) error {
	if err := e.readRecorded(ctx, known); err != nil {
		return fmt.Errorf("read the log of workspace %q: %w", e.name, err)
	}
	for i := range known {
		k := &known[i]
		var s standing
		if err := e.do(ctx, func(w *writer) { s = standingOf(w.state, k) }); err != nil {
			return err
		}
		switch s.outcome() {
		case duplicate:
			r.Duplicates++
			continue
		case conflict:
			r.reject(*k, k.conflict(&s), true)
			continue
		}
		err := e.extend(ctx, k.was, k.ep)
		var wrong *suggest.RequestError
		switch other := errors.Is(err, ErrOtherStep); {
		case err == nil:
			r.Accepted++
		case other || errors.As(err, &wrong):
			r.reject(*k, err, other)
		default:
			return err
		}
	}
	r.Seq = e.Counted()
	return nil
}

// standingOf compares an episode with the one recorded under its id. An episode that hooks or traces reported call by
// call during the session takes precedence: its transcript adds nothing.
func standingOf(state *history.State, k *report) standing {
	s := standing{erased: k.was == nil}
	if s.erased || reportedLive(k.was.Source) && strings.HasPrefix(k.ep.Source, "import:") {
		return s
	}
	was := &k.was.Episode
	s.differs = difference(state, redacted(was), redacted(k.ep)) // either may be from a time when secrets were stored
	s.growable = was.Session != "" && k.ep.Session != "" && was.Source == k.ep.Source && unnamed(was) && unnamed(k.ep)
	s.more = len(k.ep.Steps) > len(was.Steps) || k.ep.Outcome.Known() && was.Outcome != k.ep.Outcome
	return s
}

func reportedLive(source string) bool {
	return strings.HasPrefix(source, "hook:") || strings.HasPrefix(source, "otel:")
}

// conflict returns the reason why an episode is rejected.
func (k *report) conflict(s *standing) error {
	if s.erased {
		return fmt.Errorf("episode %q was erased and is not recorded again", k.ep.ID)
	}
	differs := s.differs
	if differs == "" {
		differs = fmt.Sprintf("%d steps reported by %q, recorded are %d by %q", len(k.ep.Steps), k.ep.Source, len(k.was.Steps), k.was.Source)
	}
	return fmt.Errorf("an episode with this id and other content is already recorded: episode %q: %s", k.ep.ID, differs)
}

// unnamed reports whether the step ids of an episode are only numbers, without
// dependencies: only their order is known.
func unnamed(ep *episodic.Episode) bool {
	for i := range ep.Steps {
		if ep.Steps[i].ID != strconv.Itoa(i+1) || ep.Steps[i].DependsOn != nil {
			return false
		}
	}
	return true
}

// difference describes the first contradiction between two states of one episode; empty if one may be a later state of
// the other. A missing value contradicts nothing.
func difference(state *history.State, was, is *episodic.Episode) string {
	switch {
	case was.Intent != "" && is.Intent != "" && was.Intent != is.Intent:
		return "the intent differs from the recorded one"
	case !was.Time.IsZero() && !is.Time.IsZero() && !was.Time.Equal(is.Time):
		return fmt.Sprintf("its time is %s, recorded is %s", is.Time.Format(time.RFC3339Nano), was.Time.Format(time.RFC3339Nano))
	case was.Session != "" && is.Session != "" && was.Session != is.Session:
		return fmt.Sprintf("its session is %q, recorded is %q", is.Session, was.Session)
	}
	for i := range min(len(was.Steps), len(is.Steps)) {
		a, b := &was.Steps[i], &is.Steps[i]
		tool, err := state.Resolve(a.Tool)
		if err != nil || b.Tool == a.Tool {
			tool = a.Tool
		}
		for _, f := range []struct{ field, was, is string }{
			{"tool", tool, b.Tool}, {"id", a.ID, b.ID}, {"outcome", known(a.Outcome), known(b.Outcome)},
			{"error kind", a.ErrorKind, b.ErrorKind}, {"error", a.Error, b.Error}, {"shape of arguments", a.Shape, b.Shape},
			{"list of earlier steps", strings.Join(a.DependsOn, " "), strings.Join(b.DependsOn, " ")},
		} {
			if f.was != "" && f.is != "" && f.was != f.is {
				return fmt.Sprintf("the %s of step %d is %q, recorded is %q", f.field, i+1, f.is, f.was)
			}
		}
	}
	if len(is.Steps) <= len(was.Steps) && was.Outcome.Known() && is.Outcome.Known() && was.Outcome != is.Outcome {
		return fmt.Sprintf("its outcome is %q, recorded is %q", is.Outcome, was.Outcome)
	}
	return ""
}

// known returns an outcome, or the empty string if it is unknown.
func known(o episodic.Outcome) string {
	if o.Known() {
		return string(o)
	}
	return ""
}

// readRecorded sets was of each episode from the log.
func (e *Engine) readRecorded(ctx context.Context, known []report) error {
	all, wanted, at, first := assembled{}, map[string]bool{}, map[uint64]bool{}, known[0].seq
	for _, k := range known {
		wanted[k.ep.ID], at[k.seq], first = true, true, min(first, k.seq)
	}
	further := ofKind(kindPerformed)
	want := func(ev storage.Event) bool { return at[ev.Seq] || further(ev) }
	for ev, err := range decoded(ctx, e.read, first-1, math.MaxUint64, want) {
		if err != nil {
			return err
		}
		if p, ok := ev.value.(*episodic.Performed); !ok || wanted[p.Episode] {
			all.take(ev)
		}
	}
	for i := range known {
		if r := all[known[i].ep.ID]; r != nil {
			known[i].was = &r.Grown
		}
	}
	return nil
}

// extend appends the steps that an episode has beyond those recorded, and its outcome, in one batch, and adds them to was.
func (e *Engine) extend(ctx context.Context, was *episodic.Grown, ep *episodic.Episode) error {
	var all []episodic.Performed
	one := episodic.Performed{Episode: ep.ID, Source: ep.Source, Time: was.Time}
	for i := len(was.Steps); i < len(ep.Steps); i++ {
		one.Number, one.Step = i+1, &ep.Steps[i]
		all = append(all, one)
	}
	if ep.Outcome.Known() {
		one.Number, one.Step, one.Outcome = 0, nil, ep.Outcome
		all = append(all, one)
	}
	_, err := e.perform(ctx, was, all)
	for i := 0; err == nil && i < len(all); i++ {
		add(was, &all[i])
	}
	return err
}
