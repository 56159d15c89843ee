package ingest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"waymark/episodic"
)

// Every decoder reads any bytes without panic, what it takes is normalised (it can be written and read
// again unchanged), and reading twice gives the same.
func fuzzStream(f *testing.F, format string, seeds ...string) {
	for _, seed := range seeds {
		b, err := os.ReadFile(filepath.Join("testdata", seed))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		once, twice := export(t, b, format), export(t, b, format)
		if !bytes.Equal(once, twice) {
			t.Fatalf("%s\nthen\n%s", once, twice)
		}
		if again := export(t, once, "waymark"); !bytes.Equal(once, again) {
			t.Fatalf("%s\nwas read as\n%s", once, again)
		}
	})
}

func export(t *testing.T, b []byte, format string) []byte {
	var out bytes.Buffer
	for it, err := range ReadFrom(context.Background(), bytes.NewReader(b), Options{Format: format, Split: "all", Source: "s"}) {
		if err != nil {
			break
		}
		if it.Episode != nil && it.Episode.Label == "" {
			it.Episode.Label = "s" // what the second reading takes from the source
		}
		if err := WriteLine(&out, it); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func FuzzDataset(f *testing.F) {
	fuzzStream(f, "dataset", "dataset/tools.jsonl", "dataset/episodes.jsonl", "dataset/capabilities.jsonl")
}

func FuzzToolsList(f *testing.F) {
	fuzzStream(f, "tools-list", "tools/github.json", "tools/pages.jsonl")
}

func FuzzMCPConfig(f *testing.F) {
	fuzzStream(f, "mcp-config", "config/.mcp.json", "config/codex.toml", "config/vscode.json")
}

func FuzzClaudeCode(f *testing.F) {
	fuzzStream(f, "claude-code", "claude/s1.jsonl", "claude/s2/subagents/agent-a7.jsonl")
}

func FuzzCodex(f *testing.F)      { fuzzStream(f, "codex", "traces/codex.jsonl") }
func FuzzOpenAIChat(f *testing.F) { fuzzStream(f, "openai-chat", "traces/openai-chat.jsonl") }
func FuzzOTel(f *testing.F)       { fuzzStream(f, "otel", "traces/otel.jsonl") }
func FuzzJSONRPC(f *testing.F)    { fuzzStream(f, "mcp-jsonrpc", "traces/mcp.log") }
func FuzzLangfuse(f *testing.F)   { fuzzStream(f, "langfuse", "traces/langfuse.json") }
func FuzzLangSmith(f *testing.F)  { fuzzStream(f, "langsmith", "traces/langsmith.jsonl") }

// What exporters send gives normalised steps or an error, never a panic.
func FuzzOTLP(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "traces", "otel.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	f.Add(first, false)
	td := new(trace.TracesData)
	if err := protojson.Unmarshal(first, td); err != nil {
		f.Fatal(err)
	}
	binary, err := proto.Marshal(td)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(binary, true)
	key := func() (episodic.DigestKey, error) { return episodic.DigestKey{1}, nil }
	f.Fuzz(func(t *testing.T, body []byte, protobuf bool) {
		spans, err := OTLP(body, protobuf, key)
		if err != nil {
			return
		}
		for _, c := range SpanCalls(spans) {
			if c.Call.CallID == "" || c.Session == "" || c.Call.Tool == "" {
				t.Fatalf("%+v", c)
			}
		}
	})
}

func FuzzWaymark(f *testing.F) { fuzzStream(f, "waymark", "export/history.jsonl") }

func FuzzDetect(f *testing.F) {
	f.Add("a.json", []byte(`{"mcpServers":{}}`))
	f.Add("a.jsonl", []byte("{\"id\":\"a\",\"steps\":[]}\n"))
	f.Add("b", []byte("/* */ [ { \"name\" "))
	f.Fuzz(func(t *testing.T, name string, head []byte) {
		if format, err := sniff(name, head); (format == "") != (err != nil) {
			t.Fatalf("%q, %v", format, err)
		}
	})
}
