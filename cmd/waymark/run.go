package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/cmd/waymark/internal/client"
	"waymark/internal/bounded"
	"waymark/internal/pause"
	"waymark/internal/redact"
	dagrun "waymark/run"
)

// ran is a run as the API answers it.
type ran struct {
	dagrun.Status
	Plan *dagrun.Plan `json:"plan,omitempty"`
}

func (a *app) runCommand() *cobra.Command {
	var o struct {
		params, intent, style string
		dry, yes              bool
		approve, set          []string
	}
	cmd := &cobra.Command{
		Use:   "run DAG.json|-|CAPABILITY",
		Short: "Run a DAG or a stored capability",
		Long: `Runs a DAG from a file or from standard input (what waymark dag --json prints, or one of your own), or a
stored capability by its id. Everything is checked first, and all that is wrong is said at
once; values that are missing are listed and given with --set. Tools of other servers are called by a waymark serve --connect (or mcp --connect) that runs on the data directory;
scorers and scripts need none. Calls that nothing says are harmless wait until a person approves them: here on a
terminal, or with waymark runs approve. Exits 0 if all is done, 1 if something failed or was refused.`,
		Example: `  waymark dag "list the open issues" --json | waymark run - --set t1.repo=waymark
  waymark run weekly-report --params '{"repo":"waymark"}' --dry-run`,
		Args: exactly(1, "a file, - for standard input, or a capability"),
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := a.runRequest(args[0])
			if err != nil {
				return err
			}
			if o.params != "" {
				params, err := a.jsonFlag(o.params)
				if err != nil {
					return usagef("--params: %w", err)
				}
				body["params"] = params
			}
			if o.intent != "" {
				body["intent"] = o.intent
			}
			everywhere, err := setValues(body, o.set)
			if err != nil {
				return err
			}
			if o.dry {
				body["dry_run"] = true
			}
			if o.yes {
				o.approve = append(o.approve, "*")
			}
			if len(o.approve) > 0 {
				body["approve"] = o.approve
			}
			bar, err := a.progress(o.style, "run", -1)
			if err != nil {
				return err
			}
			return a.with(cmd.Context(), func(c *client.Client) error { return a.run(cmd.Context(), c, body, everywhere, bar) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.params, "params", "", "parameters as a JSON `object`, or @FILE")
	f.StringArrayVar(&o.set, "set", nil, "a value of an argument, as `[TASK.]ARGUMENT=VALUE`: JSON, or else a text; without TASK for every task that is missing it; again for further ones")
	f.StringVar(&o.intent, "intent", "", "what it is about, as `text`, where the DAG does not say")
	f.BoolVar(&o.dry, "dry-run", false, "check it and show the plan; call nothing")
	f.BoolVar(&o.yes, "yes", false, "approve every call beforehand")
	f.StringSliceVar(&o.approve, "approve", nil, "`tasks`, or patterns of tools, that need not be asked about")
	progressFlag(cmd, &o.style)
	a.judgeFlags(cmd)
	a.recordFlag(cmd)
	return cmd
}

// runRequest reads what is to be run. What is no file is a capability.
func (a *app) runRequest(name string) (body map[string]any, err error) {
	if name != "-" {
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
			if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".json") {
				return nil, err
			}
			return map[string]any{"capability": name}, nil
		}
	}
	text, err := a.jsonInput(name)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, usagef("%s is no JSON object", name)
	}
	if _, bare := fields["tasks"]; bare { // the DAG itself, without what an answer has around it
		return map[string]any{"dag": text}, nil
	}
	body = make(map[string]any, len(fields))
	for k, v := range fields {
		body[k] = v
	}
	return body, nil
}

// jsonFlag reads a JSON object from a flag or, after @, from a file.
func (a *app) jsonFlag(value string) (json.RawMessage, error) {
	text := []byte(value)
	if file, ok := strings.CutPrefix(value, "@"); ok {
		var err error
		if text, err = a.readFile(file); err != nil {
			return nil, err
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, fmt.Errorf("no JSON object: %w", err)
	}
	return text, nil
}

// setValues adds what --set gives to the values of a request: TASK.ARGUMENT=VALUE, params.NAME=VALUE or intent=TEXT.
// ARGUMENT=VALUE, without a task, is for every task that is missing it; those come back as everywhere, and
// [app.begin] gives them once the server has said which tasks these are.
func setValues(body map[string]any, set []string) (everywhere map[string]json.RawMessage, err error) {
	values := map[string]map[string]json.RawMessage{}
	if given, ok := body["values"].(json.RawMessage); ok && len(set) > 0 {
		if err := json.Unmarshal(given, &values); err != nil {
			return nil, usagef("--set: values of the request is no object of objects")
		}
	}
	everywhere = map[string]json.RawMessage{}
	for _, one := range set {
		key, text, ok := strings.Cut(one, "=")
		if key == "intent" && ok {
			body["intent"] = text
			continue
		}
		task, argument, named := strings.Cut(key, ".")
		for _, id := range taskIDs(body["dag"]) { // an id may have dots
			if rest, ok := strings.CutPrefix(key, id+"."); ok && len(id) > len(task) {
				task, argument = id, rest
			}
		}
		if !ok || task == "" || named && argument == "" {
			return nil, usagef("--set %q is neither ARGUMENT=VALUE nor TASK.ARGUMENT=VALUE, as in t1.path=/tmp/a", one)
		}
		value := json.RawMessage(text)
		if !json.Valid(value) {
			value, _ = json.Marshal(text) // a string: cannot fail
		}
		if !named {
			everywhere[task] = value
			continue
		}
		if values[task] == nil {
			values[task] = map[string]json.RawMessage{}
		}
		values[task][argument] = value
	}
	if len(values) > 0 {
		body["values"] = values
	}
	return everywhere, nil
}

// begin posts a run. Where it is refused because values are missing, those of everywhere are given to the tasks that
// miss an argument of the name, and it is posted again.
func (a *app) begin(ctx context.Context, c *client.Client, body map[string]any, everywhere map[string]json.RawMessage) (json.RawMessage, error) {
	answer, err := c.Call(ctx, http.MethodPost, "/v1/runs", body)
	if len(everywhere) == 0 {
		return answer, err
	}
	form, _ := formOf(err)
	set := []string{}
	for _, name := range slices.Sorted(maps.Keys(everywhere)) {
		used := false
		for _, task := range form.Required {
			if slices.Contains(form.Properties[task].Required, name) {
				set, used = append(set, task+"."+name+"="+string(everywhere[name])), true
			}
		}
		if !used && (err == nil || len(form.Required) > 0) {
			return nil, usagef("--set %s: no task is missing an argument of this name", name)
		}
	}
	if len(set) == 0 {
		return answer, err
	}
	if values, ok := body["values"]; ok {
		raw, _ := json.Marshal(values) // came from JSON
		body["values"] = json.RawMessage(raw)
	}
	if _, err := setValues(body, set); err != nil {
		return nil, err
	}
	return c.Call(ctx, http.MethodPost, "/v1/runs", body)
}

// taskIDs are the ids of the tasks of a DAG, as far as it can be read.
func taskIDs(dag any) (ids []string) {
	raw, _ := dag.(json.RawMessage)
	var d struct {
		Tasks []struct {
			ID string `json:"id"`
		} `json:"tasks"`
	}
	if json.Unmarshal(raw, &d) == nil {
		for _, t := range d.Tasks {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// showForm lists the values that a refused run is missing, in the order of its tasks.
func (a *app) showForm(err error) error {
	form, ok := formOf(err)
	if !ok || a.json {
		return err
	}
	var p *client.Problem
	errors.As(err, &p)
	p.Errors = slices.DeleteFunc(p.Errors, func(e client.ProblemPart) bool { // the table says it
		return e.Location == "body.values" || e.Message == "is required and not given"
	})
	var rows [][]string
	for _, task := range form.Required {
		f := form.Properties[task]
		if len(f.Properties) == 0 {
			rows = append(rows, []string{"--set " + task + "=TEXT", f.kind(), "", short(f.Description)})
		}
		for _, name := range f.Required {
			of := f.Properties[name]
			rows = append(rows, []string{"--set " + task + "." + name + "=VALUE", of.kind(), f.Title, short(of.Description)})
		}
	}
	fmt.Fprintln(a.errs, "Values are missing:")
	columns(a.errs, []string{"give", "type", "tool", "description"}, rows)
	return err
}

// formOf is the form of a run that was refused because values are missing.
func formOf(err error) (form formField, ok bool) {
	var p *client.Problem
	if !errors.As(err, &p) {
		return form, false
	}
	i := slices.IndexFunc(p.Errors, func(e client.ProblemPart) bool { return e.Location == "body.values" && e.Value != nil })
	if i < 0 {
		return form, false
	}
	raw, _ := json.Marshal(p.Errors[i].Value) // decoded JSON: cannot fail
	return form, json.Unmarshal(raw, &form) == nil
}

// formField is a JSON Schema, as far as it is shown here.
type formField struct {
	Type        any                  `json:"type"`
	Title       string               `json:"title"`
	Description string               `json:"description"`
	Enum        []any                `json:"enum"`
	Required    []string             `json:"required"`
	Properties  map[string]formField `json:"properties"`
}

// kind says what a value must be.
func (f formField) kind() string {
	if len(f.Enum) > 0 {
		words := make([]string, len(f.Enum))
		for i, v := range f.Enum {
			words[i] = fmt.Sprint(v)
		}
		return short(strings.Join(words, " or "))
	}
	switch kind := f.Type.(type) {
	case string:
		return kind
	case []any:
		return strings.Trim(fmt.Sprint(kind), "[]")
	}
	return "any"
}

// run begins a run and stays with it until it ends, or until a person has to decide who is not here. An
// interrupt cancels it.
func (a *app) run(ctx context.Context, c *client.Client, body map[string]any, everywhere map[string]json.RawMessage, bar progress) error {
	answer, err := a.begin(ctx, c, body, everywhere)
	if err != nil {
		return refusedInput("run", a.showForm(err))
	}
	var r ran
	if err := json.Unmarshal(answer, &r); err != nil {
		return fmt.Errorf("run: the answer is not what this program expects: %w", err)
	}
	if r.Plan != nil {
		if a.json {
			return a.printBody(answer)
		}
		a.showPlan(r)
		return nil
	}
	return a.stayWith(ctx, c, r, bar)
}

func (a *app) stayWith(ctx context.Context, c *client.Client, r ran, bar progress) error {
	at := "/v1/runs/" + url.PathEscape(r.ID)
	var body json.RawMessage
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		var seen ran
		answer, err := exchange(ctx, c, http.MethodGet, at, nil, &seen)
		if err != nil {
			a.giveUp(ctx, c, r.ID)
			return err
		}
		r, body = seen, answer
		bar.at(int64(r.Done+r.Failed+r.Skipped), now(r.Status))
		if r.State.Over() {
			break
		}
		if r.State == dagrun.Paused {
			bar.hide()
			asked, err := a.decide(ctx, c, r.Status)
			if err != nil {
				return err
			}
			if !asked {
				break
			}
			wait = 5 * time.Millisecond
		}
		if !pause.For(ctx, wait) {
			a.giveUp(ctx, c, r.ID)
			return ctx.Err()
		}
	}
	bar.hide()
	if a.json {
		if err := a.printBody(body); err != nil {
			return err
		}
	} else {
		a.showRun(r.Status)
		if r.State == dagrun.Paused {
			a.printf("\nIt waits for approval: waymark runs approve %s (or runs cancel)\n", r.ID)
		}
	}
	if r.State != dagrun.Done {
		return errNegative
	}
	return nil
}

// now is what a run is doing, for progress.
func now(s dagrun.Status) string {
	var tools []string
	for _, n := range s.Nodes {
		if n.State == dagrun.NodeRunning && n.Kind != dagrun.KindCapability {
			tools = append(tools, clean(n.Tool))
		}
	}
	if len(tools) == 0 {
		return string(s.State)
	}
	return strings.Join(tools, ", ")
}

// giveUp cancels a run that nobody waits for any more.
func (a *app) giveUp(ctx context.Context, c *client.Client, id string) {
	if ctx.Err() == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	if _, err := c.Call(ctx, http.MethodPost, "/v1/runs/"+url.PathEscape(id)+"/cancel", nil); err != nil {
		fmt.Fprintf(a.errs, "run %s goes on: %v\n", id, err)
	}
}

// decide asks the person at the terminal about each node that waits. asked is false if there is nobody.
func (a *app) decide(ctx context.Context, c *client.Client, s dagrun.Status) (asked bool, err error) {
	if !isTerminal(a.in) || !isTerminal(a.errs) || len(s.Waiting) == 0 {
		return false, nil
	}
	for _, id := range s.Waiting {
		showWaiting(a.errs, s, []string{id})
		yes, err := a.yes(ctx, "Go on?")
		if err != nil {
			return false, err
		}
		if err := a.say(ctx, c, s.ID, []string{id}, yes); err != nil {
			return false, err
		}
	}
	return true, nil
}

// yes asks the person at the terminal.
func (a *app) yes(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(a.errs, "%s [y/N] ", question)
	answer, err := readLine(bounded.New(ctx, a.in, named("-"), bounded.Document))
	if err == io.EOF { // no answer is no
		err = nil
	}
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"), err
}

// shownArguments is how many bytes of the arguments of a call that waits are shown.
const shownArguments = 4 << 10

// showWaiting shows the calls that wait for a person, those of some tasks or all.
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

// approveRun shows the calls of a run that wait, and decides about those. At a terminal it asks before they are made.
func (a *app) approveRun(ctx context.Context, c *client.Client, id string, tasks []string, yes bool) error {
	var s dagrun.Status
	if err := read(ctx, c, "/v1/runs/"+url.PathEscape(id), &s); err != nil {
		return err
	}
	showWaiting(a.errs, s, tasks)
	if len(tasks) == 0 {
		tasks = s.Waiting // and no other that waits meanwhile
	}
	if yes && len(s.Waiting) > 0 && isTerminal(a.in) && isTerminal(a.errs) {
		if sure, err := a.yes(ctx, "Make these calls?"); err != nil || !sure {
			return cmp.Or(err, errNegative)
		}
	}
	return a.say(ctx, c, id, tasks, yes)
}

// say decides about nodes of a run; all that wait if none is named.
func (a *app) say(ctx context.Context, c *client.Client, id string, nodes []string, yes bool) error {
	_, err := c.Call(ctx, http.MethodPost, "/v1/runs/"+url.PathEscape(id)+"/approve", map[string]any{"nodes": nodes, "deny": !yes})
	return err
}

// readLine reads a line without taking more from the terminal.
func readLine(in io.Reader) (string, error) {
	var line bytes.Buffer
	for b := make([]byte, 1); ; {
		n, err := in.Read(b)
		if n > 0 && b[0] != '\n' {
			line.WriteByte(b[0])
		}
		if err != nil || n > 0 && b[0] == '\n' {
			return strings.TrimSpace(line.String()), err
		}
	}
}

func (a *app) showPlan(r ran) {
	a.printf("The plan is sound; nothing was called.\n\n")
	var rows [][]string
	for _, n := range r.Plan.Nodes {
		rows = append(rows, []string{fmt.Sprint(n.Layer + 1), n.ID, n.Tool, n.Kind, strings.Join(n.DependsOn, " "), short(n.When), n.Approval})
	}
	columns(a.out, []string{"layer", "task", "tool", "kind", "after", "when", "asks because"}, rows)
	a.warnings(r.Status)
}

func (a *app) warnings(s dagrun.Status) {
	for _, w := range s.Warnings {
		a.printf("warning: %s\n", clean(w))
	}
}

func (a *app) showRun(s dagrun.Status) {
	a.printf("%s  %s\n\n", s.ID, s.State)
	var rows [][]string
	for _, n := range s.Nodes {
		took := ""
		if n.DurationMS > 0 {
			took = (time.Duration(n.DurationMS) * time.Millisecond).String()
		}
		remark := n.Error
		if remark == "" {
			remark = n.Reason
		}
		if n.Attempts > 1 {
			remark = strings.TrimSpace(fmt.Sprintf("%d tries; %s", n.Attempts, remark))
		}
		rows = append(rows, []string{n.ID, n.Tool, string(n.State), took, short(remark)})
	}
	columns(a.out, []string{"task", "tool", "state", "took", "remark"}, rows)
	a.warnings(s)
	showWaiting(a.out, s, nil)
	if s.Error != "" {
		a.printf("\n%s\n", clean(s.Error))
	}
	if len(s.Output) > 0 && string(s.Output) != "null" {
		var b bytes.Buffer
		if json.Indent(&b, s.Output, "", "  ") == nil {
			a.printf("\n%s\n", b.String())
		}
	}
}

func (a *app) runsCommand() *cobra.Command {
	var deny bool
	return group("runs", "List, show, approve and cancel runs",
		a.of(operation{id: "list-runs", use: "list", flags: "state"}),
		a.of(operation{id: "get-run", use: "show RUN", args: "id", show: showing((*app).showRun)}),
		a.of(operation{id: "approve-run", use: "approve RUN [TASK...]", short: "Let tasks that wait go on: all of them if none is named",
			more: func(cmd *cobra.Command) {
				cmd.Args = atLeast(1, "a run")
				cmd.Flags().BoolVar(&deny, "deny", false, "fail them instead")
			},
			prepare: func(_ *cobra.Command, args []string, q *asked) error {
				q.fields["id"], q.fields["nodes"] = args[0], args[1:]
				return nil
			},
			follow: func(ctx context.Context, c *client.Client, q *asked) error {
				return a.approveRun(ctx, c, q.fields["id"].(string), q.fields["nodes"].([]string), !deny)
			}}),
		a.of(operation{id: "cancel-run", use: "cancel RUN", args: "id", show: showing((*app).showRun)}))
}
