package bench

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, folder string, files map[string]any) {
	t.Helper()
	for name, content := range files {
		raw, isText := content.(string)
		if !isText {
			out, err := binary.Append(nil, binary.LittleEndian, content)
			require.NoError(t, err)
			raw = string(out)
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(raw), 0o644))
	}
}

func TestReadTransitions(t *testing.T) {
	folder := t.TempDir()
	_, err := ReadTransitions(folder)
	require.ErrorIs(t, err, os.ErrNotExist)
	write(t, folder, map[string]any{
		"meta.json": `{"N":3,"M":2}`, "src.i32": []int32{0, 2}, "dst.i32": []int32{1, 0}, "w.f32": []float32{1.5, 4}, "comm.i32": []int32{7, 7, 1},
		"pr.f64": []float32{.25, 1e-9, .5, 0},
	})
	got, err := ReadTransitions(folder)
	require.NoError(t, err)
	assert.Equal(t, Transitions{Tools: 3, From: []int32{0, 2}, To: []int32{1, 0}, Weight: []float32{1.5, 4}, Community: []int32{7, 7, 1}}, got)
	ranks, err := ReadRanks(folder)
	require.NoError(t, err)
	assert.Equal(t, []float64{.25 + float64(float32(1e-9)), .5}, ranks)

	write(t, folder, map[string]any{"w.f32": []float32{1}})
	_, err = ReadTransitions(folder)
	assert.ErrorContains(t, err, "2 sources, 2 targets and 1 weights")
	write(t, folder, map[string]any{"w.f32": "12345"})
	_, err = ReadTransitions(folder)
	assert.ErrorContains(t, err, "5 bytes are no numbers of four")
}

func TestReadIncidence(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, map[string]any{
		"cap8.tool.i32": []int32{0, 2, 2}, "cap8.cap.i32": []int32{0, 0, 1}, "cap8.toolcomm.i32": []int32{3, 4, 5}, "cap8.capcomm.i32": []int32{3, 5},
	})
	h, err := ReadIncidence(folder, 8)
	require.NoError(t, err)
	assert.Equal(t, []int32{3, -1, 5}, h.ToolCluster, "a tool in no capability has no cluster")
	write(t, folder, map[string]any{"cap8.tool.i32": []int32{0, 3, 2}})
	_, err = ReadIncidence(folder, 8)
	assert.ErrorContains(t, err, "an entry of tool 3 of 3")
}

func TestReadTexts(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, map[string]any{
		"tools.jsonl":   "{\"id\":0,\"name\":\"read_file\",\"description\":\"reads\"}\n{\"id\":1,\"name\":\"write_file\"}\n",
		"queries.jsonl": "{\"target\":1,\"q\":\"write a file\"}\n",
	})
	tools, queries, err := ReadTexts(folder)
	require.NoError(t, err)
	assert.Equal(t, []Tool{{"read_file", "reads"}, {Name: "write_file"}}, tools)
	assert.Equal(t, []Query{{1, "write a file"}}, queries)
	write(t, folder, map[string]any{"queries.jsonl": "{\"target\":\"one\"}"})
	_, _, err = ReadTexts(folder)
	assert.ErrorContains(t, err, "queries.jsonl")
}
