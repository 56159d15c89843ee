package feed

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"waymark/episodic"
	"waymark/importer"
	"waymark/live"
	"waymark/storage"
	"waymark/suggest"
)

// recorded are the requests of a file of traces.
func recorded(t *testing.T) (requests [][]byte) {
	text, err := os.ReadFile(filepath.Join("..", "importer", "testdata", "traces", "otel.jsonl"))
	require.NoError(t, err)
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(line, []byte("\n")) && bytes.Contains(line, []byte("resourceSpans")) {
			requests = append(requests, bytes.TrimSpace(line))
		}
	}
	require.Len(t, requests, 6)
	return requests
}

// graphOf names nodes and edges of a model.
func graphOf(m *suggest.Model) (hash string) {
	for _, p := range m.Parts() {
		if p.Name == "nodes" || p.Name == "edges" {
			hash += p.Hash
		}
	}
	return hash
}

// What is sent gives the graph that a file of the same requests gives, in JSON or protobuf, sent twice or once,
// and the file is known afterwards.
func TestCollect(t *testing.T) {
	ws := live.NewWorkspaces(storage.NewMemory(), live.Options{})
	t.Cleanup(func() { require.NoError(t, ws.Close(context.Background())) })
	imported, err := ws.Get(t.Context(), "imported")
	require.NoError(t, err)
	known := func(e *live.Engine) (accepted, duplicates int) {
		for it, err := range importer.Read(t.Context(), filepath.Join("..", "importer", "testdata", "traces", "otel.jsonl"), importer.Options{}) {
			require.NoError(t, err)
			if it.Episode != nil {
				r, err := e.Record(t.Context(), "import:otel", []episodic.Episode{*it.Episode})
				require.NoError(t, err)
				require.Empty(t, r.Rejected)
				accepted, duplicates = accepted+r.Accepted, duplicates+r.Duplicates
			}
		}
		return accepted, duplicates
	}
	accepted, _ := known(imported)
	require.Equal(t, 2, accepted)

	for name, send := range map[string]func(h *house, request []byte){
		"JSON": func(h *house, request []byte) {
			require.NoError(t, h.feed.Collect(t.Context(), "default", "local", request, false))
		},
		"protobuf, twice": func(h *house, request []byte) {
			td, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(request)
			require.NoError(t, err)
			binary, err := new(ptrace.ProtoMarshaler).MarshalTraces(td)
			require.NoError(t, err)
			for range 2 {
				require.NoError(t, h.feed.Collect(t.Context(), "default", "local", binary, true))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			for _, request := range recorded(t) {
				send(h, request)
				h.feed.flush(t.Context(), false)
				assert.Empty(t, h.episodes(), "no trace is complete yet")
			}
			h.clock.Add(int64(3 * time.Second))
			h.feed.flush(t.Context(), false)
			assert.Equal(t, []string{
				"Release the fix for SECRET: git:log/1 fs:read/1 fs:write ci:run ci:run chat:post/2 jira:close/2", "What changed since then?: git:log git:diff",
			}, h.episodes())
			assert.Zero(t, h.feed.traces.spans)
			e, err := h.ws.Get(t.Context(), "default")
			require.NoError(t, err)
			assert.Equal(t, graphOf(imported.Model()), graphOf(e.Model()))
			_, duplicates := known(e)
			assert.Equal(t, 2, duplicates)
		})
	}
}

func TestCollectWithoutRoot(t *testing.T) {
	h := newHouse(t)
	require.NoError(t, h.feed.Collect(t.Context(), "default", "local", recorded(t)[0], false))
	h.clock.Add(int64(3 * time.Second))
	h.feed.flush(t.Context(), false)
	assert.Empty(t, h.episodes())
	h.clock.Add(int64(time.Minute))
	h.feed.flush(t.Context(), false)
	assert.Len(t, h.episodes(), 1, "a minute later it is read as it stands")

	require.NoError(t, h.feed.Collect(t.Context(), "default", "local", recorded(t)[4], false))
	h.feed.flush(t.Context(), true)
	assert.Len(t, h.episodes(), 2, "and so it is at the end of the process")
	assert.ErrorContains(t, h.feed.Collect(t.Context(), "default", "local", []byte("{"), false), "not OTLP JSON")
	assert.ErrorContains(t, h.feed.Collect(t.Context(), "default", "local", []byte(strings.Repeat("x", 99)), true), "not OTLP protobuf")
}
