package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/internal/plural"
	"waymark/run"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/runs"
)

const toolRun = "run_dag"

// mcpRunTool carries out a DAG. It is offered where there is somebody to carry out calls.
var mcpRunTool = sync.OnceValue(func() mcpTool {
	return define(toolRun, "Run a plan", working, mcp.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(true)}, runDag,
		"Carry out a plan: give what suggest_dag answered as it is, or tasks of your own, and get the result of every task. Everything is checked first, and all that is wrong is said at once. "+
			"Where arguments have no values, the answer names them in form, a JSON Schema: call again with values. "+
			"A task that may change something waits until a person approves it. Ask again with run to see how it went on.")
})

type runArguments struct {
	runs.Request
	Run string `json:"run,omitempty" doc:"Id of a run that was begun before: wait for it instead of beginning one."`
}

// RunAnswer is the answer of run_dag.
type RunAnswer struct {
	Said
	runs.Answer
	Problems []run.Problem  `json:"problems,omitempty" doc:"Of a dag that cannot be run: all that is wrong with it."`
	Form     map[string]any `json:"form,omitempty" doc:"JSON Schema of the values that are missing; call again with an object that it accepts as values."`
}

// runDag begins a run, or takes up one that was begun, and waits until it ends or needs a person. A call that
// is cancelled cancels the run that it began.
func runDag(ctx context.Context, c *mcpCall, in runArguments) (RunAnswer, error) {
	if len(in.Approve) > 0 {
		return RunAnswer{}, jsonio.Wrong("approve", "is for a person to say; see the answer of a run that waits")
	}
	id, answer, err := c.takeUp(ctx, in)
	if err != nil {
		return RunAnswer{}, err
	}
	if id != "" {
		report := c.runProgress(ctx)
		for s := range c.cfg.Runs.Watch(ctx, c.access.Workspace, id) {
			report(s)
			if s.State == run.Paused {
				break
			}
		}
		if ctx.Err() != nil {
			if answer.ID != "" {
				_, _ = c.cfg.Runs.Cancel(context.WithoutCancel(ctx), c.access.Workspace, id) // an error says that it has ended
			}
			return RunAnswer{}, ctx.Err()
		}
		if answer.Status, err = c.cfg.Runs.Status(ctx, c.access.Workspace, id); err != nil {
			return RunAnswer{}, err
		}
	}
	return RunAnswer{Said: Said{runMessage(answer)}, Answer: answer}, nil
}

// takeUp returns the id of the run to wait for: of the one that is named, or of a new one, which is in the answer, too. There is none to wait for where a run is only to be planned.
func (c *mcpCall) takeUp(ctx context.Context, in runArguments) (id string, answer runs.Answer, err error) {
	if in.Run != "" {
		s, err := c.cfg.Runs.Status(ctx, c.access.Workspace, in.Run)
		for _, n := range s.Nodes {
			if err == nil && !c.model.Allows(c.access.Tools, n.Tool) {
				err = &outsideError{c.access.Tools.Refusal(n.Tool)}
			}
		}
		return in.Run, answer, err
	}
	q, err := in.ToRun()
	if err == nil {
		answer, err = c.cfg.Runs.Begin(ctx, c.access, "", q, in.DryRun)
	}
	return answer.ID, answer, err
}

// runProgress reports to a client that asked for it, node by node.
func (c *mcpCall) runProgress(ctx context.Context) func(run.Status) {
	notify := progressTo(ctx, c.req)
	if notify == nil {
		return func(run.Status) {}
	}
	last := -1
	return func(s run.Status) {
		settled, now := 0, []string{}
		for _, n := range s.Nodes {
			switch n.State {
			case run.NodeRunning:
				now = append(now, shownID(n.Tool))
			case run.NodeDone, run.NodeFailed, run.NodeSkipped:
				settled++
			}
		}
		if settled <= last {
			return
		}
		last = settled
		message := string(s.State)
		if len(now) > 0 {
			message = strings.Join(now, ", ")
		}
		notify(float64(settled), float64(len(s.Nodes)), message)
	}
}

func runMessage(a runs.Answer) string {
	switch a.State {
	case runs.Planned:
		waits := 0
		for _, n := range a.Plan.Nodes {
			if n.Approval != "" {
				waits++
			}
		}
		return fmt.Sprintf("Nothing was run. The plan is sound: %s in %s, %d of them would wait for approval.", plural.Of(len(a.Plan.Nodes), "task"), plural.Of(len(a.Plan.Layers), "step"), waits)
	case run.Paused:
		if len(a.Waiting) == 0 {
			return fmt.Sprintf("Run %s stands still: %s.", a.ID, strings.Join(a.Warnings, "; "))
		}
		return fmt.Sprintf("Run %s waits for a person to approve %s. Ask the user to run: waymark runs approve %s. Then call run_dag with run %q.", a.ID, shownIDs(a.Waiting), a.ID, a.ID)
	case run.Done:
		own := []string{}
		for _, n := range a.Nodes {
			if n.Kind == run.KindHost {
				own = append(own, n.ID)
			}
		}
		message := fmt.Sprintf("Done: %s done, %d failed, %d skipped.", plural.Of(a.Done, "task"), a.Failed, a.Skipped)
		if len(own) > 0 {
			message += " Tools of the host, to be called by you: " + shownIDs(own) + "."
		}
		return message
	case run.Failed:
		return fmt.Sprintf("Failed: %s done, %d failed, %d skipped. First: %s", plural.Of(a.Done, "task"), a.Failed, a.Skipped, shownText(a.Error))
	}
	return fmt.Sprintf("Run %s is %s.", a.ID, a.State)
}

// shownText is a text of others on one line, not too long.
func shownText(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
