package gateway

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Servers that are added at the same time are all kept; what is wrong with one adds none.
func TestAdd(t *testing.T) {
	g, dir := open(t, quick(t)), t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			assert.NoError(t, g.Add(t.Context(), dir, "default", []Definition{{ID: fmt.Sprint("s", i), URL: fmt.Sprint("http://localhost:", 1000+i)}}))
		})
	}
	all.Wait()
	kept, err := ReadDefinitions(dir, "default")
	require.NoError(t, err)
	assert.Len(t, kept.Servers, 8)
	for _, wrong := range [][]Definition{
		{{ID: "a", URL: "http://localhost/1"}, {ID: "a", URL: "http://localhost/2"}},
		{{ID: "a", URL: "http://localhost/1"}, {ID: "b", Command: "no-such-program-here"}},
		{{ID: "a", URL: "http://localhost/1", Headers: map[string]string{"x": "${input:key}"}}},
		{{ID: "S1", URL: "http://localhost/1"}},
	} {
		assert.Error(t, g.Add(t.Context(), dir, "default", wrong))
	}
	again, err := ReadDefinitions(dir, "default")
	require.NoError(t, err)
	assert.Equal(t, kept, again)
	require.NoError(t, g.Forget(t.Context(), dir, "default", "s3"))
	again, err = ReadDefinitions(dir, "default")
	require.NoError(t, err)
	assert.Len(t, again.Servers, 7)
}
