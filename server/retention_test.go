package server

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
)

var retentionNow = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// keeping is a server that forgets old episodes, on a clock that stands still.
func keeping(t *testing.T, keepFor time.Duration, adjust func(*Config)) web {
	return newWeb(t, adjust, func(c *Config) {
		c.Now = func() time.Time { return retentionNow }
		c.Workspaces = live.NewWorkspaces(c.Store, live.Options{Now: c.Now, Measure: unlearned.Measure})
		c.KeepFor, c.Drain = keepFor, 40*time.Second
	})
}

func (w web) recordAged(days ...int) {
	w.t.Helper()
	for _, d := range days {
		at := retentionNow.AddDate(0, 0, -d).Format(time.RFC3339)
		require.Less(w.t, w.ask("POST", "/v1/episodes", fmt.Sprintf(`{"id":"aged%d","time":%q,"steps":[{"tool":"x:a"},{"tool":"x:b"}],"outcome":"success"}`, d, at)).status, 300)
	}
}

// The server forgets old episodes after its start, in every workspace, and logs it.
func TestRetentionRunsBehind(t *testing.T) {
	var log lockedLog
	w := keeping(t, 90*24*time.Hour, log.logTo)
	w.recordAged(1, 91, 92)
	ctx, stop := context.WithCancel(t.Context())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error)
	go func() { served <- w.Serve(ctx, ln) }()
	const applied = `msg="keep-for applied" workspace=default keep_for=2160h0m0s episodes=2 events=2`
	require.Eventually(t, func() bool { return strings.Contains(log.String(), applied) }, 30*time.Second, 5*time.Millisecond)
	stop()
	require.NoError(t, <-served)
	w.retainAll(t.Context())
	assert.Equal(t, 1, strings.Count(log.String(), "keep-for applied"), "nothing was due, so nothing is logged")
	assert.Contains(t, w.ask("GET", "/metrics", "").body, "\nwaymark_retention_episodes_total 2\n")
	for item, err := range defaultEngine(t, w.Server).Items(t.Context()) {
		require.NoError(t, err)
		if item.Episode != nil {
			assert.NotContains(t, []string{"aged91", "aged92"}, item.Episode.ID)
		}
	}
}
