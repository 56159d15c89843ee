package mcpserver

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An answer that begins after its request was cancelled is left out, one that began before goes on.
func TestWantedWriterLeavesOutWhatNobodyAskedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	before, after := httptest.NewRecorder(), httptest.NewRecorder()
	w := &wantedWriter{ResponseWriter: before, wanted: ctx}
	_, err := w.Write([]byte("begun"))
	require.NoError(t, err)
	cancel()
	_, err = w.Write([]byte(" and ended"))
	require.NoError(t, err)
	assert.Equal(t, "begun and ended", before.Body.String())

	w = &wantedWriter{ResponseWriter: after, wanted: ctx}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(200)
	_, err = w.Write([]byte(`{"result":{"isError":true}}`))
	require.NoError(t, err)
	w.Flush()
	assert.Empty(t, after.Body.String())
	assert.False(t, after.Flushed)
	assert.Empty(t, after.Header())
}
