package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/lab/bench"
)

// Two triangles of tools, 0 1 2 and 3 4 5, joined by one edge; two capabilities that are the triangles.
func data(t *testing.T) string {
	dir := t.TempDir()
	put := func(name string, content any) {
		raw, err := binary.Append(nil, binary.LittleEndian, content)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o644))
	}
	for name, column := range map[string][]int32{
		"src.i32": {0, 1, 2, 3, 4, 5, 2, 3}, "dst.i32": {1, 2, 0, 4, 5, 3, 3, 2}, "comm.i32": {0, 0, 0, 1, 1, 1}, "aaq.i32": {0, 4},
		"cap8.tool.i32": {0, 1, 2, 3, 4, 5}, "cap8.cap.i32": {0, 0, 0, 1, 1, 1}, "cap8.toolcomm.i32": {0, 0, 0, 1, 1, 1}, "cap8.capcomm.i32": {0, 1},
	} {
		put(name, column)
	}
	put("w.f32", []float32{1, 1, 1, 1, 1, 1, 1, 1})
	put("pr.f64", make([]float32, 12))
	for name, text := range map[string]string{
		"meta.json":     `{"N":6,"M":8}`,
		"tools.jsonl":   "{\"name\":\"read_file\",\"description\":\"reads a file\"}\n{\"name\":\"send_mail\",\"description\":\"sends a letter\"}\n",
		"queries.jsonl": "{\"target\":1,\"q\":\"send letter\"}\n{\"target\":1,\"q\":\"file\"}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func TestTasks(t *testing.T) {
	dir := data(t)
	results := map[string]bench.Result{}
	for name, run := range tasks {
		r := bench.Result{Task: name}
		require.NoError(t, run(&r, options{dir: dir, k: 8, reps: 1, tolerance: 1e-6, writers: 3, batch: 2, events: 25}), name)
		_, err := json.Marshal(r)
		require.NoError(t, err, name)
		results[name] = r
	}
	assert.Equal(t, 6, results["pagerank"].N)
	assert.Equal(t, 8, results["pagerank"].M)
	assert.InDelta(t, 1, results["pagerank"].L1Error, 1e-9, "the reference is zero, and ranks add up to 1")
	assert.InDelta(t, 1, results["louvain"].NMI, 1e-12)
	assert.InDelta(t, .25, results["louvain"].Modularity, 1e-12, "6/8 of the weight within, less two halves squared")
	assert.Equal(t, .5, results["lex"].Recall)
	assert.Equal(t, 25, results["store"].N)
	assert.Positive(t, results["store"].EventsPerSecond)
	assert.Positive(t, results["aa"].Check)
	left, err := filepath.Glob(filepath.Join(dir, "log*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestTasksWithoutData(t *testing.T) {
	for name, run := range tasks {
		if name == "store" {
			continue
		}
		assert.ErrorIs(t, run(new(bench.Result), options{dir: t.TempDir(), k: 8, reps: 1}), os.ErrNotExist, name)
	}
	assert.Error(t, store(new(bench.Result), options{}))
}
