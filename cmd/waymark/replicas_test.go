package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/storage"
	"waymark/storage/eventlog"
	"waymark/storage/eventlog/logtest"
)

// Two servers on one database: one is killed and starts again, the database stops,
// the other starts again meanwhile, and the database starts again. Everything that was
// acknowledged is there once, and both have one model.
func TestReplicasOnPostgres(t *testing.T) {
	db := logtest.StartPostgres(t)
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	servers := make([]atomic.Pointer[serving], len(dirs))
	start := func(i int) { servers[i].Store(startServer(t, dirs[i], "--log", db.Address)) }
	for i := range dirs {
		start(i)
	}
	const writers, each = 4, 60
	acknowledged := make([]atomic.Int64, len(dirs))
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := range each {
				for i := w % len(dirs); !stored(servers[i].Load().URLs.API, fmt.Sprintf("w%d-%d", w, n)); {
					time.Sleep(20 * time.Millisecond)
				}
				acknowledged[w%len(dirs)].Add(1)
			}
		})
	}
	reached := func(i int, n int64) {
		require.Eventually(t, func() bool { return acknowledged[i].Load() >= n }, 2*time.Minute, time.Millisecond)
	}
	reached(1, 20)
	victim := servers[1].Load()
	require.NoError(t, victim.cmd.Process.Kill())
	victim.cmd.Wait()
	reached(0, 40)
	start(1)
	reached(1, 40)
	db.Stop()
	api := servers[0].Load().URLs.API
	require.Eventually(t, func() bool { // a write is refused with a time to try again, a read is answered
		resp, err := http.Post(api+"/episodes", "application/json", strings.NewReader(`{"id":"outage","steps":[{"tool":"a:b"}]}`))
		require.NoError(t, err)
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != ""
	}, time.Minute, 10*time.Millisecond)
	resp, err := http.Post(api+"/next", "application/json", strings.NewReader(`{"context":["a:b"]}`))
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	victim = servers[1].Load()
	require.Zero(t, victim.stop(t))
	start(1)
	for path, want := range map[string]int{"/next": http.StatusOK, "/episodes": http.StatusServiceUnavailable} { // a start without the log
		resp, err = http.Post(servers[1].Load().URLs.API+path, "application/json", strings.NewReader(map[string]string{
			"/next": `{"context":["a:b"]}`, "/episodes": `{"id":"outage","steps":[{"tool":"a:b"}]}`}[path]))
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode, path)
	}
	_, errs, code := waymark(t, "", "keys", "create", "--name", "too-early", "--data", dirs[0])
	require.NotZero(t, code)
	require.Contains(t, errs, "the shared log does not answer")
	db.Start()
	group.Wait()
	keyOfTheOther(t, dirs[0], servers[1].Load().URLs.API)

	var bases []string
	for i := range servers {
		bases = append(bases, strings.TrimSuffix(servers[i].Load().URLs.API, "/v1"))
	}
	var seen [2]struct{ Replica live.Replica }
	require.Eventually(t, func() bool {
		seen = [2]struct{ Replica live.Replica }{}
		for i, base := range bases {
			resp, err := http.Get(base + "/readyz")
			require.NoError(t, err)
			require.NoError(t, errors.Join(json.NewDecoder(resp.Body).Decode(&seen[i]), resp.Body.Close()))
		}
		a, b := seen[0].Replica, seen[1].Replica
		return a.Error+b.Error == "" && a.Lag+b.Lag == 0 && a.Position == b.Position && a.Hash == b.Hash
	}, 2*time.Minute, 100*time.Millisecond, "%+v", &seen)
	for i, dir := range dirs {
		out, errs, code := waymark(t, "", "export", "--format", "waymark", "--data", dir)
		require.Zero(t, code, errs)
		episodes := 0
		for line := range strings.Lines(out) {
			if strings.Contains(line, `"id":"w`) {
				episodes++
			}
		}
		require.Equal(t, writers*each, episodes, "server %d", i)
		require.Zero(t, servers[i].Load().stop(t))
	}
	_, errs, code = waymark(t, threeEpisodes, "record", "-", "--data", dirs[0])
	require.NotZero(t, code)
	require.Contains(t, errs, "is a copy of the log at postgres://")
}

// A log that takes connections and does not answer keeps no server from starting that has a copy of it.
func TestStartWithASilentLog(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	defer func(was time.Duration) { openPatience = was }(openPatience)
	openPatience = 50 * time.Millisecond
	h := &house{store: storage.NewMemory()}
	who := access{log: "postgres://waymark@" + silent.Addr().String() + "/postgres?sslmode=disable&connect_timeout=600"}
	_, err = h.store.System().Put(t.Context(), sharedLogRow, []byte(eventlog.Name(who.log)))
	require.NoError(t, err)
	joined, err := eventlog.Share(t.Context(), h.store, eventlog.NewLocal(storage.NewMemory()))
	require.NoError(t, err)
	joined.Leave()
	require.NoError(t, h.joinLog(who))
	h.control.Leave()
	require.NoError(t, h.log.Close())
}

// keyOfTheOther makes a key at the server of a directory, and revokes it, as seen by another server.
func keyOfTheOther(t *testing.T, dir, api string) {
	out, errs, code := waymark(t, "", "keys", "create", "--name", "ci", "--json", "--data", dir)
	require.Zero(t, code, errs)
	var key struct{ ID, Key string }
	require.NoError(t, json.Unmarshal([]byte(out), &key))
	becomes := func(status int) {
		require.Eventually(t, func() bool {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api+"/stats", nil)
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer "+key.Key)
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			return resp.StatusCode == status
		}, time.Minute, 10*time.Millisecond)
	}
	becomes(http.StatusOK)
	_, errs, code = waymark(t, "", "keys", "revoke", key.ID, "--data", dir)
	require.Zero(t, code, errs)
	revoked := time.Now()
	becomes(http.StatusUnauthorized)
	t.Logf("a revoked key is refused by the other server after %v", time.Since(revoked).Round(time.Millisecond))
}

// stored records an episode and reports whether it is there now, by this request or an earlier one.
func stored(api, id string) bool {
	resp, err := http.Post(api+"/episodes", "application/json", strings.NewReader(`{"id":"`+id+`","steps":[{"tool":"a:b"},{"tool":"c:d"}]}`))
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var answer struct{ Accepted, Duplicates int }
	return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(&answer) == nil && answer.Accepted+answer.Duplicates == 1
}
