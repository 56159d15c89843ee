package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"waymark/internal/strictjson"
	"waymark/score/rubric"
)

// malformedError is text that is not the JSON this server takes (Status 400), or JSON that is not
// what the route takes (422). Place is a JSON pointer into the body.
type malformedError struct {
	Status int
	Place  string
	Reason string
}

func (e *malformedError) Error() string {
	if e.Place == "" {
		return e.Reason
	}
	return e.Place + ": " + e.Reason
}

func (e *malformedError) problem() *huma.ErrorModel {
	return refuse(e.Status, e.Error(), &huma.ErrorDetail{Location: bodyLocation(e.Place), Message: e.Reason})
}

// bodyLocation turns /steps/0/tool into body.steps[0].tool, the form of huma's own messages.
func bodyLocation(pointer string) string {
	var b strings.Builder
	b.WriteString("body")
	for token := range jsontext.Pointer(pointer).Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil {
			b.WriteString("[" + token + "]")
		} else {
			b.WriteString("." + token)
		}
	}
	return b.String()
}

// decodeStrict reads one value of type T and nothing else.
func decodeStrict[T any](data []byte) (T, error) {
	v, err := strictjson.Decode[T](data)
	return v, malformed(err)
}

// malformed gives an error of the strict reader its status and the words of this interface.
func malformed(err error) error {
	var strict *strictjson.Error
	var decimal *rubric.DecimalError
	if !errors.As(err, &strict) {
		return err
	}
	e := &malformedError{Status: http.StatusUnprocessableEntity, Place: strict.Place, Reason: strict.Reason}
	switch {
	case strict.Syntax:
		e.Status = http.StatusBadRequest
	case strict.Unknown == workspaceField:
		e.Reason += "; " + howWorkspace
	case errors.As(strict.Err, &decimal):
		e.Reason = decimal.Detail
	}
	return e
}

// strictFormat plugs the rules into huma, which reads each body twice: as any, to validate it
// against the schema of the route, then into the type of the handler.
var strictFormat = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		data, err := encodeJSON(v)
		if err == nil {
			_, _ = w.Write(data)
			return nil
		}
		// Nothing is written yet, so that a score that is not a number becomes an honest 500
		// instead of a 200 with half a body.
		if rw, ok := w.(http.ResponseWriter); ok {
			writeProblem(rw, refuse(http.StatusInternalServerError, "the answer cannot be written as JSON"))
			return nil
		}
		return err
	},
	Unmarshal: func(data []byte, v any) error {
		if generic, ok := v.(*any); ok {
			if err := strictjson.Check(data); err != nil {
				return malformed(err)
			}
			return malformed(strictjson.Fit(data, generic))
		}
		return malformed(strictjson.Fit(data, v))
	},
}

// encodeJSON writes v as encoding/json would (so that HTTP, MCP and the command line agree), but
// with [] and {} for nil slices and maps, and with map keys in order. Not-a-number is an error.
func encodeJSON(v any) ([]byte, error) {
	if p, ok := v.(*huma.ErrorModel); ok { // errors[] is part of every problem, also where it is empty
		v = struct {
			Type     string              `json:"type"`
			Title    string              `json:"title"`
			Status   int                 `json:"status"`
			Detail   string              `json:"detail"`
			Instance string              `json:"instance,omitempty"`
			Errors   []*huma.ErrorDetail `json:"errors"`
		}{p.Type, p.Title, p.Status, p.Detail, p.Instance, p.Errors}
	}
	data, err := json.Marshal(v, jsonv1.DefaultOptionsV1(), json.FormatNilSliceAsNull(false),
		json.FormatNilMapAsNull(false), json.Deterministic(true), jsontext.EscapeForHTML(false), jsontext.EscapeForJS(false))
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return data, nil
}
