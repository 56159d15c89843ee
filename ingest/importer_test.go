package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// read collects an import as one line an item: kind, place, id, and what became of it.
func read(t *testing.T, path string, opts Options) (items []Item, seen []string, report Report) {
	t.Helper()
	for it, err := range Read(t.Context(), path, opts) {
		require.NoError(t, err)
		items = append(items, it)
		seen = append(seen, describe(it))
		report.Add(it)
	}
	return items, seen, report
}

func describe(it Item) string {
	kind := it.Kind
	if kind == "" {
		kind = "line"
	}
	s := fmt.Sprintf("%s:%d %s %s", filepath.Base(it.File), it.Line, kind, it.ID)
	switch {
	case it.Dropped != "":
		s += " dropped: " + it.Dropped
	case it.LeftOut != "":
		s += " left out: " + it.LeftOut
	case it.Duplicate:
		s += " duplicate"
	}
	return s
}

func episode(t *testing.T, items []Item, id string) string {
	t.Helper()
	for _, it := range items {
		if it.Episode != nil && it.ID == id {
			b, err := json.MarshalIndent(it.Episode, "", " ")
			require.NoError(t, err)
			return string(b)
		}
	}
	t.Fatalf("no episode %q", id)
	return ""
}

func TestDetect(t *testing.T) {
	for path, want := range map[string]string{
		"dataset": "dataset", "dataset/episodes.jsonl": "dataset", "dataset/tools.jsonl": "dataset", "dataset/capabilities.jsonl": "dataset",
		"tools": "tools-list", "tools/github.json": "tools-list", "tools/pages.jsonl": "tools-list",
		"config": "mcp-config", "config/.mcp.json": "mcp-config", "config/codex.toml": "mcp-config", "config/vscode.json": "mcp-config",
		"claude": "claude-code", "claude/s1.jsonl": "claude-code", "claude/s2/subagents/agent-a7.jsonl": "claude-code",
		"export": "waymark", "export/history.jsonl": "waymark",
	} {
		got, err := Detect(filepath.Join("testdata", path))
		assert.NoError(t, err, path)
		assert.Equal(t, []string{want}, got, path)
	}
	got, err := Detect("testdata/traces")
	assert.NoError(t, err)
	assert.Equal(t, []string{"claude-code", "codex", "openai-chat", "otel", "mcp-jsonrpc", "langfuse", "langsmith"}, got, "a folder of several")
	for _, unknown := range []string{"hello", "[]", "{}", `{"id":"x"}`, "\x00\x01"} {
		_, err := sniff("file", []byte(unknown))
		assert.ErrorIs(t, err, ErrFormat, unknown)
	}
	for _, empty := range []string{"", bom, " \n\n"} {
		_, err := sniff("file", []byte(empty))
		assert.ErrorIs(t, err, errEmpty)
	}
	_, err = Detect("testdata/absent")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	for _, f := range Formats() {
		assert.NotEmpty(t, f.Does, f.Name)
	}
}

func TestDataset(t *testing.T) {
	items, seen, report := read(t, "testdata/dataset", Options{})
	assert.Equal(t, []string{
		"tools.jsonl:1 tool fs:read",
		"tools.jsonl:2 tool json.parse",
		"tools.jsonl:3 tool fs:read duplicate",
		`tools.jsonl:4 tool json.parse dropped: tool "json.parse" was read before, with other content`,
		"tools.jsonl:5 tool  dropped: /id: a JSON number does not fit here, want a string",
		"tools.jsonl:7 tool no id but a name",
		"tools.jsonl:8 tool  dropped: tool has no id",
		"tools.jsonl:9 tool  dropped: the JSON value ends early (byte 14)",
		"capabilities.jsonl:1 capability report",
		"episodes.jsonl:1 episode e1",
		"episodes.jsonl:2 episode e2 left out: split test",
		"episodes.jsonl:3 episode e3",
		"episodes.jsonl:4 episode e3 duplicate",
		`episodes.jsonl:5 episode e4 dropped: episode "e4": steps form a cycle: "1" needs "2" needs "1"`,
		`episodes.jsonl:6 episode e5 dropped: time "yesterday" is neither RFC 3339 nor a date`,
		"episodes.jsonl:7 episode e6 dropped: /steps: a JSON string does not fit here, want a list",
		"episodes.jsonl:8 episode  dropped: the JSON value ends early (byte 31)",
	}, seen)
	assert.Equal(t, []string{"fs:read", "json.parse"}, items[8].Capability.Tools)
	assert.JSONEq(t, `{"properties":{"path":"string"}}`, string(items[0].Tool.InputSchema))
	assert.JSONEq(t, `{"id":"e1","intent":"read it","time":"2013-02-07T00:00:00Z","source":"import:dataset","label":"a colleague",
		"steps":[{"id":"1","tool":"fs:read","depends_on":[],"outcome":"unknown"},{"id":"2","tool":"json.parse","depends_on":["1"],"outcome":"unknown"}],"outcome":"success"}`,
		episode(t, items, "e1"))
	assert.Equal(t, Counts{Tools: 3, Capabilities: 1, Episodes: 2}, report.Taken)
	assert.Equal(t, Counts{Tools: 1, Episodes: 1}, report.Duplicates)
	assert.Equal(t, Counts{Tools: 4, Episodes: 4}, report.Dropped)
	assert.Equal(t, Counts{Episodes: 1}, report.LeftOut)

	items, seen, _ = read(t, "testdata/dataset", Options{Split: "test", Source: "me", DropIntents: true})
	assert.Contains(t, seen, "episodes.jsonl:1 episode e1 left out: split train")
	assert.JSONEq(t, `{"id":"e2","time":"2026-03-01T09:00:00Z","source":"me","steps":[{"id":"1","tool":"fs:read","outcome":"unknown"},{"id":"2","tool":"json.parse","outcome":"failure"}],"outcome":"unknown"}`,
		episode(t, items, "e2"))
	assert.Empty(t, items[8].Capability.Intent)

	_, seen, _ = read(t, "testdata/dataset", Options{Split: "all", Now: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)})
	assert.Contains(t, seen, "episodes.jsonl:1 episode e1")
	assert.Contains(t, seen, `episodes.jsonl:2 episode e2 dropped: episode "e2": time 2026-03-01T09:00:00Z is more than 24 hours in the future`)
}

func TestToolsList(t *testing.T) {
	items, seen, _ := read(t, "testdata/tools", Options{})
	assert.Equal(t, []string{
		"github.json:5 tool github:search_issues",
		"github.json:7 tool github: dropped: tool has no name",
		"github.json:8 tool github: dropped: tool has no name",
		"github.json:10 tool github:merge",
		"pages.jsonl:1 tool fs:read",
		"pages.jsonl:2 tool git:log",
		"pages.jsonl:2 tool pages: dropped: tool has no name",
		"pages.jsonl:3 line  dropped: the server answered with an error: no such cursor",
		"pages.jsonl:4 line  dropped: the JSON value ends early (byte 24)",
	}, seen)
	first := items[0].Tool
	assert.Equal(t, "Find issues\u200b", first.Description, "whoever stores it takes it out, and says so")
	assert.Equal(t, "github", first.Server)
	assert.Equal(t, "Search issues", first.Annotations.Title)
	assert.True(t, *first.Annotations.ReadOnly)
	assert.False(t, *first.Annotations.OpenWorld)
	assert.Nil(t, first.Annotations.Destructive, "not said")
	_, seen, _ = read(t, "testdata/tools/pages.jsonl", Options{Server: "mine"})
	assert.Equal(t, "pages.jsonl:1 tool mine:read", seen[0])
	for name, want := range map[string]string{"github.json": "github", "a/github-tools.json": "github", "fs.tools.json": "fs", "tools.json": "", "tools-list.json": "", "-": ""} {
		assert.Equal(t, want, serverOfFile(name), name)
	}
	stream := `[{"name":"read","inputSchema":{"type":"object"}}]`
	for it, err := range ReadFrom(t.Context(), strings.NewReader(stream), Options{}) {
		require.NoError(t, err)
		assert.Equal(t, "-:1 tool read", describe(it))
	}
}

// Every value that could be a secret has SECRET in it.
func TestMCPConfig(t *testing.T) {
	items, seen, report := read(t, "testdata/config", Options{})
	assert.Equal(t, []string{
		".mcp.json:0 server events",
		".mcp.json:0 server github",
		`.mcp.json:0 server nothing dropped: server "nothing" has neither command nor url`,
		".mcp.json:0 server shell",
		`.mcp.json:0 server wrong dropped: server "wrong" is not an object`,
		".mcp.json:0 server zap",
		"codex.toml:0 server files",
		"codex.toml:0 server remote",
		"vscode.json:0 server docs",
	}, seen)
	assert.Equal(t, Server{Name: "events", Transport: "sse", URL: "https://example.com", Disabled: true}, *items[0].Server)
	assert.Equal(t, Server{Name: "github", Transport: "stdio", Command: "npx"}, *items[1].Server)
	assert.Equal(t, Server{Name: "zap", Transport: "http", URL: "https://mcp.example.com"}, *items[5].Server)
	assert.Equal(t, Server{Name: "remote", Transport: "http", URL: "https://remote.example.com", Disabled: true}, *items[7].Server)
	assert.Len(t, report.Servers, 7)
	all, err := json.Marshal(report)
	require.NoError(t, err)
	assert.NotContains(t, string(all)+report.String(), "SECRET")
}

func TestWaymark(t *testing.T) {
	items, seen, _ := read(t, "testdata/export", Options{})
	assert.Equal(t, []string{
		"history.jsonl:1 tool fs:read",
		"history.jsonl:2 capability report",
		"history.jsonl:3 episode e1",
		`history.jsonl:4 line m dropped: unknown kind "model": want tool, capability or episode`,
		"history.jsonl:5 line x dropped: no kind",
	}, seen)
	assert.Equal(t, "key:alice", items[2].Episode.Label, "what a body claims is a label")
	assert.Equal(t, "import:waymark", items[2].Episode.Source)
}

// Law: what is exported and read again is what was exported, from whatever format it first came.
func TestExportRoundTrip(t *testing.T) {
	for _, path := range []string{"dataset", "tools", "claude", "export"} {
		var first, second bytes.Buffer
		for it, err := range Read(t.Context(), filepath.Join("testdata", path), Options{Split: "all", Source: "import:waymark"}) {
			require.NoError(t, err)
			if it.Episode != nil {
				it.Episode.Label = "label" // as a first import leaves it
			}
			require.NoError(t, WriteLine(&first, it))
		}
		require.NotEmpty(t, first.String(), path)
		for it, err := range ReadFrom(t.Context(), bytes.NewReader(first.Bytes()), Options{}) {
			require.NoError(t, err)
			require.Empty(t, it.Dropped)
			require.NoError(t, WriteLine(&second, it))
		}
		assert.Equal(t, first.String(), second.String(), path)
	}
}

func TestReadErrors(t *testing.T) {
	one := func(path string, opts Options) error {
		for _, err := range Read(t.Context(), path, opts) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	assert.ErrorIs(t, one("testdata/absent", Options{}), fs.ErrNotExist)
	assert.ErrorContains(t, one("testdata/dataset", Options{Format: "csv"}), `unknown format "csv"`)
	assert.ErrorContains(t, one("testdata/dataset", Options{Split: "dev"}), `split "dev"`)
	assert.ErrorContains(t, one("testdata/claude", Options{Format: "dataset"}), "neither tools.jsonl")
	assert.ErrorIs(t, one(t.TempDir(), Options{}), errEmpty)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range Read(ctx, "testdata/dataset", Options{}) {
		n++
		last = err
		cancel()
	}
	assert.ErrorIs(t, last, context.Canceled)
	assert.Equal(t, 2, n, "one item and the error")

	n = 0
	for range Read(t.Context(), "testdata/claude", Options{}) { // leaving early is no error and no panic
		n++
		break
	}
	assert.Equal(t, 1, n)

	broken := errors.New("disk on fire")
	for _, err := range ReadFrom(t.Context(), io.MultiReader(strings.NewReader("{\"id\":\"a\"}\n"), iotest.ErrReader(broken)), Options{Format: "dataset"}) {
		last = err
	}
	assert.ErrorIs(t, last, broken)
}
