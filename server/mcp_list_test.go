package server

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// The list of Waymark's own tools is paid for in each session, and so is each answer.
func TestListAndAnswersAreShort(t *testing.T) {
	client := overMemory(t, newOffice(t), nil)
	tools, err := client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	size := func(v any) int {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		return len(data)
	}
	for _, tool := range tools.Tools {
		t.Log(tool.Name, size(tool))
	}
	require.LessOrEqual(t, size(tools), 9_000)
	require.LessOrEqual(t, size(call(t, client, "suggest_next", map[string]any{"context": []string{"fs:read_file"}})), 2_000)
	require.LessOrEqual(t, size(call(t, client, "suggest_dag", map[string]any{"intent": "reformat a json file"})), 4_000)
}
