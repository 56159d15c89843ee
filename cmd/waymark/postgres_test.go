package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// database is a server of PostgreSQL in a temporary directory.
type database struct {
	t            *testing.T
	dir, address string
	program      string
	cmd          *exec.Cmd
}

func startDatabase(t *testing.T) *database {
	program, err := exec.LookPath("postgres")
	if err != nil {
		t.Skipf("no PostgreSQL on this machine: %v", err)
	}
	program, err = filepath.EvalSymlinks(program)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "pg") // short: it holds a socket; not below a directory that only root may enter
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &database{t: t, dir: dir, program: program, address: "postgres:///postgres?user=waymark&host=" + dir}
	out, err := d.command("initdb", "-D", filepath.Join(dir, "data"), "-U", "waymark", "-A", "trust", "-E", "UTF8", "--no-locale", "-N").CombinedOutput()
	require.NoError(t, err, "%s", out)
	d.start()
	t.Cleanup(d.stop)
	return d
}

// command runs as nobody where this process is root: PostgreSQL refuses root.
func (d *database) command(name string, args ...string) *exec.Cmd {
	name = filepath.Join(filepath.Dir(d.program), name)
	if os.Getuid() == 0 {
		require.NoError(d.t, os.Chown(d.dir, 65534, 65534))
		name, args = "setpriv", append([]string{"--reuid=65534", "--regid=65534", "--clear-groups", name}, args...)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = d.dir
	return cmd
}

func (d *database) start() {
	d.cmd = d.command("postgres", "-D", filepath.Join(d.dir, "data"), "-k", d.dir, "-c", "listen_addresses=")
	require.NoError(d.t, d.cmd.Start())
	require.Eventually(d.t, func() bool {
		return d.command("psql", "-h", d.dir, "-U", "waymark", "-d", "postgres", "-c", "select 1").Run() == nil
	}, time.Minute, 20*time.Millisecond)
}

func (d *database) stop() {
	if d.cmd != nil {
		_ = d.cmd.Process.Signal(syscall.SIGINT) // the fast shutdown
		_ = d.cmd.Wait()
		d.cmd = nil
	}
}

// Two servers on one database: one is killed and starts again, the database stops and starts again. Everything that was
// acknowledged is there once, both have one model, and what one decides about keys holds at the other.
func TestServersOnPostgres(t *testing.T) {
	db := startDatabase(t)
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	servers := make([]atomic.Pointer[serving], len(dirs))
	start := func(i int) { servers[i].Store(startServer(t, dirs[i], "--store", db.address)) }
	for i := range dirs {
		start(i)
	}
	api := func(i int) string { return servers[i].Load().URLs.API }
	const writers, each = 4, 60
	acknowledged := make([]atomic.Int64, len(dirs))
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := range each {
				for i := w % len(dirs); !stored(api(i), fmt.Sprintf("w%d-%d", w, n)); {
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
	key := newKey(t, dirs[0])
	require.Equal(t, http.StatusOK, key.asks(t, api(0)))
	newKey(t, dirs[1]) // the rows of keys change
	db.stop()
	require.Eventually(t, func() bool { // a write is refused with a time to try again, a read is answered
		resp, err := http.Post(api(0)+"/episodes", "application/json", strings.NewReader(`{"id":"outage","steps":[{"tool":"a:b"}]}`))
		require.NoError(t, err)
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != ""
	}, time.Minute, 10*time.Millisecond)
	resp, err := http.Post(api(0)+"/next", "application/json", strings.NewReader(`{"context":["a:b"]}`))
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, http.StatusOK, key.asks(t, api(0)), "a key holds while the database is down")
	require.Equal(t, http.StatusServiceUnavailable, key.asks(t, api(1)), "a key that was never asked about is unknown")
	db.start()
	group.Wait()
	keyOfTheOther(t, dirs[0], api(1))

	version := func(i int) string { return modelOf(t, api(i)).Model.Version }
	require.Eventually(t, func() bool { return version(0) != "" && version(0) == version(1) }, 2*time.Minute, 100*time.Millisecond)
	for i, dir := range dirs {
		out, errs, code := waymark(t, "", "export", "--format", "waymark", "--data", dir)
		require.Zero(t, code, errs)
		require.Equal(t, writers*each, strings.Count(out, `"id":"w`), "server %d", i)
		out, errs, code = waymark(t, "", "rebuild", "--verify", "--data", dir)
		require.Zero(t, code, out+errs)
	}

	copied := filepath.Join(t.TempDir(), "backup")
	_, errs, code := waymark(t, "", "backup", copied, "--data", dirs[0])
	require.Zero(t, code, errs)
	for i := range servers {
		require.Zero(t, servers[i].Load().stop(t))
	}
	_, errs, code = waymark(t, threeEpisodes, "record", "-", "--data", dirs[0])
	require.NotZero(t, code)
	require.Contains(t, errs, "use the database at postgres://")
	alone := filepath.Join(t.TempDir(), "alone") // the backup of one store is restored into the other
	_, errs, code = waymark(t, "", "restore", copied, "--data", alone)
	require.Zero(t, code, errs)
	out, errs, code := waymark(t, "", "export", "--format", "waymark", "--data", alone)
	require.Zero(t, code, errs)
	require.Equal(t, writers*each, strings.Count(out, `"id":"w`))
	_, errs, code = waymark(t, "", "restore", copied, "--store", db.address)
	require.NotZero(t, code)
	require.Contains(t, errs, "the database is not empty")
}

// createdKey is a key as keys create prints it.
type createdKey struct{ ID, Key string }

// newKey makes a key at the server of a directory.
func newKey(t *testing.T, dir string) (key createdKey) {
	out, errs, code := waymark(t, "", "keys", "create", "--name", "ci", "--json", "--data", dir)
	require.Zero(t, code, errs)
	require.NoError(t, json.Unmarshal([]byte(out), &key))
	return key
}

// asks returns the status of a question with the key.
func (k createdKey) asks(t *testing.T, api string) int {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api+"/stats", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+k.Key)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	return resp.StatusCode
}

// keyOfTheOther makes a key at the server of a directory, and revokes it, as seen by another server.
func keyOfTheOther(t *testing.T, dir, api string) {
	key := newKey(t, dir)
	becomes := func(status int) {
		require.Eventually(t, func() bool { return key.asks(t, api) == status }, time.Minute, 10*time.Millisecond)
	}
	becomes(http.StatusOK)
	_, errs, code := waymark(t, "", "keys", "revoke", key.ID, "--data", dir)
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
