package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"waymark/score/evidence"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/scoring"
)

// rubricArgument is the name of a rubric, or a rubric.
type rubricArgument struct{ json.RawMessage }

// objectArgument is any object.
type objectArgument struct{ json.RawMessage }

var (
	rubricSchema = &jsonschema.Schema{Types: []string{"string", "object"}}
	objectSchema = &jsonschema.Schema{Type: "object"}
	// An answer of a scorer has the fields of its operation.
	scoreSchema = &jsonschema.Schema{Type: "object", Required: []string{"message"},
		Properties: map[string]*jsonschema.Schema{"message": {Type: "string", Description: "the answer in a sentence"}}}
)

type scoreArguments struct {
	Rubric  rubricArgument `json:"rubric" jsonschema:"hypothesis, council, contribution, session or custom, or the definition of a rubric of your own"`
	Context []string       `json:"context,omitempty" jsonschema:"ids of the tools used so far whose output is scored, in order; what a scorer follows is learned from it"`
	Input   objectArgument `json:"input" jsonschema:"what the rubric scores, as in the HTTP API: for hypothesis {hypotheses: [{id, scores}]}, for council {responses, reviews}, for contribution {role, text}, for a rubric of your own {items: [{id, scores}]}"`
}

// scoreAnswer is the answer of any scorer, encoded as over HTTP.
type scoreAnswer struct {
	encoded []byte
	message string
}

func (a scoreAnswer) text() string                 { return a.message }
func (a scoreAnswer) MarshalJSON() ([]byte, error) { return a.encoded, nil }

// scoreTool returns the answer of POST /v1/score/{scorer}.
func scoreTool(ctx context.Context, c *mcpCall, in scoreArguments) (scoreAnswer, error) {
	s, input, err := scorerFor(in)
	if err != nil {
		return scoreAnswer{}, err
	}
	out, err := c.cfg.Scoring.Run(ctx, c.access, s, in.Context, input)
	if err != nil {
		return scoreAnswer{}, err
	}
	return encodeScore(out)
}

// scorerFor returns the scorer and its input; a definition becomes part of the input of custom.
func scorerFor(in scoreArguments) (scoring.Scorer, json.RawMessage, error) {
	refused := func(field, detail string) (scoring.Scorer, json.RawMessage, error) {
		return scoring.Scorer{}, nil, jsonio.Wrong(field, detail)
	}
	rubric, input := bytes.TrimSpace(in.Rubric.RawMessage), in.Input.RawMessage
	var name string
	switch {
	case len(rubric) == 0:
		return refused("rubric", "is required")
	case len(input) == 0:
		return refused("input", "is required")
	case json.Unmarshal(rubric, &name) == nil:
		s, err := scoring.Named(name)
		if err != nil {
			return refused("rubric", err.Error())
		}
		return s, input, nil
	case rubric[0] != '{':
		return refused("rubric", "is a name or a definition")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return refused("input", "is no object")
	}
	if _, given := fields["definition"]; given {
		return refused("input.definition", "is given as rubric already")
	}
	fields["definition"] = rubric
	merged, err := json.Marshal(fields)
	if err != nil {
		return refused("input", err.Error())
	}
	custom, err := scoring.Named("custom")
	return custom, merged, err
}

func encodeScore(out any) (scoreAnswer, error) {
	encoded, err := jsonio.Encode(out)
	if err != nil {
		return scoreAnswer{}, err
	}
	var s Said
	if err := json.Unmarshal(encoded, &s); err != nil {
		return scoreAnswer{}, err
	}
	return scoreAnswer{encoded, s.Message}, nil
}

// triangulateArguments are a request with the tools that were used before.
type triangulateArguments struct {
	Context []string `json:"context,omitempty" jsonschema:"ids of the tools used so far whose output is weighed, in order"`
	evidence.Request
}

// triangulate returns the answer of POST /v1/triangulations.
func triangulate(ctx context.Context, c *mcpCall, in triangulateArguments) (scoreAnswer, error) {
	a, err := c.cfg.Scoring.Triangulate(ctx, c.access, in.Context, in.Request)
	if err != nil {
		return scoreAnswer{}, err
	}
	return encodeScore(a)
}
