package mcpserver

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A state that was changed, or belongs to another call or server, holds nothing.
func TestSealIsBound(t *testing.T) {
	key, bound := []byte("k"), []byte("this call")
	sealed := seal(key, bound, []byte("state"))
	state, ok := unseal(key, bound, sealed)
	assert.True(t, ok)
	assert.Equal(t, "state", string(state))
	for _, tt := range []struct{ key, bound, sealed string }{
		{"k", "that call", sealed}, {"x", "this call", sealed}, {"k", "this call", sealed[:len(sealed)-4] + "AAAA"}, {"k", "this call", "?"},
	} {
		_, ok := unseal([]byte(tt.key), []byte(tt.bound), tt.sealed)
		assert.False(t, ok, tt)
	}
}
