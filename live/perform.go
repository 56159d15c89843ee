package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"waymark/episodic"
	"waymark/storage"
	"waymark/suggest"
)

// Performed is a step that was just executed, or the outcome of an episode.
type Performed struct {
	episodic.Place                  // position of the call in its episode
	Step           episodic.Step    // its group is taken from the place; without a tool: no step
	Outcome        episodic.Outcome // of the episode, if known by now
	Label          string           // the source that the reporter names as its own source
}

// Perform stores one step of an episode in progress and returns when the step is durable. A model that
// counts event seq counts the step ([Engine.Wait]). After the last step the model is the same as that of the
// whole episode. To store the same step again is no error and changes nothing; a different step with its id
// is rejected with [ErrOtherStep].
//
// If the episode is not known yet, two events are stored: its beginning, under the key of an episode, and
// the step, under a key of its own.
func (e *Engine) Perform(ctx context.Context, source string, p Performed) (seq uint64, err error) {
	step := episodic.Step{Tool: "none"} // a placeholder, since only an episode with a step is valid
	if p.Step.Tool != "" {
		step = p.Step
		step.Group, step.DependsOn = p.Group, nil // its dependencies are in other events and are not checked here
	}
	one, err := e.checked(source, episodic.Episode{ID: p.Episode, Intent: p.Intent, Time: p.Time, Session: p.Session,
		Source: source, Label: p.Label, Outcome: p.Outcome, Steps: []episodic.Step{step}})
	if err == nil && (step.ID == "" && p.Step.Tool != "" || p.Number < 0) {
		err = fmt.Errorf("episode %q: a step that is performed has an id, and no number below 0", p.Episode)
	}
	if err != nil {
		return 0, refused(err)
	}
	done := episodic.Performed{Episode: one.ID, Source: one.Source, Time: one.Time, Number: p.Number}
	if !p.Start.IsZero() && !p.Time.IsZero() {
		done.AtMS = max(0, p.Start.Sub(p.Time).Milliseconds())
	}
	if p.Step.Tool != "" {
		done.Step = &one.Steps[0]
		after := slices.Clone(p.Step.DependsOn)
		slices.Sort(after)
		done.Step.DependsOn = slices.Compact(after) // nil stays nil: only the order is known
	}
	if one.Outcome.Known() {
		done.Outcome = one.Outcome
	}
	head := *one
	head.Steps, head.Outcome = nil, ""
	return e.perform(ctx, &episodic.Grown{Episode: head}, []episodic.Performed{done})
}

// perform stores what was performed in one episode, in one batch. was is the recorded episode; it is used if the
// state does not contain the episode.
func (e *Engine) perform(ctx context.Context, was *episodic.Grown, done []episodic.Performed) (seq uint64, err error) {
	a, err := e.append(ctx, false, func(w *writer) ([]entry, error) {
		g, entries, err := w.opened(was)
		for i := 0; err == nil && i < len(done); i++ {
			var one entry
			one, err = w.performedEntry(g, &done[i])
			entries = append(entries, one)
		}
		if err == nil {
			w.grows[g.ID] = g
		}
		return entries, err
	})
	for i, receipt := range a.receipts {
		if p, ok := a.entries[i].value.(*episodic.Performed); ok && err == nil && receipt.Status == storage.Conflict {
			err = otherStep(p)
		}
	}
	return a.seq, err
}

// ErrOtherStep is the error for a step whose id another step of its episode has.
var ErrOtherStep = errors.New("another step with this id is already recorded")

func otherStep(p *episodic.Performed) error {
	if p.Step == nil {
		return fmt.Errorf("outcome of episode %q: %w", p.Episode, ErrOtherStep)
	}
	return fmt.Errorf("step %q of episode %q: %w", p.Step.ID, p.Episode, ErrOtherStep)
}

// opened returns an episode as it will be after the earlier ops of the batch. If the state does not contain its
// steps, opened also returns the event that opens it: the episode is new, was recorded whole, or the state dropped it
// because other episodes grew since.
func (w *writer) opened(was *episodic.Grown) (g *episodic.Grown, entries []entry, err error) {
	if g = cmp.Or(w.grows[was.ID], w.state.Grown(was.ID)); g != nil {
		return g.Clone(), nil, nil
	}
	v, key := &opened{*was.Clone()}, ""
	if len(v.Steps) == 0 {
		key = "episode/" + was.ID
	}
	for i := range v.Steps {
		s := &v.Steps[i]
		s.Error, s.Shape = "", "" // they are not counted
		if w.opts.DropDigests {
			s.Inputs, s.Outputs = nil, nil
		}
	}
	one, err := newEntry(kindOpened, key, v)
	if err != nil {
		err = refused(fmt.Errorf("episode %q: %w", was.ID, err))
	}
	return was.Clone(), []entry{one}, err
}

// performedEntry returns the event of a step or an outcome, and adds the step to its episode.
func (w *writer) performedEntry(g *episodic.Grown, done *episodic.Performed) (one entry, err error) {
	key := fmt.Sprintf("outcome/%s", g.ID)
	if s := done.Step; s != nil {
		if s.Tool, err = w.state.Resolve(s.Tool); err != nil {
			return one, refused(fmt.Errorf("step %q: %w", s.ID, err))
		}
		if !g.Has(s.ID) {
			if err = g.Room(s); err == nil {
				g.Add(done)
				err = g.Crowded()
			}
			if err != nil {
				return one, refused(err)
			}
		}
		key = fmt.Sprintf("step/%d/%s/%s", len(g.ID), g.ID, s.ID)
	}
	if one, err = newEntry(kindPerformed, key, done); err != nil {
		err = refused(err)
	}
	return one, err
}

func refused(err error) error {
	return &suggest.RequestError{Kind: suggest.Invalid, Field: "step", Detail: err.Error()}
}

// Growing returns the episode of a session that grew last and may still grow, the ids of its steps, and when its last
// call ended, zero if unknown. ok is false if there is none. Steps that were not reported yet are not included.
func (e *Engine) Growing(ctx context.Context, source, session string) (p episodic.Place, steps []string, last time.Time, ok bool) {
	_ = e.do(ctx, func(w *writer) { // a closed engine has none
		g := w.state.GrownIn(source, session)
		if g == nil || len(g.Steps) == 0 {
			return
		}
		ok = true
		p = episodic.Place{Episode: g.ID, Session: g.Session, Intent: g.Intent, Time: g.Time, Number: slices.Max(g.Numbers)}
		for i, s := range g.Steps {
			steps = append(steps, s.ID)
			p.Group = g.Steps[i].Group
		}
		if !g.Time.IsZero() {
			last = g.Time.Add(time.Duration(g.LastMS) * time.Millisecond)
		}
	})
	return p, steps, last, ok
}
