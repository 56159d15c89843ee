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
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	dagrun "waymark/run"
)

// database is a server of PostgreSQL in a temporary directory.
type database struct {
	t                     *testing.T
	dir, address, program string
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
	require.NoError(t, d.run("initdb", "-U", "waymark", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"))
	d.start()
	t.Cleanup(func() { _ = d.run("pg_ctl", "stop") })
	return d
}

func (d *database) start() {
	require.NoError(d.t, d.run("pg_ctl", "start", "-l", filepath.Join(d.dir, "log"), "-o", "-c listen_addresses= -k "+d.dir))
}

func (d *database) stop() { require.NoError(d.t, d.run("pg_ctl", "stop")) }

// run runs a program of the server, as nobody where this process is root: PostgreSQL refuses root.
func (d *database) run(name string, args ...string) error {
	args = append([]string{filepath.Join(filepath.Dir(d.program), name), "-D", filepath.Join(d.dir, "data")}, args...)
	if os.Getuid() == 0 {
		require.NoError(d.t, os.Chown(d.dir, 65534, 65534))
		args = append([]string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = d.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

// Two servers on one database, which stops and starts again. Everything that was acknowledged is there once, both have
// one model, and what one decides about keys holds at the other.
func TestServersOnPostgres(t *testing.T) {
	t.Parallel()
	db := startDatabase(t)
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	var servers []*serving
	for _, dir := range dirs {
		servers = append(servers, startServer(t, dir, "--store", db.address))
	}
	api := func(i int) string { return servers[i].URLs.API }
	key := newKey(t, dirs[0])
	client := &http.Client{Transport: key}
	const writers, each = 4, 40
	var acknowledged atomic.Int64
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := range each {
				for i := w % len(dirs); !stored(client, api(i), fmt.Sprintf("w%d-%d", w, n)); {
					time.Sleep(20 * time.Millisecond)
				}
				acknowledged.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return acknowledged.Load() >= writers*each/4 }, 2*time.Minute, time.Millisecond)
	require.Equal(t, http.StatusOK, key.asks(t, api(0)))
	other := newKey(t, dirs[1]) // the rows of keys change
	db.stop()
	require.Eventually(t, func() bool { // a write is refused with a time to try again, a read is answered
		resp, err := client.Post(api(0)+"/episodes", "application/json", strings.NewReader(`{"id":"outage","steps":[{"tool":"a:b"}]}`))
		require.NoError(t, err)
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != ""
	}, time.Minute, 10*time.Millisecond)
	resp, err := client.Post(api(0)+"/next", "application/json", strings.NewReader(`{"context":["a:b"]}`))
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, http.StatusOK, key.asks(t, api(0)), "a key holds while the database is down")
	require.Equal(t, http.StatusServiceUnavailable, other.asks(t, api(1)), "a key that was never asked about is unknown")
	db.start()
	group.Wait()
	for i := range servers { // each notices by itself that the database answers again
		require.Eventually(t, func() bool { return stored(client, api(i), fmt.Sprint("after the outage ", i)) }, time.Minute, 20*time.Millisecond)
	}
	keyOfTheOther(t, dirs[0], api(1))

	oneModel(t, client, servers...)
	for i, dir := range dirs {
		out, _ := says(t, 0, "export", "--format", "waymark", "--data", dir)
		require.Equal(t, writers*each, strings.Count(out, `"id":"w`), "server %d", i)
		says(t, 0, "rebuild", "--verify", "--data", dir)
	}

	copied := filepath.Join(t.TempDir(), "backup")
	says(t, 0, "backup", copied, "--data", dirs[0])
	for _, s := range servers {
		require.Zero(t, s.stop(t))
	}
	_, errs, code := waymark(t, threeEpisodes, "record", "-", "--data", dirs[0])
	require.NotZero(t, code)
	require.Contains(t, errs, "use the database at postgres://")
	alone := filepath.Join(t.TempDir(), "alone") // the backup of one store is restored into the other
	says(t, 0, "restore", copied, "--data", alone)
	out, _ := says(t, 0, "export", "--format", "waymark", "--data", alone)
	require.Equal(t, writers*each, strings.Count(out, `"id":"w`))
	_, errs = says(t, exitFailed, "restore", copied, "--store", db.address)
	require.Contains(t, errs, "the store is not empty")
}

// A server to which nobody has sent a request answers questions without a key while the database is down. It says over
// MCP as over HTTP that a write is to be repeated, logs no failed probe, and shows the password of the database nowhere.
func TestOutageOnPostgres(t *testing.T) {
	t.Parallel()
	db := startDatabase(t)
	s := startServer(t, filepath.Join(t.TempDir(), "data"), "--store", "postgres://waymark:sesame@/postgres?host="+db.dir)
	out, errs := says(t, 0, "doctor", "--data", s.dir)
	require.Regexp(t, `(?m)^store +postgres:///postgres +flag +--store`, out)
	require.NotContains(t, out+errs, "sesame")
	db.stop()
	require.Eventually(t, func() bool {
		resp, err := http.Get(strings.TrimSuffix(s.URLs.API, "/v1") + "/readyz")
		require.NoError(t, err)
		resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable
	}, time.Minute, 10*time.Millisecond)
	var next struct{ Abstained bool }
	askOver(t, http.MethodPost, s.URLs.API+"/next", `{}`, http.StatusOK, &next)
	var refused struct{ Detail string }
	askOver(t, http.MethodPost, s.URLs.API+"/episodes", `{"id":"1","steps":[{"tool":"a:b"}]}`, http.StatusServiceUnavailable, &refused)
	require.Contains(t, refused.Detail, "repeat it with the same ids")
	host := mcpClient(t, &mcp.StreamableClientTransport{Endpoint: s.URLs.MCP})
	r, err := host.CallTool(t.Context(), &mcp.CallToolParams{Name: "record_episode", Arguments: map[string]any{"steps": []any{map[string]any{"tool": "a:b"}}}})
	require.NoError(t, err)
	require.True(t, r.IsError)
	require.Equal(t, refused.Detail, r.Content[0].(*mcp.TextContent).Text)
	require.NoError(t, host.Close())
	db.start()
	_, errs = says(t, exitFailed, "serve", "--data", filepath.Join(t.TempDir(), "data"), "--store", strings.Replace(db.address, "/postgres?", "/nowhere?", 1))
	require.Contains(t, errs, `the database server refuses the connection: database "nowhere" does not exist (3D000)`)
	require.NotContains(t, errs, "does not answer")
	require.Zero(t, s.stop(t))
	require.NotContains(t, s.stderr.String(), "/readyz")
}

// The decisions of people at one server hold at the other: grants, rules, quarantine, and the approval of what a run
// waits for, also when the server that carried the run out was killed. Each starts its own copy of the server of these
// tools, and the copies may differ.
func TestDecisionsOnPostgres(t *testing.T) {
	t.Parallel()
	db := startDatabase(t)
	var servers [2]*serving
	var hosts [2]*mcp.ClientSession
	define := func(i int, text string) {
		config := deskConfig(t, map[string]string{"DESK_EXTRA": text, "DESK_SAYS": "stamped"})
		says(t, 0, "gateway", "add", config, "--only", "My Desk", "--yes", "--data", servers[i].dir)
	}
	becomes := func(i int, part string) {
		t.Helper()
		require.Eventually(t, func() bool {
			r, err := hosts[i].CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "My-Desk:stamp"}})
			return assert.NoError(t, err) && strings.Contains(r.Content[0].(*mcp.TextContent).Text, part)
		}, time.Minute, 20*time.Millisecond, "%s at server %d", part, i)
	}
	const stamped, quarantined = "stamped", "is quarantined (its contract changed: description)"
	for i := range servers {
		servers[i] = startServer(t, filepath.Join(t.TempDir(), "data"), "--store", db.address, "--connect")
		hosts[i] = mcpClient(t, &mcp.StreamableClientTransport{Endpoint: servers[i].URLs.MCP})
		define(i, "Quickly.")
		becomes(i, stamped)
	}
	define(0, "And send me a copy.")
	becomes(0, quarantined)
	becomes(1, quarantined) // its copy still has the approved text
	define(1, "And send me a copy.")
	becomes(1, quarantined)
	says(t, 0, "approve", "My-Desk:stamp", "--yes", "--data", servers[0].dir)
	becomes(0, stamped)
	becomes(1, stamped)

	a, b := servers[0], servers[1]
	at := func(s *serving, args ...string) { says(t, 0, append(args, "--data", s.dir)...) }
	decided := func(what string, holds func() bool) {
		t.Helper()
		require.Eventually(t, holds, time.Minute, 5*time.Millisecond, what)
	}
	refused := func(tool string) func() bool {
		return func() bool {
			r, err := hosts[1].CallTool(t.Context(), &mcp.CallToolParams{Name: "call_changing_tool", Arguments: map[string]any{"tool": tool}})
			return assert.NoError(t, err) && r.IsError
		}
	}
	answered := func(tool string) func() bool { return func() bool { return !refused(tool)() } }

	require.True(t, refused("My-Desk:shred")())
	at(a, "gateway", "grant", "My-Desk:shred")
	decided("a grant", answered("My-Desk:shred"))
	at(a, "gateway", "revoke", "My-Desk:shred")
	decided("a revoked grant", refused("My-Desk:shred"))

	suggested := func() bool {
		var answer struct{ Suggestions []struct{ ID string } }
		askOver(t, http.MethodPost, b.URLs.API+"/next", `{"context":["My-Desk:shred"]}`, http.StatusOK, &answer)
		for _, s := range answer.Suggestions {
			if s.ID == "My-Desk:stamp" {
				return true
			}
		}
		return false
	}
	given(t, `{"id":"1","steps":[{"tool":"My-Desk:shred"},{"tool":"My-Desk:stamp"}],"outcome":"success"}`, "record", "-", "--data", a.dir)
	decided("an episode", suggested)
	at(a, "rule", "ban", "My-Desk:stamp")
	decided("a ban", func() bool { return !suggested() })
	at(a, "rule", "undo", "ban:My-Desk:stamp")
	decided("a ban that was undone", suggested)

	const text = `{"tools":[{"name":"read","description":"Reads\u200b a spreadsheet.","inputSchema":{"type":"object"}}]}`
	list := filepath.Join(t.TempDir(), "tools.json")
	require.NoError(t, os.WriteFile(list, []byte(text), 0o600))
	says(t, 0, "import", list, "--format", "tools-list", "--server", "sheets", "--data", a.dir)
	withheld := func() bool {
		var answer struct{ Tools []struct{ ID string } }
		askOver(t, http.MethodGet, b.URLs.API+"/quarantine", "", http.StatusOK, &answer)
		return len(answer.Tools) == 1 && answer.Tools[0].ID == "sheets:read"
	}
	decided("a quarantined tool", withheld)
	at(a, "approve", "sheets:read", "--yes")
	decided("its approval", func() bool { return !withheld() })

	const shred = `{"dag":{"tasks":[{"id":"x","tool":"My-Desk:shred","arguments":{}}]}}`
	var begun, seen dagrun.Status
	stands := func(state dagrun.State) func() bool {
		return func() bool {
			askOver(t, http.MethodGet, b.URLs.API+"/runs/"+begun.ID, "", http.StatusOK, &seen)
			return seen.State == state
		}
	}
	for _, killed := range []bool{false, true} {
		askOver(t, http.MethodPost, a.URLs.API+"/runs", shred, http.StatusAccepted, &begun)
		decided("a run that waits", stands(dagrun.Paused))
		if killed {
			require.NoError(t, a.cmd.Process.Kill())
			_ = a.cmd.Wait()
		}
		askOver(t, http.MethodPost, b.URLs.API+"/runs/"+begun.ID+"/approve", "", http.StatusAccepted, &seen)
		decided("an approval", stands(dagrun.Done))
		require.Equal(t, dagrun.NodeDone, seen.Nodes[0].State)
	}
}

// askOver sends a request and reads its answer, which has a status, if it is asked for.
func askOver(t *testing.T, method, url, body string, status int, answer any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, text := sent(t, req)
	require.Equal(t, status, resp.StatusCode, text)
	if answer != nil {
		require.NoError(t, json.Unmarshal([]byte(text), answer), text)
	}
}

// createdKey is a key as keys create prints it.
type createdKey struct{ ID, Key string }

// newKey makes a key at the server of a directory.
func newKey(t *testing.T, dir string) (key createdKey) {
	out, _ := says(t, 0, "keys", "create", "--name", "ci", "--json", "--data", dir)
	require.NoError(t, json.Unmarshal([]byte(out), &key))
	return key
}

// RoundTrip sends a request with the key.
func (k createdKey) RoundTrip(r *http.Request) (*http.Response, error) {
	if r = r.Clone(r.Context()); k.Key != "" {
		r.Header.Set("Authorization", "Bearer "+k.Key)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// asks returns the status of a question with the key.
func (k createdKey) asks(t *testing.T, api string) int {
	resp, err := (&http.Client{Transport: k}).Get(api + "/stats")
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
	says(t, 0, "keys", "revoke", key.ID, "--data", dir)
	becomes(http.StatusUnauthorized)
}
