package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/internal/redact"
	dagrun "waymark/run"
)

func (a *app) runCommand() *cobra.Command {
	var params, intent string
	var set, approve []string
	var dry bool
	return a.of(operation{
		id: "start-run", use: "run DAG.json|-|CAPABILITY", short: "Run a DAG or a stored capability", wait: "get-run",
		long: `Runs a DAG from a file or from standard input (the output of waymark dag --json, or your own), or a stored capability by
its id. The DAG is checked first. Tools of other servers need a running waymark serve --connect on the data directory.
Calls that are not known to be harmless wait for waymark runs approve. Exits 1 unless all tasks succeed.`,
		example: `  waymark dag "list the open issues" --json | waymark run - --set t1.repo=waymark
  waymark run weekly-report --params '{"repo":"waymark"}' --dry-run`,
		more: func(cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringVar(&params, "params", "", "parameters as a JSON `object`")
			f.StringArrayVar(&set, "set", nil, "an argument, as `TASK.ARGUMENT=VALUE`: JSON, else text; may be repeated")
			f.StringVar(&intent, "intent", "", "purpose of the run, as `text`, if the DAG has no intent")
			f.BoolVar(&dry, "dry-run", false, "check the DAG and print the plan; call nothing")
			f.BoolVar(&a.yes, "yes", false, "approve every call in advance")
			f.StringSliceVar(&approve, "approve", nil, "`tasks`, or patterns of tools, that need not be asked about")
			a.judgeFlags(cmd)
		},
		prepare: func(args []string, q *asked) error {
			if err := q.readDAG(args[0]); err != nil {
				return err
			}
			if params != "" {
				if !json.Valid([]byte(params)) {
					return usagef("--params: no JSON object")
				}
				q.fields["params"] = json.RawMessage(params)
			}
			if intent != "" {
				q.fields["intent"] = intent
			}
			if dry {
				q.fields["dry_run"] = true
			}
			if a.yes {
				approve = []string{"*"}
			}
			if approve != nil {
				q.fields["approve"] = approve
			}
			return setValues(q.fields, set)
		},
		show: showRun, check: runDone,
	})
}

// readDAG takes the DAG or the capability to run. A name that is no file is a capability.
func (q *asked) readDAG(name string) error {
	q.input = name
	_, err := os.Stat(name)
	if name != "-" && errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, `/\`) && !strings.HasSuffix(name, ".json") {
		q.fields["capability"] = name
		return nil
	}
	text, err := q.jsonInput(name)
	if err != nil {
		return err
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil {
		return usagef("%s is not a JSON object", name)
	}
	if _, bare := given["tasks"]; bare { // the DAG itself, without the answer around it
		given = map[string]json.RawMessage{"dag": text}
	}
	for name, value := range given {
		q.fields[name] = value
	}
	return nil
}

// setValues adds the values of --set to those of a request: TASK.ARGUMENT=VALUE or params.NAME=VALUE.
func setValues(body map[string]any, set []string) error {
	values := map[string]map[string]json.RawMessage{}
	if given, ok := body["values"].(json.RawMessage); ok && json.Unmarshal(given, &values) != nil {
		return nil // the server says what is wrong with it
	}
	values = maps.Collect(maps.All(values)) // it may have been null
	for _, one := range set {
		key, text, ok := strings.Cut(one, "=")
		task, argument, _ := strings.Cut(key, ".")
		value := json.RawMessage(text)
		if !json.Valid(value) {
			value, _ = json.Marshal(text) // a string: cannot fail
		}
		switch {
		case !ok || task == "" || argument == "":
			return usagef("--set %q is not TASK.ARGUMENT=VALUE, as in t1.path=/tmp/a", one)
		case values[task] == nil:
			values[task] = map[string]json.RawMessage{}
		}
		values[task][argument] = value
	}
	if len(values) > 0 {
		body["values"] = values
	}
	return nil
}

// shownArguments is the number of bytes shown of the arguments of a waiting call.
const shownArguments = 4 << 10

// showWaiting shows the calls that wait for approval: those of the given tasks, or all if none is given.
func showWaiting(w io.Writer, s dagrun.Status, tasks []string) {
	for _, n := range s.Nodes {
		if !slices.Contains(s.Waiting, n.ID) || len(tasks) > 0 && !slices.Contains(tasks, n.ID) {
			continue
		}
		from := ""
		if server, _, ok := catalog.Split(n.Tool); ok {
			from = " of server " + clean(server)
		}
		fmt.Fprintf(w, "\n%s calls %s%s: %s\n  %s\n", clean(n.ID), clean(n.Tool), from, clean(n.Reason),
			catalog.Cut(redact.Text(clean(string(n.Arguments))), shownArguments))
	}
}

// approveRun shows the waiting calls of a run before it sends the decision about them. At a terminal it asks before the
// calls are made.
func approveRun(ctx context.Context, c *client, q *asked, approve func() error) error {
	var s dagrun.Status
	tasks, _ := q.fields["nodes"].([]string)
	if err := c.ask(ctx, "get-run", map[string]any{"id": q.fields["id"]}, &s); err != nil {
		return err
	}
	showWaiting(q.errs, s, tasks)
	if len(tasks) == 0 {
		q.fields["nodes"] = s.Waiting // and no other that waits meanwhile
	}
	if q.fields["deny"] != true && len(s.Waiting) > 0 && isTerminal(q.in) {
		if err := q.confirm("Make these calls?"); err != nil {
			return err
		}
	}
	return approve()
}

// showRun shows a run with the calls that wait for approval, or the plan of a dry run.
func showRun(q *asked, body json.RawMessage) error {
	var s dagrun.Status
	names := "id tool capability intent state started_at ended_at done failed skipped output error warnings nodes duration_ms attempts reason"
	if err := decode(body, &s); err != nil {
		return err
	}
	if q.fields["dry_run"] == true {
		names = "state plan id tool kind layer depends_on when approval"
	}
	err := q.render(body, names)
	showWaiting(q.out, s, nil)
	if s.State == dagrun.Paused {
		q.printf("\nIt waits for approval: waymark runs approve %s%s (or runs cancel)\n", s.ID, q.elsewhere())
	}
	return err
}

// runDone returns the error that determines the exit code of a run that is over, or waits, or nil.
func runDone(q *asked, body json.RawMessage) error {
	var s dagrun.Status
	err := decode(body, &s)
	if err == nil && s.State != dagrun.Done && q.fields["dry_run"] != true {
		err = errNegative
	}
	return err
}

func (a *app) runsCommand() *cobra.Command {
	return group("runs", "List, show, approve and cancel runs",
		a.of(operation{id: "list-runs", use: "list", flags: "state"}),
		a.of(operation{id: "get-run", use: "show RUN", args: "id", show: showRun}),
		a.of(operation{id: "approve-run", use: "approve RUN [TASK...]", args: "id nodes...", flags: "deny", wait: "get-run",
			short: "Approve waiting tasks, all by default, and follow the run", around: approveRun, show: showRun, check: runDone}),
		a.of(operation{id: "cancel-run", use: "cancel RUN", args: "id", show: showRun}))
}
