package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"waymark/gateway"
	"waymark/live"
	"waymark/server/internal/api"
)

// The servers to start are defined in a file of the data directory that only its owner can read. Only the operator of
// the server adds definitions, because a definition runs programs as the user of the server.

type serversAnswer struct {
	Servers   []gateway.Server `json:"servers"`
	Grants    []string         `json:"grants" doc:"Patterns of tools that may be called although they may change or delete data."`
	Connected bool             `json:"connected" doc:"True if this process starts servers."`

	Agents map[string][]string `json:"agents,omitempty" doc:"Tool sets of agents: patterns of the tools that each may use, by its name."`
}

type addServersBody struct {
	Servers []gateway.Definition `json:"servers,omitempty" maxItems:"64" doc:"A server with the id of an existing one replaces it."`
	// The rest is for a configuration.
	Config        string   `json:"config,omitempty" doc:"In place of servers: the text of a host's configuration file. Its commands are looked up on this machine."`
	Only          []string `json:"only,omitempty" doc:"Only the servers of these names."`
	As            string   `json:"as,omitempty" doc:"The id of the one server, the prefix of its tool ids."`
	AllowReserved bool     `json:"allow_reserved,omitempty" doc:"Accept URLs of link-local, shared and reserved networks."`
	DryRun        bool     `json:"dry_run,omitempty" doc:"Only show what would be added."`
}

type addServersAnswer struct {
	Added     []string             `json:"added" doc:"Ids of the servers."`
	Servers   []gateway.Definition `json:"servers,omitempty" doc:"With dry_run: the servers that the request adds without it."`
	Notes     []string             `json:"notes,omitempty" doc:"Servers of the configuration that are left out, with the reason, or get another id."`
	Connected bool                 `json:"connected" doc:"True if this process starts servers."`
}

type quarantineAnswer struct {
	Tools []gateway.Withheld `json:"tools"`
}

type approval struct {
	ID          string `json:"id" doc:"A tool, or a server for all its tools."`
	Fingerprint string `json:"fingerprint,omitempty" doc:"Fingerprint of the reviewed entry; any other is refused."`
}

type approveBody struct {
	Tools []approval `json:"tools,omitempty" maxItems:"1000"`
	All   bool       `json:"all,omitempty" doc:"Release everything that waits."`
}

type approveAnswer struct {
	Approved []string `json:"approved"`
}

type grantAnswer struct {
	Pattern string `json:"pattern"`
	Note    string `json:"note,omitempty" doc:"Set if no known tool matches, with similar ids; the tool may be added later."`
}

type grantBody struct {
	Pattern string `json:"pattern" minLength:"1" maxLength:"256" doc:"An id in which * stands for any characters, as in github:*."`
}

func (s *Server) upstreamRoutes(r *api.Table) {
	read, admin := api.Rule{Scope: api.ScopeRead, Global: true}, api.Rule{Scope: api.ScopeAdmin, Global: true} // of this process
	api.Add(r, read, api.Op("Servers", "list-servers", http.MethodGet, "/v1/servers", "The connected servers and their states", ""), s.listServers)
	operator := admin // decides what runs on this machine
	operator.Operator = true
	adds := operator
	adds.Body = 16 << 20 // hosts keep more than servers in their files
	api.Add(r, adds, api.Op("Servers", "add-servers", http.MethodPost, "/v1/servers", "Add servers, and approve their start",
		"Only the operator of the server may: a command runs as the user of the server."), s.addServers)
	api.Add(r, operator, api.Op("Servers", "forget-server", http.MethodDelete, "/v1/servers/{id}", "Stop a server, and delete the approvals of it and its tools",
		"Only the operator of the server may."), s.forgetServer)
	api.Add(r, api.Rule{Scope: api.ScopeAdmin, Global: true}, api.Op("Servers", "list-quarantine", http.MethodGet, "/v1/quarantine", "Quarantined tools with reasons", ""), s.listQuarantine)
	api.Add(r, admin, api.Op("Servers", "approve-tools", http.MethodPost, "/v1/quarantine/approve", "Release quarantined tools", ""), s.approveTools)
	api.Add(r, admin, api.Op("Servers", "grant-tools", http.MethodPost, "/v1/grants", "Allow calls of tools that may change or delete data", ""), s.grantTools)
	api.Add(r, admin, api.Op("Servers", "revoke-grant", http.MethodDelete, "/v1/grants/{id}", "Revoke a grant", ""), s.revokeGrant)
}

func (s *Server) listServers(ctx context.Context, _ *struct{}) (serversAnswer, error) {
	g, err := s.gateway(ctx)
	if err != nil { // none are defined
		return serversAnswer{}, nil
	}
	return serversAnswer{g.Servers(), g.Grants(), s.cfg.Upstream.Reload != nil, g.Agents()}, nil
}

func (s *Server) addServers(ctx context.Context, q *question[addServersBody]) (out addServersAnswer, err error) {
	g, err := s.gateway(ctx)
	if err != nil {
		return out, err
	}
	servers, b := q.Body.Servers, q.Body
	if len(servers) == 0 {
		isOwn := func(port string) bool { _, own := s.ports.Load(port); return own }
		if servers, out.Notes, err = configured(b.Config, b.Only, b.As, b.AllowReserved, isOwn); err != nil {
			return out, err
		}
	}
	if out.Added = []string{}; b.DryRun {
		out.Servers = servers
		return out, nil
	}
	if err := g.Add(ctx, s.cfg.Data, s.cfg.Upstream.Workspace, servers); err != nil {
		return out, api.Problem(http.StatusUnprocessableEntity, err.Error())
	}
	for _, d := range servers {
		out.Added = append(out.Added, d.ID)
	}
	if out.Connected = s.cfg.Upstream.Reload != nil; out.Connected {
		if err := s.cfg.Upstream.Reload(); err != nil {
			return out, api.Problem(http.StatusConflict, err.Error())
		}
	}
	return out, nil
}

func (s *Server) forgetServer(ctx context.Context, q *api.ByID) (none api.None, err error) {
	g, err := s.gateway(ctx)
	if err != nil {
		return none, err
	}
	return none, g.Forget(ctx, s.cfg.Data, s.cfg.Upstream.Workspace, q.ID)
}

func (s *Server) listQuarantine(ctx context.Context, _ *struct{}) (out quarantineAnswer, err error) {
	all, err := s.withheld(ctx)
	for _, w := range all {
		out.Tools = append(out.Tools, w.Withheld)
	}
	return out, err
}

// held is a withheld entry, with the method of the gateway or of the catalog that releases it.
type held struct {
	gateway.Withheld
	release func(ctx context.Context, id, fingerprint string) error
}

// withheld returns everything that is withheld in the caller's workspace in one list, sorted by id: tools of its
// connected servers and entries of its catalog.
func (s *Server) withheld(ctx context.Context) (all []held, err error) {
	if g, err := s.gateway(ctx); err == nil { // servers are defined
		for _, w := range g.Withheld() {
			all = append(all, held{w, g.Approve})
		}
	}
	e, err := s.engine(ctx)
	switch {
	case errors.Is(err, live.ErrNoWorkspace):
		return all, nil
	case err != nil:
		return nil, err
	}
	for _, q := range e.Quarantined() {
		reason := gateway.ReasonNew
		if len(q.Changed) > 0 {
			reason = gateway.ReasonChanged
		} else if len(q.Flags) > 0 {
			reason = gateway.ReasonFlagged
		}
		var changes []gateway.PartChange
		// The changes shown must be the ones that would be approved: the model may be older.
		if was, ok := q.Approved(); ok {
			if now, ok := e.Model().Tool(q.ID); ok && now.Fingerprint().String() == q.Fingerprint {
				changes = gateway.Changes(was, &now)
			}
		}
		all = append(all, held{gateway.Withheld{ID: q.ID, Server: q.Server, Reason: reason, Detail: q.Detail(), Changed: q.Changed, Changes: changes, Flags: q.Flags,
			Description: q.Description, Fingerprint: q.Fingerprint, Since: q.Since}, e.Release})
	}
	slices.SortStableFunc(all, func(a, b held) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// approveTools releases the named tools; the id of a server names all its tools. It releases nothing if one of the
// names is not withheld.
func (s *Server) approveTools(ctx context.Context, q *question[approveBody]) (out approveAnswer, err error) {
	all, err := s.withheld(ctx)
	if err != nil {
		return out, err
	}
	waits := func(w held) bool { return w.Reason != gateway.ReasonInvalid && w.Reason != gateway.ReasonGone }
	var chosen []held
	for _, w := range all {
		if q.Body.All && waits(w) {
			chosen = append(chosen, w)
		}
	}
	for _, t := range q.Body.Tools {
		var named, exact []held
		for _, w := range all {
			switch {
			case w.ID == t.ID && w.Fingerprint == t.Fingerprint:
				exact = append(exact, w)
			case w.ID == t.ID: // it is released if no fingerprint was given
				w.Fingerprint = t.Fingerprint
				named = append(named, w)
			case w.Server == t.ID && t.Fingerprint == "" && waits(w):
				named = append(named, w)
			}
		}
		switch {
		case len(exact) > 0:
			chosen = append(chosen, exact...)
		case len(named) > 0:
			chosen = append(chosen, named...)
		default:
			return out, api.Problem(http.StatusNotFound, fmt.Sprintf("nothing of %q is withheld", t.ID))
		}
	}
	out.Approved = []string{}
	for _, w := range chosen {
		switch err := w.release(ctx, w.ID, w.Fingerprint); {
		case errors.Is(err, gateway.ErrChangedAgain), errors.Is(err, live.ErrChangedAgain):
			return out, api.Problem(http.StatusConflict, err.Error())
		case err != nil:
			return out, api.Problem(http.StatusUnprocessableEntity, err.Error())
		}
		out.Approved = append(out.Approved, w.ID)
	}
	slices.Sort(out.Approved)
	return out, nil
}

func (s *Server) grantTools(ctx context.Context, q *question[grantBody]) (grantAnswer, error) {
	g, err := s.gateway(ctx)
	if err != nil {
		return grantAnswer{}, err
	}
	out := grantAnswer{Pattern: q.Body.Pattern}
	if e, err := s.engine(ctx); err == nil && !strings.Contains(out.Pattern, "*") {
		if unknown := e.Unknown(e.Model(), out.Pattern); len(unknown) > 0 {
			out.Note = "no known tool matches: " + unknown[0].Message
		}
	}
	return out, g.Grant(ctx, q.Body.Pattern)
}

func (s *Server) revokeGrant(ctx context.Context, q *api.ByID) (none api.None, err error) {
	g, err := s.gateway(ctx)
	if err != nil {
		return none, err
	}
	was, err := g.Revoke(ctx, q.ID)
	if err == nil && !was {
		err = api.Problem(http.StatusNotFound, fmt.Sprintf("%q is not granted", q.ID))
	}
	return none, err
}

// serverMetrics exports the state of each server.
type serverMetrics []gateway.Server

// Describe implements [prometheus.Collector]. It describes nothing, because the metrics depend on the servers.
func (serverMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (m serverMetrics) Collect(out chan<- prometheus.Metric) {
	for _, s := range m {
		note := func(kind prometheus.ValueType, name, help string, value float64) {
			desc := prometheus.NewDesc("waymark_server_"+name, help, []string{"server"}, nil)
			out <- prometheus.MustNewConstMetric(desc, kind, value, s.ID)
		}
		ready := 0.0
		if s.State == gateway.Ready || s.State == gateway.Idle {
			ready = 1
		}
		note(prometheus.GaugeValue, "up", "1 if a connected server is ready, or idle until its next call.", ready)
		note(prometheus.GaugeValue, "tools", "Tools of a server that may be called.", float64(s.Tools))
		note(prometheus.GaugeValue, "tools_withheld", "Tools of a server that are withheld.", float64(s.Withheld))
		note(prometheus.CounterValue, "calls_total", "Calls of a server.", float64(s.Calls))
		note(prometheus.CounterValue, "failures_total", "Calls of a server that failed.", float64(s.Failures))
		note(prometheus.CounterValue, "starts_total", "Times a server was started or reached.", float64(s.Starts))
		note(prometheus.CounterValue, "call_seconds_total", "Time spent in calls of a server.", s.MeanMS*float64(s.Calls)/1000)
	}
}

// serversWell summarizes the state of the servers in one line; ok is false if an agreed server has failed.
func serversWell(servers []gateway.Server) (ok bool, line string) {
	ok = true
	ready, idle, withheld := 0, 0, 0
	for _, s := range servers {
		withheld += s.Withheld
		switch {
		case s.State == gateway.Ready:
			ready++
		case s.State == gateway.Idle:
			idle++
		case s.State == gateway.Starting && s.Problem == "":
			line += fmt.Sprintf("; %s is starting", s.ID)
		case s.Agreed:
			ok = false
			line += fmt.Sprintf("; %s is %s: %s", s.ID, s.State, s.Problem)
		}
	}
	return ok, fmt.Sprintf("%d of %d ready, %d idle, %d tools withheld", ready, len(servers), idle, withheld) + line
}
