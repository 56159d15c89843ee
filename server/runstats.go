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
	for _, done := range p.CapabilityRuns(s) {
		errs = append(errs, r.count(ctx, a.Workspace, done))
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

// count adds a run to the statistics of its capability.
func (r *runs) count(ctx context.Context, workspace string, done run.CapabilityRun) error {
	table, err := r.cfg.Store.Table(workspace)
	if err != nil {
		return err
	}
	key := statsKey(done.ID, done.Version)
	for try := 1; ; try++ {
		stats, row, err := readStats(ctx, table, done.ID, done.Version)
		if err != nil {
			return err
		}
		stats.add(done)
		b, err := json.Marshal(stats)
		if err != nil {
			return err
		}
		if _, err = table.CAS(ctx, key, row, b); !errors.Is(err, storage.ErrConflict) || try == addTries {
			return err
		}
	}
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

func (s *capabilityStats) add(done run.CapabilityRun) {
	s.Runs++
	switch done.Outcome {
	case run.NodeDone:
		s.Succeeded++
	case run.NodeFailed:
		s.Failed++
	}
	for id, n := range done.Tasks {
		t := s.Tasks[id]
		switch n.State {
		case run.NodeDone:
			t.Done++
		case run.NodeFailed:
			t.Failed++
			if t.ErrorKinds == nil {
				t.ErrorKinds = map[string]int{}
			}
			t.ErrorKinds[string(n.ErrorKind)]++
		case run.NodeSkipped:
			t.Skipped++
		}
		t.Repeated += max(0, n.Attempts-1)
		t.DurationMS += n.DurationMS
		s.Tasks[id] = t
	}
}
