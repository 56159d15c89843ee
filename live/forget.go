package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"waymark/episodic"
	"waymark/storage"
	"waymark/suggest"
)

// forgetBatch is how many events one request to forget names.
const forgetBatch = 10_000

// Forget erases the payloads of episodes, feedback and answers served for good and measures anew without them. The
// request stands in the log before anything is erased, so it is finished after a crash; digests and
// ids stay, so the chain holds and what was forgotten is not taken again.
func (e *Engine) Forget(ctx context.Context, sel Selection) (ForgetResult, error) {
	if sel.Parts() != 1 {
		return ForgetResult{}, &suggest.RequestError{Kind: suggest.Invalid, Detail: "name exactly one of source, episode and before"}
	}
	var seqs []uint64
	for ev, err := range e.log.Read(ctx, 0) {
		if err != nil {
			return ForgetResult{}, fmt.Errorf("read the log of workspace %q: %w", e.name, err)
		}
		if !ev.Erased && sel.selects(ev) {
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
	owed := e.erasing.unerased.Load() // by a request that failed on its way
	if err := e.do(ctx, func(w *writer) { owed = owed || w.tainted }); err != nil {
		return r, false, err
	}
	seqs := slices.Concat(batches...)
	if len(seqs) == 0 && !owed {
		return r, false, nil
	}
	e.erasing.unerased.Store(true) // and no snapshot is written, unless all goes well
	defer e.Hold()()               // the rebuild below is the one that counts
	for _, part := range batches {
		if _, err := e.appendOne(ctx, func(*writer) (entry, bool, error) {
			v := forgotten{Seqs: part}
			payload, err := encode(kindForgotten, v)
			return entry{kindForgotten, "", payload, &v}, true, err
		}); err != nil {
			return r, true, err
		}
	}
	// From here on the request is durable: a crash only delays it.
	ctx = context.WithoutCancel(ctx)
	if err := erase(ctx, e.log, seqs); err != nil {
		return r, true, fmt.Errorf("workspace %q: %w", e.name, err)
	}
	e.erasing.unerased.Store(false)
	r.Erased = len(seqs)
	// What was learned from it must go, whatever that costs in quality; and a rebuild that somebody else
	// has canceled is begun again.
	for {
		if _, err := e.rebuilt(ctx, true); err == nil {
			break
		} else if !errors.Is(err, context.Canceled) {
			return r, true, fmt.Errorf("erased %d events, but not what was learned from them: %w", len(seqs), err)
		}
	}
	if err := e.dropProposals(ctx); err != nil {
		return r, true, fmt.Errorf("erased %d events, but not what was proposed because of them: %w", len(seqs), err)
	}
	// The model before still holds what is forgotten.
	e.previous.Store(nil)
	r.Seq = e.Counted()
	return r, true, nil
}

// erase removes payloads and what was derived from them.
func erase(ctx context.Context, log storage.Log, seqs []uint64) error {
	if err := log.Erase(ctx, seqs); err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	if err := log.DropSnapshots(ctx); err != nil {
		return fmt.Errorf("drop snapshots: %w", err)
	}
	return nil
}

// selects reports whether an event is to be forgotten. Events before a time are those that carry an
// earlier one; an episode without a time has no age.
func (s Selection) selects(ev storage.Event) bool {
	if len(ev.Payload) == 0 || !slices.Contains([]byte{kindEpisode, kindBegun, kindContinued, kindPerformed, kindFeedback, kindServed}, ev.Payload[0]) {
		return false
	}
	_, v, err := decode(ev.Payload)
	if err != nil {
		return false
	}
	switch v := v.(type) {
	case *episodic.Episode:
		return s.episode(v.ID, v.Source, v.Time)
	case *begun:
		return s.episode(v.ID, v.Source, v.Time)
	case *continued:
		return s.episode(v.ID, v.Source, v.Time)
	case *episodic.Performed:
		return s.episode(v.Episode, v.Source, v.Time)
	case *feedback:
		return s.Source != "" && v.Source == s.Source
	case *served:
		return s.Source != "" && v.Source == s.Source
	}
	return false
}

func (s Selection) episode(id, source string, at time.Time) bool {
	switch {
	case s.Source != "":
		return source == s.Source
	case s.Episode != "":
		return id == s.Episode
	}
	return !at.IsZero() && at.Before(s.Before)
}
