package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/gateway"
)

func (a *app) gatewayCommand() *cobra.Command {
	return group("gateway", "Say which MCP servers may be started, and which of their tools may be called",
		a.gatewayAdd(),
		a.of(operation{
			id: "list-servers", use: "list",
			long: `Lists the servers with their state, the grants, and the tools called since the service started: calls, failures, and the
50th and 95th percentile of the newest 256 durations in milliseconds.`,
			show: a.showServers,
		}),
		a.of(operation{
			id: "forget-server", use: "remove SERVER...", args: "id*", done: "removed", confirm: "Remove %s, with its tools?",
			short: "Stop servers, and delete the approvals of them and their tools",
		}),
		a.of(operation{
			id: "grant-tools", use: "grant PATTERN...", args: "pattern*",
			long: `Allows calls of tools that are not annotated as only reading or adding. A pattern is a tool id in which * stands for any
characters.`,
			example: `  waymark gateway grant github:create_issue
  waymark gateway grant 'scratch:*'`,
		}),
		a.of(operation{id: "revoke-grant", use: "revoke PATTERN...", args: "id*", done: "revoked"}),
		a.gatewayLogin(), a.gatewayLogout())
}

func (a *app) gatewayAdd() *cobra.Command {
	return a.of(operation{
		id: "add-servers", use: "add FILE", flags: "only as allow_reserved", short: "Add servers from a host's configuration, and approve their start",
		long: `Reads the MCP servers of a host's configuration (- is standard input), shows the exact command or URL of each, and asks
for approval. serve and mcp with --connect start approved servers as your user, without a shell and with few variables,
until their definition changes. Write secrets as ${VARIABLE} to keep them out of gateway.json.`,
		example: `  waymark gateway add ~/.cursor/mcp.json
  waymark gateway add .mcp.json --only github,postgres --yes`,
		more: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&a.yes, "yes", false, "agree to all servers without asking")
		},
		prepare: func(args []string, q *asked) error {
			text, err := a.readInput(args[0])
			a.addsServers, q.input, q.fields["config"] = true, args[0], string(text)
			return err
		},
		around: a.agree,
		show: func(_ *asked, body json.RawMessage) error {
			var s struct {
				Added     []string
				Connected bool
			}
			err := decode(body, &s)
			a.printf("agreed to %s\n", strings.Join(s.Added, ", "))
			next := a.startsServers()
			if owner, _ := readOwner(a.data); s.Connected {
				next = "the running server starts them; connect your host: waymark init --host NAME" + a.elsewhere()
			} else if owner.Addr != "" {
				next = "end the running server, which starts none; then " + next
			}
			a.printf("next: %s\n", next)
			return err
		},
	})
}

// startsServers names the commands that start the servers of the workspace.
func (a *app) startsServers() string {
	return fmt.Sprintf("waymark init --host NAME%[1]s has your host start them through Waymark; "+
		"waymark serve --connect%[1]s serves all hosts", a.elsewhere())
}

// agree asks for each server of a configuration whether it may be started, and adds those that may, as they were shown.
func (a *app) agree(ctx context.Context, c *client, q *asked, add func() error) error {
	var plan struct {
		Servers []gateway.Definition
		Notes   []string
	}
	q.fields["dry_run"] = true
	body, err := q.answer(ctx, c)
	defined, unread := gateway.ReadDefinitions(a.data, a.workspace)
	if err = cmp.Or(err, decode(body, &plan), unread); err != nil {
		return err
	}
	for _, note := range plan.Notes {
		fmt.Fprintln(a.errs, clean(note))
	}
	var refused error
	agreed := slices.DeleteFunc(plan.Servers, func(d gateway.Definition) bool {
		fmt.Fprintf(a.errs, "%s: %s\n", d.ID, d.Shown())
		for _, was := range defined.Servers {
			if was.ID == d.ID && was.Digest() != d.Digest() {
				fmt.Fprintf(a.errs, "  in place of: %s\n", was.Shown())
			}
		}
		no := a.confirm("  May it be started?")
		refused = cmp.Or(no, refused)
		return no != nil
	})
	if len(agreed) == 0 {
		return refused
	}
	q.fields = map[string]any{"servers": agreed}
	return add()
}

// showServers shows the states of the servers, and their definitions.
func (a *app) showServers(_ *asked, body json.RawMessage) error {
	defined, err := gateway.ReadDefinitions(a.data, a.workspace)
	if err != nil || len(defined.Servers) == 0 {
		a.printf("no servers; take some from a host: waymark gateway add FILE\n")
		return err
	}
	var known struct{ Servers []any }
	if err = decode(body, &known); len(known.Servers) > 0 { // a server that starts none knows none
		err = cmp.Or(err, a.render(body, ""))
		a.printf("\n")
	}
	for _, d := range defined.Servers {
		a.printf("%s: %s\n", d.ID, d.Listed())
	}
	return err
}
