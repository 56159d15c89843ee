package api

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"iter"
	"net/http"

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

// DocumentBody describes a body that the handler reads itself. It must be called after the registration, because huma
// reads every body that it knows at the registration.
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

// JsonBody reads a JSON body. The result is never empty: an empty body is an error.
func JsonBody(r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, BadRead(err)
	}
	if data = bytes.Trim(data, " \t\r\n"); len(data) == 0 {
		return nil, Problem(http.StatusBadRequest, "request body is required")
	}
	return data, nil
}

// BadRead returns the error for a body that could not be read to its end.
func BadRead(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) || errors.Is(err, ErrSlowBody) {
		return err
	}
	return errors.Join(Problem(http.StatusBadRequest, "the body ended early or is wrongly framed"), err)
}

// ErrSlowBody ends a request whose body arrives too slowly.
var ErrSlowBody = Problem(http.StatusRequestTimeout, "the body came too slowly")

// PageQuery requests one page of a list. The cursor is opaque to callers. It contains the last id of the previous page,
// so that pages neither repeat nor skip the remaining entries when others are added or removed.
type PageQuery struct {
	Cursor string `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of entries on the page."`
}

// ErrCursor refuses a cursor that no page returned.
var ErrCursor = Problem(http.StatusUnprocessableEntity, "cursor: not one of ours", &huma.ErrorDetail{Location: "query.cursor", Message: "not one of ours"})

// Page returns the entries after the cursor for which keep is true, and the next cursor. In a list that is sorted by
// id, the cursor remains valid after its entry was removed.
func Page[T any](all iter.Seq[T], q PageQuery, sorted bool, id func(T) string, keep func(T) bool) (page []T, next string, err error) {
	last, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
	if err != nil {
		return nil, "", ErrCursor
	}
	page = []T{}
	past := len(last) == 0 || sorted
	for t := range all {
		switch {
		case id(t) == string(last):
			past = true
		case !past || sorted && id(t) < string(last) || !keep(t):
		case len(page) == q.Limit:
			return page, base64.RawURLEncoding.EncodeToString([]byte(id(page[q.Limit-1]))), nil
		default:
			page = append(page, t)
		}
	}
	if !past {
		err = ErrCursor
	}
	return page, "", err
}
