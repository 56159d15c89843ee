package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
)

// volatile is what may change without changing what an answer means: scores, hashes and the rationale
// that words them, with each change of the scoring; the length of the log, with the moments at which
// background builds were due, which are events themselves.
var volatile = regexp.MustCompile(`\b\d+\.\d+\b|sha256:[0-9a-f]+|sg_[0-9a-f]+|"rationale": ".*"|"(seq|events)": \d+|\d+ events replayed`)

// Each request in docs/mcp.md is followed by a part of the answer the program gives: the fields that the page has, with the
// same ids, counts and order. WAYMARK_UPDATE_DOCS=1 writes their values anew, scores and all.
func TestDocumentedAnswers(t *testing.T) {
	const path = "../docs/mcp.md"
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	noon := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	s := newOffice(t, func(c *Config) {
		c.Now = noon
		c.Workspaces = live.NewWorkspaces(c.Store, live.Options{Now: noon})
	})
	w := webOf(t, s)

	pair := regexp.MustCompile("(?s)(```json\n(\\{\"name\".*?\\})\n```\n\n```json\n)(.*?)(```)")
	update := os.Getenv("WAYMARK_UPDATE_DOCS") != ""
	examples := 0
	told := pair.ReplaceAllFunc(page, func(block []byte) []byte {
		examples++
		m := pair.FindSubmatch(block)
		var request struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		require.NoError(t, json.Unmarshal(m[2], &request))
		ask, header := modern("tools/call", request.Name, fmt.Sprintf(`"name":%q,"arguments":%s`, request.Name, request.Arguments))
		body := w.mcp(ask, header...).body
		body = body[strings.Index(body, "{"):] // rebuild answers as an event stream
		var r struct {
			Result struct {
				StructuredContent any `json:"structuredContent"`
			} `json:"result"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &r), body)
		var shown any
		require.NoError(t, json.Unmarshal(m[3], &shown))
		var answer bytes.Buffer
		enc := json.NewEncoder(&answer)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		require.NoError(t, enc.Encode(part(r.Result.StructuredContent, shown)), body)
		if !update {
			mask := func(b []byte) string { return volatile.ReplaceAllString(string(b), "~") }
			assert.Equal(t, mask(answer.Bytes()), mask(m[3]), "the answer of %s; WAYMARK_UPDATE_DOCS=1 go test ./server -run %s writes it anew", request.Name, t.Name())
		}
		return bytes.Join([][]byte{m[1], answer.Bytes(), m[4]}, nil)
	})
	tools, err := overMemory(t, s, nil).ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, len(tools.Tools), examples, "one example a tool")
	if update {
		require.NoError(t, os.WriteFile(path, told, 0o644))
	}
}

// part returns the fields and items of an answer that an example shows; what it shows as empty, in full.
func part(answer, shown any) any {
	switch s := shown.(type) {
	case map[string]any:
		if a, ok := answer.(map[string]any); ok && len(s) > 0 {
			maps.DeleteFunc(a, func(name string, _ any) bool { _, ok := s[name]; return !ok })
			for name := range a {
				a[name] = part(a[name], s[name])
			}
		}
	case []any:
		if a, ok := answer.([]any); ok && len(s) > 0 {
			a = a[:min(len(a), len(s))]
			for i := range a {
				a[i] = part(a[i], s[i])
			}
			return a
		}
	}
	return answer
}
