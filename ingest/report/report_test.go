package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

const secret = "sk-test-4242-hunter2"

var began = time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC)

// home writes sessions of Claude Code as it does, with secrets in everything that users and tools say.
func home(t *testing.T, sessions int) Machine {
	t.Helper()
	dir := t.TempDir()
	for s := range sessions {
		at := began.Add(time.Duration(s) * time.Hour)
		var b strings.Builder
		fmt.Fprintf(&b, `{"type":"user","uuid":"u%d","sessionId":"s%d","timestamp":%q,"message":{"role":"user","content":"deploy with %s"}}`+"\n", s, s, at.Format(time.RFC3339), secret)
		for i, tool := range []string{"mcp__git__log", "Read", "Read", "Read", "mcp__ci__run", "Write"} {
			at = at.Add(2 * time.Second)
			id := fmt.Sprintf("toolu_%d_%d", s, i)
			fmt.Fprintf(&b, `{"type":"assistant","uuid":"a%s","sessionId":"s%d","timestamp":%q,"message":{"id":"m%s","role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":{"path":%q}}]}}`+"\n",
				id, s, at.Format(time.RFC3339), id, id, tool, secret)
			at = at.Add(time.Second)
			failed := tool == "mcp__ci__run" && s%2 == 0
			fmt.Fprintf(&b, `{"type":"user","uuid":"r%s","sessionId":"s%d","timestamp":%q,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"is_error":%v,"content":"timed out %s"}]}}`+"\n",
				id, s, at.Format(time.RFC3339), id, failed, secret)
		}
		write(t, filepath.Join(dir, ".claude", "projects", "p", fmt.Sprintf("s%d.jsonl", s)), b.String())
	}
	return Machine{Home: dir, OS: "linux", Env: func(string) string { return "" }}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func report(t *testing.T, m Machine) *Report {
	t.Helper()
	r, err := Make(t.Context(), Look(m.Places()), began.AddDate(1, 0, 0), func(string, int) {})
	require.NoError(t, err)
	return r
}

func section(r *Report, title string) Section {
	for _, s := range r.Sections {
		if strings.HasPrefix(s.Title, title) {
			return s
		}
	}
	return Section{}
}

func rendered(t *testing.T, r *Report) string {
	t.Helper()
	head, sections := r.Text()
	j, err := json.Marshal(r)
	require.NoError(t, err)
	return fmt.Sprint(head, sections, string(j))
}

func TestReport(t *testing.T) {
	m := home(t, 40)
	r := report(t, m)
	require.Equal(t, 240, r.Calls)
	require.Equal(t, 40, r.Sessions)
	require.Equal(t, began, r.From)

	ms := millis(rounded(1000))
	require.InEpsilon(t, 1000, int(ms), .07)
	require.Equal(t, [][]any{{"(tools of the hosts)", 160, share(0), ms, ms}, {"ci", 40, share(.5), ms, ms}, {"git", 40, share(0), ms, ms}}, section(r, "Servers").Rows)
	require.Equal(t, "Read", section(r, "Tools").Rows[0][0])
	require.Equal(t, [][]any{{"timeout", 20, share(20. / 240), "ci:run (20 of 40)"}}, section(r, "Failures").Rows)

	require.Contains(t, section(r, "Next calls").Notes[0], "of the newest 8 tasks")

	all := rendered(t, r)
	require.Contains(t, all, "Waymark would have named")
	require.NotContains(t, all, secret)
	require.NotContains(t, all, "deploy with")
	require.NotContains(t, all, m.Home)
}

// A report of nothing says where it looked.
func TestReportOfNothing(t *testing.T) {
	m := Machine{Home: t.TempDir(), OS: "darwin", Env: func(string) string { return "" }}
	write(t, filepath.Join(m.Home, "Library/Application Support/Cursor/User/globalStorage/state.vscdb"), "x")
	r := report(t, m)
	require.Zero(t, r.Calls)
	all := rendered(t, r)
	require.Contains(t, all, "No tool calls were found.")
	require.Contains(t, all, "~/.claude/projects")
	require.Contains(t, all, "a database whose format is not documented")
}

// Only the newest tasks are kept, whatever the order of files; counts go on.
func TestMemoryIsBounded(t *testing.T) {
	c := newCollection(nil)
	const tasks = mostTools + mostEpisodes/2
	for i := range tasks {
		c.episode("h", &episodic.Episode{ID: fmt.Sprint(i), Session: "s", Time: began.Add(time.Duration((i*7919)%tasks) * time.Second), Steps: []episodic.Step{{Tool: fmt.Sprint("t", i)}}})
		require.LessOrEqual(t, len(c.newest), 2*mostEpisodes)
	}
	c.cut()
	require.Len(t, c.newest, mostEpisodes)
	require.Equal(t, began.Add((tasks-mostEpisodes)*time.Second), c.newest[0].Time)
	require.Len(t, c.tools, mostTools)
	require.Equal(t, tasks, c.Calls)
}
