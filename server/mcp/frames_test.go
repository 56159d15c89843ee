package mcpserver

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func FuzzDecodeLine(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"method":"x"}`, `[]`, `{}`, `null`, `"a"`, `{"jsonrpc":2}`, ` `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) == 0 {
			return
		}
		m, refusal := decodeLine(line, false)
		assert.Equal(t, m == nil, refusal != nil)
		assert.True(t, m == nil || json.Valid(line))
		assert.True(t, refusal == nil || json.Valid(refusal))
	})
}
