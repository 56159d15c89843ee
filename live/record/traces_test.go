package record

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
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"waymark/episodic"
	"waymark/ingest"
	"waymark/live"
	"waymark/storage"
	"waymark/suggest"
)

const traceFile = "../../ingest/testdata/traces/otel.jsonl"

// importFile records the episodes of a file, and tells how many of them were new and how many were known.
func importFile(t *testing.T, e *live.Engine, file string) (accepted, duplicates int) {
	for it, err := range ingest.Read(t.Context(), file, ingest.Options{Format: "otel"}) {
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

// recorded are the requests of a file of traces.
func recorded(t *testing.T) (requests [][]byte) {
	text, err := os.ReadFile(traceFile)
	require.NoError(t, err)
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(line, []byte("\n")) && bytes.Contains(line, []byte("resourceSpans")) {
			requests = append(requests, bytes.TrimSpace(line))
		}
	}
	require.Len(t, requests, 6)
	return requests
}

// ofTheFile are the episodes of these requests.
var ofTheFile = []string{
	"Release the fix for SECRET: git:log/1 fs:read/1 fs:write ci:run ci:run chat:post/2 jira:close/2",
	"What changed since then?: git:log git:diff",
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
	ws := live.NewWorkspaces(memory(t), unlearned)
	t.Cleanup(func() { require.NoError(t, ws.Close(context.Background())) })
	imported, err := ws.Open(t.Context(), "imported")
	require.NoError(t, err)
	accepted, _ := importFile(t, imported, traceFile)
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
			h.pass(3 * time.Second)
			assert.Equal(t, ofTheFile, h.episodes())
			h.pass(2 * time.Minute)
			assert.Zero(t, h.feed.traces.spans)
			e := h.engine()
			assert.Equal(t, graphOf(counting(t, imported)), graphOf(counting(t, e)))
			for _, ep := range history(t, e) {
				assert.Equal(t, "agent@worker-7", ep.Label, "service and host of the resource")
			}
			_, duplicates := importFile(t, e, traceFile)
			assert.Equal(t, 2, duplicates)
		})
	}
}

func TestCollectWithoutRoot(t *testing.T) {
	h := newHouse(t)
	require.NoError(t, h.feed.Collect(t.Context(), "default", "local", recorded(t)[0], false))
	h.pass(3 * time.Second)
	assert.Empty(t, h.episodes())
	h.pass(time.Minute)
	assert.Len(t, h.episodes(), 1, "a minute later it is read as it stands")

	require.NoError(t, h.feed.Collect(t.Context(), "default", "local", recorded(t)[4], false))
	h.feed.flush(t.Context(), true)
	assert.Len(t, h.episodes(), 2, "and so it is at the end of the process")
	assert.ErrorContains(t, h.feed.Collect(t.Context(), "default", "local", []byte("{"), false), "not OTLP JSON")
	assert.ErrorContains(t, h.feed.Collect(t.Context(), "default", "local", []byte(strings.Repeat("x", 99)), true), "not OTLP protobuf")
}

// sent is a span as a test writes it; times are in seconds.
type sent struct {
	trace, id, parent string
	from, to          int
	attributes        map[string]string
}

func called(trace, id, parent string, from, to int, tool, call string) sent {
	return sent{trace, id, parent, from, to, map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.id": call}}
}

func agent(trace, id, parent string, from, to int, attributes ...string) sent {
	s := sent{trace, id, parent, from, to, map[string]string{"gen_ai.operation.name": "invoke_agent"}}
	for i := 0; i < len(attributes); i += 2 {
		s.attributes[attributes[i]] = attributes[i+1]
	}
	return s
}

// request is an export request of spans. Ids are short and are filled up to their lengths.
func (h *house) request(spans ...sent) []byte {
	td := ptrace.NewTraces()
	list := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for _, s := range spans {
		o := list.AppendEmpty()
		var trace [16]byte
		var own, parent [8]byte
		copy(trace[:], s.trace)
		copy(own[:], s.id)
		copy(parent[:], s.parent)
		o.SetTraceID(trace)
		o.SetSpanID(own)
		o.SetParentSpanID(parent)
		at := func(seconds int) pcommon.Timestamp {
			return pcommon.NewTimestampFromTime(time.Date(2026, 9, 1, 8, 0, seconds, 0, time.UTC))
		}
		o.SetStartTimestamp(at(s.from))
		o.SetEndTimestamp(at(s.to))
		for k, v := range s.attributes {
			o.Attributes().PutStr(k, v)
		}
	}
	text, err := new(ptrace.JSONMarshaler).MarshalTraces(td)
	require.NoError(h.t, err)
	return text
}

func (h *house) send(spans ...sent) {
	require.NoError(h.t, h.feed.Collect(h.t.Context(), "default", "local", h.request(spans...), false))
}

// pass lets time go by, as far as traces are concerned.
func (h *house) pass(d time.Duration) {
	h.clock.Add(int64(d))
	h.feed.flush(h.t.Context(), false)
}

// rows are the rows of spans that wait.
func (h *house) rows() (n int) {
	for _, err := range h.store.Table("default").List(h.t.Context(), spanRow) {
		require.NoError(h.t, err)
		n++
	}
	return n
}

// What was acknowledged is recorded, also by the process after one that was killed; nothing of it stays behind.
func TestCollectIsDurable(t *testing.T) {
	h := newHouse(t)
	for i, request := range recorded(t) {
		h.restart()
		require.NoError(t, h.feed.Collect(t.Context(), "default", "local", request, false))
		assert.Equal(t, i+1, h.rows())
	}
	h.restart()
	h.pass(0)
	assert.Empty(t, h.episodes(), "it may go on")
	h.pass(3 * time.Second)
	assert.Equal(t, ofTheFile, h.episodes())
	assert.Zero(t, h.rows())
	h.restart()
	h.pass(time.Hour)
	assert.Equal(t, ofTheFile, h.episodes())
}

// Traces that come in one request end one by one; a process that is killed between them records the rest once.
// Spans that were acknowledged and cannot be read stay where they are, and keep no others waiting.
func TestCollectSeveralTraces(t *testing.T) {
	h := newHouse(t)
	require.NoError(t, h.store.Table("default").Put(t.Context(), spanRow+"0", []byte("{")))
	h.send(called("t1", "a", "r", 1, 2, "fs:read", "c1"), agent("t1", "r", "", 0, 3), called("t2", "b", "r", 11, 12, "git:log", "c2"))
	h.pass(3 * time.Second)
	assert.Equal(t, []string{": fs:read"}, h.episodes())
	assert.Equal(t, 2, h.rows())
	h.restart()
	h.pass(0)
	h.send(agent("t2", "r", "", 10, 13))
	h.pass(3 * time.Second)
	assert.Equal(t, []string{": fs:read", ": git:log"}, h.episodes())
	assert.Equal(t, 1, h.rows(), "what cannot be read")
}

// Each request comes after the traces before it are recorded, and is sent again by a process after it.
func TestCollectInTurn(t *testing.T) {
	read := called("t1", "a", "r", 1, 5, "fs:read", "c1")
	inside := map[string]string{"mcp.method.name": "tools/call", "gen_ai.tool.name": "read"}
	talk := func(trace string, from int) []sent {
		return []sent{
			called(trace, "a", "r", from+1, from+2, "fs:read", "call_0"),
			called(trace, "b", "r", from+3, from+4, "fs:write", "call_1"),
			agent(trace, "r", "", from, from+5, "gen_ai.conversation.id", "talk"),
		}
	}
	for name, tt := range map[string]struct {
		requests [][]sent
		want     string
	}{
		"the same trace": {[][]sent{{read, agent("t1", "r", "", 0, 6)}}, ": fs:read"},
		"a server's span after its agent": {[][]sent{
			{read, agent("t1", "r", "", 0, 6)},
			{{"t1", "b", "a", 2, 4, inside}, called("t1", "c", "r", 5, 6, "fs:write", "c2")},
		}, ": fs:read fs:write"},
		"ids numbered anew": {[][]sent{talk("t1", 0), talk("t2", 10)}, ": fs:read fs:write fs:read fs:write"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			for _, wait := range []time.Duration{3 * time.Second, 2 * time.Minute} {
				for _, spans := range tt.requests {
					h.send(spans...)
					h.pass(3 * time.Second)
				}
				h.pass(wait)
				assert.Equal(t, []string{tt.want}, h.episodes())
				assert.Zero(t, h.rows())
				if wait > time.Minute {
					assert.Zero(t, h.feed.traces.spans)
				}
				h.restart()
			}
		})
	}
}

// What a subagent does is a session of its own, by the same name as in a file.
func TestCollectSubagent(t *testing.T) {
	h := newHouse(t)
	request := h.request(called("t1", "c", "s", 2, 3, "git:log", "c2"), agent("t1", "s", "b", 2, 4), called("t1", "b", "r", 1, 5, "Task", "c1"),
		agent("t1", "r", "", 0, 6, "gen_ai.conversation.id", "talk"))
	require.NoError(t, h.feed.Collect(t.Context(), "default", "local", request, false))
	h.pass(3 * time.Second)
	assert.Len(t, h.episodes(), 2)
	file := filepath.Join(t.TempDir(), "traces.jsonl")
	require.NoError(t, os.WriteFile(file, request, 0o600))
	accepted, duplicates := importFile(t, h.engine(), file)
	assert.Equal(t, []int{0, 2}, []int{accepted, duplicates})
}

// Calls that the store cannot take now are recorded as soon as it can.
func TestCollectWhileTheStoreFails(t *testing.T) {
	h := newHouse(t)
	h.send(called("t1", "a", "r", 1, 2, "fs:read", "c1"), agent("t1", "r", "", 0, 3))
	open := h.feed.engine
	h.feed.engine = func(context.Context, string) (*live.Engine, error) { return nil, storage.ErrNoSpace }
	h.pass(3 * time.Second)
	h.pass(3 * time.Second)
	assert.Equal(t, 1, h.rows())
	require.ErrorIs(t, h.feed.Collect(t.Context(), "default", "local", h.request(agent("t2", "r", "", 0, 3)), false), storage.ErrNoSpace)
	h.feed.engine = open
	h.pass(0)
	assert.Equal(t, []string{": fs:read"}, h.episodes())
	assert.Zero(t, h.rows())
}
