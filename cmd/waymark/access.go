package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/waymark/internal/client"
	"waymark/live"
	"waymark/suggest"
)

// apiKey is a key as the API lists it; Key is the secret, in the answer to its creation alone.
type apiKey struct {
	ID        string    `json:"id"`
	Key       string    `json:"key"`
	Name      string    `json:"name"`
	Workspace string    `json:"workspace"`
	Scopes    []string  `json:"scopes"`
	CreatedAt time.Time `json:"created_at"`
	Agent     string    `json:"agent"`
}

func (a *app) keysCommand() *cobra.Command {
	return group("keys", "Create, list and revoke API keys", a.keysCreate(), a.keysList(), a.keysRevoke())
}

func (a *app) keysCreate() *cobra.Command {
	var scopes []string
	var name, agent string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an API key for the workspace; it is shown once",
		Long: `Creates an API key for --workspace and prints it. Only its SHA-256 is stored, so it cannot be shown
again. Works while a server runs and while none does.`,
		Example: `  waymark keys create --name laptop --scopes read,write
  waymark keys create --workspace team-a --scopes read`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd.Context(), a, "/v1/keys", map[string]any{"name": name, "workspace": a.workspace, "scopes": scopes, "agent": agent}, func(a *app, k apiKey) {
				a.printf("%s\n", k.Key)
				fmt.Fprintf(a.errs, "key %s: %s on workspace %s; it is not shown again\n", k.ID, strings.Join(scopes, ", "), a.workspace)
				fmt.Fprintln(a.errs, "while there is a key, a request without one is refused, on loopback too")
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "key", "what the key is for")
	cmd.Flags().StringVar(&agent, "agent", "", "the key sees and calls only the tools of the set that gateway.json has for this `name`")
	cmd.Flags().StringSliceVar(&scopes, "scopes", []string{"read", "write"}, "what it may do: read, write, admin")
	return cmd
}

func (a *app) keysList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the API keys of all workspaces",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return get(cmd.Context(), a, "/v1/keys", func(a *app, l struct {
				Keys []apiKey `json:"keys"`
			}) {
				if len(l.Keys) == 0 {
					a.printf("no keys\n")
					return
				}
				var rows [][]string
				for _, k := range l.Keys {
					rows = append(rows, []string{k.ID, k.Name, k.Workspace, strings.Join(k.Scopes, ","), k.Agent, k.CreatedAt.Format(time.RFC3339)})
				}
				columns(a.out, []string{"id", "name", "workspace", "scopes", "agent", "created"}, rows)
			})
		},
	}
}

func (a *app) keysRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke an API key; it stops working at once",
		Args:  exactly(1, "the id of a key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := a.remove(cmd, "/v1/keys/"+url.PathEscape(args[0]), "key "+args[0], "revoked")
			if err == nil {
				fmt.Fprintln(a.errs, "once no key is left, a request on loopback needs none")
			}
			return err
		},
	}
}

func (a *app) workspaceCommand() *cobra.Command {
	return group("workspace", "List, create and delete workspaces", a.workspaceList(), a.workspaceCreate(), a.workspaceDelete())
}

func (a *app) workspaceCreate() *cobra.Command {
	return &cobra.Command{
		Use:   "create NAME",
		Short: "Create a workspace, so that it can be asked before anything is recorded",
		Long: `Creates an empty workspace. Nobody needs to: the first import or record creates the workspace it is for, and so do
an API key for it and a host that is connected to it (waymark mcp --workspace NAME). A question creates none.`,
		Args: exactly(1, "the name of a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return call(cmd.Context(), a, http.MethodPut, "/v1/workspaces/"+url.PathEscape(args[0]), nil, func(a *app, made struct {
				Workspace string `json:"workspace"`
				Created   bool   `json:"created"`
			}) {
				a.printf("workspace %s %s\n", made.Workspace, map[bool]string{true: "created", false: "exists already"}[made.Created])
			})
		},
	}
}

func (a *app) workspaceList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the workspaces",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return get(cmd.Context(), a, "/v1/workspaces", func(a *app, l struct {
				Workspaces []string `json:"workspaces"`
			}) {
				for _, name := range l.Workspaces {
					a.printf("%s\n", name)
				}
			})
		},
	}
}

func (a *app) workspaceDelete() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a workspace and everything in it",
		Args:  exactly(1, "the name of a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.confirm(yes, fmt.Sprintf("Delete workspace %q with its catalog, history and model?", args[0])); err != nil {
				return err
			}
			return a.remove(cmd, "/v1/workspaces/"+url.PathEscape(args[0]), "workspace "+args[0], "deleted")
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// remove deletes one resource and says so.
func (a *app) remove(cmd *cobra.Command, path, what, done string) error {
	return a.with(cmd.Context(), func(c *client.Client) error {
		body, err := c.Call(cmd.Context(), http.MethodDelete, path, nil)
		if err != nil { // which names it
			return err
		}
		if a.json {
			return a.printBody(body)
		}
		a.printf("%s %s\n", what, done)
		return nil
	})
}

func (a *app) forgetCommand() *cobra.Command {
	var sel live.Selection
	var before string
	var yes bool
	cmd := &cobra.Command{
		Use:   "forget --source NAME | --episode ID | --before TIME",
		Short: "Erase episodes and what was learned from them",
		Long: `Erases the episodes of one source, one episode, or all episodes before a time, and rebuilds the model
without them. What is erased can no longer be read or exported and is in no later backup; its digest
stays, so that the log remains verifiable. The database overwrites the bytes on the disk as it
compacts its files. Not reached are backups and exports made earlier.`,
		Example: `  waymark forget --source import:claude-code
  waymark forget --before 2026-01-01
  waymark forget --episode 42`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n := 0
			for _, flag := range []string{"source", "episode", "before"} {
				if cmd.Flags().Changed(flag) {
					n++
				}
			}
			if n != 1 {
				return usagef("forget needs exactly one of --source, --episode and --before")
			}
			what := fmt.Sprintf("the episodes of source %q", sel.Source)
			switch {
			case sel.Episode != "":
				what = fmt.Sprintf("episode %q", sel.Episode)
			case before != "":
				t, err := parseTime(before)
				if err != nil {
					return err
				}
				sel.Before = t
				what = "the episodes before " + t.Format(time.RFC3339)
			}
			if err := a.confirm(yes, fmt.Sprintf("Erase %s from workspace %q for good?", what, a.workspace)); err != nil {
				return err
			}
			return a.with(cmd.Context(), func(c *client.Client) error {
				return callOver(cmd.Context(), a, c, http.MethodPost, "/v1/forget", sel, func(a *app, r live.ForgetResult) {
					a.printf("erased %d, %s; the log is at %d\n", r.Erased, what, r.Seq)
					if r.Erased == 0 && sel.Source != "" {
						a.listSources(cmd.Context(), c)
					}
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&sel.Source, "source", "", "the `source` whose episodes to erase, as doctor and GET /v1/stats list them")
	f.StringVar(&sel.Episode, "episode", "", "the `id` of one episode")
	f.StringVar(&before, "before", "", "a `time`: 2026-01-31 or 2026-01-31T12:00:00Z")
	f.BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// listSources prints the sources that have episodes; a failure costs no more than the list.
func (a *app) listSources(ctx context.Context, c *client.Client) {
	var stats suggest.Stats
	if err := read(ctx, c, "/v1/stats", &stats); err == nil && len(stats.Sources) > 0 {
		a.printf("sources with episodes: %s\n", clean(strings.Join(slices.Sorted(maps.Keys(stats.Sources)), ", ")))
	}
}

// parseTime reads a time or a day (its beginning in UTC).
func parseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("--before %q is neither a day (2026-01-31) nor a time (2026-01-31T12:00:00Z)", s)
}

// confirm asks the person at the terminal. Where nobody sits at one, --yes is the answer.
func (a *app) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !isTerminal(a.in) {
		return usagef("%s Nobody is here to be asked; --yes answers", question)
	}
	sure, err := a.yes(a.ctx, question)
	if err == nil && !sure {
		err = rejected{errors.New("nothing was done")}
	}
	return err
}
