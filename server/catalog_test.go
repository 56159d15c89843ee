package server

import (
	"github.com/stretchr/testify/require"

	"waymark/live"
)

// settle waits until the model counts what was put.
func (w web) settle(r live.PutResult) {
	w.t.Helper()
	require.NoError(w.t, defaultEngine(w.t, w.Server).Wait(w.t.Context(), r.Seq))
}
