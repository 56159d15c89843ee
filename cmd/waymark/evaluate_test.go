package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/suggest/evaluate"
)

// The own history: a part of the bundled sample, imported. The server shows the report afterwards.
func TestEvaluateOwnHistory(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	says(t, 0, "import", sampleCut(t, 200, "forge", "metrics", "tracker", "chat", "mail", "files", "calendar"), "--data", data)
	server := startServer(t, data)
	text, _ := says(t, exitNegative, "evaluate", "--data", data, "--profile", "seed")
	golden := filepath.Join("testdata", "evaluate.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text, "go test ./cmd/waymark -run EvaluateOwn -update writes it anew")
	var kept struct{ Report evaluate.Report }
	askOver(t, http.MethodGet, server.URLs.API+"/evaluation", "", http.StatusOK, &kept)
	assert.Equal(t, "seed", kept.Report.Profile)
	assert.Equal(t, 40, kept.Report.TestEpisodes)
	assert.NotEmpty(t, kept.Report.Rows)
}
