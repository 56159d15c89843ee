package main

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/ingest"
)

// A command that opens the store itself hands over decoded items, one beside a server sends lines. The reports and the
// stores must be the same, also where inputs of one import repeat or contradict each other.
func TestImportAloneAndThroughAServer(t *testing.T) {
	t.Setenv("WAYMARK_DROP_DIGESTS", "true") // each store has its own key
	fixtures := filepath.Join("..", "..", "ingest", "testdata")
	other := t.TempDir()
	for name, text := range map[string]string{
		"tools.jsonl":    `{"id":"fs:read","name":"read","description":"Something else."}` + "\n" + `{"id":"fs:new"}` + "\n",
		"episodes.jsonl": `{"id":"e1","steps":[{"tool":"fs:new"}]}` + "\n" + `{"id":"e9","steps":[{"tool":"fs:read"}]}` + "\nnot JSON\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(other, name), []byte(text), 0o600))
	}
	var reports, exports []string
	for _, served := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "data")
		if served {
			startServer(t, dir)
		}
		out, errs, code := waymark(t, "", "import", "--json", "--data", dir, "--split", "all",
			filepath.Join(fixtures, "dataset"), other, filepath.Join(fixtures, "dataset"), filepath.Join(fixtures, "traces"))
		require.Equal(t, 1, code, "some lines are dropped: %s", errs)
		require.True(t, json.Valid([]byte(out)), out)
		reports = append(reports, regexp.MustCompile(`"model": "[^"]*"`).ReplaceAllString(out, ""))
		out, errs, code = waymark(t, "", "export", "--format", "waymark", "--data", dir)
		require.Zero(t, code, errs)
		exports = append(exports, out)
	}
	assert.Equal(t, reports[0], reports[1])
	assert.Equal(t, exports[0], exports[1])
	assert.Contains(t, exports[0], `"id":"e9"`)
	assert.Contains(t, reports[0], `tool \"fs:read\" was read before, on line 1, with other content`)
}

// An import that is interrupted stores what was read until then, and says how much that was.
func TestImportInterrupted(t *testing.T) {
	whole := bundledSample.open
	t.Cleanup(func() { bundledSample.open = whole })
	for _, served := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "data")
		if served {
			startServer(t, dir)
		}
		ctx, interrupt := context.WithCancel(t.Context())
		// read imports the first 90 episodes and calls then before the 71st.
		read := func(then func()) {
			bundledSample.open = func(ctx context.Context, o ingest.Options) iter.Seq2[ingest.Item, error] {
				return func(yield func(ingest.Item, error) bool) {
					n := 0
					yield(ingest.Item{Line: 1, Dropped: "not JSON"}, nil) // the exit code is that of an interrupted import
					for it, err := range whole(ctx, o) {
						if it.Episode != nil {
							if n++; n == 71 {
								then()
							}
						}
						if n > 90 || !yield(it, err) {
							return
						}
					}
				}
			}
		}
		read(interrupt)
		var out, errs bytes.Buffer
		code := run(ctx, []string{"import", "--data", dir, "sample"}, strings.NewReader(""), &out, &errs)
		assert.Equal(t, exitFailed, code)
		assert.Contains(t, out.String(), "70 episodes")
		assert.Contains(t, out.String(), "interrupted")
		assert.Equal(t, "waymark: interrupted\n", errs.String())

		read(func() {})
		out.Reset()
		require.Equal(t, exitNegative, run(t.Context(), []string{"import", "--json", "--data", dir, "sample"}, strings.NewReader(""), &out, &errs))
		var report importReport
		require.NoError(t, json.Unmarshal(out.Bytes(), &report))
		assert.Equal(t, [2]int{20, 70}, [2]int{report.Taken.Episodes, report.Duplicates.Episodes})
		assert.False(t, report.Interrupted)
	}
}

// Whoever interrupts an import that waits for standard input is not kept until the input ends.
func TestImportInterruptedBeforeInput(t *testing.T) {
	in, held, err := os.Pipe()
	require.NoError(t, err)
	defer held.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var out, errs bytes.Buffer
	dir := filepath.Join(t.TempDir(), "data")
	assert.Equal(t, exitFailed, run(ctx, []string{"import", "--data", dir, "-"}, in, &out, &errs))
	assert.Equal(t, "waymark: interrupted\n", errs.String())
	assert.NoDirExists(t, dir)
}
