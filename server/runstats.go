package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"waymark/episodic"
	"waymark/run"
	"waymark/storage"
)

// What runs teach. Calls of tools are recorded by whoever carries them out. A run of a capability, by itself
// or within another, becomes an episode with that one step, as runs of scorers do: from them come its
// reliability and its place in the graph. How its tasks fared is counted in the table, by version.

// learn records the capabilities of a run that has ended.
func (r *runs) learn(ctx context.Context, a access, s run.Status, p *run.Plan) error {
	if s.State == run.Canceled {
		return nil // says nothing of anything
	}
	var errs []error
	var episodes []episodic.Episode
	ran := p.CapabilityRuns(s)
	if len(ran) > 0 {
		errs = append(errs, r.count(ctx, a.Workspace, s.ID, ran))
	}
	for _, done := range ran {
		if done.Outcome == "" {
			continue
		}
		outcome := episodic.Success
		if done.Outcome == run.NodeFailed {
			outcome = episodic.Failure
		}
		step := episodic.Step{Tool: done.ID, Outcome: outcome, ErrorKind: string(done.ErrorKind), DurationMS: done.DurationMS}
		e := episodic.Episode{ID: "capability-" + s.ID, Session: s.ID, Intent: s.Intent, Time: s.EndedAt, Outcome: outcome, Steps: []episodic.Step{step}}
		if done.Path != "" {
			e.ID += "-" + url.PathEscape(done.Path)
		}
		episodes = append(episodes, e)
	}
	if len(episodes) > 0 {
		engine, err := r.cfg.Workspaces.Get(ctx, a.Workspace)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		result, err := engine.Record(ctx, a.Source, episodes)
		if err == nil && len(result.Rejected) > 0 {
			err = errors.New(result.Rejected[0].Error)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// capabilityStats is how the runs of one version of a capability went, and how each of its tasks fared.
type capabilityStats struct {
	Capability string               `json:"capability"`
	Version    int                  `json:"version"`
	Runs       int                  `json:"runs"`
	Succeeded  int                  `json:"succeeded"`
	Failed     int                  `json:"failed"` // because of what its tools did
	Tasks      map[string]taskStats `json:"tasks"`

	// Of all versions, from the history; not kept with the runs.
	Uses     int `json:"uses"`     // times it was called
	Bypassed int `json:"bypassed"` // tasks that did by hand what it does
}

type taskStats struct {
	Done       int            `json:"done"`
	Failed     int            `json:"failed"`
	Skipped    int            `json:"skipped"`
	Repeated   int            `json:"repeated"` // further attempts
	DurationMS int64          `json:"duration_ms"`
	ErrorKinds map[string]int `json:"error_kinds,omitempty"`
}

const statsRow = "capability-stats/"

func statsKey(id string, version int) string { return fmt.Sprintf("%s%s@%d", statsRow, id, version) }

// count adds the capabilities of a run to their statistics, and notes with the run what it has added.
func (r *runs) count(ctx context.Context, workspace, id string, ran []run.CapabilityRun) error {
	table, err := r.cfg.Store.Table(workspace)
	if err != nil {
		return err
	}
	counted := make([]capabilityStats, len(ran))
	for i, done := range ran {
		counted[i] = statsOf(done)
	}
	if err := (runJournal{table: table}).write(ctx, countedRow(id), counted); err != nil {
		return err
	}
	return addStats(ctx, table, counted, 1)
}

// countedRow holds what a run has added to the statistics.
func countedRow(id string) string { return runDataRow + id + "/counted" }

// uncount takes what a run has added out of the statistics again.
func (j runJournal) uncount(ctx context.Context, id string) error {
	var counted []capabilityStats
	if err := j.read(ctx, countedRow(id), &counted); err != nil {
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		return err
	}
	return addStats(ctx, j.table, counted, -1)
}

// addStats adds to the statistics, or with sign -1 takes away. Statistics of no run are removed.
func addStats(ctx context.Context, table storage.Table, counted []capabilityStats, sign int) error {
	for _, one := range counted {
		for try := 1; ; try++ {
			stats, row, err := readStats(ctx, table, one.Capability, one.Version)
			if err != nil {
				return err
			}
			stats.add(one, sign)
			key := statsKey(one.Capability, one.Version)
			if stats.Runs <= 0 {
				err = table.Delete(ctx, key)
			} else {
				var b []byte
				if b, err = json.Marshal(stats); err != nil {
					return err
				}
				_, err = table.CAS(ctx, key, row, b)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, storage.ErrConflict) || try == addTries {
				return err
			}
		}
	}
	return nil
}

func readStats(ctx context.Context, table storage.Table, id string, version int) (capabilityStats, uint64, error) {
	stats := capabilityStats{Capability: id, Version: version, Tasks: map[string]taskStats{}}
	b, row, err := table.Get(ctx, statsKey(id, version))
	if errors.Is(err, storage.ErrNotFound) {
		return stats, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &stats)
	}
	return stats, row, err
}

// statsOf is the statistics of one run.
func statsOf(done run.CapabilityRun) capabilityStats {
	s := capabilityStats{Capability: done.ID, Version: done.Version, Runs: 1, Tasks: map[string]taskStats{}}
	switch done.Outcome {
	case run.NodeDone:
		s.Succeeded = 1
	case run.NodeFailed:
		s.Failed = 1
	}
	for id, n := range done.Tasks {
		t := taskStats{Repeated: max(0, n.Attempts-1), DurationMS: n.DurationMS}
		switch n.State {
		case run.NodeDone:
			t.Done = 1
		case run.NodeFailed:
			t.Failed, t.ErrorKinds = 1, map[string]int{string(n.ErrorKind): 1}
		case run.NodeSkipped:
			t.Skipped = 1
		}
		s.Tasks[id] = t
	}
	return s
}

func (s *capabilityStats) add(other capabilityStats, sign int) {
	s.Runs += sign * other.Runs
	s.Succeeded += sign * other.Succeeded
	s.Failed += sign * other.Failed
	for id, o := range other.Tasks {
		t := s.Tasks[id]
		t.Done += sign * o.Done
		t.Failed += sign * o.Failed
		t.Skipped += sign * o.Skipped
		t.Repeated += sign * o.Repeated
		t.DurationMS += int64(sign) * o.DurationMS
		for kind, n := range o.ErrorKinds {
			if t.ErrorKinds == nil {
				t.ErrorKinds = map[string]int{}
			}
			if t.ErrorKinds[kind] += sign * n; t.ErrorKinds[kind] == 0 {
				delete(t.ErrorKinds, kind)
			}
		}
		if len(t.ErrorKinds) == 0 {
			t.ErrorKinds = nil
		}
		s.Tasks[id] = t
	}
}
