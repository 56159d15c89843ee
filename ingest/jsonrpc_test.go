package ingest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJSONRPC(t *testing.T) {
	call := func(id, tool string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"p":1}}}`
	}
	ok := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"x"}]}}`
	}
	for _, tt := range []struct {
		name string
		text []string
		want []string
	}{
		{"the Go SDK's log", []string{"write: " + call("1", "a"), "some other line", "write: " + call("2", "b"), "read: " + ok("2"), "read: " + ok("1"), "write: " + call("3", "c")}, []string{": a/1 b/1 c"}},
		{"both sides ask under one id", []string{"write: " + call("1", "a"), `read: {"jsonrpc":"2.0","id":1,"method":"roots/list"}`, `write: {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`,
			"write: " + call("2", "b"), `read: {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`}, []string{": a/1 !argument b/1"}},
		{"and nobody says who", []string{call("1", "a"), `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}`, `{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{}}}`, ok("1"), call("2", "b")},
			[]string{": a b"}},
		{"ids are what they are written", []string{call(`"1"`, "a"), call("1", "b"), ok("1"), call("2", "c"), `{"jsonrpc":"2.0","id":"1","result":{"isError":true,"content":[{"type":"text","text":"timed out"}]}}`}, []string{": a/1 !timeout b/1 c"}},
		{"envelopes", []string{
			`{"time":"2026-01-01T00:00:00Z","direction":"client","server":"fs","message":` + call("1", "read") + `}`,
			`{"time":"2026-01-01T00:00:01Z","direction":"server","server":"fs","message":` + ok("1") + `}`,
			`{"time":"2026-01-01T00:00:02Z","direction":"client","server":"git","message":` + call("1", "log") + `}`,
			`{"time":"2026-01-01T00:31:03Z","direction":"client","server":"fs","message":` + call("1", "late") + `}`,
		}, []string{": fs:read git:log", ": fs:late"}},
		{"the server's own name", []string{`write: {"jsonrpc":"2.0","id":0,"method":"initialize"}`, `read: {"jsonrpc":"2.0","id":0,"result":{"serverInfo":{"name":"fs"}}}`, "write: " + call("1", "read")}, []string{": fs:read"}},
		{"asked for input", []string{call("1", "a"), `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"}}`, call("2", "a"), ok("2")}, []string{": a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Join(tt.text, "\n") + "\n"
			format, err := sniff("x.log", []byte(text))
			require.NoError(t, err)
			assert.Equal(t, "mcp-jsonrpc", format)
			got, report := values(t, "mcp-jsonrpc", text, Options{})
			assert.Equal(t, tt.want, got)
			assert.Zero(t, report.Dropped.Total(), "%s", report)
		})
	}
	got, report := values(t, "mcp-jsonrpc", "hello\nwrite: "+call("1", "a")+"\nread: {\"jsonrpc\":\"2.0\",\"resu", Options{Server: "s"})
	assert.Equal(t, []string{": s:a"}, got)
	assert.Equal(t, []int{3, 1, 1}, []int{report.Lines, report.Skipped, report.Dropped.Lines})
	assert.Contains(t, report.String(), "skipped     1 of 3 lines (33.3 %)")
}
