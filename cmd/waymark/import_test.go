package main

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/ingest"
)

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
		// read imports the first 12 episodes and calls then before the 10th.
		read := func(then func()) {
			bundledSample.open = func(ctx context.Context, o ingest.Options) iter.Seq2[ingest.Item, error] {
				return func(yield func(ingest.Item, error) bool) {
					n := 0
					yield(ingest.Item{Line: 1, Dropped: "not JSON"}, nil) // the exit code is that of an interrupted import
					for it, err := range whole(ctx, o) {
						if it.Episode != nil {
							if n++; n == 10 {
								then()
							}
						}
						if n > 12 || !yield(it, err) {
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
		assert.Contains(t, out.String(), "9 episodes")
		assert.Contains(t, out.String(), "interrupted")
		assert.Equal(t, "waymark: interrupted\n", errs.String())

		read(func() {})
		out.Reset()
		require.Equal(t, exitNegative, run(t.Context(), []string{"import", "--json", "--data", dir, "sample"}, strings.NewReader(""), &out, &errs))
		var report importReport
		require.NoError(t, json.Unmarshal(out.Bytes(), &report))
		assert.Equal(t, [2]int{3, 9}, [2]int{report.Taken.Episodes, report.Duplicates.Episodes})
		assert.False(t, report.Interrupted)
	}
}
