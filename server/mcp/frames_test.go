package mcpserver

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func FuzzCheckFrame(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"method":"x"}`, `[]`, `{}`, `null`, `"a"`, `{"jsonrpc":2}`, ` `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) == 0 {
			return
		}
		id, code, reason := checkFrame(line)
		assert.Equal(t, code == 0, reason == "")
		if code == 0 {
			assert.True(t, json.Valid(line))
		}
		assert.True(t, id == nil || json.Valid(id))
	})
}

// An error of the SDK gets its code in a plain message and in a server-sent event; all else stays as it is.
func TestMended(t *testing.T) {
	for _, c := range [][2]string{
		{`{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"no"}}` + "\n", `{"error":{"code":-32603,"message":"no"},"id":1,"jsonrpc":"2.0"}` + "\n"},
		{"event: message\ndata: " + `{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"no"}}` + "\n\n", "event: message\ndata: " + `{"error":{"code":-32603,"message":"no"},"id":1,"jsonrpc":"2.0"}` + "\n\n"},
		{"event: message\ndata: " + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n\n", "event: message\ndata: " + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n\n"},
		{`"error":{"code":0,`, `"error":{"code":0,`},
	} {
		assert.Equal(t, c[1], string(mended([]byte(c[0]))))
	}
}
