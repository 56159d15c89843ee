package ingest

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/suggest"
	"waymark/suggest/history"
)

// One session, written for this test as each recorder would have written it: two requests, the second
// after 48 minutes; parallel calls; a call that failed by a timeout and was made again, through a wrapper;
// in MCP's form a call that was first answered with a question, and a question of the server under the
// id of a call; in OpenTelemetry's the spans of client and server inside those of the agent. All that is
// private has SECRET in it.
var sameSession = []struct {
	file, format   string
	intents, times bool // the format has them
	lines, skipped int
	dropped        int // lines that are cut off
}{
	{"claude-code.jsonl", "claude-code", true, true, 20, 0, 0},
	{"codex.jsonl", "codex", true, true, 43, 1, 1},
	{"openai-chat.jsonl", "openai-chat", true, false, 2, 0, 0},
	{"mcp.log", "mcp-jsonrpc", false, true, 39, 1, 1},
	{"otel.jsonl", "otel", true, true, 31, 1, 1},
	{"langfuse.json", "langfuse", true, true, 11, 0, 0},
	{"langsmith.jsonl", "langsmith", true, true, 11, 0, 0},
}

func TestSameSession(t *testing.T) {
	want := [][]string{
		{"git:log/1", "fs:read/1", "fs:write", "ci:run !timeout", "ci:run", "chat:post/2", "jira:close/2"},
		{"git:log", "git:diff"},
	}
	hashes := map[string]string{}
	for _, tt := range sameSession {
		t.Run(tt.format, func(t *testing.T) {
			path := filepath.Join("testdata", "traces", tt.file)
			formats, err := Detect(path)
			require.NoError(t, err)
			require.Equal(t, []string{tt.format}, formats)
			items, _, report := read(t, path, Options{})
			var got [][]string
			for _, it := range items {
				b, err := json.Marshal(it)
				require.NoError(t, err)
				if it.Tool == nil && it.Episode == nil {
					continue
				}
				assert.NotContains(t, strings.ReplaceAll(string(b), "Release the fix for SECRET", ""), "SECRET", "%s", b)
				if it.Episode != nil {
					got = append(got, steps(it.Episode))
				}
			}
			assert.Equal(t, want, got)
			assert.Equal(t, tt.lines, report.Lines)
			assert.Equal(t, tt.skipped, report.Skipped)
			assert.Len(t, report.Reasons, tt.dropped)
			for _, r := range report.Reasons {
				assert.Contains(t, r.Reason, "ends early")
			}
			episodes := taken(items)
			first := episodes[0]
			if tt.intents {
				assert.Equal(t, []string{"Release the fix for SECRET", "What changed since then?"}, []string{first.Intent, episodes[1].Intent})
			}
			if tt.times {
				assert.WithinDuration(t, time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC), first.Time, 2*time.Second)
				assert.Equal(t, int64(60_000), first.Steps[3].DurationMS)
				assert.Equal(t, int64(1000), first.Steps[0].DurationMS)
			}
			assert.Equal(t, "{branch:string}", first.Steps[3].Shape)
			assert.Equal(t, "{lines:[integer],path:string}", first.Steps[1].Shape)
			hashes[tt.format] = graphHash(t, items)
			again, _, _ := read(t, path, Options{})
			assert.Equal(t, items, again, "importing again finds the same")
		})
	}
	for format, hash := range hashes {
		assert.Equal(t, hashes["claude-code"], hash, format)
	}
}

func steps(e *episodic.Episode) (list []string) {
	for _, s := range e.Steps {
		text := s.Tool
		if s.Group != "" {
			text += "/" + s.Group
		}
		switch {
		case s.Outcome == episodic.Failure:
			text += " !" + s.ErrorKind
		case s.ErrorKind != "":
			text += " ?" + s.ErrorKind
		}
		list = append(list, text)
	}
	return list
}

func taken(items []Item) (episodes []*episodic.Episode) {
	for _, it := range items {
		if it.Episode != nil {
			episodes = append(episodes, it.Episode)
		}
	}
	return episodes
}

// graphHash names nodes, edges and their weights as a model has them.
func graphHash(t *testing.T, items []Item) string {
	s := history.NewState()
	for _, e := range taken(items) {
		s.Record(e)
	}
	c := s.Freeze()
	measures, err := suggest.Measure(t.Context(), c, suggest.MeasureOptions{})
	require.NoError(t, err)
	m, err := suggest.NewModel(c, measures, suggest.Stamp{})
	require.NoError(t, err)
	hash := ""
	for _, p := range m.Parts() {
		if p.Name == "nodes" || p.Name == "edges" {
			hash += p.Hash
		}
	}
	return hash
}

// values reads the episodes of a text.
func values(t *testing.T, format, text string, opts Options) (episodes []string, report Report) {
	t.Helper()
	opts.Format = format
	for it, err := range ReadFrom(t.Context(), strings.NewReader(text), opts) {
		require.NoError(t, err)
		report.Add(it)
		if it.Episode != nil {
			episodes = append(episodes, strings.TrimSpace(it.Episode.Intent+": "+strings.Join(steps(it.Episode), " ")))
		}
	}
	return episodes, report
}

// Digests are those of the inner call's arguments and of what the result means, whatever is wrapped around.
func TestDigestsOfTraces(t *testing.T) {
	key := episodic.DigestKey{1}
	want := key.Digests(json.RawMessage(`{"key":"value-1"}`))
	require.NotEmpty(t, want)
	for _, answer := range []string{
		`{"key":"value-1"}`, `{"structuredContent":{"key":"value-1"},"content":[]}`, `{"content":[{"type":"text","text":"{\"key\":\"value-1\"}"}]}`,
		`[{"type":"text","text":"{\"key\":\"value-1\"}"}]`,
	} {
		for _, content := range []string{answer, string(encode(answer))} {
			text := `{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"call_tool","arguments":"{\"tool\":\"a:b\",\"arguments\":{\"key\":\"value-1\"}}"}}]},` +
				`{"role":"tool","tool_call_id":"1","content":` + content + `}]}`
			found := false
			for it, err := range ReadFrom(t.Context(), strings.NewReader(text), Options{Format: "openai-chat", Digests: &key}) {
				require.NoError(t, err)
				if it.Episode != nil {
					found = true
					assert.Equal(t, want, it.Episode.Steps[0].Inputs)
					assert.Equal(t, want, it.Episode.Steps[0].Outputs, content)
				}
			}
			assert.True(t, found)
		}
	}
}

// A call whose tool cannot have an id takes its task with it, since without it calls would follow each other that did not.
// The reason names the line of the call and how much is left out; other tasks stay.
func TestCallWithAnImpossibleTool(t *testing.T) {
	call := func(id, tool string) string {
		return `{"type":"assistant","sessionId":"s","uuid":"a` + id + `","timestamp":"2026-03-01T09:00:0` + id + `Z","message":{"role":"assistant","content":[{"type":"tool_use","id":"t` + id + `","name":"` + tool + `","input":{}}]}}` + "\n"
	}
	ask := func(id string) string {
		return `{"type":"user","sessionId":"s","uuid":"u` + id + `","timestamp":"2026-03-01T09:00:0` + id + `Z","message":{"role":"user","content":"do it"}}` + "\n"
	}
	text := ask("1") + call("2", "Read") + call("3", strings.Repeat("x", 300)) + call("4", "Write") + ask("5") + call("6", "Read")
	var dropped []string
	taken := 0
	for it, err := range ReadFrom(t.Context(), strings.NewReader(text), Options{Format: "claude-code"}) {
		require.NoError(t, err)
		switch {
		case it.Dropped != "":
			dropped = append(dropped, it.Dropped)
		case it.Episode != nil:
			taken++
		}
	}
	assert.Equal(t, 1, taken)
	require.Len(t, dropped, 1)
	assert.Regexp(t, `^episode "[0-9a-f]+" of 3 steps: line 3: tool "x+"… is 300 bytes long, the limit is 256$`, dropped[0])
}
