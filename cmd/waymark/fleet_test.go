package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	var out string
	var seen struct{ Replicas []live.Replica }
	require.Eventually(t, func() bool {
		var code int
		out, errs, code = waymark(t, "", append([]string{"fleet", "status", "--json"}, bases...)...)
		seen.Replicas = nil
		require.NoError(t, json.Unmarshal([]byte(out), &seen), errs)
		a, b := seen.Replicas[0], seen.Replicas[1]
		return code == 0 && a.Lag+b.Lag == 0 && a.Position == b.Position && a.Hash == b.Hash
	}, 2*time.Minute, 100*time.Millisecond, "%s %s", out, errs)

	resp, err = http.Get(bases[1] + "/readyz")
	require.NoError(t, err)
	ready, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	require.NoError(t, err)
	require.Contains(t, string(ready), seen.Replicas[1].Hash)
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

// Two servers have one owner for each workspace: both answer for all, status names the owners, and settings that cannot
// work are refused.
func TestFleetOnPostgres(t *testing.T) {
	for want, args := range map[string][]string{
		"--fleet-owners needs --log":                                       {"--fleet-owners", "1"},
		"--fleet-address needs --fleet-owners":                             {"--fleet-address", "http://a:1"},
		"--fleet-owners must not be negative":                              {"--fleet-owners", "-1"},
		"--fleet-owners needs --fleet-address: other servers cannot reach": {"--fleet-owners", "1", "--log", "nats://nowhere", "--addr", "127.0.0.1:0"},
	} {
		_, errs, code := waymark(t, "", append([]string{"serve", "--data", t.TempDir()}, args...)...)
		require.Equal(t, 2, code)
		require.Contains(t, errs, want)
	}
	db := logtest.StartPostgres(t)
	var servers []*serving
	var bases []string
	for i := range 2 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, ln.Close())
		servers = append(servers, startServer(t, filepath.Join(t.TempDir(), fmt.Sprint(i)), "--log", db.Address, "--fleet-owners", "1", "--addr", ln.Addr().String()))
		bases = append(bases, "http://"+ln.Addr().String())
	}
	var seen struct {
		Replicas []struct {
			Fleet struct {
				Owners, Live []string
				Held         bool
			}
		}
	}
	var out, errs string
	require.Eventually(t, func() bool {
		var code int
		out, errs, code = waymark(t, "", append([]string{"fleet", "status", "--json"}, bases...)...)
		seen.Replicas = nil
		require.NoError(t, json.Unmarshal([]byte(out), &seen), errs)
		return code == 0 && len(seen.Replicas[0].Fleet.Live) == 2 && len(seen.Replicas[1].Fleet.Live) == 2
	}, time.Minute, 100*time.Millisecond, "%s %s", out, errs)
	require.NotEqual(t, seen.Replicas[0].Fleet.Held, seen.Replicas[1].Fleet.Held, "one of them has the workspace default")
	require.Len(t, seen.Replicas[0].Fleet.Owners, 1)
	out, errs, code := waymark(t, "", append([]string{"fleet", "status"}, bases...)...)
	require.Zero(t, code, errs)
	require.Contains(t, out, "owners of the workspace, the first answers: "+seen.Replicas[0].Fleet.Owners[0])
	require.Contains(t, out, "has another part of the workspaces")
	log, err := eventlog.Open(t.Context(), db.Address, eventlog.Options{})
	require.NoError(t, err)
	readers, err := eventlog.Readers(t.Context(), log)
	require.NoError(t, errors.Join(err, log.Close()))
	require.Equal(t, map[int]int{live.Format: 2}, readers, "each says which formats it reads")
	out, errs, code = waymark(t, "", "fleet", "upgrade", "--log", db.Address)
	require.Zero(t, code, errs)
	require.Equal(t, fmt.Sprintf("event format %d, the one of this version, is active\n", live.Format), out)
	for i, s := range servers { // both are asked, one of them hands on
		require.True(t, stored(s.URLs.API, fmt.Sprint("episode", i)))
		out, errs, code := waymark(t, "", "export", "--format", "waymark", "--data", s.dir)
		require.Zero(t, code, errs)
		require.Contains(t, out, fmt.Sprint("episode", i))
	}
	double := startServer(t, filepath.Join(t.TempDir(), "double"), "--log", db.Address, "--fleet-owners", "1", "--fleet-address", bases[0])
	base := strings.TrimSuffix(double.URLs.API, "/v1")
	out, errs, code = waymark(t, "", "fleet", "status", base)
	require.Equal(t, 1, code, "%s %s", out, errs)
	require.Contains(t, out, "another server has the fleet address "+bases[0])
	status, text := readiness(t, base)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, text, "another server has the fleet address "+bases[0])
	require.Zero(t, double.stop(t))
	require.Contains(t, double.stderr.String(), "another server has the fleet address")

	// A server that is killed and starts again, within the time of its lease, is ready and hands on as before.
	require.NoError(t, servers[0].cmd.Process.Kill())
	_ = servers[0].cmd.Wait() // killed
	servers[0] = startServer(t, servers[0].dir, "--log", db.Address, "--fleet-owners", "1", "--addr", strings.TrimPrefix(bases[0], "http://"))
	require.Eventually(t, func() bool { status, text = readiness(t, bases[0]); return status == http.StatusOK }, time.Minute, 10*time.Millisecond, text)
	for i, s := range servers {
		require.True(t, stored(s.URLs.API, fmt.Sprint("after", i)))
	}
	for _, s := range servers {
		require.Zero(t, s.stop(t), s.stderr)
	}
}

// Servers that ask for certificates of a CA hand on to each other with their own.
func TestFleetWithMutualTLS(t *testing.T) {
	db := logtest.StartPostgres(t)
	caFile, _, ca := certify(t, t.TempDir(), 1)
	_, _, own := certify(t, t.TempDir(), 2, ca)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Leaf)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{own}}}}
	var key string
	var servers []*serving
	for i := range 2 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if i == 0 {
			key, _ = says(t, 0, "keys", "create", "--name", "k", "--scopes", "read,write", "--data", dir)
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, errors.Join(err, ln.Close()))
		cert, private, _ := certify(t, t.TempDir(), int64(10+i), ca)
		servers = append(servers, startServer(t, dir, "--log", db.Address, "--fleet-owners", "1", "--addr", ln.Addr().String(),
			"--tls-cert", cert, "--tls-key", private, "--tls-client-ca", caFile))
	}
	records := func(s *serving, id string) int {
		req, err := http.NewRequest(http.MethodPost, s.URLs.API+"/episodes", strings.NewReader(`{"id":"`+id+`","steps":[{"tool":"a:b"},{"tool":"c:d"}]}`))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(key))
		resp, err := client.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		return resp.StatusCode
	}
	for _, s := range servers {
		require.Eventually(t, func() bool { // the other one is seen, which one of both asks
			resp, err := client.Get(strings.TrimSuffix(s.URLs.API, "/v1") + "/readyz")
			require.NoError(t, err)
			defer resp.Body.Close()
			var ready struct{ Fleet struct{ Live []string } }
			return json.NewDecoder(resp.Body).Decode(&ready) == nil && len(ready.Fleet.Live) == 2
		}, time.Minute, 50*time.Millisecond)
	}
	for i, s := range servers {
		require.Equal(t, http.StatusOK, records(s, fmt.Sprint("before", i)), "%s", s.stderr)
	}
	for _, s := range servers {
		require.Zero(t, s.stop(t), s.stderr)
	}
}

// readiness asks a server whether it is ready.
func readiness(t *testing.T, base string) (status int, text string) {
	resp, err := http.Get(base + "/readyz")
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
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
	joined, err := eventlog.Share(t.Context(), h.store, eventlog.NewLocal(storage.NewMemory()), live.Format)
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

// Replicas of one version, which are equal events and one build, have to have equal models.
func TestFleetStatusComparesModels(t *testing.T) {
	same := live.Replica{Workspace: "default", Position: 7, Version: "v", Hash: "x"}
	other, built := same, same
	other.Hash = "y"
	built.Version, built.Hash = "w", "z"
	seen := compared([]replicaSeen{{Server: "a", Replica: same}, {Server: "b", Replica: same}, {Server: "c", Replica: built}})
	for _, r := range seen {
		require.Empty(t, r.Problem)
	}
	seen = compared([]replicaSeen{{Server: "a", Replica: same}, {Server: "b", Replica: other}})
	require.Contains(t, seen[0].Problem, "differs from that of b")
	require.Contains(t, seen[1].Problem, "differs from that of a")
}
