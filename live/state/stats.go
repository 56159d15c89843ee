package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/run"
	"waymark/storage"
)

// CapabilityStats counts the outcomes of the runs of one version of a capability, and of each of its tasks.
type CapabilityStats struct {
	Capability string               `json:"capability"`
	Version    int                  `json:"version"`
	Runs       int                  `json:"runs"`
	Succeeded  int                  `json:"succeeded"`
	Failed     int                  `json:"failed"` // because of what its tools did
	Tasks      map[string]TaskStats `json:"tasks"`

	// Of all versions, from the history; not kept with the runs.
	Uses     int `json:"uses"`     // times it was called
	Bypassed int `json:"bypassed"` // tasks that did by hand what it does
}

// TaskStats counts the outcomes of one task of a capability.
type TaskStats struct {
	Done       int            `json:"done"`
	Failed     int            `json:"failed"`
	Skipped    int            `json:"skipped"`
	Repeated   int            `json:"repeated"` // further attempts
	DurationMS int64          `json:"duration_ms"`
	ErrorKinds map[string]int `json:"error_kinds,omitempty"`
}

const (
	statsRow   = "capability-stats/"
	countTries = 5 // where others count at the same time
)

func statsKey(id string, version int) string { return fmt.Sprintf("%s%s@%d", statsRow, id, version) }

// Count adds the capabilities of a run to their statistics, and notes with the run what it has added.
func (j Runs) Count(ctx context.Context, id string, ran []run.CapabilityRun) error {
	counted := make([]CapabilityStats, len(ran))
	for i, done := range ran {
		counted[i] = statsOf(done)
	}
	if err := j.write(ctx, countedRow(id), counted); err != nil {
		return err
	}
	return addStats(ctx, j.Table, counted, 1)
}

// countedRow holds what a run has added to the statistics.
func countedRow(id string) string { return runDataRow + id + "/counted" }

// uncount takes what a run has added out of the statistics again.
func (j Runs) uncount(ctx context.Context, id string) error {
	var counted []CapabilityStats
	if err := j.read(ctx, countedRow(id), &counted); err != nil {
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		return err
	}
	return addStats(ctx, j.Table, counted, -1)
}

// addStats adds to the statistics, or with sign -1 takes away. Statistics of no run are removed.
func addStats(ctx context.Context, table storage.Table, counted []CapabilityStats, sign int) error {
	for _, one := range counted {
		for try := 1; ; try++ {
			stats, row, err := ReadStats(ctx, table, one.Capability, one.Version)
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
			if !errors.Is(err, storage.ErrConflict) || try == countTries {
				return err
			}
		}
	}
	return nil
}

// ReadStats returns the statistics of a version of a capability and the version of their row.
func ReadStats(ctx context.Context, table storage.Table, id string, version int) (CapabilityStats, uint64, error) {
	stats := CapabilityStats{Capability: id, Version: version, Tasks: map[string]TaskStats{}}
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
func statsOf(done run.CapabilityRun) CapabilityStats {
	s := CapabilityStats{Capability: done.ID, Version: done.Version, Runs: 1, Tasks: map[string]TaskStats{}}
	switch done.Outcome {
	case run.NodeDone:
		s.Succeeded = 1
	case run.NodeFailed:
		s.Failed = 1
	}
	for id, n := range done.Tasks {
		t := TaskStats{Repeated: max(0, n.Attempts-1), DurationMS: n.DurationMS}
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

func (s *CapabilityStats) add(other CapabilityStats, sign int) {
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
