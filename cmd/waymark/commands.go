package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"waymark/internal/bounded"
	"waymark/live"
	"waymark/server"
	"waymark/suggest"
)

// The commands that send one operation.

func (a *app) nextCommand() *cobra.Command {
	return a.of(operation{
		id: "next", use: "next [ID...]", flags: "context=after intent limit min_confidence allow profile explain",
		long: `Suggests the next tool: after the ids given as arguments or with --after (oldest first), for --intent, or for both. With
neither it suggests central tools to start with.`,
		example: `  waymark next fs:read_file
  waymark next --intent "report open issues" --limit 3`,
		prepare: func(_ *cobra.Command, args []string, q *asked) error {
			context, _ := q.fields["context"].([]string)
			for _, arg := range args {
				if strings.ContainsFunc(arg, unicode.IsSpace) {
					return usagef("%q is not an id; give a request with --intent", arg)
				}
				context = append(context, strings.Split(arg, ",")...)
			}
			q.fields["context"] = slices.Concat([]string{}, context)
			return nil
		},
		show: asText(server.NextText),
	})
}

func (a *app) searchCommand() *cobra.Command {
	return a.of(operation{
		id: "search", use: "search QUERY...", args: "query...", flags: "context limit kinds profile explain allow",
		example: `  waymark search "open issues of a repository"
  waymark search parse json --context fs:read_file --limit 3`,
		show: asText(server.SearchText),
	})
}

func (a *app) dagCommand() *cobra.Command {
	return a.of(operation{
		id: "dag", use: "dag INTENT...", args: "intent...", flags: "context callable_only max_steps allow profile explain",
		example: `  waymark dag "collect open issues and mail a summary"`,
		show:    asText(server.DAGText),
	})
}

func (a *app) explainCommand() *cobra.Command {
	return a.of(operation{
		id: "explain", use: "explain ID", args: "id", flags: "context=after intent limit allow profile formula",
		example: `  waymark explain json:parse --after fs:read_file`,
		more:    func(cmd *cobra.Command) { cmd.MarkFlagsMutuallyExclusive("formula", "profile") },
		prepare: func(_ *cobra.Command, _ []string, q *asked) error {
			if q.fields["formula"] == true {
				q.fields["profile"] = suggest.ProfileSeed
			}
			return nil
		},
		show: func(a *app, q *asked, body json.RawMessage) error {
			if q.fields["formula"] == true {
				return showing((*app).showFormula)(a, q, body)
			}
			return a.render(body, "id suggested absent_reason reason rank of confidence score formula mode model.profile terms behind reports filters unknown_ids",
				"name value weight contribution passed detail observed sources message")
		},
		check: func(_ *app, _ *asked, body json.RawMessage) error {
			var answer suggest.ExplainAnswer
			if err := decode(body, &answer); err != nil || answer.Absent != suggest.AbsentUnknown {
				return err
			}
			return errNegative
		},
	})
}

func (a *app) recordCommand() *cobra.Command {
	return a.of(operation{
		id: "record", use: "record FILE|-",
		long: `Records episodes from a file, or from standard input: one JSON object, an array, or one object a line. An episode
already recorded counts once. Exits 1 if any was rejected.`,
		example: `  echo '{"id":"e1","steps":[{"tool":"fs:read_file"},{"tool":"json:parse"}]}' | waymark record -`,
		prepare: func(cmd *cobra.Command, args []string, q *asked) error {
			in, err := a.openInput(args[0], bounded.Transfer)
			if err != nil {
				return err
			}
			q.file, q.input = in, args[0]
			rest, lines, err := jsonLines(in)
			if q.body = rest; err != nil || lines {
				return err
			}
			text, err := bounded.ReadAll(cmd.Context(), rest, named(args[0]), bounded.Document)
			q.body = json.RawMessage(text)
			return cmp.Or(err, checkJSON(text, args[0]))
		},
		show: showing(func(a *app, r live.RecordResult) {
			a.printf("accepted %d, duplicates %d, rejected %d; the log is at %d\n", r.Accepted, r.Duplicates, len(r.Rejected), r.Seq)
		}),
		check: func(a *app, q *asked, body json.RawMessage) error {
			var r live.RecordResult
			if err := json.Unmarshal(body, &r); err != nil || len(r.Rejected) == 0 {
				return err
			}
			for _, no := range r.Rejected {
				if no.ID != "" {
					no.Error = fmt.Sprintf("%q: %s", no.ID, no.Error)
				}
				fmt.Fprintf(a.errs, "waymark: %s:%d: %s\n", named(q.input), no.Line, clean(no.Error))
			}
			return errNegative
		},
	})
}

func (a *app) forgetCommand() *cobra.Command {
	return a.of(operation{
		id: "forget", use: "forget", flags: "source episode before",
		long: `Erases the episodes of one source (waymark doctor lists sources), one episode, or all episodes before a time, and
rebuilds the model without them. Not reached are backups and exports made earlier.`,
		example: `  waymark forget --source import:claude-code
  waymark forget --before 2026-01-01`,
		prepare: func(_ *cobra.Command, _ []string, q *asked) error {
			if len(q.fields) != 1 {
				return usagef("forget needs exactly one of --source, --episode and --before")
			}
			if day, ok := q.fields["before"].(string); ok {
				if t, err := time.Parse(time.DateOnly, day); err == nil { // else it is a time, or the server rejects it
					q.fields["before"] = t
				}
			}
			return nil
		},
		confirm: fmt.Sprintf("Erase these episodes from workspace %q for good?", a.workspace),
	})
}

func (a *app) keysCommand() *cobra.Command {
	return group("keys", "Create, list and revoke API keys",
		a.of(operation{
			id: "create-key", use: "create", flags: "name scopes agent",
			set: map[string]any{"name": "key", "scopes": []string{"read", "write"}},
			long: `Creates an API key for --workspace and prints it; it cannot be shown again. The scopes are read and write unless --scopes
says otherwise. While there is a key, a request without one is refused, on loopback too.`,
			example: `  waymark keys create --workspace team-a --scopes read`,
			show: showing(func(a *app, k struct{ ID, Key string }) {
				a.printf("%s\n", k.Key)
				fmt.Fprintf(a.errs, "key %s on workspace %s; it is not shown again\n", k.ID, a.workspace)
			}),
		}),
		a.of(operation{id: "list-keys", use: "list"}),
		a.of(operation{id: "revoke-key", use: "revoke ID", args: "id", done: "revoked"}),
	)
}

func (a *app) workspaceCommand() *cobra.Command {
	return group("workspace", "List, create and delete workspaces",
		a.of(operation{id: "list-workspaces", use: "list"}),
		a.of(operation{id: "create-workspace", use: "create NAME", args: "name"}),
		a.of(operation{id: "delete-workspace", use: "delete NAME", args: "name", done: "deleted",
			confirm: `Delete workspace "%s" with its catalog, history and model?`}),
	)
}

func (a *app) ruleCommand() *cobra.Command {
	rule := func(kind, use, args, flags, short, long string) *cobra.Command {
		return a.of(operation{id: "add-rule", use: kind + " " + use, args: args, flags: flags, set: map[string]any{"kind": kind}, short: short, long: long})
	}
	return group("rule", "Ban, pin and rename tools, trust and split sources",
		rule("ban", "TOOL", "tool", "after intent", "Never suggest a tool",
			`next, dag and search no longer return the tool; it can still be called. With --after the ban applies only to next after
that tool, with --intent only to requests with the same words, in any order.`),
		rule("pin", "TOOL", "tool", "after intent", "Suggest a tool first after another one, or for a request",
			`next suggests the tool first after the tool --after, or, without --after, before the first tool. With --intent the pin
applies only to requests with the same words, and search and dag return the tool, too. A ban of the same tool wins.`),
		rule("alias", "OTHER TOOL", "alias tool", "", "Let calls of another id count for a tool",
			`In requests and in recorded episodes, also past ones, the other id counts as the tool. 'old:*' and 'new:*' are all tools
of a server.`),
		rule(live.RuleTrust, "SOURCE", "source", "", "Count the reports of a source in full",
			`Episodes from a source with a key have limited weight, so that one dishonest key cannot distort the answers for others.
Episodes of a trusted source, also past ones, count in full. waymark doctor lists sources.`),
		rule(live.RuleSplit, "SOURCE", "source", "", "Count each reporter behind a collector as a source of its own",
			`Each label of the source's episodes counts as a separate source, with the limits of one key. Trust the collector before:
invented labels would count as several sources.`),
		a.of(operation{id: "list-rules", use: "list"}),
		a.of(operation{id: "undo-rule", use: "undo ID", args: "id", done: "undone"}),
	)
}

func (a *app) capabilityCommand() *cobra.Command {
	var file string
	var proposed bool
	return group("capability", "Capabilities: list, export and import them, mine the history for new ones, approve or reject those",
		a.of(operation{id: "list-capabilities", use: "list", flags: "tag limit", set: map[string]any{"limit": 500},
			columns: "id composite verdict state capability.name evidence.tasks capability.description tags tools description",
			more: func(cmd *cobra.Command) {
				cmd.Flags().BoolVar(&proposed, "proposed", false, "list the proposals mined from the history")
				cmd.Flags().String("state", "", "with --proposed: waiting, approved or rejected")
			},
			prepare: func(cmd *cobra.Command, _ []string, q *asked) error {
				if proposed || cmd.Flags().Changed("state") {
					q.Operation = operationsOf()["list-proposals"]
				}
				return q.take(cmd.Flags().Lookup("state"), "state")
			}}),
		a.of(operation{id: "get-capability", use: "export ID", args: "id", short: "Write a capability as JSON",
			show: func(a *app, _ *asked, body json.RawMessage) error { return a.printValue(body) }}),
		a.of(operation{id: "put-capabilities", use: "import FILE|-", short: "Put capabilities from a file into the catalog",
			long: `Reads capabilities as JSON and puts them into the catalog: one, as waymark capability export writes it, a list, or
an object with a list "capabilities".`,
			prepare: func(_ *cobra.Command, args []string, q *asked) error {
				text, err := a.jsonInput(args[0])
				var one map[string]json.RawMessage
				if json.Unmarshal(text, &one) == nil && one["capabilities"] == nil {
					text = slices.Concat([]byte("["), text, []byte("]"))
				}
				q.body, q.input = text, args[0]
				return err
			}}),
		a.of(operation{id: "mine", use: "propose", flags: "support sessions min_tools max_tools limit",
			long: `Mines the history for DAGs of calls that recur in many tasks in a common order. A rubric scores them; they wait, best
first, until they are approved or rejected.`,
			example: `  waymark capability propose --support 5
  waymark capability list --proposed`,
			more: func(cmd *cobra.Command) {
				cmd.Flags().StringVar(&file, "rubric", "", "custom rubric `file` over support, success, cohesion, savings, novelty")
				a.progressFlag(cmd)
			},
			prepare: func(_ *cobra.Command, _ []string, q *asked) error {
				if file != "" {
					text, err := a.readFile(file)
					if err != nil {
						return usageError{err}
					}
					q.fields["rubric"] = string(text)
				}
				return nil
			},
			follow: func(ctx context.Context, c *client, q *asked) error {
				job, body, err := a.follow(ctx, c, q.OperationID, q.fields, a.progress("propose", 1000))
				switch {
				case err != nil:
					return err
				case job.State != live.JobDone || job.Mined == nil:
					return fmt.Errorf("%s: %v", job.ID, job)
				case a.json:
					return a.printBody(body)
				}
				return a.show(job.Mined, "", "")
			}}),
		a.of(operation{id: "approve-proposal", use: "approve ID", args: "id", flags: "body.id=as name"}),
		a.of(operation{id: "reject-proposal", use: "reject ID", args: "id", flags: "reason"}),
	)
}
