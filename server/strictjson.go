package server

import (
	"bytes"
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

	"waymark/score/rubric"
)

// What JSON may come in. encoding/json takes duplicate names (the last wins), folds the case of
// names (even ſ to s), repairs broken UTF-8 and leaves trailing data to whoever looks: each of them
// lets two readers of one body see two different requests. Here a body is one value, exactly.
const (
	maxDepth = 64
	maxArray = 10_000
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

// checkJSON reports whether data is one JSON value of valid UTF-8, without duplicate names, at most
// maxDepth deep and with at most maxArray elements in any array.
func checkJSON(data []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	values := 0
	for {
		if dec.StackDepth() == 0 && values > 0 {
			switch _, err := dec.ReadToken(); {
			case err == io.EOF:
				return nil
			default:
				return &malformedError{Status: http.StatusBadRequest,
					Reason: fmt.Sprintf("data after the end of the JSON value (byte %d)", dec.InputOffset())}
			}
		}
		token, err := dec.ReadToken()
		if err != nil {
			return syntaxProblem(dec, err)
		}
		depth := dec.StackDepth()
		switch token.Kind() {
		case '{', '[':
			if depth > maxDepth {
				return &malformedError{Status: http.StatusBadRequest, Place: string(dec.StackPointer()),
					Reason: fmt.Sprintf("nested more than %d levels deep", maxDepth)}
			}
		}
		if kind, n := dec.StackIndex(depth); kind == '[' && n > maxArray {
			return &malformedError{Status: http.StatusBadRequest, Place: string(dec.StackPointer()),
				Reason: fmt.Sprintf("an array has more than %d elements", maxArray)}
		}
		if depth == 0 {
			values++
		}
	}
}

func syntaxProblem(dec *jsontext.Decoder, err error) error {
	e := &malformedError{Status: http.StatusBadRequest}
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Reason = fmt.Sprintf("the JSON value ends early (byte %d)", dec.InputOffset())
	case errors.As(err, &syntactic):
		e.Place = string(syntactic.JSONPointer)
		reason := "malformed"
		if syntactic.Err != nil {
			reason = syntactic.Err.Error()
		}
		e.Reason = fmt.Sprintf("%s (byte %d)", reason, syntactic.ByteOffset)
	default:
		e.Reason = "malformed JSON"
	}
	return e
}

// decodeStrict reads one value of type T and nothing else. Text that is no acceptable JSON is
// status 400; a field that T does not have, in exactly this spelling, or a value of the wrong type
// is 422.
func decodeStrict[T any](data []byte) (T, error) {
	var v T
	if err := checkJSON(data); err != nil {
		return v, err
	}
	err := json.Unmarshal(data, &v, json.RejectUnknownMembers(true))
	return v, semanticProblem(err)
}

func semanticProblem(err error) error {
	if err == nil {
		return nil
	}
	e := &malformedError{Status: http.StatusUnprocessableEntity}
	var (
		semantic *json.SemanticError
		inner    *malformedError
		decimal  *rubric.DecimalError
	)
	switch {
	case errors.As(err, &inner):
		return inner
	case errors.As(err, &semantic):
		e.Place = string(semantic.JSONPointer)
		switch {
		case errors.Is(err, json.ErrUnknownName):
			name := jsontext.Pointer(e.Place).LastToken()
			if e.Reason = fmt.Sprintf("unknown field %q", name); name == workspaceField {
				e.Reason += "; " + howWorkspace
			}
		case errors.As(err, &decimal):
			e.Reason = decimal.Detail
		case semantic.GoType != nil && semantic.GoType.String() == "time.Time":
			e.Reason = "not a time of RFC 3339, as in 2026-01-02T15:04:05Z"
		default:
			e.Reason = fmt.Sprintf("a JSON %s does not fit here", kindName(semantic.JSONKind))
		}
	default:
		e.Reason = "the JSON value does not fit"
	}
	return e
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '{':
		return "object"
	case '[':
		return "array"
	}
	return "value"
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
			if err := checkJSON(data); err != nil {
				return err
			}
			return semanticProblem(json.Unmarshal(data, generic))
		}
		return semanticProblem(json.Unmarshal(data, v))
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
