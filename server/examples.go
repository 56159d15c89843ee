package server

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
)

// examplesJSON is an exchange of each operation.
//
//go:embed examples.json
var examplesJSON []byte

// addExamples puts the recorded exchanges into the description.
func addExamples(spec *huma.OpenAPI) error {
	var recorded map[string]struct {
		Path         map[string]string
		Body, Answer json.RawMessage
	}
	if err := json.Unmarshal(examplesJSON, &recorded); err != nil {
		return fmt.Errorf("examples of the API: %w", err)
	}
	for path, item := range spec.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete} {
			if op == nil {
				continue
			}
			x := recorded[op.Method+" "+path]
			for _, p := range op.Parameters {
				if value := x.Path[p.Name]; p.In == "path" && value != "" {
					p.Example = value
				}
			}
			if op.RequestBody != nil {
				addExample(op.RequestBody.Content, x.Body)
			}
			for status, answer := range op.Responses {
				if status < "300" {
					addExample(answer.Content, x.Answer)
				}
			}
		}
	}
	return nil
}

// addExample puts a value beside the media type that can hold it: a string is lines of JSON or a text, anything else JSON
// or events.
func addExample(content map[string]*huma.MediaType, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	for _, kind := range []string{"application/json", "text/event-stream", "application/x-ndjson"} {
		if media := content[kind]; media != nil && (kind == "application/x-ndjson") == (value[0] == '"') {
			media.Example = value
			return
		}
	}
}
