package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"waymark/score"
	"waymark/score/evidence"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/request"
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

// scoreTool returns the answer of POST /v1/score/….
func scoreTool(ctx context.Context, c *mcpCall, in scoreArguments) (scoreAnswer, error) {
	x, input, err := scoringFor(in)
	if err != nil {
		return scoreAnswer{}, err
	}
	if !c.access.May(x.Scope) {
		return scoreAnswer{}, jsonio.Wrong("rubric", fmt.Sprintf("%s needs the scope %v, this credential has %v", x.Name, x.Scope.Names(), c.access.Scopes.Names()))
	}
	out, err := c.cfg.Scoring.Run(ctx, c.access, x.Id, in.Context, func() (any, error) { return x.Call(ctx, c.cfg.Scoring.Scorer(ctx, c.access), input) })
	if err != nil {
		return scoreAnswer{}, err
	}
	return encodeScore(out)
}

// scoringFor finds the scoring and its input; a definition becomes part of the input of custom.
func scoringFor(in scoreArguments) (scoring.Scoring, json.RawMessage, error) {
	rubric, input := bytes.TrimSpace(in.Rubric.RawMessage), in.Input.RawMessage
	switch {
	case len(rubric) == 0:
		return scoring.Scoring{}, nil, jsonio.Wrong("rubric", "is required")
	case len(input) == 0:
		return scoring.Scoring{}, nil, jsonio.Wrong("input", "is required")
	case rubric[0] == '"':
		var name string
		if err := json.Unmarshal(rubric, &name); err != nil {
			return scoring.Scoring{}, nil, jsonio.Wrong("rubric", "is no string")
		}
		x, ok := scoring.Named(name)
		if !ok {
			return scoring.Scoring{}, nil, jsonio.Wrong("rubric", fmt.Sprintf("%q is unknown; there are %s", name, strings.Join(scoring.Names(), ", ")))
		}
		return x, input, nil
	case rubric[0] != '{':
		return scoring.Scoring{}, nil, jsonio.Wrong("rubric", "is a name or a definition")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return scoring.Scoring{}, nil, jsonio.Wrong("input", "is no object")
	}
	if _, given := fields["definition"]; given {
		return scoring.Scoring{}, nil, jsonio.Wrong("input.definition", "is given as rubric already")
	}
	fields["definition"] = rubric
	merged, err := json.Marshal(fields)
	x, _ := scoring.Named("custom")
	return x, merged, err
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

type triangulateAnswer struct{ evidence.Answer }

func (a triangulateAnswer) text() string { return a.Message }

// triangulateArguments are a request with the tools that were used before.
type triangulateArguments struct {
	Context []string `json:"context,omitempty" jsonschema:"ids of the tools used so far whose output is weighed, in order"`
	score.TriangulateRequest
}

// triangulate gives the answer of POST /v1/triangulations, and keeps nothing. A search may call a tool of another server.
func triangulate(ctx context.Context, c *mcpCall, in triangulateArguments) (triangulateAnswer, error) {
	if len(in.Hypotheses) == 0 && !c.access.May(request.ScopeWrite) {
		return triangulateAnswer{}, jsonio.Wrong("hypotheses", "are absent: to search for evidence needs the scope write")
	}
	out, err := c.cfg.Scoring.Run(ctx, c.access, score.TriangulateID, in.Context, func() (any, error) {
		return c.cfg.Scoring.Scorer(ctx, c.access).Triangulate(ctx, in.TriangulateRequest)
	})
	if err != nil {
		return triangulateAnswer{}, err
	}
	return triangulateAnswer{out.(evidence.Answer)}, nil
}
