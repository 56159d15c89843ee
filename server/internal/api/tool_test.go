package api

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

// Hosts write integers with a point and nested values as texts, also in fields that the published schema leaves out.
func TestArgumentsAsHostsWriteThem(t *testing.T) {
	for _, text := range []string{
		`{"steps":[{"tool":"fs:read_file","duration_ms":12}]}`,
		`{"steps":[{"tool":"fs:read_file","duration_ms":12.0}]}`,
		`{"steps":"[{\"tool\":\"fs:read_file\",\"duration_ms\":\"12\"}]"}`,
	} {
		var e episodic.Episode
		require.NoError(t, Arguments(json.RawMessage(text), &e), text)
		require.Equal(t, int64(12), e.Steps[0].DurationMS, text)
	}
	require.ErrorContains(t, Arguments(json.RawMessage(`{"steps":[{"tool":"a","duration_ms":1.5}]}`), &episodic.Episode{}), "duration_ms")
}
