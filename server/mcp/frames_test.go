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
