package mcpserver

import (
	"context"
	"strings"

	"waymark/server/internal/jsonio"
	"waymark/suggest"
)

type nextArguments struct {
	Context []string `json:"context,omitempty" jsonschema:"ids of the tools used so far, in order, the last one last; leave out to see where one could start"`
	Intent  string   `json:"intent,omitempty" jsonschema:"what the task is about, in words"`
	Limit   int      `json:"limit,omitempty" jsonschema:"how many suggestions, 1 to 100; 5 when left out"`
	Allow   []string `json:"allow,omitempty" jsonschema:"suggest only ids that match one of these; * stands for any characters"`
	Explain bool     `json:"explain,omitempty" jsonschema:"also give the terms and reasons"`

	MinConfidence float64 `json:"min_confidence,omitempty" jsonschema:"leave out suggestions with less confidence, from 0 to 1"`
}

// NextAnswer is the answer of suggest_next.
type NextAnswer struct {
	Said
	suggest.NextAnswer
}

// suggestNext gives the answer of POST /v1/next and a sentence.
func suggestNext(ctx context.Context, c *mcpCall, in nextArguments) (NextAnswer, error) {
	if err := c.within("limit", in.Limit, suggest.MaxLimit); err != nil {
		return NextAnswer{}, err
	}
	a, err := c.engine.Next(c.model, c.access.Tools, suggest.NextRequest{
		Context: in.Context, Intent: in.Intent, Limit: in.Limit, Allow: in.Allow, Explain: &in.Explain, Vector: c.engine.Vector(ctx, in.Intent),
		MinConfidence: in.MinConfidence,
	})
	if err != nil {
		return NextAnswer{}, err
	}
	last := ""
	if len(in.Context) > 0 {
		last = in.Context[len(in.Context)-1]
	}
	return NextAnswer{Said{nextMessage(a, last) + noted(a.Waiting) + corrected(a.Foremost(), last, in.Intent)}, a}, nil
}

type dagArguments struct {
	Intent   string   `json:"intent,omitempty" jsonschema:"what the task is about, in words"`
	Context  []string `json:"context,omitempty" jsonschema:"ids of the tools used so far, in order"`
	MaxSteps int      `json:"max_steps,omitempty" jsonschema:"the longest plan, 1 to 25; the usual length when left out"`
	Allow    []string `json:"allow,omitempty" jsonschema:"plan only with ids that match one of these; * stands for any characters"`
	Explain  bool     `json:"explain,omitempty" jsonschema:"also give the terms and reasons"`

	CallableOnly bool `json:"callable_only,omitempty" jsonschema:"plan only with what run_dag can call, without built-in tools of the host"`
}

// DAGAnswer is the answer of suggest_dag.
type DAGAnswer struct {
	Said
	suggest.DAGAnswer
}

// suggestDAG gives the answer of POST /v1/dag and a sentence.
func suggestDAG(ctx context.Context, c *mcpCall, in dagArguments) (DAGAnswer, error) {
	if strings.TrimSpace(in.Intent) == "" && len(in.Context) == 0 {
		return DAGAnswer{}, jsonio.Wrong("intent", "is empty, and so is the context")
	}
	if err := c.within("max_steps", in.MaxSteps, suggest.MaxSteps); err != nil {
		return DAGAnswer{}, err
	}
	a, err := c.engine.Plan(c.model, c.access.Tools, suggest.DAGRequest{
		Intent: in.Intent, Context: in.Context, MaxSteps: in.MaxSteps, Allow: in.Allow, Explain: &in.Explain, Vector: c.engine.Vector(ctx, in.Intent),
		CallableOnly: in.CallableOnly,
	})
	if err != nil {
		return DAGAnswer{}, err
	}
	return DAGAnswer{Said{dagMessage(a) + noted(a.Waiting) + corrected(a.Foremost(), "", in.Intent)}, a}, nil
}
