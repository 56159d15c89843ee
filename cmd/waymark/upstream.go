package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/gateway"
	"waymark/live"
	mcpserver "waymark/server/mcp"
	"waymark/storage"
	"waymark/suggest"
)

// upstreamFlags adds the flags for the servers that a process starts and for how hosts see their tools.
func (a *app) upstreamFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&a.connect, "connect", false, "start the approved MCP servers of the workspace (waymark gateway add), and offer their tools")
	f.StringVar(&a.serving.Upstream.Mode, "tool-mode", mcpserver.ModeAuto, "how hosts see the tools of those servers: direct, hybrid, deferred, or auto (by number of tools)")
	f.BoolVar(&a.serving.Upstream.SuggestAfter, "suggest-after", false, "add the usual next tools to each result")
	f.BoolVar(&a.upstream.StrictResults, "strict-results", false, "refuse tool results that violate their output schema")
	f.IntVar(&a.serving.Upstream.ResultLimit, "result-limit", 64<<10, "maximum `bytes` of a tool result in one answer; read_result returns the rest; 0: no limit")
	f.DurationVar(&a.upstream.IdleStop, "idle-stop", 10*time.Minute, "`time` after which an idle server is stopped until its next call; 0: all servers start at once and stay")
	f.IntVar(&a.serving.Upstream.Preload, "preload", 8, "number of most-called tools listed beside those of --expose")
	f.StringSliceVar(&a.serving.Upstream.Chosen, "expose", nil, "`patterns` of tools listed in tools/list in hybrid mode, as in github:*")
}

// openGateway reads the defined servers and the approvals for them. It starts none. Without any servers it opens the
// gateway only for a process that serves or adds servers, because that creates the workspace.
func (a *app) openGateway(h *openDirectory, serves bool) error {
	if modes := []string{"", mcpserver.ModeAuto, mcpserver.ModeDirect, mcpserver.ModeHybrid, mcpserver.ModeDeferred}; !slices.Contains(modes, a.serving.Upstream.Mode) {
		return usagef("unknown --tool-mode %q: want auto, direct, hybrid or deferred", a.serving.Upstream.Mode)
	}
	switch u, idle := a.serving.Upstream, a.upstream.IdleStop; {
	case u.ResultLimit != 0 && u.ResultLimit < 1<<10:
		return usagef("%s must be 0 or at least 1024, got %d", a.flagName("result-limit"), u.ResultLimit)
	case idle < 0 || idle > 0 && idle < time.Second:
		return usagef("%s must be 0 or at least 1s, got %s", a.flagName("idle-stop"), idle)
	case u.Preload < 0:
		return usagef("%s must be 0 or more, got %d", a.flagName("preload"), u.Preload)
	}
	defined, err := gateway.ReadDefinitions(h.dir, h.workspace)
	if err != nil || len(defined.Servers) == 0 && !serves && !a.addsServers {
		return err
	}
	opts := a.upstream
	opts.IdleStop = cmp.Or(opts.IdleStop, -1) // never
	opts.Table, opts.Catalog, opts.Logger, opts.Version = h.store.Table(h.workspace), h, h.logger, version().Version
	opts.Logins = gateway.OpenLogins(h.dir, h.workspace)
	if h.gateway, err = gateway.Open(context.Background(), opts); err != nil {
		return err
	}
	if err := h.gateway.Define(defined.Servers); err != nil {
		return err
	}
	h.gateway.SetAgents(defined.Agents)
	h.gateway.OnChange(h.withhold)
	h.withhold()
	return nil
}

// startServers starts the servers that were agreed to, by their current definitions.
func (h *openDirectory) startServers() error {
	defined, err := gateway.ReadDefinitions(h.dir, h.workspace)
	if err != nil {
		return err
	}
	h.gateway.SetAgents(defined.Agents)
	return h.gateway.Connect(defined.Servers)
}

// withhold stores the tools that no answer may suggest.
func (h *openDirectory) withhold() {
	held := map[string]suggest.Exclusion{}
	for _, w := range h.gateway.Withheld() {
		absent := suggest.AbsentQuarantined
		if w.Reason == gateway.ReasonGone {
			absent = suggest.AbsentUnavailable
		}
		held[w.ID] = suggest.Exclusion{Absent: absent, Detail: w.Detail}
	}
	h.exclusions.Store(suggest.NewExclusions(held))
}

// withheld returns the tools that no answer of a workspace may suggest.
func (h *openDirectory) withheld(workspace string) *suggest.Exclusions {
	if workspace != h.workspace {
		return nil
	}
	return h.exclusions.Load()
}

// connected returns the servers that offer their tools to a workspace.
func (h *openDirectory) connected(workspace string) []string {
	if h.gateway == nil || workspace != h.workspace {
		return nil
	}
	return h.gateway.Defined()
}

// PutTools implements [gateway.Catalog]: it adds the tools of servers to the workspace like any other tools.
func (h *openDirectory) PutTools(ctx context.Context, tools []catalog.Tool, rows map[string]storage.Change) error {
	e, err := h.workspaces.Open(ctx, h.workspace)
	if err != nil {
		return err
	}
	r, err := e.PutToolsWith(ctx, tools, rows)
	for _, no := range r.Rejected {
		h.logger.Warn("a tool can be called, but not be suggested", "tool", no.ID, "reason", no.Error)
	}
	return err
}

// RemoveTools implements [gateway.Catalog].
func (h *openDirectory) RemoveTools(ctx context.Context, ids []string) error {
	e, err := h.workspaces.Open(ctx, h.workspace)
	for _, id := range ids {
		if err == nil {
			_, err = e.Remove(ctx, catalog.KindTool, id, live.Approver)
		}
		if err != nil {
			return fmt.Errorf("take %s out of the catalog: %w", id, err)
		}
	}
	return err
}
