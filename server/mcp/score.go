package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"waymark/score/evidence"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/scoring"
)

// objectArgument is any object.
type objectArgument struct{ json.RawMessage }

// Schema implements [huma.SchemaProvider].
func (objectArgument) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeObject} }

type scoreArguments struct {
	Rubric  json.RawMessage `json:"rubric" doc:"Name of a scorer: hypothesis, council, contribution, session or custom, or the definition of a rubric of your own"`
	Context []string        `json:"context,omitempty" doc:"Ids of the tools used so far whose output is scored, in order."`
	Input   objectArgument  `json:"input" doc:"What the rubric scores, as in the HTTP API: for hypothesis {hypotheses: [{id, scores}]}, for council {responses, reviews}, for contribution {role, text}, for a rubric of your own {items: [{id, scores}]}"`
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
	rubric, input := bytes.TrimSpace(in.Rubric), in.Input.RawMessage
	var name string
	switch {
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
	Context []string `json:"context,omitempty" doc:"Ids of the tools used so far whose output is weighed, in order."`
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
