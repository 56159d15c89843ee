package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A history is read also where it names tools as no catalog may: with another spelling, which the report shows.
func TestIDsOfHistoriesAreRespelled(t *testing.T) {
	histories := map[string]string{
		"dataset": `{"id":"e","steps":[{"tool":"g{it:log"},{"tool":"g{it:diff"},{"tool":"fs:read"}]}`,
	}
	for _, s := range sameSession {
		text, err := os.ReadFile(filepath.Join("testdata", "traces", s.file))
		require.NoError(t, err)
		if s.format == "mcp-jsonrpc" { // the server's name stands in the marks of its lines
			histories[s.format] = strings.NewReplacer(`"name":"log"`, `"name":"l{og"`, `"name":"diff"`, `"name":"d{iff"`).Replace(string(text))
			continue
		}
		histories[s.format] = strings.ReplaceAll(string(text), "git", "g{it")
	}
	for format, text := range histories {
		var r Report
		found := map[string]bool{}
		for it, err := range ReadFrom(t.Context(), strings.NewReader(text), Options{Format: format}) {
			require.NoError(t, err, format)
			r.Add(it)
			if it.Episode != nil {
				for _, s := range it.Episode.Steps {
					found[s.Tool] = true
				}
			}
		}
		want := map[string]string{"g{it:log": "g%7Bit:log", "g{it:diff": "g%7Bit:diff"}
		if format == "mcp-jsonrpc" {
			want = map[string]string{"git:l{og": "git:l%7Bog", "git:d{iff": "git:d%7Biff"}
		}
		for id, is := range want {
			assert.True(t, found[is], "%s: %v", format, found)
			assert.Contains(t, r.String(), "  \""+id+"\" is \""+is+"\"\n", format)
		}
		assert.Equal(t, want, r.Respelled, format)
		assert.Contains(t, r.String(), "respelled   2 ids of tools\n", format)
	}
	for it, err := range ReadFrom(t.Context(), strings.NewReader(`{"kind":"episode","id":"e","steps":[{"tool":"g{it:log"}]}`), Options{Format: "waymark"}) {
		require.NoError(t, err)
		assert.Contains(t, it.Dropped, "tool holds the character '{'", "what a request sends is refused")
	}
}
