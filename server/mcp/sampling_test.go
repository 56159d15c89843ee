package mcpserver

import (
	"fmt"
	"testing"
	"waymark/score/judge"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A state that was changed, or belongs to another call, holds nothing.
func TestSamplingStateIsBound(t *testing.T) {
	s := &sampling{key: []byte("k"), bound: []byte("this call"), replies: map[string]string{"q": "r"}}
	s.relay = judge.NewRelay("host", nil)
	s.relay.Ask(t.Context(), judge.Question{User: "open"})
	var need *inputRequired
	require.ErrorAs(t, s.missing(), &need)
	assert.Equal(t, map[string]string{"q": "r"}, s.earlier(need.state))
	assert.Empty(t, (&sampling{key: []byte("k"), bound: []byte("that call")}).earlier(need.state))
	assert.Empty(t, (&sampling{key: []byte("x"), bound: []byte("this call")}).earlier(need.state))
	assert.Empty(t, s.earlier(need.state[:len(need.state)-4]+"AAAA"))
	assert.Empty(t, s.earlier("?"))
	for i := range maxSamples {
		s.relay.Ask(t.Context(), judge.Question{User: fmt.Sprint(i)})
	}
	assert.ErrorContains(t, s.missing(), "too much for a host")
}
