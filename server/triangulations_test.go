package server

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/scorer"
)

// What is answered is kept, whatever becomes of the record of its run.
func TestATriangulationIsKeptBeforeItsRunIsRecorded(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RecordScores = true })
	require.NoError(t, w.cfg.Workspaces.Close(t.Context())) // no run can be recorded any more
	a := parse[scorer.TriangulateAnswer](t, 200, w.ask("POST", "/v1/triangulations",
		`{"question":"Why?","hypotheses":[{"id":"h1","text":"it rains"},{"id":"h2","text":"it snows"}]}`))
	got := parse[scorer.TriangulateAnswer](t, 200, w.ask("GET", "/v1/triangulations/"+a.ID, ""))
	assert.Equal(t, a, got)
}
