package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"waymark/ingest/hook"
	"waymark/record/feed"
)

// An exporter's requests become episodes under the source that sent them.
func TestTraces(t *testing.T) {
	var taken *feed.Feed
	s := newOffice(t, func(c *Config) {
		taken = feed.New(hook.SpoolOf(t.TempDir()), c.Store, c.Workspaces.Open, time.Now, c.Logger)
		c.Traces = taken.Collect
	})
	before := defaultEngine(t, s).Model().Stats().StepOutcomes
	was := before["success"] + before["failure"]
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	send := func(kind, packing string, body []byte) (int, string, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/v1/traces", bytes.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", kind)
		if packing != "" {
			req.Header.Set("Content-Encoding", packing)
		}
		resp, err := web.Client().Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, resp.Header.Get("Content-Type"), string(answer)
	}
	text, err := os.ReadFile(filepath.Join("..", "ingest", "testdata", "traces", "otel.jsonl"))
	require.NoError(t, err)
	lines := bytes.Split(text, []byte("\n"))

	status, kind, body := send("application/json", "", lines[0])
	assert.Equal(t, []any{200, "application/json", `{"partialSuccess":{}}`}, []any{status, kind, body})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(lines[1])
	require.NoError(t, err)
	require.NoError(t, z.Close())
	status, _, body = send("application/json; charset=utf-8", "gzip", packed.Bytes())
	assert.Equal(t, 200, status, body)
	td, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(lines[2])
	require.NoError(t, err)
	binary, err := new(ptrace.ProtoMarshaler).MarshalTraces(td)
	require.NoError(t, err)
	status, kind, body = send("application/x-protobuf", "", binary)
	assert.Equal(t, []any{200, "application/x-protobuf", ""}, []any{status, kind, body})

	for _, tt := range []struct {
		kind, packing, body string
		status              int
	}{
		{"application/json", "", "{", 400}, {"application/x-protobuf", "", "no protobuf at all", 400}, {"text/plain", "", "{}", 415},
		{"application/json", "br", "{}", 415}, {"application/json", "gzip", "{}", 400},
	} {
		status, _, body := send(tt.kind, tt.packing, []byte(tt.body))
		assert.Equal(t, tt.status, status, "%+v: %s", tt, body)
	}

	ctx, stop := context.WithCancel(t.Context())
	stop()
	taken.Run(ctx) // what is held is recorded at the end
	e := defaultEngine(t, s)
	require.NoError(t, e.Wait(t.Context(), e.Counted()))
	stats := e.Model().Stats()
	assert.Equal(t, 1, stats.Sources["otel:local"])
	assert.Equal(t, 7, stats.StepOutcomes["success"]+stats.StepOutcomes["failure"]-was)
}
