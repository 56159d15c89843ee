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
	var params string
	var set []string
	return a.of(operation{
		id: "start-run", use: "run DAG.json|-|CAPABILITY", short: "Run a DAG or a stored capability",
		long: `Runs a DAG from a file or from standard input (the output of waymark dag --json, or your own), or a stored capability by
its id. The DAG is checked first. Tools of other servers need a running waymark serve --connect on the data directory.
Calls that are not known to be harmless wait for waymark runs approve. Exits 1 unless all tasks succeed.`,
		example: `  waymark dag "list the open issues" --json | waymark run - --set t1.repo=waymark
  waymark run weekly-report --params '{"repo":"waymark"}' --dry-run`,
		more: func(cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringVar(&params, "params", "", "parameters as a JSON `object`")
			f.StringArrayVar(&set, "set", nil, "an argument, as `TASK.ARGUMENT=VALUE`: JSON, else text; may be repeated")
			f.String("intent", "", "purpose of the run, as `text`, if the DAG has no intent")
			f.Bool("dry-run", false, "check the DAG and print the plan; call nothing")
			f.BoolVar(&a.yes, "yes", false, "approve every call in advance")
			f.StringSlice("approve", nil, "`tasks`, or patterns of tools, that need not be asked about")
			a.progressFlag(cmd)
			a.judgeFlags(cmd)
		},
		prepare: func(cmd *cobra.Command, args []string, q *asked) error {
			if err := a.runRequest(args[0], q.fields); err != nil {
				return err
			}
			for flag, field := range map[string]string{"intent": "intent", "dry-run": "dry_run", "approve": "approve"} {
				if err := q.take(cmd.Flags().Lookup(flag), field); err != nil {
					return err
				}
			}
			if params != "" {
				if !json.Valid([]byte(params)) {
					return usagef("--params: no JSON object")
				}
				q.fields["params"] = json.RawMessage(params)
			}
			if a.yes {
				q.fields["approve"] = []string{"*"}
			}
			q.body, q.input = q.fields, "run"
			return setValues(q.fields, set)
		},
		follow: func(ctx context.Context, c *client, q *asked) error {
			answer, err := q.send(ctx, c)
			if refused, ok := errors.AsType[*problem](err); ok && strings.Contains(refused.Detail, "without values") {
				err = fmt.Errorf("%w; --set gives one, as in --set t1.path=/tmp/a", err)
			}
			if err != nil {
				return err
			}
			var r struct {
				dagrun.Status
				Plan json.RawMessage `json:"plan"`
			}
			if err := json.Unmarshal(answer, &r); err != nil {
				return err
			}
			switch {
			case r.Plan == nil:
				return a.stayWith(ctx, c, r.ID)
			case a.json:
				return a.printBody(answer)
			}
			a.printf("The plan is sound; nothing was called.\n\n")
			return a.render(r.Plan, "", "id tool kind layer depends_on when approval")
		},
	})
}

// runRequest adds the DAG or the capability to run to the fields of a request. A name that is no file is a capability.
func (a *app) runRequest(name string, fields map[string]any) error {
	if _, err := os.Stat(name); name != "-" && errors.Is(err, os.ErrNotExist) {
		if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".json") {
			return err
		}
		fields["capability"] = name
		return nil
	}
	text, err := a.jsonInput(name)
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
		fields[name] = value
	}
	return nil
}

// setValues adds the values of --set to those of a request: TASK.ARGUMENT=VALUE, params.NAME=VALUE or intent=TEXT.
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
		case ok && key == "intent":
			body["intent"] = text
			continue
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

// stayWith waits until a run ends, or waits for approval, and shows it. An interrupt cancels the run.
func (a *app) stayWith(ctx context.Context, c *client, id string) error {
	var s dagrun.Status
	bar := a.progress("run", -1)
	body, err := a.watch(ctx, c, "get-run", "cancel-run", id, func(body json.RawMessage) (over bool, err error) {
		s = dagrun.Status{}
		err = json.Unmarshal(body, &s)
		bar.at(int64(s.Done+s.Failed+s.Skipped), string(s.State))
		return s.State.Over() || s.State == dagrun.Paused, err
	})
	bar.hide()
	switch {
	case err != nil:
		return err
	case a.json:
		err = a.printBody(body)
	default:
		err = a.showRun(body)
	}
	if s.State == dagrun.Paused && !a.json {
		a.printf("\nIt waits for approval: waymark runs approve %s (or runs cancel)\n", id)
	}
	if err == nil && s.State != dagrun.Done {
		err = errNegative
	}
	return err
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

// approveRun shows the waiting calls of a run, sends the decision about them, and stays with the run. At a terminal it
// asks before the calls are made.
func (a *app) approveRun(ctx context.Context, c *client, q *asked) error {
	var s dagrun.Status
	id, tasks := q.fields["id"].(string), q.fields["nodes"].([]string)
	if _, err := c.ask(ctx, "get-run", q.fields, &s); err != nil {
		return err
	}
	showWaiting(a.errs, s, tasks)
	if len(tasks) == 0 {
		q.fields["nodes"] = s.Waiting // and no other that waits meanwhile
	}
	if q.fields["deny"] != true && len(s.Waiting) > 0 && isTerminal(a.in) {
		if err := a.confirm("Make these calls?"); err != nil {
			return err
		}
	}
	if _, err := q.send(ctx, c); err != nil {
		return err
	}
	return a.stayWith(ctx, c, id)
}

func (a *app) showRun(body json.RawMessage) error {
	var s dagrun.Status
	err := json.Unmarshal(body, &s)
	if err == nil {
		err = a.render(body, "", "id tool state duration_ms attempts error reason")
	}
	showWaiting(a.out, s, nil)
	return err
}

func (a *app) runsCommand() *cobra.Command {
	show := func(a *app, _ *asked, body json.RawMessage) error { return a.showRun(body) }
	return group("runs", "List, show, approve and cancel runs",
		a.of(operation{id: "list-runs", use: "list", flags: "state"}),
		a.of(operation{id: "get-run", use: "show RUN", args: "id", show: show}),
		a.of(operation{id: "approve-run", use: "approve RUN [TASK...]", short: "Approve waiting tasks, all by default, and follow the run",
			flags: "deny",
			prepare: func(_ *cobra.Command, args []string, q *asked) error {
				q.fields["id"], q.fields["nodes"] = args[0], args[1:]
				return nil
			},
			follow: a.approveRun}),
		a.of(operation{id: "cancel-run", use: "cancel RUN", args: "id", show: show}))
}
