package live

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/history"
)

// forgetBatch is the maximum number of events in one forget event: as many as one transaction erases.
const forgetBatch = 5000

// Forget erases the payloads of episodes and feedback permanently and measures again without them. The request is
// stored in the transaction that erases them. Digests and ids stay, so the chain remains valid and forgotten
// episodes are not recorded again.
func (e *Engine) Forget(ctx context.Context, sel Selection) (ForgetResult, error) {
	if sel.Parts() != 1 {
		return ForgetResult{}, &suggest.RequestError{Kind: suggest.Invalid, Detail: "name exactly one of source, episode and before"}
	}
	treated := treatments(e.Rules())
	var seqs []uint64
	for ep, err := range recordedIn(ctx, e.read, math.MaxUint64) {
		if err != nil {
			return ForgetResult{}, fmt.Errorf("read the log of workspace %q: %w", e.name, err)
		}
		for _, ev := range ep.events {
			if sel.selects(ep, ev.source, treated) {
				seqs = append(seqs, ev.seq)
			}
		}
	}
	slices.Sort(seqs)
	r := ForgetResult{Seq: e.Counted()}
	owed := false // an earlier request failed before its rebuild
	if err := e.do(ctx, func(w *writer) { owed = w.needsReplay }); err != nil {
		return r, err
	}
	switch {
	case len(seqs) > 0 || owed:
	case sel.Episode != "":
		return r, &suggest.RequestError{Kind: suggest.NotFound, Field: "episode", Detail: fmt.Sprintf("%q is not recorded", sel.Episode)}
	default:
		return r, nil
	}
	defer e.Hold()() // the rebuild below replaces any other build
	for part := range slices.Chunk(seqs, forgetBatch) {
		if err := e.try(ctx, func(w *writer) error { return w.erase(part) }); err != nil {
			return r, err
		}
		r.Erased += len(part)
	}
	// The erasure is durable from here on.
	ctx = context.WithoutCancel(ctx)
	// The measures learned from it must be replaced even if the quality drops, so the rebuild is forced. A rebuild that
	// another caller cancels is started again.
	for {
		if err := e.rebuildAndWait(ctx, true); err == nil {
			break
		} else if !errors.Is(err, context.Canceled) {
			return r, fmt.Errorf("erased %d events, but the model still contains them: %w", r.Erased, err)
		}
	}
	if err := e.dropProposals(ctx); err != nil {
		return r, fmt.Errorf("erased %d events, but not the proposals based on them: %w", r.Erased, err)
	}
	r.Seq = e.Counted()
	return r, nil
}

// erase erases payloads and, with them, snapshots.
func (w *writer) erase(seqs []uint64) error {
	one, err := newEntry(kindForgotten, "", &forgotten{Seqs: seqs})
	if err == nil {
		_, err = w.appendNow(one, seqs...)
	}
	w.buildIfDue()
	return err
}

// StillOpen is the time after its last step for which an episode may get more steps. Until then an age limit does not
// forget it, because its later steps would be recorded as an incomplete episode.
const StillOpen = time.Hour

// Older counts the episodes of a workspace whose last step is before a time. It does not load the model.
func (w *Workspaces) Older(ctx context.Context, name string, before time.Time) (episodes int, err error) {
	log := func(ctx context.Context, after uint64) iter.Seq2[storage.Event, error] {
		return w.store.Read(ctx, name, after)
	}
	for ep, err := range recordedIn(ctx, log, math.MaxUint64) {
		if err != nil {
			return 0, err
		}
		if (Selection{Before: before}).selects(ep, "", nil) {
			episodes++
		}
	}
	return episodes, nil
}

// selects reports whether an event of an episode is to be forgotten. A source matches by its own name or by the name
// under which rules count it. Before matches episodes whose last step is earlier, and never episodes without a time.
func (s Selection) selects(ep *recorded, source string, treated history.Treatments) bool {
	switch {
	case s.Source != "":
		return source == s.Source || treated.Name(source, ep.Label) == s.Source
	case s.Episode != "":
		return ep.ID == s.Episode
	}
	return !ep.last.IsZero() && ep.last.Before(s.Before)
}
