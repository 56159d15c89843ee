package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"waymark/storage"
)

// Retention limits which episodes are kept. The zero value keeps all of them.
type Retention struct {
	For      time.Duration // age above which an episode is forgotten; 0: no limit
	Episodes int           // number of the newest episodes that are kept; 0: no limit
}

// None reports whether the rules keep everything.
func (k Retention) None() bool { return k.For <= 0 && k.Episodes <= 0 }

// stillOpen is the time after its last step for which an episode may get more steps. Until then it is not forgotten,
// because the rest of it would be recorded as half an episode.
const stillOpen = time.Hour

// rateDays is the number of days from which rates are computed.
const rateDays = 30

// Due are the episodes that the rules forget now.
type Due struct {
	Episodes int       `json:"episodes"`
	Events   int       `json:"events" doc:"Events of the log that hold these episodes."`
	Bytes    int64     `json:"bytes" doc:"Payload bytes of these events."`
	From     time.Time `json:"from,omitzero" doc:"Time of the oldest one that has a time."`
	To       time.Time `json:"to,omitzero" doc:"Time of the newest one."`

	batches [][]uint64 // seqs, whole episodes in each
	kept    time.Time  // begin of the oldest episode that is kept and has a time
}

// Before is the moment before which nothing belongs to an episode that is kept.
func (d *Due) Before() time.Time {
	if d.kept.IsZero() {
		return d.To
	}
	return d.kept
}

// RetentionReport describes the size of a log and the effect of retention rules on it.
type RetentionReport struct {
	KeepForMillis   int64   `json:"keep_for_ms" doc:"Age above which an episode is forgotten; 0: no limit."`
	KeepEpisodes    int     `json:"keep_episodes" doc:"Number of newest episodes that are kept; 0: no limit."`
	Episodes        int     `json:"episodes" doc:"Episodes in the log."`
	Due             Due     `json:"due" doc:"Episodes that the rules forget now."`
	LogBytes        int64   `json:"log_bytes" doc:"Payload bytes of all events, uncompressed and without keys and hashes."`
	SnapshotBytes   int64   `json:"snapshot_bytes" doc:"Bytes of the snapshots kept, at most two."`
	BytesPerEpisode float64 `json:"bytes_per_episode"`
	EpisodesPerDay  float64 `json:"episodes_per_day" doc:"Mean of the last 30 days, by the time of the episodes."`
	BytesPerDay     float64 `json:"bytes_per_day" doc:"Payload bytes of these episodes, a day."`
}

// loggedEpisode is where an episode stands in the log.
type loggedEpisode struct {
	begin, last time.Time // zero: not known
	seqs        []uint64
	bytes       int64
}

// Retention describes the log of a workspace and what rules would forget of it. It loads no model.
func (w *Workspaces) Retention(ctx context.Context, name string, keep Retention) (RetentionReport, error) {
	r, log, err := w.survey(ctx, name, keep)
	if err != nil {
		return r, err
	}
	for s, err := range log.Snapshots(ctx) {
		if err == nil { // a damaged one is removed by the next start
			r.SnapshotBytes += int64(len(s.Data))
		}
	}
	return r, nil
}

// survey is Retention without the snapshots, which take long to read.
func (w *Workspaces) survey(ctx context.Context, name string, keep Retention) (RetentionReport, storage.Log, error) {
	r := RetentionReport{KeepForMillis: keep.For.Milliseconds(), KeepEpisodes: keep.Episodes}
	if ok, err := w.Exists(ctx, name); err != nil || !ok {
		return r, nil, cmp.Or(err, fmt.Errorf("workspace %q: %w", name, ErrNoWorkspace))
	}
	log, err := w.store.Log(name)
	if err != nil {
		return r, nil, err
	}
	byID := map[string]*loggedEpisode{}
	for ev, err := range log.Read(ctx, 0) {
		if err == nil {
			r.LogBytes += int64(len(ev.Payload))
			err = addLogged(byID, ev)
		}
		if err != nil {
			return r, nil, fmt.Errorf("read the log of workspace %q: %w", name, err)
		}
	}
	now, sum := w.opts.Now(), int64(0)
	episodes := make([]*loggedEpisode, 0, len(byID))
	recent, recentBytes := 0, int64(0)
	for _, ep := range byID {
		episodes, sum = append(episodes, ep), sum+ep.bytes
		if ep.last.After(now.AddDate(0, 0, -rateDays)) && !ep.last.After(now) {
			recent, recentBytes = recent+1, recentBytes+ep.bytes
		}
	}
	if r.Episodes = len(episodes); r.Episodes > 0 {
		r.BytesPerEpisode = float64(sum) / float64(r.Episodes)
	}
	r.EpisodesPerDay, r.BytesPerDay = float64(recent)/rateDays, float64(recentBytes)/rateDays
	r.Due = keep.due(episodes, now)
	return r, log, nil
}

// addLogged adds an event to the episode that it is part of.
func addLogged(byID map[string]*loggedEpisode, ev storage.Event) error {
	if len(ev.Payload) == 0 {
		return nil
	}
	switch ev.Payload[0] {
	case kindEpisode, kindBegun, kindContinued, kindPerformed:
	default:
		return nil
	}
	var v struct {
		ID      string    `json:"id"`
		Episode string    `json:"episode"` // of a step
		Time    time.Time `json:"time"`
		AtMS    int64     `json:"at_ms"`
	}
	if err := jsonv2.Unmarshal(ev.Payload[1:], &v, lenient); err != nil {
		return fmt.Errorf("decode event %d: %w", ev.Seq, err)
	}
	id := cmp.Or(v.Episode, v.ID)
	ep := byID[id]
	if ep == nil {
		ep = &loggedEpisode{begin: v.Time}
		byID[id] = ep
	}
	if last := v.Time.Add(time.Duration(v.AtMS) * time.Millisecond); !v.Time.IsZero() && last.After(ep.last) {
		ep.last = last
	}
	ep.seqs, ep.bytes = append(ep.seqs, ev.Seq), ep.bytes+int64(len(ev.Payload))
	return nil
}

// due selects what the rules forget of all episodes at a moment. An episode without a time has no age and counts as older
// than those that have one.
func (k Retention) due(episodes []*loggedEpisode, now time.Time) (d Due) {
	slices.SortFunc(episodes, func(a, b *loggedEpisode) int { // the newest first
		return cmp.Or(b.last.Compare(a.last), cmp.Compare(b.seqs[0], a.seqs[0]))
	})
	var batch []uint64
	for i, ep := range episodes {
		old := k.For > 0 && !ep.last.IsZero() && ep.last.Before(now.Add(-k.For))
		surplus := k.Episodes > 0 && i >= k.Episodes
		if !old && !surplus || ep.last.After(now.Add(-stillOpen)) {
			if !ep.begin.IsZero() && (d.kept.IsZero() || ep.begin.Before(d.kept)) {
				d.kept = ep.begin
			}
			continue
		}
		d.Episodes, d.Events, d.Bytes = d.Episodes+1, d.Events+len(ep.seqs), d.Bytes+ep.bytes
		if d.To.IsZero() {
			d.To = ep.last
		}
		if !ep.last.IsZero() {
			d.From = ep.last
		}
		if len(batch) > 0 && len(batch)+len(ep.seqs) > forgetBatch {
			d.batches, batch = append(d.batches, batch), nil
		}
		batch = append(batch, ep.seqs...)
	}
	if len(batch) > 0 {
		d.batches = append(d.batches, batch)
	}
	return d
}

// Retain forgets what rules do not keep of a workspace, as [Engine.Forget] does, and returns the description of the log
// before. A workspace of which nothing is due is not loaded. first is called before anything is forgotten, so that what
// it fails to do is tried again with the next call.
func (w *Workspaces) Retain(ctx context.Context, name string, keep Retention, first func(*Due) error) (RetentionReport, ForgetResult, error) {
	w.retaining.Lock()
	defer w.retaining.Unlock()
	r, _, err := w.survey(ctx, name, keep)
	if err != nil || r.Due.Episodes == 0 {
		return r, ForgetResult{}, err
	}
	e, err := w.Get(ctx, name)
	if err == nil {
		err = first(&r.Due)
	}
	if err != nil {
		return r, ForgetResult{}, err
	}
	done, _, err := e.forgetEvents(ctx, r.Due.batches)
	return r, done, err
}
