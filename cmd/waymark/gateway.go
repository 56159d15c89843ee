package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/gateway"
	"waymark/ingest"
)

func (a *app) gatewayCommand() *cobra.Command {
	return group("gateway", "Say which MCP servers may be started, and which of their tools may be called",
		a.gatewayAdd(), a.gatewayList(), a.gatewayRemove(), a.gatewayGrant(), a.gatewayRevoke(), a.gatewayLogin(), a.gatewayLogout())
}

func (a *app) gatewayAdd() *cobra.Command {
	var only []string
	var as string
	var reserved bool
	return a.of(operation{
		id: "add-servers", use: "add FILE", short: "Add servers from a host's configuration, and approve their start",
		long: `Reads the MCP servers of a host's configuration (- is standard input), shows the exact command or URL of each, and asks
for approval. serve and mcp with --connect start approved servers as your user, without a shell and with few variables,
until their definition changes. Write secrets as ${VARIABLE} to keep them out of gateway.json.`,
		example: `  waymark gateway add ~/.cursor/mcp.json
  waymark gateway add .mcp.json --only github,postgres --yes`,
		more: func(cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringSliceVar(&only, "only", nil, "only the servers of these `names`")
			f.StringVar(&as, "as", "", "`id` of the one server, the prefix of its tool ids")
			f.BoolVar(&reserved, "allow-reserved", false, "accept URLs of link-local, shared and reserved networks")
			f.BoolVar(&a.yes, "yes", false, "agree to all servers without asking")
		},
		prepare: func(_ *cobra.Command, args []string, q *asked) error {
			found, err := a.definitions(args[0], only, as, reserved)
			if err == nil {
				q.fields["servers"], err = a.agreed(found)
			}
			a.addsServers = true
			return err
		},
		show: showing(func(a *app, s struct {
			Added     []string
			Connected bool
		}) {
			a.printf("agreed to %s\n", strings.Join(s.Added, ", "))
			next := "waymark init --host NAME%[1]s has your host start them through Waymark; waymark serve --connect%[1]s serves all hosts\n"
			if s.Connected {
				next = "the running server starts them; connect your host: waymark init --host NAME%[1]s\n"
			}
			a.printf("next: "+next, a.elsewhere())
		}),
	})
}

// definitions reads the servers of a host's configuration. It prints on stderr those that are left out, and why.
func (a *app) definitions(path string, only []string, as string, reserved bool) (found []gateway.Definition, err error) {
	text, err := a.readInput(path)
	if err != nil {
		return nil, err
	}
	launches, complaints, err := ingest.Launches(filepath.Base(path), text)
	if err != nil {
		return nil, rejected{err}
	}
	for _, name := range only {
		if !slices.ContainsFunc(launches, func(l ingest.Launch) bool { return l.Name == name }) {
			return nil, usagef("--only %s: there is no such server in %s", name, path)
		}
	}
	var taken []string
	for _, l := range launches {
		if len(only) > 0 && !slices.Contains(only, l.Name) {
			continue
		}
		d, err := definitionOf(l)
		d.ID, d.Reserved = cmp.Or(as, serverID(l.Name, taken)), reserved && d.URL != ""
		err = cmp.Or(err, d.Check(), d.CheckPlaceholders())
		if i := slices.IndexFunc(found, d.IsAlso); err == nil && i >= 0 {
			err = fmt.Errorf("server %q is the same as %q", l.Name, found[i].ID)
		}
		if err == nil && a.isOwn(d.URL) {
			err = fmt.Errorf("server %q is the server of this data directory itself", l.Name)
		}
		if err != nil {
			complaints = append(complaints, err.Error())
			continue
		}
		if found, taken = append(found, d), append(taken, d.ID); d.ID != l.Name {
			fmt.Fprintf(a.errs, "%s: its tools are %s:…\n", clean(l.Name), d.ID)
		}
	}
	for _, c := range complaints {
		fmt.Fprintf(a.errs, "left out: %s\n", clean(c))
	}
	switch {
	case as != "" && len(found) > 1:
		err = usagef("--as names one server, and there are %d; use --only", len(found))
	case len(found) == 0:
		err = rejected{fmt.Errorf("%s has no server that can be taken", named(path))}
	}
	return found, err
}

// isOwn reports whether a URL is the address of the process that has the data directory.
func (a *app) isOwn(address string) bool {
	u, err := url.Parse(address)
	owner, _ := readOwner(a.data)
	_, port, _ := net.SplitHostPort(owner.Addr)
	return err == nil && port != "" && u.Port() == port && gateway.IsLoopback(u.Hostname())
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// serverID derives an id from a server's name. A name that is too long, such as a registry's reverse DNS name, becomes
// its last part. If the id is too similar to another one, it gets a number.
func serverID(name string, taken []string) string {
	id := strings.Trim(notInID.ReplaceAllString(name, "-"), "-._")
	if len(id) > gateway.MaxServerID {
		last := name[strings.LastIndexAny(name, "./")+1:]
		id = cmp.Or(strings.Trim(notInID.ReplaceAllString(last, "-"), "-._"), id)
		id = strings.TrimRight(id[:min(len(id), gateway.MaxServerID)], "-._")
	}
	id = cmp.Or(id, "server")
	plain := id[:min(len(id), gateway.MaxServerID-3)]
	for n := 2; gateway.Alike(id, taken); n++ {
		id = fmt.Sprintf("%s-%d", plain, n)
	}
	return id
}

// definitionOf makes a definition from an entry of a host. It resolves the command to the program that is found now, so
// that a program put before it in PATH later does not run in its place.
func definitionOf(l ingest.Launch) (gateway.Definition, error) {
	d := gateway.Definition{StartTimeout: l.StartTimeout, CallTimeout: l.CallTimeout, URL: l.Address}
	if d.URL != "" {
		d.SSE, d.Headers = l.Transport == "sse", maps.Clone(l.Headers)
		if l.Bearer != "" {
			d.Headers = maps.Collect(maps.All(d.Headers))
			d.Headers["Authorization"] = "Bearer ${" + l.Bearer + "}"
		}
	}
	if l.Disabled {
		return d, fmt.Errorf("server %q is disabled", l.Name)
	}
	if l.Program == "" {
		return d, nil
	}
	program, err := exec.LookPath(l.Program)
	if err == nil {
		program, err = filepath.Abs(program)
	}
	switch {
	case err != nil:
		return d, fmt.Errorf("server %q: its command %q is not found", l.Name, l.Program)
	case strings.TrimSuffix(filepath.Base(program), ".exe") == "waymark":
		return d, fmt.Errorf("server %q is waymark itself", l.Name)
	}
	d.Command, d.Args, d.Env, d.Inherit, d.Dir = program, l.Args, l.Env, l.Inherit, l.Dir
	return d, nil
}

// agreed shows each server, asks whether it may be started, and returns those that may.
func (a *app) agreed(found []gateway.Definition) ([]gateway.Definition, error) {
	_, defs, err := a.defined()
	if err != nil {
		return nil, err
	}
	asked := a.yes || isTerminal(a.in)
	found = slices.DeleteFunc(found, func(d gateway.Definition) bool {
		fmt.Fprintf(a.errs, "%s: %s\n", d.ID, d.Shown())
		for _, was := range defs {
			if was.ID == d.ID && was.Digest() != d.Digest() {
				fmt.Fprintf(a.errs, "  in place of: %s\n", was.Shown())
			}
		}
		return asked && a.confirm("  May it be started?") != nil
	})
	switch {
	case !asked:
		err = usagef("there is no terminal to ask at: --yes agrees to all of these")
	case len(found) == 0:
		err = rejected{errors.New("nothing was agreed to")}
	}
	return found, err
}

// defined returns the servers of the workspace, and the data directory that defines them.
func (a *app) defined() (dir string, defs []gateway.Definition, err error) {
	dir, err = filepath.Abs(a.data)
	if err != nil {
		return "", nil, err
	}
	defined, err := gateway.ReadDefinitions(dir, a.workspace)
	return dir, defined.Servers, err
}

func (a *app) gatewayList() *cobra.Command {
	return a.of(operation{
		id: "list-servers", use: "list",
		long: `Lists the servers with their state, the grants, and the tools called since the service started: calls, failures, and the
50th and 95th percentile of the newest 256 durations in milliseconds.`,
		show: func(a *app, _ *asked, body json.RawMessage) error {
			_, defs, err := a.defined()
			if err != nil || len(defs) == 0 {
				a.printf("no servers; take some from a host: waymark gateway add FILE\n")
				return err
			}
			err = a.render(body, "", "")
			a.printf("\n")
			for _, d := range defs {
				a.printf("%s: %s\n", d.ID, d.Listed())
			}
			return err
		},
	})
}

func (a *app) gatewayRemove() *cobra.Command {
	return a.of(operation{
		id: "forget-server", use: "remove SERVER...", args: "id*", done: "removed", confirm: "Remove %s, with its tools?",
		short: "Stop servers, and delete the approvals of them and their tools",
		prepare: func(_ *cobra.Command, ids []string, _ *asked) error {
			for _, id := range ids {
				if _, err := a.definedServer(id); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func (a *app) gatewayGrant() *cobra.Command {
	return a.of(operation{
		id: "grant-tools", use: "grant PATTERN...", args: "pattern*", done: "granted",
		long: `Allows calls of tools that are not annotated as only reading or adding. A pattern is a tool id in which * stands for any
characters.`,
		example: `  waymark gateway grant github:create_issue
  waymark gateway grant 'scratch:*'`,
	})
}

func (a *app) gatewayRevoke() *cobra.Command {
	return a.of(operation{id: "revoke-grant", use: "revoke PATTERN...", args: "id*", done: "revoked"})
}

func (a *app) approveCommand() *cobra.Command {
	var all, only bool
	return a.of(operation{
		id: "approve-tools", use: "approve [TOOL|SERVER...]", short: "List quarantined tools, and release them",
		long: `A tool is quarantined if its contract changed since its approval, if it was added after the approval of its server, or if
its texts are suspicious. A quarantined tool is neither suggested nor called. --list shows these tools; naming a tool or a
server, or --all, releases them.`,
		example: `  waymark approve --list
  waymark approve github:create_issue`,
		more: func(cmd *cobra.Command) {
			f := cmd.Flags()
			f.BoolVar(&only, "list", false, "list quarantined tools (the default without arguments)")
			f.BoolVar(&all, "all", false, "release all quarantined tools")
			f.BoolVar(&a.yes, "yes", false, "do not ask")
			cmd.MarkFlagsMutuallyExclusive("list", "all")
		},
		prepare: func(_ *cobra.Command, ids []string, q *asked) error {
			if q.fields["ids"] = ids; len(ids) > 0 && (all || only) {
				return usagef("approve takes tools and servers, or --all, or --list")
			}
			return nil
		},
		follow: func(ctx context.Context, c *client, q *asked) error {
			var held quarantine
			body, err := c.ask(ctx, "list-quarantine", nil, &held)
			if ids := q.fields["ids"].([]string); err == nil && (all || len(ids) > 0) {
				body, err = a.approve(ctx, c, held, ids, all)
			}
			if err != nil || a.json {
				return errors.Join(err, a.printBody(body))
			}
			return a.render(body, "", "")
		},
	})
}

type quarantine struct {
	Tools []gateway.Withheld `json:"tools"`
}

// approve releases the tools that it shows. It sends their fingerprints, so that nothing else is released.
func (a *app) approve(ctx context.Context, c *client, held quarantine, ids []string, all bool) (json.RawMessage, error) {
	for _, id := range ids {
		if !slices.ContainsFunc(held.Tools, func(w gateway.Withheld) bool { return w.ID == id || w.Server == id }) {
			return nil, fmt.Errorf("%q has no quarantined tools; waymark approve --list shows all that have", id)
		}
	}
	tools := []map[string]string{}
	held.Tools = slices.DeleteFunc(held.Tools, func(w gateway.Withheld) bool {
		waits := w.Reason != gateway.ReasonGone && w.Reason != gateway.ReasonInvalid
		chosen := slices.Contains(ids, w.ID) || waits && (all || slices.Contains(ids, w.Server))
		if chosen {
			tools = append(tools, map[string]string{"id": w.ID, "fingerprint": w.Fingerprint})
		}
		return !chosen
	})
	if len(tools) > 0 && !a.json {
		if err := a.show(held, "", ""); err != nil {
			return nil, err
		}
	}
	if err := a.confirm("Release these?"); err != nil {
		return nil, err
	}
	return c.ask(ctx, "approve-tools", map[string]any{"tools": tools}, nil)
}
