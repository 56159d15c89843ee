package server

import (
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"waymark/internal/codec"
	"waymark/server/internal/api"
)

// strictFormat applies the JSON rules of package api in huma, which reads each body twice: into any, to validate it
// against the schema of the route, then into the type of the handler.
var strictFormat = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		data, err := api.Encode(v)
		if err == nil {
			_, _ = w.Write(data)
			return nil
		}
		// Nothing is written yet, so a score that is not a number gives a 500 instead of a 200 with half a body.
		if rw, ok := w.(http.ResponseWriter); ok {
			api.WriteProblem(rw, api.Problem(http.StatusInternalServerError, "the answer cannot be written as JSON"))
			return nil
		}
		return err
	},
	Unmarshal: func(data []byte, v any) error {
		return api.Malformed(codec.Unmarshal(data, v))
	},
}
