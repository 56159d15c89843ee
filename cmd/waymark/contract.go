package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/cmd/waymark/internal/client"
	"waymark/contract"
	"waymark/gateway"
	"waymark/ingest"
	"waymark/internal/plural"
)

func (a *app) contractCheckCommand() *cobra.Command {
	var against, server string
	cmd := &cobra.Command{
		Use:   "contract-check",
		Short: "Say what a change of a server's tools breaks",
		Long: `Compares the tools that the workspace knows with those that servers offer now: in a file (an answer to tools/list, or an
export), or of a server that was added to the gateway, which is started for it; without --against of every server that
was agreed to. Each change is breaking, to be reviewed, or compatible; with it stand the stored requests, paths, plans and
argument wires that it concerns. The order of keys and lists without order, and white space in texts, are no change.
Nothing is stored. Exits 1 if a change is breaking or to be reviewed.`,
		Example: `  waymark contract-check
  waymark contract-check --against github
  waymark contract-check --against github-tools.json --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.contractCheck(cmd.Context(), against, server) },
	}
	f := cmd.Flags()
	f.StringVar(&against, "against", "", "`file` of tools, or the id of a server of the gateway (default: all of them)")
	f.StringVar(&server, "server", "", "`id` of the server whose tools the file holds, where the file does not say")
	return cmd
}

// contractAnswer is what contract-check prints as JSON.
type contractAnswer struct {
	Servers    []string            `json:"servers"`
	Compared   int                 `json:"compared"` // tools
	Breaking   int                 `json:"breaking"`
	Review     int                 `json:"review"`
	Compatible int                 `json:"compatible"`
	Changes    []contract.Change   `json:"changes"`
	Affected   []contract.Affected `json:"affected"`
}

func (a *app) contractCheck(ctx context.Context, against, server string) error {
	offers, err := a.offeredNow(ctx, against, server)
	if err != nil {
		return err
	}
	d, episodes, err := a.ownHistory(ctx)
	if err != nil {
		return err
	}
	var was, now, others []catalog.Tool
	r := contractAnswer{Servers: slices.Sorted(maps.Keys(offers)), Changes: []contract.Change{}}
	for _, t := range d.Tools {
		of, _, _ := catalog.Split(t.ID)
		if _, compared := offers[of]; compared {
			was = append(was, t)
		} else {
			others = append(others, t)
		}
	}
	for _, id := range r.Servers {
		if !slices.ContainsFunc(was, func(t catalog.Tool) bool { of, _, _ := catalog.Split(t.ID); return of == id }) {
			return rejected{fmt.Errorf("workspace %s knows no tool of server %q", a.workspace, id)}
		}
		for _, t := range offers[id] {
			if err := t.Normalise(); err != nil {
				return rejected{fmt.Errorf("%s: %w", t.ID, err)}
			}
			now = append(now, t)
		}
	}
	r.Compared = len(was)
	r.Changes = append(r.Changes, contract.Compare(was, now, others)...)
	r.Affected = contract.Stored{Tools: d.Tools, Capabilities: d.Capabilities, Episodes: episodes}.Affected(r.Changes, now)
	for _, c := range r.Changes {
		*map[contract.Severity]*int{contract.Breaking: &r.Breaking, contract.Review: &r.Review, contract.Compatible: &r.Compatible}[c.Severity]++
	}
	if a.json {
		err = a.printValue(r)
	} else {
		a.showContract(r)
	}
	if err == nil && r.Breaking+r.Review > 0 {
		return errNegative
	}
	return err
}

// offeredNow are the tools that servers offer now, by server.
func (a *app) offeredNow(ctx context.Context, against, server string) (map[string][]catalog.Tool, error) {
	_, defs, err := a.defined()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(defs, func(d gateway.Definition) bool { return d.ID == against }); i >= 0 {
		defs = defs[i : i+1]
	} else if against != "" {
		return a.toolsInFile(ctx, against, server)
	}
	if server != "" {
		return nil, usagef("--server names the server of a file; --against names one of the gateway")
	}
	agreed, err := a.agreedServers(ctx)
	if err != nil {
		return nil, err
	}
	offers := map[string][]catalog.Tool{}
	for _, d := range defs {
		if !agreed[d.ID] {
			if against != "" {
				return nil, rejected{fmt.Errorf("nobody agreed to start server %s as it is defined now; that does: waymark gateway add", d.ID)}
			}
			continue
		}
		tools, unusable, err := gateway.Look(ctx, d, a.lookOptions())
		if err != nil {
			return nil, err
		}
		offers[d.ID] = tools
		for _, id := range slices.Sorted(maps.Keys(unusable)) {
			fmt.Fprintf(a.errs, "%s cannot be used: %s\n", clean(id), clean(unusable[id]))
		}
	}
	if len(offers) == 0 {
		return nil, usagef("no server was agreed to; name a file with --against, or add servers: waymark gateway add FILE")
	}
	return offers, nil
}

func (a *app) lookOptions() gateway.Options {
	return gateway.Options{Version: version().Version, Logins: a.logins()}
}

func (a *app) agreedServers(ctx context.Context) (agreed map[string]bool, err error) {
	agreed = map[string]bool{}
	err = a.with(ctx, func(c *client.Client) error {
		body, err := c.Call(ctx, http.MethodGet, "/v1/servers", nil)
		if err != nil {
			return err
		}
		var l serverList
		if err := json.Unmarshal(body, &l); err != nil {
			return err
		}
		for _, s := range l.Servers {
			agreed[s.ID] = s.Agreed
		}
		return nil
	})
	return agreed, err
}

func (a *app) toolsInFile(ctx context.Context, path, server string) (map[string][]catalog.Tool, error) {
	if _, err := os.Stat(path); path != "-" && errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("--against %s: there is no such file, and no such server in the gateway", path)
	}
	offers := map[string][]catalog.Tool{}
	if server != "" {
		offers[server] = nil // a file without tools is one of a server that has none left
	}
	for it, err := range ingest.Read(ctx, path, ingest.Options{Server: server, Split: "all"}) {
		switch {
		case err != nil:
			return nil, rejected{err}
		case it.Dropped != "":
			return nil, rejected{fmt.Errorf("%s line %d: %s", path, it.Line, it.Dropped)}
		case it.Tool == nil:
			continue
		}
		of, _, ok := catalog.Split(it.Tool.ID)
		if !ok {
			return nil, usagef("%s does not say whose tool %s is; name the server with --server", path, it.Tool.ID)
		}
		offers[of] = append(offers[of], *it.Tool)
	}
	if len(offers) == 0 {
		return nil, rejected{fmt.Errorf("%s holds no tools", path)}
	}
	return offers, nil
}

func (a *app) showContract(r contractAnswer) {
	a.printf("%s of %s: %s, %d to review, %d compatible\n", plural.Of(r.Compared, "tool"), list(r.Servers), plural.Of(r.Breaking, "breaking change"), r.Review, r.Compatible)
	for _, severity := range []contract.Severity{contract.Breaking, contract.Review, contract.Compatible} {
		for _, c := range r.Changes {
			if c.Severity != severity {
				continue
			}
			where := c.Tool
			if c.Part != "" {
				where += " " + c.Part
			}
			if c.Path != "" {
				where += " " + c.Path
			}
			a.printf("%s  %s  %s: %s\n", c.Severity, words(c.Kind), clean(where), clean(c.Detail))
		}
	}
	for _, t := range r.Affected {
		a.printf("\n%s: %s, %s, %s, %s\n", t.Tool, plural.Of(t.RequestCount, "request"), plural.Of(t.PathCount, "path"), plural.Of(len(t.Plans), "plan"), plural.Of(len(t.Wires), "wire"))
		for _, x := range t.Requests {
			a.printf("  request  %d  %s\n", x.Count, short(x.Text))
		}
		for _, x := range t.Paths {
			a.printf("  path     %d  %s\n", x.Count, clean(x.Text))
		}
		for _, p := range t.Plans {
			a.printf("  plan     %s\n", p.ID)
			for _, problem := range p.Problems {
				a.printf("             %s\n", clean(problem))
			}
		}
		for _, w := range t.Wires {
			a.printf("  wire     %s → %s\n", clean(w.From), clean(w.To))
		}
	}
}
