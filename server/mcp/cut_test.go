package mcpserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"waymark/server/internal/api"
)

// What is kept is bounded in number, bytes and age, and belongs to the credential that called.
func TestKeptResults(t *testing.T) {
	now := time.Unix(0, 0)
	anna := api.Access{Workspace: "w", Source: "anna"}
	k := newKeptResults()
	has := func(handle string, a api.Access) bool { _, ok := k.find(handle, a, now); return ok }
	for i := range keptCount + 3 {
		k.keep(keptResult{handle: fmt.Sprint(i), text: "x", owner: anna, at: now})
	}
	assert.False(t, has("2", anna))
	assert.True(t, has("3", anna))
	assert.False(t, has("3", api.Access{Workspace: "w", Source: "ben"}))
	assert.False(t, has("3", api.Access{Workspace: "v", Source: "anna"}))

	k.keep(keptResult{handle: "large", text: strings.Repeat("x", keptBytes-10), owner: anna, at: now})
	assert.True(t, has("large", anna))
	assert.Equal(t, 11, k.all.Len())
	now = now.Add(keptFor + 1)
	assert.False(t, has("large", anna))
	assert.Zero(t, k.bytes)
}
