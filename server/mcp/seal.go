package mcpserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// If the host has to continue a call, the state of the call travels to the host and back. It then comes from outside,
// so it is signed and bound to the tool of the call.

// seal returns a state with its signature.
func seal(key, bound, state []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(signature(key, bound, state), state...))
}

// unseal returns a state that was sealed with the same key and the same value of bound.
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
