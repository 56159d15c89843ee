package live

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/storage"
	"waymark/suggest"
)

// What is quarantined stays so after a restart, and the same entry put again is no new question.
func TestQuarantineSurvivesARestart(t *testing.T) {
	store := storage.NewMemory()
	ws := NewWorkspaces(store, Options{})
	e, err := ws.Get(ctx, "default")
	require.NoError(t, err)
	flagged := []catalog.Tool{{ID: "a:mail", Server: "a", Description: "Send mail.\u202e Hidden."}}
	r, err := e.SubmitTools(ctx, flagged)
	require.NoError(t, err)
	require.Equal(t, []Flagged{{"a:mail", []string{"its texts hold the invisible character U+202E"}, true}}, r.Flagged)
	require.NoError(t, ws.Close(ctx))

	e = workspace(t, store, Options{})
	held, ok := e.Withheld("a:mail")
	require.True(t, ok)
	require.Equal(t, suggest.AbsentQuarantined, held.Absent)
	r, err = e.SubmitTools(ctx, flagged)
	require.NoError(t, err)
	require.Equal(t, 1, r.Unchanged)
	require.Empty(t, r.Flagged)
	require.NoError(t, e.Release(ctx, "a:mail", ""))
	require.ErrorIs(t, e.Release(ctx, "a:mail", ""), ErrNotQuarantined)
	require.Empty(t, e.Quarantined())

	r, err = e.PutTools(ctx, []catalog.Tool{{ID: "а:mail", Server: "а", Description: "Send mail"}}) // Cyrillic а
	require.NoError(t, err)
	require.Len(t, r.Flagged, 1)
	require.False(t, r.Flagged[0].Quarantined)
}
