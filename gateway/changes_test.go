package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whoever approves sees what changed, in whatever part.
func TestChangesAreShown(t *testing.T) {
	r, err := openRegister(t.Context(), quick(t).filled())
	require.NoError(t, err)
	const form = `{"name":"go","title":"Go","description":"Does it.","inputSchema":{"type":"object","properties":{"a":{"type":"TYPE"}}},"annotations":{"readOnlyHint":HINT}}`
	offer := func(kind, hint string) map[string]*contract {
		return map[string]*contract{"s:go": read("s", json.RawMessage(strings.NewReplacer("TYPE", kind, "HINT", hint).Replace(form)))}
	}
	d := Definition{ID: "s", Command: "/bin/s"}
	require.NoError(t, r.agree(t.Context(), "s", d.Digest()))
	require.NoError(t, r.compare(t.Context(), &d, offer("string", "true"), nil))
	require.NoError(t, r.compare(t.Context(), &d, offer("integer", "false"), nil))
	p := r.kept.Load().pins["s:go"]
	w, held := p.withheld()
	require.True(t, held)
	assert.Equal(t, []PartChange{
		{"inputSchema", "`" + `{"properties":{"a":{"type":"string"}},"type":"object"}` + "`", "`" + `{"properties":{"a":{"type":"integer"}},"type":"object"}` + "`"},
		{"annotations", "`" + `{"readOnlyHint":true}` + "`", "`" + `{"readOnlyHint":false}` + "`"},
	}, w.Changes)
}
