package route

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"waymark/server/internal/problem"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
)

// RawInput gives a handler the request itself, for bodies that are read as a stream.
type RawInput struct{ Request *http.Request }

// Resolve is called by huma before the handler.
func (in *RawInput) Resolve(ctx huma.Context) []error {
	in.Request = humagin.Unwrap(ctx).Request
	return nil
}

// DocumentBody describes a body that the handler reads itself. It comes after the registration,
// because huma reads whatever body it knows of before.
func DocumentBody(r *Table, path, method string, content map[string]*huma.Schema) {
	if r.API == nil {
		return
	}
	item := r.API.OpenAPI().Paths[path]
	op := item.Post
	if method == http.MethodPut {
		op = item.Put
	}
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{}}
	for kind, schema := range content {
		op.RequestBody.Content[kind] = &huma.MediaType{Schema: schema}
	}
}

// JsonBody reads a body of JSON. It is never empty.
func JsonBody(r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, BadRead(err)
	}
	if data = bytes.Trim(data, " \t\r\n"); len(data) == 0 {
		return nil, problem.New(http.StatusBadRequest, "request body is required")
	}
	return data, nil
}

// BadRead is a body that could not be read to its end.
func BadRead(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) || errors.Is(err, ErrSlowBody) {
		return err
	}
	return errors.Join(problem.New(http.StatusBadRequest, "the body ended early or is wrongly framed"), err)
}

// ErrSlowBody ends a request whose body comes too slowly.
var ErrSlowBody = problem.New(http.StatusRequestTimeout, "the body came too slowly")

// ErrCursor refuses a cursor that no page named.
var ErrCursor = problem.New(http.StatusUnprocessableEntity, "cursor: not one of ours", &huma.ErrorDetail{Location: "query.cursor", Message: "not one of ours"})
