package suggest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/internal/codec"
	"waymark/suggest/history"
)

// The places at which chosen steps stood among suggestions come back from a snapshot.
func TestPlacesAreKept(t *testing.T) {
	w := planted(t, 60)
	for i := range 60 {
		e := episodic.Episode{ID: "shown", Steps: []episodic.Step{{Tool: "x:a"}, {Tool: "x:b", Shown: 1}, {Tool: []string{"x:c", "x:d"}[i%2], Shown: 1 + 2*(i%2)}}}
		w.Record(&e)
	}
	last := w.Freeze().Past.Episode(w.Episodes() - 1)
	assert.Equal(t, []uint8{0, 1, 3}, last.Shown)

	var b bytes.Buffer
	to := &codec.Writer{To: &b}
	require.NoError(t, w.Image().Write(to))
	require.NoError(t, to.Flush())
	r := codec.NewReader(b.Bytes())
	s := history.ReadState(r)
	require.NoError(t, r.End())
	for i := range w.Episodes() {
		assert.Equal(t, w.Freeze().Past.Episode(i), s.Freeze().Past.Episode(i))
	}
}
