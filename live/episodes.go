package live

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"waymark/catalog"
	"waymark/episodic"
)

// recorded is an episode as a log has it. Each feedback is one of its own, without an id and steps.
type recorded struct {
	episodic.Grown
	last   time.Time // time of its last step; zero: unknown
	events []reportedEvent
}

type reportedEvent struct {
	seq    uint64
	source string
}

// seq is the last event of the episode.
func (r *recorded) seq() uint64 { return r.events[len(r.events)-1].seq }

// assembled collects episodes from the events of a log, by id.
type assembled map[string]*recorded

// take adds an event to its episode and returns the episode; nil if the event belongs to none.
func (a assembled) take(ev decodedEvent) *recorded {
	var found episodic.Episode // the event in the form of an episode
	var at time.Time
	performed := &episodic.Performed{}
	switch v := ev.value.(type) {
	case *episodic.Episode:
		found, at = *v, v.Time
	case *opened:
		found, at = v.Episode, v.Time
	case *episodic.Performed:
		found, performed = episodic.Episode{ID: v.Episode, Source: v.Source, Time: v.Time}, v
		if at = v.Time; !at.IsZero() {
			at = at.Add(time.Duration(v.AtMS) * time.Millisecond)
		}
	case *feedback:
		return &recorded{events: []reportedEvent{{ev.seq, v.Source}}}
	default:
		return nil
	}
	r := a[found.ID]
	if r == nil {
		r = &recorded{Grown: episodic.Grown{Episode: found}}
		a[found.ID] = r
		if o, ok := ev.value.(*opened); ok {
			r.Grown = o.Grown
		} else {
			for i := range found.Steps {
				r.Numbers = append(r.Numbers, i+1)
			}
		}
	}
	r.events = append(r.events, reportedEvent{ev.seq, found.Source})
	if at.After(r.last) {
		r.last = at
	}
	add(&r.Grown, performed)
	return r
}

// add adds a performed step, unless the episode has it, and a performed outcome.
func add(g *episodic.Grown, p *episodic.Performed) {
	if p.Outcome.Known() {
		g.Outcome = p.Outcome
	}
	if p.Step != nil && !g.Has(p.Step.ID) {
		g.Add(p)
	}
}

// recordedIn yields the episodes and feedback of a log up to an event, in the order in which they were recorded. An
// episode that grew is yielded at the position of its last step. An error ends the iteration.
func recordedIn(ctx context.Context, log reader, upTo uint64) iter.Seq2[*recorded, error] {
	return func(yield func(*recorded, error) bool) {
		last := map[string]uint64{} // event of each episode that grew
		for ev, err := range decoded(ctx, log, 0, upTo, ofKind(kindPerformed)) {
			if err != nil {
				yield(nil, err)
				return
			}
			if p, ok := ev.value.(*episodic.Performed); ok {
				last[p.Episode] = ev.seq
			}
		}
		all := assembled{}
		for ev, err := range decoded(ctx, log, 0, upTo, everything) {
			if err != nil {
				yield(nil, err)
				return
			}
			if r := all.take(ev); r != nil && last[r.ID] <= ev.seq { // otherwise a later event adds to the episode
				delete(all, r.ID)
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// episodesUpTo yields the episodes with steps up to an event, with the current ids of tools.
func (e *Engine) episodesUpTo(ctx context.Context, upTo uint64) iter.Seq2[*recorded, error] {
	aliases := aliases(e.Rules())
	return func(yield func(*recorded, error) bool) {
		for r, err := range recordedIn(ctx, e.read, upTo) {
			if err != nil {
				yield(&recorded{}, fmt.Errorf("read the log of workspace %q: %w", e.name, err))
				return
			}
			for i := range r.Steps {
				r.Steps[i].Tool = aliases.Of(r.Steps[i].Tool)
			}
			if len(r.Steps) > 0 && !yield(r, nil) {
				return
			}
		}
	}
}

// Item is one entry of the catalog or one episode. One field is set.
type Item struct {
	Tool       *catalog.Tool
	Capability *catalog.Capability
	Episode    *episodic.Episode
}

// Items yields the catalog as it is now, then the episodes in the order they were recorded.
func (e *Engine) Items(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		m := e.Model()
		for _, t := range m.Tools() {
			if !yield(Item{Tool: &t}, nil) {
				return
			}
		}
		for _, c := range m.Capabilities() {
			if !yield(Item{Capability: &c}, nil) {
				return
			}
		}
		for ep, err := range e.episodes(ctx) {
			if !yield(Item{Episode: ep}, err) {
				return
			}
		}
	}
}

// episodes yields the history in the order recorded.
func (e *Engine) episodes(ctx context.Context) iter.Seq2[*episodic.Episode, error] {
	return func(yield func(*episodic.Episode, error) bool) {
		for ep, err := range e.episodesUpTo(ctx, math.MaxUint64) {
			if !yield(&ep.Episode, err) {
				return
			}
		}
	}
}
