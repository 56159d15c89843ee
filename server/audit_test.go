package server

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
)

// Acts of administrators are appended with who did what, done or refused; secrets and answers are left out, and a key
// sees its own workspace only.
func TestAudit(t *testing.T) {
	dir := t.TempDir()
	w := newWeb(t, func(c *Config) { c.Data, c.RequireKey = dir, true })
	a, _ := w.twoKeys()
	local := bearerOf("local-token")
	made := parse[struct{ ID, Key string }](t, 200, w.ask("POST", "/v1/keys", `{"name":"password=hunter2hunter2","scopes":["read"]}`, local))
	require.Equal(t, 204, w.ask("DELETE", "/v1/keys/"+made.ID, "", local).status)
	require.Equal(t, 404, w.ask("DELETE", "/v1/keys/"+made.ID, "", local).status)
	require.Equal(t, 200, w.ask("POST", "/v1/forget", `{"source":"nobody"}`, a).status)
	require.Equal(t, 202, w.ask("POST", "/v1/rebuild", `{"verify":true}`, a).status)

	entries := func(key string) []auditEntry {
		return parse[struct{ Entries []auditEntry }](t, 200, w.ask("GET", "/v1/audit", "", key)).Entries
	}
	all := entries(local)
	require.Len(t, all, 5)
	for i, want := range []auditEntry{
		{Act: "create-key", Workspace: "default", Source: "local", About: made.ID, Status: 200},
		{Act: "revoke-key", Workspace: "default", Source: "local", Status: 200},
		{Act: "revoke-key", Workspace: "default", Source: "local", Status: 404},
		{Act: "forget", Workspace: "a", Status: 200},
		{Act: "rebuild", Workspace: "a", Status: 200},
	} {
		got := all[i]
		assert.Equal(t, []any{want.Act, want.Workspace, want.About, want.Status}, []any{got.Act, got.Workspace, got.About, got.Status})
		assert.NotEmpty(t, got.Request)
		assert.NotEmpty(t, got.Source)
	}
	assert.Contains(t, string(all[1].Asked), made.ID)
	assert.Len(t, entries(a), 2)
	text, err := os.ReadFile(filepath.Join(dir, AuditFile))
	require.NoError(t, err)
	assert.Equal(t, 5, strings.Count(string(text), "\n"))
	for _, secret := range []string{made.Key, "hunter2", "wmk_"} {
		assert.NotContains(t, string(text), secret)
	}
	info, err := os.Stat(filepath.Join(dir, AuditFile))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// What is asked is masked value by value and bounded, so that every act stays an entry; lines that are none are counted.
func TestAuditStaysReadable(t *testing.T) {
	dir := t.TempDir()
	w := newWeb(t, func(c *Config) { c.Data = dir })
	long := strings.Repeat("<long text> ", 1000)
	for asked, want := range map[string]string{
		`{"name":"-----BEGIN PRIVATE KEY-----","scopes":["admin"]}`:   `{"name":"[redacted]","scopes":["admin"]}`,
		`{"name":"n password=\"hunter22222\"","id":"token"}`:          `{"name":"n password=\"[redacted]\"","id":"token"}`,
		`{"a":{"password":"hunter22222","n":1.50,"list":["x",null]}}`: `{"a":{"password":"[redacted]","n":1.50,"list":["x",null]}}`,
		`"` + long + `"`: `"` + catalog.Cut(long, maxAskedText) + `"`,
		`["` + strings.Repeat("x", 8000) + strings.Repeat(`","`+strings.Repeat("x", 8000), 9) + `"]`: `{"omitted":"80031 bytes"}`,
	} {
		assert.Equal(t, want, string(maskedJSON(json.RawMessage(asked))))
	}

	require.NoError(t, NoteAct(dir, "default", "create-key", map[string]string{"name": `about "time" to forget`, "act": "create-key"}))
	f, err := os.OpenFile(filepath.Join(dir, AuditFile), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"time":"2026` + "\n" + `{"act":"` + strings.Repeat("x", maxAuditLine) + `"}` + "\n")
	require.NoError(t, errors.Join(err, f.Close()))
	require.NoError(t, NoteAct(dir, "default", "restore", nil))
	got := parse[struct {
		Entries    []auditEntry
		Unreadable int
	}](t, 200, w.ask("GET", "/v1/audit", ""))
	require.Len(t, got.Entries, 2)
	assert.Equal(t, "create-key", got.Entries[0].Act)
	assert.Equal(t, "restore", got.Entries[1].Act)
	assert.Equal(t, 2, got.Unreadable)
}
