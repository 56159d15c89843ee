package server

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Administrative acts are logged, a bounded line each, with who did what, done or refused; secrets and answers are left out.
func TestAdministrativeActsAreLogged(t *testing.T) {
	var log lockedLog
	w := newWeb(t, log.logTo, func(c *Config) { c.RequireKey = true })
	a, _ := w.twoKeys()
	local := bearerOf("local-token")
	made := parse[struct{ ID, Key string }](t, 200, w.ask("POST", "/v1/keys", `{"name":"password=hunter2hunter2","scopes":["read"]}`, local))
	require.Equal(t, 204, w.ask("DELETE", "/v1/keys/"+made.ID, "", local).status)
	require.Equal(t, 404, w.ask("DELETE", "/v1/keys/"+made.ID, "", local).status)
	require.Equal(t, 200, w.ask("POST", "/v1/forget", `{"source":"`+strings.Repeat("nobody", 100)+`"}`, a).status)
	require.Equal(t, 200, w.ask("POST", "/v1/forget", `{"source":"nobody"}`, a).status)
	require.Equal(t, 202, w.ask("POST", "/v1/rebuild", `{"verify":true}`, a).status)
	var acts []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, `msg="administrative act"`) {
			acts = append(acts, line)
		}
	}
	require.Len(t, acts, 6)
	for i, want := range []string{
		"act=create-key status=200 source=local workspace=default . about=" + made.ID + " asked=",
		"act=revoke-key status=200 source=local workspace=default . " + made.ID,
		"act=revoke-key status=404 source=local workspace=default . " + made.ID,
		"act=forget status=200 source=key: . workspace=a . nobodynobody . …",
		"act=forget status=200 source=key: . workspace=a . nobody",
		"act=rebuild status=200 source=key: . workspace=a . verify",
	} {
		rest := acts[i]
		for part := range strings.SplitSeq(want, " . ") {
			_, after, found := strings.Cut(rest, part)
			assert.True(t, found, "%q in %s", part, acts[i])
			rest = after
		}
		assert.Less(t, len(acts[i]), 700)
	}
	for _, secret := range []string{made.Key, "hunter2", "wmk_"} {
		assert.NotContains(t, log.String(), secret)
	}
}

// Acts that change nothing leave a line an hour, and no line grows with what is sent.
func TestRefusedActsLeaveFewLines(t *testing.T) {
	var log lockedLog
	now := time.Now()
	w := newWeb(t, log.logTo, func(c *Config) { c.RequireKey, c.Burst, c.Now = true, 1000, func() time.Time { return now } })
	a, b := w.twoKeys()
	acts := func() int { return strings.Count(log.String(), `msg="administrative act"`) }
	before, long := acts(), strings.Repeat("x", 8000)
	refuse := func(key string) {
		for range 20 {
			require.Equal(t, 404, w.ask("DELETE", "/v1/keys/"+long, "", key).status)
			require.Equal(t, 404, w.ask("POST", "/v1/proposals/"+long+"/approve", `{}`, key).status)
		}
	}
	refuse(a)
	require.Equal(t, 1, acts()-before)
	refuse(b)
	require.Equal(t, 2, acts()-before, "another credential")
	for range 20 {
		require.Equal(t, 202, w.ask("POST", "/v1/rebuild", "", a).status)
	}
	require.Equal(t, 3, acts()-before, "a rebuild may be refused")
	require.Equal(t, 200, w.ask("POST", "/v1/forget", `{"source":"nobody"}`, a).status)
	require.Equal(t, 200, w.ask("POST", "/v1/forget", `{"source":"nobody"}`, a).status)
	require.Equal(t, 5, acts()-before, "an act that is carried out")
	now = now.Add(time.Hour)
	refuse(a)
	require.Equal(t, 6, acts()-before)
	for line := range strings.Lines(log.String()) {
		require.Less(t, len(line), 2000, line)
	}
}
