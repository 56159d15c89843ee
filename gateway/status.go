package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"waymark/catalog"
	"waymark/catalog/inspect"
	"waymark/run"
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

// publish replaces what is shown by a changed copy. g.mu is held.
func (g *Gateway) publish(change func(*shown)) {
	old := g.shown.Load()
	now := &shown{entries: maps.Clone(old.entries), withheld: maps.Clone(old.withheld)}
	change(now)
	for _, id := range slices.Sorted(maps.Keys(now.entries)) {
		now.tools = append(now.tools, now.entries[id].tool)
	}
	g.shown.Store(now)
	for _, f := range g.notify {
		f()
	}
}

// took holds a server's list against what is pinned, and publishes what may be used of it.
func (g *Gateway) took(ctx context.Context, u *upstream, tools []offered, besides Offers) error {
	server := u.def.ID
	g.listing.Lock()
	defer g.listing.Unlock()
	known := g.register.known()
	for i := range tools {
		known.Add(tools[i].tool.ID, server, tools[i].tool.Name)
	}
	for i := range tools {
		tools[i].look(known)
	}
	taken, err := g.register.compare(ctx, &u.def, tools)
	if err == nil {
		err = g.register.take(ctx, g.opts.Catalog, server, tools, taken)
	}
	if err == nil {
		err = g.register.keepOffers(ctx, server, besides)
	}
	if err != nil {
		return err
	}
	entries, withheld, offers := map[string]*entry{}, map[string]Withheld{}, map[string]bool{}
	for _, o := range tools {
		id := o.tool.ID
		if offers[id] = true; o.wrong == "" {
			entries[id] = u.entry(&o)
		} else {
			withheld[id] = Withheld{ID: id, Server: server, Reason: ReasonInvalid, Detail: o.wrong, Changed: []string{}, Flags: []string{}}
		}
	}
	for id, p := range g.register.of(server) {
		w, held := p.withheld()
		if !offers[id] {
			w.Reason, w.Detail, held = ReasonGone, "its server does not offer it at the moment", true
		}
		if held {
			withheld[id] = w
			delete(entries, id)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if s, still := g.ups[server]; !still || s != u {
		return errors.New("it is being stopped")
	}
	g.publish(func(now *shown) {
		maps.DeleteFunc(now.entries, func(_ string, e *entry) bool { return e.server == server })
		maps.DeleteFunc(now.withheld, func(_ string, w Withheld) bool { return w.Server == server })
		maps.Copy(now.entries, entries)
		maps.Copy(now.withheld, withheld)
	})
	return nil
}

// entry makes a tool callable.
func (u *upstream) entry(o *offered) *entry {
	e := &entry{tool: o.tool, print: o.print, server: u.def.ID, members: o.members}
	var err error
	if e.input, err = run.NewValidator(o.tool.InputSchema); err != nil {
		u.log.Debug("arguments of a tool are not checked", "tool", o.tool.ID, "reason", err)
	}
	e.output, e.outputErr = run.NewValidator(o.tool.OutputSchema)
	return e
}

// pinned are the tools of a server as they were approved, so that they can be offered before it is started: its list is
// compared with them before the first call. It is false if the server has not been listed since it was agreed to.
func (g *Gateway) pinned(u *upstream) (entries map[string]*entry, ok bool) {
	entries = map[string]*entry{}
	for id, p := range g.register.of(u.def.ID) {
		if p.broken {
			return nil, false
		}
		if p.Waits == nil {
			entries[id] = u.entry(&p.offered)
		}
	}
	return entries, g.register.consent(u.def.ID).Pinned
}

// ToolCalls counts the calls of one tool since the program was started. The durations are of the newest calls only.
type ToolCalls struct {
	ID       string  `json:"id"`
	Calls    int64   `json:"calls"`
	Failures int64   `json:"failures"`
	Timed    int     `json:"timed"` // calls behind the percentiles: the newest 256 that the server was asked
	P50      float64 `json:"p50_ms,omitempty"`
	P95      float64 `json:"p95_ms,omitempty"`
}

// mostDurations are kept of one tool.
const mostDurations = 256

// toolTally is the counters of one tool and a ring of its newest durations.
type toolTally struct {
	ToolCalls
	durations []time.Duration
	next      int // place of the next duration once the ring is full
}

// toolTallies are the counters of the tools of one server: those that were approved, so they are not many.
type toolTallies struct {
	mu sync.Mutex
	by map[string]*toolTally
}

// count adds a call. A duration of 0 or less is none: the server was not asked, or the caller did not wait.
func (t *toolTallies) count(id string, failed bool, took time.Duration) {
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
