package mcpserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call that the host has to go on with carries a state there and back. It comes from outside then, so it is signed,
// and bound to the call that it belongs to.

// An inputRequired ends a call that the host has to go on with.
type inputRequired struct {
	requests mcp.InputRequestMap
	state    string
}

func (*inputRequired) Error() string { return "the host has to reply first" }

// asInputRequired turns the error into the result that asks the host.
func asInputRequired(err error) (*mcp.CallToolResult, bool) {
	var need *inputRequired
	if !errors.As(err, &need) {
		return nil, false
	}
	return &mcp.CallToolResult{InputRequests: need.requests, RequestState: need.state}, true
}

// seal signs a state.
func seal(key, bound, state []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(signature(key, bound, state), state...))
}

// unseal returns the state of the same call that was signed with the same key.
func unseal(key, bound []byte, sealed string) (state []byte, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(data) < sha256.Size || !hmac.Equal(data[:sha256.Size], signature(key, bound, data[sha256.Size:])) {
		return nil, false
	}
	return data[sha256.Size:], true
}

func signature(key, bound, state []byte) []byte {
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%d\n", len(bound))
	m.Write(bound)
	m.Write(state)
	return m.Sum(nil)
}
