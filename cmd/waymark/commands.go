package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"waymark/gateway"
	"waymark/live"
	"waymark/server"
	mcpserver "waymark/server/mcp"
	"waymark/suggest"
)

// The commands that send one operation.

func (a *app) nextCommand() *cobra.Command {
	return a.of(operation{
		id: "next", use: "next [ID...]", args: "context...", flags: "context=after intent limit min_confidence allow profile explain",
		example: `  waymark next fs:read_file
  waymark next --intent "report open issues" --limit 3`,
		prepare: func(ids []string, _ *asked) error {
			for _, id := range ids {
				if strings.ContainsFunc(id, unicode.IsSpace) {
					return usagef("%q is not an id; give a request with --intent", id)
				}
			}
			return nil
		},
		show: asText(server.NextText),
	})
}

func (a *app) searchCommand() *cobra.Command {
	return a.of(operation{
		id: "search", use: "search QUERY...", args: "query...", flags: "context limit kinds profile explain allow",
		example: `  waymark search "open issues of a repository" --context fs:read_file --limit 3`,
		show:    asText(server.SearchText),
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
		show: func(q *asked, body json.RawMessage) error {
			if q.fields["formula"] == true {
				return q.showFormula(body)
			}
			return q.render(body, "id suggested absent_reason reason rank of confidence score formula mode model.profile terms behind reports filters unknown_ids "+
				"name value weight contribution passed detail observed sources message")
		},
		check: func(_ *asked, body json.RawMessage) error {
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
		example: `  echo '{"id":"e1","steps":[{"tool":"fs:read_file"},{"tool":"json:parse"}]}' | waymark record -`,
		prepare: func(args []string, q *asked) (err error) {
			q.input = args[0]
			q.body, err = a.jsonOrLines(args[0])
			return err
		},
		show: func(q *asked, body json.RawMessage) error {
			var r live.RecordResult
			err := decode(body, &r)
			a.printf("accepted %d, duplicates %d, rejected %d; the log is at %d\n", r.Accepted, r.Duplicates, len(r.Rejected), r.Seq)
			for _, no := range r.Rejected {
				if no.ID != "" {
					no.Error = fmt.Sprintf("%q: %s", no.ID, no.Error)
				}
				fmt.Fprintf(a.errs, "waymark: %s:%d: %s\n", named(q.input), no.Line, clean(no.Error))
			}
			return err
		},
		check: func(_ *asked, body json.RawMessage) error {
			var r live.RecordResult
			if err := decode(body, &r); err != nil || len(r.Rejected) == 0 {
				return err
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
		prepare: func(_ []string, q *asked) error {
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
			show: func(_ *asked, body json.RawMessage) error {
				var k struct{ ID, Key string }
				err := decode(body, &k)
				a.printf("%s\n", k.Key)
				fmt.Fprintf(a.errs, "key %s on workspace %s; it is not shown again\n", k.ID, a.workspace)
				return err
			},
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
	var rubric, state string
	var proposed bool
	return group("capability", "Capabilities: list, export and import them, mine the history for new ones, approve or reject those",
		a.of(operation{id: "list-capabilities", use: "list", flags: "tag limit", set: map[string]any{"limit": 500},
			names: "capabilities proposals total id composite verdict state capability.name evidence.tasks capability.description tags tools description",
			more: func(cmd *cobra.Command) {
				cmd.Flags().BoolVar(&proposed, "proposed", false, "list the proposals mined from the history")
				cmd.Flags().StringVar(&state, "state", "", "with --proposed: waiting, approved or rejected")
			},
			prepare: func(_ []string, q *asked) error {
				if proposed {
					q.Operation = operationsOf()["list-proposals"]
				}
				if state != "" {
					q.fields["state"] = state
				}
				return nil
			}}),
		a.of(operation{id: "get-capability", use: "export ID", args: "id", short: "Write a capability as JSON",
			show: func(q *asked, body json.RawMessage) error { return q.printValue(body) }}),
		a.of(operation{id: "put-capabilities", use: "import FILE|-", args: "@", short: "Put capabilities from a file into the catalog",
			prepare: func(_ []string, q *asked) error {
				if q.body == nil && q.fields["capabilities"] == nil { // one
					q.body = []any{q.fields}
				}
				return nil
			}}),
		a.of(operation{id: "mine", use: "propose", flags: "support sessions min_tools max_tools limit", wait: "get-job", names: "mined",
			example: `  waymark capability propose --support 5
  waymark capability list --proposed`,
			more: func(cmd *cobra.Command) {
				cmd.Flags().StringVar(&rubric, "rubric", "", "custom rubric `file` over support, success, cohesion, savings, novelty")
			},
			prepare: func(_ []string, q *asked) error {
				if rubric == "" {
					return nil
				}
				text, err := a.readFile(rubric)
				q.fields["rubric"] = string(text)
				return err
			},
			check: jobDone}),
		a.of(operation{id: "approve-proposal", use: "approve ID", args: "id", flags: "body.id=as name"}),
		a.of(operation{id: "reject-proposal", use: "reject ID", args: "id", flags: "reason"}),
	)
}

// scoreKinds are the scorers with a built-in rubric.
var scoreKinds = []string{"hypothesis", "council", "contribution", "session"}

func (a *app) scoreCommand() *cobra.Command {
	return a.of(operation{
		id: "score", use: "score hypothesis|council|contribution|session|FILE.yaml INPUT|-", args: "scorer @", flags: "after",
		long: `Scores INPUT (a JSON file, or - for standard input) by a rubric: a built-in one, or a custom one in a YAML or JSON file.
Totals, verdicts and ranks are computed from the scores of the dimensions. Reported totals are only compared. If INPUT has
"judge": {}, the judge scores the items without scores.`,
		example: `  waymark score hypothesis hypotheses.json
  waymark score review.yaml items.json --json`,
		more: a.judgeFlags,
		prepare: func(args []string, q *asked) error {
			if a.judge.BaseURL != "" && q.fields["judge"] == nil {
				q.fields["judge"] = struct{}{} // whoever names one asks it
			}
			if slices.Contains(scoreKinds, args[0]) {
				return nil
			}
			source, err := a.readFile(args[0])
			if errors.Is(err, os.ErrNotExist) {
				return usagef("%s is neither a rubric (%s) nor a file", args[0], strings.Join(scoreKinds, ", "))
			}
			q.fields["scorer"], q.fields["source"] = "custom", string(source)
			return err
		},
	})
}

func (a *app) rebuildCommand() *cobra.Command {
	var all bool
	return a.of(operation{
		id: "rebuild", use: "rebuild", flags: "verify force dry_run", wait: "get-job",
		short: "Rebuild the model from the log",
		long: `Replays the whole log into a new model and waits for the end. Questions and recordings continue meanwhile. If the new
model is significantly worse on held-out tasks, it is not published, and the command exits 1. --dry-run only compares;
--verify compares the new model with the active one, byte for byte. An interrupt cancels the rebuild.`,
		more: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&all, "all", false, "rebuild every workspace, one line each; exits with the worst code")
			cmd.MarkFlagsMutuallyExclusive("verify", "force", "dry-run")
			a.engineFlags(cmd)
		},
		prepare: func([]string, *asked) error {
			if all && a.setting("workspace").Origin == "flag" {
				return usagef("--all is for every workspace, and --workspace for one")
			}
			return a.exists()
		},
		who: access{requireKey: true, window: true, timeout: commandTimeout, maxBody: window.maxBody},
		around: func(ctx context.Context, c *client, q *asked, _ func() error) (worst error) {
			list := struct{ Workspaces []string }{[]string{a.workspace}}
			if all {
				if err := c.ask(ctx, "list-workspaces", nil, &list); err != nil {
					return err
				}
			}
			for _, name := range list.Workspaces {
				var job live.Job
				c.workspace = name
				body, err := q.answer(ctx, c)
				if all && err != nil && ctx.Err() == nil && !ownerGone(err) {
					body, err = json.Marshal(live.Job{State: live.JobFailed, Error: err.Error()})
				}
				if err == nil {
					err = decode(body, &job)
				}
				if err == nil {
					err = a.showJob(map[bool]string{true: name}[all], body, job)
				}
				if err != nil {
					return err
				}
				if no := jobDone(nil, body); worst == nil || no != nil && errors.Is(worst, errNegative) {
					worst = no
				}
			}
			return worst
		},
	})
}

// showJob prints a job, with the workspace as one line.
func (a *app) showJob(workspace string, body json.RawMessage, job live.Job) error {
	switch {
	case a.json && workspace != "":
		return json.NewEncoder(a.out).Encode(map[string]any{"workspace": workspace, "job": job})
	case a.json:
		return a.printBody(body)
	case workspace != "":
		a.printf("%s: %s\n", workspace, clean(job.String()))
	case job.State == live.JobRefused:
		a.printf("%s\nthe active model stays (model %s)\n--force publishes the new one nevertheless\n", clean(job.String()), suggest.ShortVersion(job.Version))
	case job.State == live.JobDone:
		a.printf("%s\n", clean(job.String()))
		if job.Verify != nil {
			return a.show(job.Verify, "")
		}
	}
	return nil
}

// jobDone returns the error that determines the exit code of a job, or nil.
func jobDone(_ *asked, body json.RawMessage) error {
	var job live.Job
	err := decode(body, &job)
	switch {
	case err != nil:
		return err
	case job.State == live.JobRefused, job.Verify != nil && !job.Verify.Equal:
		return errNegative
	case job.State != live.JobDone:
		return fmt.Errorf("%s: %v", job.ID, job)
	}
	return nil
}

// ownerGone reports whether the error of a call says that the process that was asked has ended, or is about to.
func ownerGone(err error) bool {
	if refused, ok := errors.AsType[*problem](err); ok {
		return mcpserver.OwnerGone(refused.Status, refused.Detail)
	}
	return errors.As(err, new(*url.Error)) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (a *app) diffCommand() *cobra.Command {
	return a.of(operation{
		id: "graph-diff", use: "diff FROM TO", args: "from to",
		long: `Compares two models of the workspace and their answers to sample requests: the active one (current), the one before
the last build (previous), or a version.`,
		example: `  waymark diff previous current`,
	})
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
		prepare: func(ids []string, q *asked) error {
			if len(ids) > 0 && (all || only) {
				return usagef("approve takes tools and servers, or --all, or --list")
			}
			if q.fields["ids"] = ids; len(ids) == 0 && !all {
				q.Operation, q.fields = operationsOf()["list-quarantine"], nil
			}
			return nil
		},
		around: func(ctx context.Context, c *client, q *asked, one func() error) error {
			if q.fields == nil {
				return one()
			}
			var held struct{ Tools []gateway.Withheld }
			if err := c.ask(ctx, "list-quarantine", nil, &held); err != nil {
				return err
			}
			// Released is what is shown: the fingerprints exclude a later change.
			ids, shown, tools := q.fields["ids"].([]string), []gateway.Withheld{}, []map[string]string{}
			for _, w := range held.Tools {
				waits := w.Reason != gateway.ReasonGone && w.Reason != gateway.ReasonInvalid
				if slices.Contains(ids, w.ID) || waits && (all || slices.Contains(ids, w.Server)) {
					shown, tools = append(shown, w), append(tools, map[string]string{"id": w.ID, "fingerprint": w.Fingerprint})
				}
			}
			for _, id := range ids {
				if !slices.ContainsFunc(held.Tools, func(w gateway.Withheld) bool { return w.ID == id || w.Server == id }) {
					return fmt.Errorf("%q has no quarantined tools; waymark approve --list shows all that have", id)
				}
			}
			if !a.json {
				if err := a.show(map[string]any{"tools": shown}, ""); err != nil {
					return err
				}
			}
			q.fields = map[string]any{"tools": tools}
			if err := a.confirm("Release these?"); err != nil {
				return err
			}
			return one()
		},
	})
}
