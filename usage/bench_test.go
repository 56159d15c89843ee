package usage

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkReport reads transcripts as Claude Code writes them and makes the report. WAYMARK_PERF_TRANSCRIPTS is their
// size in MiB, 20 where it is not set.
func BenchmarkReport(b *testing.B) {
	size := 20
	if s := os.Getenv("WAYMARK_PERF_TRANSCRIPTS"); s != "" {
		var err error
		size, err = strconv.Atoi(s)
		require.NoError(b, err)
	}
	m, bytes, calls := transcripts(b, size<<20)
	b.SetBytes(bytes)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(Memory)) // as the command does
	var r *Report
	for b.Loop() {
		c, err := Collect(b.Context(), Look(m.Places()), began.AddDate(1, 0, 0), func(string, int) {})
		require.NoError(b, err)
		r, err = c.Report(b.Context(), Sources{Configs: m.Configs(), Progress: func(string) {}})
		require.NoError(b, err)
	}
	require.Equal(b, calls, r.Calls)
	b.ReportMetric(float64(calls), "calls")
}

// transcripts are sessions of 60 calls of 80 tools by a Markov chain, with results of 200 bytes to 20 KB, the median 2 KB.
func transcripts(b *testing.B, size int) (m Machine, bytes int64, calls int) {
	dir := b.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	text := strings.Repeat("a line of a file, with \\\"quotes\\\" and \\t tabs\\n", 500)
	for s := 0; bytes < int64(size); s++ {
		path := filepath.Join(dir, ".claude", "projects", fmt.Sprint("project", s%7), fmt.Sprintf("s%d.jsonl", s))
		require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o755))
		f, err := os.Create(path)
		require.NoError(b, err)
		w := bufio.NewWriter(f)
		at, tool := began.Add(time.Duration(s)*time.Hour), r.IntN(80)
		say := func(kind, format string, args ...any) {
			at = at.Add(time.Second)
			n, err := fmt.Fprintf(w, `{"type":%q,"uuid":"%d-%d","sessionId":"s%d","cwd":"/home/user/project","version":"2.1.0","timestamp":%q,"message":`+format+"}\n",
				append([]any{kind, s, at.UnixNano(), s, at.Format(time.RFC3339)}, args...)...)
			require.NoError(b, err)
			bytes += int64(n)
		}
		say("user", `{"role":"user","content":"change number %d of the project, and test it"}`, s)
		for i := range 60 {
			if tool = (tool*7 + 3) % 80; r.IntN(4) == 0 {
				tool = r.IntN(80)
			}
			say("assistant", `{"id":"m%d-%d","role":"assistant","usage":{"input_tokens":9,"output_tokens":120},"content":[{"type":"text","text":"I look at it."},{"type":"tool_use","id":"c%d-%d","name":"mcp__server%d__tool_%d","input":{"path":"src/file%d.go","limit":200}}]}`, s, i, s, i, tool%9, tool, r.IntN(1000))
			length := min(int(200*float64(r.ExpFloat64()*10+1)), len(text)/50*50)
			say("user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d-%d","is_error":%v,"content":"%s"}]}`, s, i, r.IntN(20) == 0, text[:length/47*47])
			calls++
		}
		require.NoError(b, w.Flush())
		require.NoError(b, f.Close())
	}
	return Machine{Home: dir, OS: "linux", Env: func(string) string { return "" }}, bytes, calls
}
