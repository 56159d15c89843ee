package gateway

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Server is the status of one server.
type Server struct {
	ID        string    `json:"id"`
	Transport string    `json:"transport"` // stdio, http or sse
	State     State     `json:"state"`     // starting, ready, idle, waiting, stopped
	Agreed    bool      `json:"agreed"`    // somebody agreed to start it as it is defined now
	Since     time.Time `json:"since,omitzero"`
	Problem   string    `json:"problem,omitempty"` // the last error
	Breaker   string    `json:"breaker"`           // closed, half-open, open
	Tools     int       `json:"tools"`             // number of tools that may be called
	Withheld  int       `json:"withheld"`
	Calls     int64     `json:"calls"`
	Failures  int64     `json:"failures"`
	Starts    int64     `json:"starts"`
	MeanMS    float64   `json:"mean_ms"` // of the calls

	ByTool []ToolCalls `json:"by_tool"` // tools that were called, by id
}

// Servers returns the status of all defined servers, sorted by id.
func (g *Gateway) Servers() []Server {
	now, kept := g.shown.Load(), g.register.kept.Load()
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]Server, 0, len(g.defs))
	for _, id := range slices.Sorted(maps.Keys(g.defs)) {
		d := g.defs[id]
		s := Server{ID: id, Transport: "stdio", State: Stopped, Breaker: "closed", Agreed: kept.agreed(&d), ByTool: []ToolCalls{}}
		switch {
		case d.SSE:
			s.Transport = "sse"
		case d.URL != "":
			s.Transport = "http"
		}
		for _, t := range now.tools {
			if t.Server == id {
				s.Tools++
			}
		}
		for _, w := range now.withheld {
			if w.Server == id {
				s.Withheld++
			}
		}
		if up := g.ups[id]; up != nil {
			s.State, s.Since, s.Problem = up.now()
			s.Breaker, s.Starts = up.breaker.State(), up.starts.Load()
			up.tally.into(&s)
		}
		all = append(all, s)
	}
	return all
}

// ToolCalls counts the calls of one tool since the program was started. The durations are of the newest calls only.
type ToolCalls struct {
	ID       string  `json:"id"`
	Calls    int64   `json:"calls"`
	Failures int64   `json:"failures"`
	Timed    int     `json:"timed"` // calls in the percentiles: at most the newest 256 sent to the server
	P50      float64 `json:"p50_ms,omitempty"`
	P95      float64 `json:"p95_ms,omitempty"`
}

// mostDurations is the number of durations that are kept for one tool.
const mostDurations = 256

// tally counts the calls of one server by tool. Only approved tools are called, so there are few entries.
type tally struct {
	mu sync.Mutex
	by map[string]*toolTally
}

type toolTally struct {
	ToolCalls
	busy   time.Duration
	newest []time.Duration // oldest first
}

// count adds a call. timed means that the call was sent to the server and that the caller waited for the answer.
func (t *tally) count(id string, failed, timed bool, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[string]*toolTally{}
	}
	of := t.by[id]
	if of == nil {
		of = &toolTally{ToolCalls: ToolCalls{ID: id}}
		t.by[id] = of
	}
	of.Calls++
	of.busy += took
	if failed {
		of.Failures++
	}
	if timed {
		of.newest = append(of.newest, took)
		of.newest = of.newest[max(0, len(of.newest)-mostDurations):]
	}
}

// into fills in the calls of a server: by tool, with nearest-rank percentiles of the durations, and in total.
func (t *tally) into(s *Server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var busy time.Duration
	for _, id := range slices.Sorted(maps.Keys(t.by)) {
		of := t.by[id]
		c := of.ToolCalls
		if c.Timed = len(of.newest); c.Timed > 0 {
			sorted := slices.Sorted(slices.Values(of.newest))
			c.P50, c.P95 = milliseconds(sorted[(c.Timed-1)/2]), milliseconds(sorted[(c.Timed*95+99)/100-1])
		}
		s.ByTool = append(s.ByTool, c)
		s.Calls, s.Failures, busy = s.Calls+c.Calls, s.Failures+c.Failures, busy+of.busy
	}
	if s.Calls > 0 {
		s.MeanMS = float64(busy) / float64(s.Calls) / 1e6
	}
}

// milliseconds returns a duration in ms, rounded to a microsecond.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1000
}
