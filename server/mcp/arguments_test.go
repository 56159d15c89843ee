package mcpserver

import (
	"strings"
	"testing"

	"waymark/server/internal/jsonio"
)

// Whatever the arguments are, decoding them ends in values or in an error that says something.
func FuzzDecodeArguments(f *testing.F) {
	f.Add(`{"id":"e","steps":[{"tool":"a","depends_on":[]}],"time":"2026-01-02T15:04:05Z"}`)
	f.Add(`{"steps":[{"tool":"a","x":{"y":[1]}}]}`)
	f.Add(`{"query":"a","query":"b","tool_keywords":["c"]}`)
	f.Add(`[{"steps":1}]`)
	f.Fuzz(func(t *testing.T, arguments string) {
		if _, err := jsonio.DecodeArguments[recordArguments]([]byte(arguments)); err != nil && strings.HasSuffix(err.Error(), ": ") {
			t.Fatalf("%q: %q", arguments, err)
		}
		if _, err := jsonio.DecodeArguments[findArguments]([]byte(arguments)); err != nil && strings.HasSuffix(err.Error(), ": ") {
			t.Fatalf("%q: %q", arguments, err)
		}
	})
}
