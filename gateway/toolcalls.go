package gateway

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// ToolCalls counts the calls of one tool since the program was started. The durations are of the newest calls only.
type ToolCalls struct {
	ID       string  `json:"id"`
	Calls    int64   `json:"calls"`
	Failures int64   `json:"failures"`
	Timed    int     `json:"timed"` // calls behind the percentiles: the newest 256 that the server was asked
	P50      float64 `json:"p50_ms,omitempty"`
	P95      float64 `json:"p95_ms,omitempty"`
}

// Limits of what is kept for each server: 1 MiB of durations at most.
const mostDurations, mostCounted = 256, mostTools

// toolTally is the counters of one tool and a ring of its newest durations.
type toolTally struct {
	ToolCalls
	newest    int64 // number of its newest call among those of all tools
	durations []time.Duration
	next      int // place of the next duration once the ring is full
}

// toolTallies are the counters of the tools of one server. Above mostCounted tools the one whose last call is the oldest
// is dropped.
type toolTallies struct {
	mu    sync.Mutex
	calls int64
	by    map[string]*toolTally
}

// count adds a call. A duration of 0 or less is none: the server was not asked, or the caller did not wait.
func (t *toolTallies) count(id string, failed bool, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.by[id]
	if of == nil {
		if len(t.by) == mostCounted {
			delete(t.by, slices.MinFunc(slices.Collect(maps.Values(t.by)), func(a, b *toolTally) int { return cmp.Compare(a.newest, b.newest) }).ID)
		}
		if t.by == nil {
			t.by = map[string]*toolTally{}
		}
		of = &toolTally{ToolCalls: ToolCalls{ID: id}}
		t.by[id] = of
	}
	t.calls++
	of.newest = t.calls
	of.Calls++
	if failed {
		of.Failures++
	}
	switch {
	case took <= 0:
	case len(of.durations) < mostDurations:
		of.durations = append(of.durations, took)
	default:
		of.durations[of.next] = took
		of.next = (of.next + 1) % mostDurations
	}
}

// all are the tools that were called, by id, with the nearest ranks of their durations.
func (t *toolTallies) all() []ToolCalls {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]ToolCalls, 0, len(t.by))
	for _, of := range t.by {
		c := of.ToolCalls
		if c.Timed = len(of.durations); c.Timed > 0 {
			sorted := slices.Sorted(slices.Values(of.durations))
			c.P50, c.P95 = milliseconds(sorted[(c.Timed-1)/2]), milliseconds(sorted[(c.Timed*95+99)/100-1])
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b ToolCalls) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// milliseconds is a duration in ms, rounded to a microsecond.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1000
}
