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

// Performed is a step that was just done, or what became of an episode.
type Performed struct {
	episodic.Place                  // of the call in its episode
	Step           episodic.Step    // its group is the place's; without a tool: none
	Outcome        episodic.Outcome // of the episode, if known by now
	Label          string           // whom the source names as its own source
}

// Perform stores one step of an episode that grows while it is done, and returns when it is durable, with
// the event from which on a model counts it ([Engine.Wait]). After the last step the model is the one that
// the whole episode would give. The same step again is no error and changes nothing; another one with its
// id is refused with [ErrOtherStep].
//
// Two events are stored where the episode is not known yet: its beginning, under the key of an episode, and
// the step, under a key of its own.
func (e *Engine) Perform(ctx context.Context, source string, p Performed) (seq uint64, err error) {
	step := episodic.Step{Tool: "none"} // with some step, it is checked as any episode is
	if p.Step.Tool != "" {
		step = p.Step
		step.Group, step.DependsOn = p.Group, nil // what it depends on is recorded elsewhere
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

// perform stores what was performed in one episode, in one batch. was is what is recorded of the episode, unless the
// state knows more.
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

// ErrOtherStep is of a step whose id another step of its episode has.
var ErrOtherStep = errors.New("another step with this id is already recorded")

func otherStep(p *episodic.Performed) error {
	if p.Step == nil {
		return fmt.Errorf("outcome of episode %q: %w", p.Episode, ErrOtherStep)
	}
	return fmt.Errorf("step %q of episode %q: %w", p.Step.ID, p.Episode, ErrOtherStep)
}

// opened is an episode as it will be after what the batch performs before, to add steps to, and the event that opens it
// where the state does not know its steps: it is new, was recorded whole, or other episodes grew since.
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
		s.Error, s.Shape = "", "" // nothing is counted of them
		if w.opts.DropDigests {
			s.Inputs, s.Outputs = nil, nil
		}
	}
	payload, err := encode(kindOpened, v)
	if err == nil && len(payload) > storage.MaxPayload {
		err = refused(fmt.Errorf("episode %q has %d bytes, at most %d", was.ID, len(payload), storage.MaxPayload))
	}
	return was.Clone(), []entry{{kindOpened, key, payload, v, nil}}, err
}

// performedEntry is the event of what was performed in an episode, to which it is added.
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
	payload, err := encode(kindPerformed, done)
	if err == nil && len(payload) > storage.MaxPayload {
		err = refused(fmt.Errorf("step has %d bytes, at most %d", len(payload), storage.MaxPayload))
	}
	return entry{kindPerformed, key, payload, done, nil}, err
}

func refused(err error) error {
	return &suggest.RequestError{Kind: suggest.Invalid, Field: "step", Detail: err.Error()}
}

// Growing is the episode of a session that grew last and may still grow, and when its last call ended as
// far as that is known; not ok if there is none. A step of it that nobody has told of yet is not in it.
func (e *Engine) Growing(ctx context.Context, source, session string) (p episodic.Place, steps []string, last time.Time, ok bool) {
	_ = e.do(ctx, func(w *writer) { // an engine that is closed knows of none
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

// grownEpisodes puts episodes together from the events of a log, by id.
type grownEpisodes map[string]*episodic.Grown

// take adds the value of an event to its episode, which it returns; nil: it is about none.
func (g grownEpisodes) take(value any) (e *episodic.Grown) {
	switch v := value.(type) {
	case *episodic.Episode:
		e = &episodic.Grown{Episode: *v, Numbers: make([]int, len(v.Steps))}
		for i := range e.Numbers {
			e.Numbers[i] = i + 1
		}
		g[v.ID] = e
	case *opened:
		if e = g[v.ID]; e == nil {
			e = &v.Grown
			g[v.ID] = e
		}
	case *episodic.Performed:
		if e = g[v.Episode]; e == nil {
			e = &episodic.Grown{Episode: episodic.Episode{ID: v.Episode, Source: v.Source, Time: v.Time}}
			g[v.Episode] = e
		}
		if v.Outcome.Known() {
			e.Outcome = v.Outcome
		}
		if v.Step != nil && !e.Has(v.Step.ID) {
			e.Add(v)
		}
	}
	return e
}
