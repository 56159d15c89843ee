package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/episodic"
	"waymark/server/internal/jsonio"
)

// The names of the command line and of other servers are taken for ours, and one string for a list of one.
func TestOwnNames(t *testing.T) {
	for _, c := range [][3]string{
		{toolDescribe, `{"id":"fs:read"}`, `{"ids":["fs:read"]}`},
		{toolDescribe, `{"ids":"fs:read"}`, `{"ids":["fs:read"]}`},
		{toolNext, `{"after":["a","b"],"limit":3}`, `{"context":["a","b"],"limit":3}`},
		{toolNext, `{"query":"read it"}`, `{"intent":"read it"}`},
		{toolNext, `{"after":"a"}`, `{"context":["a"]}`},
		{toolFind, `{"q":"read"}`, `{"query":"read"}`},
		{toolFind, `{"text":"a","q":"b","intent":"c"}`, `{"query":"c","q":"b","text":"a"}`},
		{toolCall, `{"id":"a","args":{"id":1}}`, `{"id":"a","args":{"id":1}}`},           // refused: a call may change something
		{toolNext, `{"after":["a"],"context":["b"]}`, `{"after":["a"],"context":["b"]}`}, // refused as unknown
		{toolNext, `{"after":["a"],"after":["b"]}`, `{"after":["a"],"after":["b"]}`},     // refused as given twice
		{toolRecord, `{"id":"a"}`, `{"id":"a"}`},
		{toolNext, `null`, `null`}, {toolNext, `{`, `{`}, {toolNext, ``, ``},
	} {
		got := string(ownNames(c[0], json.RawMessage(c[1])))
		if c[1] == c[2] {
			assert.Equal(t, c[2], got, "as it came")
		} else {
			assert.JSONEq(t, c[2], got)
		}
	}
}

// Whatever the arguments are, decoding them ends in values or in an error that says something.
func FuzzDecodeArguments(f *testing.F) {
	f.Add(`{"id":"e","steps":[{"tool":"a","depends_on":[]}],"time":"2026-01-02T15:04:05Z"}`)
	f.Add(`{"steps":[{"tool":"a","x":{"y":[1]}}]}`)
	f.Add(`{"query":"a","query":"b","tool_keywords":["c"]}`)
	f.Add(`[{"steps":1}]`)
	f.Fuzz(func(t *testing.T, arguments string) {
		if _, err := jsonio.DecodeArguments[episodic.Episode]([]byte(arguments)); err != nil && strings.HasSuffix(err.Error(), ": ") {
			t.Fatalf("%q: %q", arguments, err)
		}
		if _, err := jsonio.DecodeArguments[findArguments]([]byte(arguments)); err != nil && strings.HasSuffix(err.Error(), ": ") {
			t.Fatalf("%q: %q", arguments, err)
		}
	})
}
