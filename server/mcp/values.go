package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/run"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/problem"
	"waymark/server/internal/runs"
)

// A DAG whose arguments have no values is refused with the form of the missing ones. Where the host can show a
// form, it asks the person for them:
//
//	run_dag ─▶ input required: the form ─▶ host shows it ─▶ run_dag + values ─▶ the run begins
//
// The host sends the arguments of the call again, so the state says only what was asked. A client that declines gets
// the refusal.
const askValues = "values"

// formFields is how many values one form asks for; a DAG that is missing more is refused.
const formFields = 16

// beginWithValues begins a run, with what the person filled into the form, or asks them to.
func (c *mcpCall) beginWithValues(ctx context.Context, q run.Request, in runArguments) (runs.Answer, error) {
	answer, err := c.cfg.Runs.Begin(ctx, c.access, "", q, in.DryRun)
	var wrong *run.CheckError
	if !errors.As(err, &wrong) || !wrong.OnlyOpen() || len(wrong.Open) > formFields {
		return answer, err
	}
	if c.req.Params.RequestState == askValues {
		filled, _ := c.req.Params.InputResponses[askValues].(*mcp.ElicitResult)
		if filled == nil || filled.Action != "accept" {
			return answer, err
		}
		if err := q.Set(filledIn(wrong.Open, filled.Content)); err != nil {
			return answer, err
		}
		return c.cfg.Runs.Begin(ctx, c.access, "", q, in.DryRun)
	}
	if !c.canShowAForm() {
		return answer, err
	}
	return answer, &inputRequired{state: askValues, requests: mcp.InputRequestMap{
		askValues: &mcp.ElicitParams{Mode: "form", RequestedSchema: flatForm(wrong.Open), Message: "The run needs these values:\n" + openLines(wrong.Open)},
	}}
}

// plainKind is the type of a value that a form has a field for; empty: it is written as JSON.
func plainKind(o run.Open) string {
	switch kind, _ := o.Schema["type"].(string); kind {
	case "string", "number", "integer", "boolean":
		return kind
	}
	return ""
}

// flatForm is a form as hosts can show it: one object of plain values, named by task and argument.
func flatForm(open []run.Open) map[string]any {
	fields, required := map[string]any{}, []string{}
	for _, o := range open {
		kind := plainKind(o)
		description, _ := o.Schema["description"].(string)
		field := map[string]any{"type": kind, "title": shownID(o.Key())}
		if kind == "" {
			field["type"] = "string"
			description = strings.TrimSpace(description + " (as JSON)")
		}
		if description != "" {
			field["description"] = shownText(description)
		}
		if values, ok := o.Schema["enum"].([]any); ok && kind == "string" && texts(values) {
			field["enum"] = values
		}
		fields[o.Key()], required = field, append(required, o.Key())
	}
	return map[string]any{"type": "object", "properties": fields, "required": required}
}

func texts(values []any) bool {
	for _, v := range values {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return len(values) > 0
}

// filledIn is what a person filled into a form, as [run.Request.Set] takes it.
func filledIn(open []run.Open, content map[string]any) map[string]json.RawMessage {
	byTask := map[string]map[string]json.RawMessage{}
	values := map[string]json.RawMessage{}
	for _, o := range open {
		v, ok := content[o.Key()]
		if !ok {
			continue
		}
		raw, _ := json.Marshal(v) // decoded JSON: cannot fail
		if text, ok := v.(string); ok && plainKind(o) == "" && json.Valid([]byte(text)) {
			raw = json.RawMessage(text)
		}
		if o.Argument == "" {
			values[o.Task] = raw
			continue
		}
		if byTask[o.Task] == nil {
			byTask[o.Task] = map[string]json.RawMessage{}
		}
		byTask[o.Task][o.Argument] = raw
	}
	for task, members := range byTask {
		values[task], _ = json.Marshal(members)
	}
	return values
}

// openLines describes missing values, one a line.
func openLines(open []run.Open) string {
	lines := make([]string, len(open))
	for i, o := range open {
		lines[i] = "- " + shownText(o.String())
	}
	return strings.Join(lines, "\n")
}

// refusedDAG is the result of a DAG that cannot be run, with the form of the values that are missing.
func refusedDAG(e *run.CheckError) *mcp.CallToolResult {
	r := refusal(e)
	text := problem.RefusedRun(e)
	if len(e.Open) > 0 {
		r = refusal(fmt.Errorf("%w\nCall run_dag again with values, by task, for:\n%s", e, openLines(e.Open)))
	}
	answer := RunAnswer{Said: Said{text}, Problems: e.Problems, Form: e.Form()}
	answer.State, answer.Nodes, answer.Waiting, answer.Warnings = refusedState, []run.Node{}, []string{}, []string{}
	if structured, err := jsonio.Encode(answer); err == nil {
		r.StructuredContent = json.RawMessage(structured)
	}
	return r
}

// refusedState is the state of a run that was not begun.
const refusedState run.State = "refused"
