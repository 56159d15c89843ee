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
	"waymark/suggest/history"
)

// forgetBatch is how many events one request to forget names: as many as one transaction erases.
const forgetBatch = 5000

// Forget erases the payloads of episodes and feedback for good and measures anew without them. The
// request is stored in the transaction that erases them; digests and ids stay, so the chain holds and
// what was forgotten is not taken again.
func (e *Engine) Forget(ctx context.Context, sel Selection) (ForgetResult, error) {
	if sel.Parts() != 1 {
		return ForgetResult{}, &suggest.RequestError{Kind: suggest.Invalid, Detail: "name exactly one of source, episode and before"}
	}
	var seqs []uint64
	selector := e.selector(sel)
	for ev, err := range e.read(ctx, 0) {
		if err != nil {
			return ForgetResult{}, fmt.Errorf("read the log of workspace %q: %w", e.name, err)
		}
		if !ev.Erased && selector.selects(ev) {
			seqs = append(seqs, ev.Seq)
		}
	}
	r, done, err := e.forgetEvents(ctx, slices.Collect(slices.Chunk(seqs, forgetBatch)))
	if err == nil && !done && sel.Episode != "" {
		return r, &suggest.RequestError{Kind: suggest.NotFound, Field: "episode", Detail: fmt.Sprintf("%q is not recorded", sel.Episode)}
	}
	return r, err
}

// forgetEvents is Forget for events that are selected already, in one request for each batch. done is false where there
// was nothing to do.
func (e *Engine) forgetEvents(ctx context.Context, batches [][]uint64) (r ForgetResult, done bool, err error) {
	r.Seq = e.Counted()
	owed := false // by a request that failed on its way
	if err := e.do(ctx, func(w *writer) { owed = w.tainted }); err != nil {
		return r, false, err
	}
	if len(batches) == 0 && !owed {
		return r, false, nil
	}
	defer e.Hold()() // the rebuild below is the one that counts
	for _, batch := range batches {
		for part := range slices.Chunk(batch, forgetBatch) {
			var failed error
			if err := e.do(ctx, func(w *writer) { failed = w.erase(part) }); err != nil || failed != nil {
				return r, true, cmp.Or(err, failed)
			}
			r.Erased += len(part)
		}
	}
	// From here on it is durable.
	ctx = context.WithoutCancel(ctx)
	// What was learned from it must go, whatever that costs in quality; and a rebuild that somebody else
	// has canceled is begun again.
	for {
		if _, err := e.rebuilt(ctx, true); err == nil {
			break
		} else if !errors.Is(err, context.Canceled) {
			return r, true, fmt.Errorf("erased %d events, but not what was learned from them: %w", r.Erased, err)
		}
	}
	if err := e.dropProposals(ctx); err != nil {
		return r, true, fmt.Errorf("erased %d events, but not what was proposed because of them: %w", r.Erased, err)
	}
	// The model before still holds what is forgotten.
	e.previous.Store(nil)
	r.Seq = e.Counted()
	return r, true, nil
}

// erase removes payloads and, with them, snapshots.
func (w *writer) erase(seqs []uint64) error {
	v := forgotten{Seqs: seqs}
	payload, err := encode(kindForgotten, v)
	if err == nil {
		_, err = w.appendNow(entry{kindForgotten, "", payload, &v, nil}, seqs...)
	}
	w.buildIfDue()
	return err
}

// selector finds the events of a selection. A source is selected by its own name or by the one under which rules have it
// count, which of a single step only its episode knows.
type selector struct {
	Selection
	treated history.Treatments
	split   map[string]bool // episodes seen so far that count for the source by their label
}

func (e *Engine) selector(sel Selection) *selector {
	return &selector{sel, treatments(e.Rules()), map[string]bool{}}
}

// selects reports whether an event is to be forgotten. It is asked in the order of the log. Events before a time are those
// that carry an earlier one; an episode without a time has no age.
func (s *selector) selects(ev storage.Event) bool {
	if len(ev.Payload) == 0 || !slices.Contains([]byte{kindEpisode, kindBegun, kindContinued, kindPerformed, kindFeedback}, ev.Payload[0]) {
		return false
	}
	_, v, err := decode(ev.Payload)
	if err != nil {
		return false
	}
	switch v := v.(type) {
	case *episodic.Episode:
		return s.episode(v.ID, v.Source, v.Label, v.Time)
	case *begun:
		return s.episode(v.ID, v.Source, v.Label, v.Time)
	case *continued:
		return s.episode(v.ID, v.Source, v.Label, v.Time)
	case *episodic.Performed:
		return s.episode(v.Episode, v.Source, "", v.Time)
	case *feedback:
		return s.source(v.Source, "")
	}
	return false
}

func (s *selector) source(source, label string) bool {
	return s.Source != "" && (source == s.Source || s.treated.Name(source, label) == s.Source)
}

func (s *selector) episode(id, source, label string, at time.Time) bool {
	switch {
	case s.Source != "":
		if label != "" && s.source(source, label) {
			s.split[id] = true
		}
		return s.source(source, label) || s.split[id]
	case s.Episode != "":
		return id == s.Episode
	}
	return !at.IsZero() && at.Before(s.Before)
}
