package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/run"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/problem"
)

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
