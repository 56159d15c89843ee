package server

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/storage"
)

var retentionNow = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// keeping is a server with rules on a clock that stands still.
func keeping(t *testing.T, keep live.Retention) web {
	return newWeb(t, func(c *Config) {
		c.Now = func() time.Time { return retentionNow }
		c.Workspaces = live.NewWorkspaces(c.Store, live.Options{Now: c.Now})
		c.Keep, c.Data, c.Drain = keep, t.TempDir(), 40*time.Second
	})
}

func (w web) recordAged(days ...int) {
	w.t.Helper()
	for _, d := range days {
		at := retentionNow.AddDate(0, 0, -d).Format(time.RFC3339)
		require.Less(w.t, w.ask("POST", "/v1/episodes", fmt.Sprintf(`{"id":"aged%d","time":%q,"steps":[{"tool":"x:a"},{"tool":"x:b"}],"outcome":"success"}`, d, at)).status, 300)
	}
}

type retentionShown struct {
	live.RetentionReport
	Disk *diskForecast
}

func TestRetentionRoutes(t *testing.T) {
	w := keeping(t, live.Retention{For: 90 * 24 * time.Hour})
	w.recordAged(1, 2, 89, 91, 200)
	shown := parse[retentionShown](t, 200, w.ask("GET", "/v1/retention", ""))
	assert.Equal(t, 2, shown.Due.Episodes)
	assert.Equal(t, (90 * 24 * time.Hour).Milliseconds(), shown.KeepForMillis)
	assert.Nil(t, shown.Disk, "the store is in memory")
	assert.Equal(t, 3, parse[retentionShown](t, 200, w.ask("GET", "/v1/retention?keep_for=1200h", "")).Due.Episodes)
	for _, q := range []string{"keep_for=soon", "keep_for=-1h", "keep_episodes=-1"} {
		requireProblem(t, 422, "", w.ask("GET", "/v1/retention?"+q, ""))
	}

	done := parse[struct{ Episodes, Erased int }](t, 200, w.ask("POST", "/v1/retention", `{}`))
	assert.Equal(t, 2, done.Episodes)
	assert.Equal(t, 2, done.Erased)
	assert.Zero(t, parse[retentionShown](t, 200, w.ask("GET", "/v1/retention", "")).Due.Episodes)
	assert.Contains(t, w.ask("GET", "/metrics", "").body, "\nwaymark_retention_episodes_total 2\n")
	assert.Contains(t, w.ask("GET", "/v1/audit", "").body, `"act":"apply-retention"`)
	requireProblem(t, 422, "no retention rules", newWeb(t).ask("POST", "/v1/retention", `{}`))
}

// The server applies its rules after its start, to every workspace, and notes it in the audit log.
func TestRetentionRunsBehind(t *testing.T) {
	w := keeping(t, live.Retention{For: 90 * 24 * time.Hour})
	w.recordAged(1, 91, 92)
	ctx, stop := context.WithCancel(t.Context())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error)
	go func() { served <- w.Serve(ctx, ln) }()
	audit := func() string {
		text, _ := os.ReadFile(filepath.Join(w.cfg.Data, AuditFile))
		return string(text)
	}
	require.Eventually(t, func() bool { return strings.Contains(audit(), "\n") }, 30*time.Second, 5*time.Millisecond)
	stop()
	require.NoError(t, <-served)
	assert.Contains(t, audit(), `"act":"apply-retention","source":"retention","workspace":"default"`)
	assert.Contains(t, audit(), `"episodes":2,"events":2,"keep_episodes":0,"keep_for":"2160h0m0s"`)
	assert.Equal(t, 1, strings.Count(audit(), "\n"))
	w.retainAll(t.Context())
	assert.Equal(t, 1, strings.Count(audit(), "\n"), "nothing was due, so nothing is noted")
	for item, err := range defaultEngine(t, w.Server).Items(t.Context()) {
		require.NoError(t, err)
		if item.Episode != nil {
			assert.NotContains(t, []string{"aged91", "aged92"}, item.Episode.ID)
		}
	}
}

// Of 1000 bytes that are free above the reserve, the log may take two thirds: the reserve grows with it.
func TestForecast(t *testing.T) {
	f := forecast(storage.Space{Used: 100, Free: 1500, Reserve: 500}, 10)
	require.NotNil(t, f.DaysUntilFull)
	assert.InDelta(t, 1000/1.5/10, *f.DaysUntilFull, 1e-9)
	assert.Equal(t, []sizeForecast{{30, 400}, {90, 1000}, {365, 3750}}, f.After)
	assert.Nil(t, forecast(storage.Space{Used: 100, Free: 1500}, 0).DaysUntilFull)
	assert.Zero(t, *forecast(storage.Space{Used: 100, Free: 400, Reserve: 500}, 10).DaysUntilFull, "full already")
}
