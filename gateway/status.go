package gateway

import (
	"maps"
	"slices"
	"time"

	"waymark/catalog"
	"waymark/catalog/inspect"
)

// Server is how one server does.
type Server struct {
	ID        string    `json:"id"`
	Transport string    `json:"transport"` // stdio, http or sse
	State     State     `json:"state"`     // starting, ready, idle, waiting, stopped
	Agreed    bool      `json:"agreed"`    // somebody agreed to start it as it is defined now
	Since     time.Time `json:"since,omitzero"`
	Problem   string    `json:"problem,omitempty"` // what went wrong last
	Breaker   string    `json:"breaker"`           // closed, half-open, open
	Tools     int       `json:"tools"`             // that may be called
	Withheld  int       `json:"withheld"`
	Calls     int64     `json:"calls"`
	Failures  int64     `json:"failures"`
	Starts    int64     `json:"starts"`
	MeanMS    float64   `json:"mean_ms"` // of the calls
	Noise     int64     `json:"noise"`   // lines on its output that were no message

	ByTool []ToolCalls `json:"by_tool"` // tools that were called, by id
}

// Servers are all that are defined, by id.
func (g *Gateway) Servers() []Server {
	now := g.shown.Load()
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]Server, 0, len(g.defs))
	for _, id := range slices.Sorted(maps.Keys(g.defs)) {
		d := g.defs[id]
		s := Server{ID: id, Transport: "stdio", State: Stopped, Breaker: "closed", Agreed: g.register.agreed(&d), ByTool: []ToolCalls{}}
		if d.URL != "" {
			s.Transport = "http"
			if d.SSE {
				s.Transport = "sse"
			}
		}
		for _, e := range now.entries {
			if e.server == id {
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
			s.Breaker = up.breaker.State()
			s.Calls, s.Failures, s.Starts = up.tally.calls.Load(), up.tally.failures.Load(), up.tally.starts.Load()
			s.ByTool = up.tally.tools.all()
			if s.Calls > 0 {
				s.MeanMS = float64(up.tally.busy.Load()) / float64(s.Calls) / 1e6
			}
			if l := up.current(); l != nil && l.frames != nil {
				s.Noise = l.frames.noise.Load()
			}
		}
		all = append(all, s)
	}
	return all
}

func (u *upstream) now() (State, time.Time, string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.state, u.since, u.last
}

// names are the names of all tools that are pinned, by server.
func (r *register) known() *inspect.Catalog {
	known := inspect.NewCatalog()
	for _, id := range slices.Sorted(maps.Keys(r.kept.Load().pins)) {
		if server, name, ok := catalog.Split(id); ok {
			known.Add(id, server, name)
		}
	}
	return known
}

// of are the pins of one server, or of all.
func (r *register) of(server string) map[string]pin {
	pins := map[string]pin{}
	for id, p := range r.kept.Load().pins {
		if s, _, ok := catalog.Split(id); server == "" || ok && s == server {
			pins[id] = *p
		}
	}
	return pins
}
