package server

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"waymark/ingest"
	"waymark/server/internal/api"
)

const (
	protobuf   = "application/x-protobuf"
	mostTraces = 16 << 20 // bytes of one export request, packed and unpacked
)

// tracesAnswer is an empty ExportTraceServiceResponse, in the format of the request.
type tracesAnswer struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func (s *Server) traceRoutes(r *api.Table) {
	api.Raw(r, api.Rule{Scope: api.ScopeWrite, CreatesWorkspace: true, Also: protobuf, Gzip: true, Body: mostTraces}, huma.Operation{
		OperationID: "traces", Method: http.MethodPost, Path: "/v1/traces", Tags: []string{"History"}, Summary: "OpenTelemetry traces (OTLP/HTTP)",
		Description: "An export request, in JSON or protobuf, also packed with gzip. What it holds is durable when the answer comes, and its tool calls become episodes when their trace is " +
			"complete: two seconds after its root was sent, or a minute after the last span. Values are dropped.",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			"application/json": {Schema: &huma.Schema{Type: "object"}}, protobuf: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}}},
	}, s.takeTraces)
	api.DocumentBody(r, "/v1/traces", http.MethodPost, map[string]*huma.Schema{"application/json": {Type: "object"}, protobuf: {Type: "string", Format: "binary"}})
}

func (s *Server) takeTraces(ctx context.Context, in *api.RawInput) (*tracesAnswer, error) {
	if s.cfg.Traces == nil {
		return nil, api.Problem(http.StatusServiceUnavailable, "this process takes no traces")
	}
	r := in.Request
	body, err := unpacked(r)
	if err != nil {
		return nil, err
	}
	binary := r.Header.Get("Content-Type") == protobuf
	a := api.From(ctx)
	err = s.cfg.Traces(ctx, a.Workspace, a.Source, body, binary)
	switch {
	case errors.Is(err, ingest.ErrNotOTLP):
		return nil, api.Problem(http.StatusBadRequest, err.Error())
	case err != nil:
		return nil, err
	case binary:
		return &tracesAnswer{ContentType: protobuf}, nil
	}
	return &tracesAnswer{"application/json", []byte(`{"partialSuccess":{}}`)}, nil
}

// unpacked reads a body and unpacks it if it is encoded with gzip.
func unpacked(r *http.Request) ([]byte, error) {
	in := r.Body
	if strings.EqualFold(r.Header.Get("Content-Encoding"), "gzip") {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, api.Problem(http.StatusBadRequest, "the body is not packed with gzip")
		}
		in = http.MaxBytesReader(nil, z, mostTraces)
	}
	body, err := io.ReadAll(in)
	if err != nil {
		return nil, api.BadRead(err)
	}
	return body, nil
}
