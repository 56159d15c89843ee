package live

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"waymark/storage"
)

// stillOpen is the time after its last step for which an episode may get more steps. Until then it is not forgotten,
// because the rest of it would be recorded as half an episode.
const stillOpen = time.Hour

// Due are the episodes that an age limit forgets now.
type Due struct {
	Episodes int

	to      time.Time  // of the newest one
	batches [][]uint64 // seqs, whole episodes in each
	kept    time.Time  // begin of the oldest episode that is kept and has a time
}

// Before is the moment before which nothing belongs to an episode that is kept.
func (d *Due) Before() time.Time {
	if d.kept.IsZero() {
		return d.to
	}
	return d.kept
}

// survey finds the episodes of a workspace whose last step is older than keepFor. It loads no model.
func (w *Workspaces) survey(ctx context.Context, name string, keepFor time.Duration) (Due, error) {
	if ok, err := w.Exists(ctx, name); err != nil || !ok {
		return Due{}, cmp.Or(err, fmt.Errorf("workspace %q: %w", name, ErrNoWorkspace))
	}
	all, err := loggedEpisodes(ctx, func(ctx context.Context, after uint64) iter.Seq2[storage.Event, error] {
		return w.store.Read(ctx, name, after)
	})
	if err != nil {
		return Due{}, fmt.Errorf("read the log of workspace %q: %w", name, err)
	}
	return due(all, keepFor, w.opts.Now()), nil
}

// due selects the episodes whose last step is older than keepFor at a moment. An episode without a time has no age and is
// kept.
func due(episodes []*loggedEpisode, keepFor time.Duration, now time.Time) (d Due) {
	slices.SortFunc(episodes, func(a, b *loggedEpisode) int { // the newest first
		return cmp.Or(b.last.Compare(a.last), cmp.Compare(b.events[0].seq, a.events[0].seq))
	})
	var batch []uint64
	for _, ep := range episodes {
		old := keepFor > 0 && !ep.last.IsZero() && ep.last.Before(now.Add(-keepFor))
		if !old || ep.last.After(now.Add(-stillOpen)) {
			if !ep.begin.IsZero() && (d.kept.IsZero() || ep.begin.Before(d.kept)) {
				d.kept = ep.begin
			}
			continue
		}
		d.Episodes++
		if d.to.IsZero() {
			d.to = ep.last
		}
		if len(batch) > 0 && len(batch)+len(ep.events) > forgetBatch {
			d.batches, batch = append(d.batches, batch), nil
		}
		for _, ev := range ep.events {
			batch = append(batch, ev.seq)
		}
	}
	if len(batch) > 0 {
		d.batches = append(d.batches, batch)
	}
	return d
}

// Retain forgets the episodes of a workspace whose last step is older than keepFor, as [Engine.Forget] does. A workspace of
// which nothing is due is not loaded. first is called before anything is forgotten, so that what it fails to do is tried
// again with the next call.
func (w *Workspaces) Retain(ctx context.Context, name string, keepFor time.Duration, first func(*Due) error) (Due, ForgetResult, error) {
	w.retaining.Lock()
	defer w.retaining.Unlock()
	d, err := w.survey(ctx, name, keepFor)
	if err != nil || d.Episodes == 0 {
		return d, ForgetResult{}, err
	}
	e, err := w.Get(ctx, name)
	if err == nil {
		err = first(&d)
	}
	if err != nil {
		return d, ForgetResult{}, err
	}
	done, _, err := e.forgetEvents(ctx, d.batches)
	return d, done, err
}
