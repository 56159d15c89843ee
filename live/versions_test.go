package live

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/storage"
)

func TestCapabilityVersions(t *testing.T) {
	store := storage.NewMemory()
	w := NewWorkspaces(store, Options{})
	defer w.Close(t.Context())
	e, err := w.Get(t.Context(), "default")
	require.NoError(t, err)
	put := func(tool string, version int) int {
		c := catalog.Capability{ID: "c", Version: version, Tasks: []catalog.Task{{ID: "a", Tool: tool, Arguments: map[string]json.RawMessage{"x": json.RawMessage("1")}}}}
		r, err := e.PutCapabilities(t.Context(), []catalog.Capability{c})
		require.NoError(t, err)
		require.Empty(t, r.Rejected)
		require.NoError(t, e.Wait(t.Context(), r.Seq))
		now, ok := e.Model().Capability("c")
		require.True(t, ok)
		return now.Version
	}
	assert.Equal(t, 1, put("fs:a", 0))
	assert.Equal(t, 1, put("fs:a", 0), "the same again is the same")
	assert.Equal(t, 2, put("fs:b", 1), "other content is another version whatever it says of itself")
	assert.Equal(t, 7, put("fs:c", 7), "an import may bring a higher one")
	for version, tool := range map[int]string{1: "fs:a", 2: "fs:b", 7: "fs:c"} {
		c, err := e.CapabilityVersion(t.Context(), "c", version)
		require.NoError(t, err)
		assert.Equal(t, tool, c.Tasks[0].Tool)
	}
	_, err = e.CapabilityVersion(t.Context(), "c", 3)
	require.ErrorIs(t, err, storage.ErrNotFound)

	known, err := e.RemoveCapability(t.Context(), "c")
	require.NoError(t, err)
	require.True(t, known)
	assert.Equal(t, 8, put("fs:d", 0), "a number is not given twice")

	r, err := e.PutCapabilities(t.Context(), []catalog.Capability{{ID: "idea", Tools: []string{"fs:a"}}})
	require.NoError(t, err)
	require.NoError(t, e.Wait(t.Context(), r.Seq))
	idea, _ := e.Model().Capability("idea")
	assert.Zero(t, idea.Version, "what cannot be run has no versions")
}
