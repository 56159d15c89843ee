package mcpserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// A call that the host has to go on with carries a state there and back. It comes from outside then, so it is signed,
// and bound to the call that it belongs to.

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
