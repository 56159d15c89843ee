package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/server/internal/request"
	"waymark/storage"
	"waymark/storage/eventlog"
)

// fleetMember is a server of a fleet on an address of this machine.
type fleetMember struct {
	web
	fleet      *eventlog.Fleet
	workspaces *live.Workspaces
	data       string
	stop       func() // in order
	kill       func() // without a word to the others
}

// fleetOn makes a log in memory and a function that starts replicas on it, configured otherwise by change, at an address
// that is wanted.
func fleetOn(t *testing.T, owners int, change ...func(*Config)) (log *eventlog.Local, start func(wanted ...func(address string) bool) *fleetMember) {
	store := storage.NewMemory()
	log = eventlog.NewLocal(store)
	return log, func(wanted ...func(address string) bool) *fleetMember {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		for len(wanted) > 0 && !wanted[0]("http://"+ln.Addr().String()) {
			other, err := net.Listen("tcp", "127.0.0.1:0") // before the one that is not wanted is free again
			require.NoError(t, errors.Join(err, ln.Close()))
			ln = other
		}
		own := storage.NewMemory()
		link := &ownLink{slowLink: slowLink{Log: log}, leases: eventlog.NewLocal(store)}
		shared, err := eventlog.Share(t.Context(), own, link, live.Format)
		require.NoError(t, err)
		fleet, err := shared.Join(t.Context(), "http://"+ln.Addr().String(), owners)
		require.NoError(t, err)
		m := &fleetMember{fleet: fleet, data: t.TempDir()}
		m.workspaces = live.NewWorkspaces(shared, live.Options{Shared: log, Fleet: fleet, Linger: 100 * time.Millisecond})
		cfg := Config{Store: shared, Workspaces: m.workspaces, Fleet: fleet, Version: "test", Data: m.data,
			Access: Access{LocalToken: "token of " + ln.Addr().String(), RequireKey: true}, Limits: Limits{Rate: -1, Drain: time.Second}}
		for _, f := range change {
			f(&cfg)
		}
		s, err := New(cfg)
		require.NoError(t, err)
		m.web = web{s, t, fleet.Address()}
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		conns := &opened{Listener: ln}
		go func() { served <- s.Serve(ctx, conns) }()
		end := sync.OnceFunc(func() {
			require.NoError(t, m.workspaces.Close(context.Background()))
			fleet.Leave(context.Background())
			shared.Leave()
		})
		m.stop = sync.OnceFunc(func() { cancel(); require.NoError(t, <-served); end() })
		m.kill = sync.OnceFunc(func() {
			link.noLeases.Store(true)
			conns.cut()
			<-served
			require.NoError(t, m.workspaces.Close(context.Background()))
		})
		t.Cleanup(func() { ln.Close(); cancel(); end() })
		return m
	}
}

// opened is a listener that knows its connections.
type opened struct {
	net.Listener
	mu  sync.Mutex
	all []net.Conn
}

func (o *opened) Accept() (net.Conn, error) {
	conn, err := o.Listener.Accept()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, conn)
	return conn, err
}

// cut ends the listener and its connections, as the end of a process does.
func (o *opened) cut() {
	o.Listener.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, conn := range o.all {
		if conn != nil {
			conn.Close()
		}
	}
}

func (m *fleetMember) root() string {
	return bearerOf("token of " + strings.TrimPrefix(m.url, "http://"))
}

// agree waits until replicas ask all of these and no others.
func agree(t *testing.T, members ...*fleetMember) {
	t.Helper()
	var want []string
	for _, m := range members {
		want = append(want, m.url)
	}
	slices.Sort(want)
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(members, func(m *fleetMember) bool {
			live, joining := m.fleet.Members()
			return !slices.Equal(live, want) || len(joining) > 0
		})
	}, time.Minute, 10*time.Millisecond)
}

// While replicas join, leave and end, writers lose nothing, nothing counts twice, and at the end each workspace is in the
// memory of its owners alone, with one model.
func TestFleetMovesWorkspaces(t *testing.T) {
	log, start := fleetOn(t, 2)
	a, b := start(), start()
	agree(t, a, b)
	const workspaces, writers = 12, 6
	var keys []string
	for i := range workspaces {
		made := parse[keyMade](t, 200, a.ask("POST", "/v1/keys", fmt.Sprintf(`{"name":"k","workspace":"w%d","scopes":["read","write"]}`, i), a.root()))
		keys = append(keys, made.Key)
	}
	b.becomes(200, "GET", "/v1/stats", "", bearerOf(keys[workspaces-1]))

	var mu sync.Mutex
	members := []*fleetMember{a, b}
	anyOf := func() *fleetMember { mu.Lock(); defer mu.Unlock(); return members[rand.IntN(len(members))] }
	var acknowledged [workspaces]atomic.Int64
	var total, again atomic.Int64
	ending := make(chan struct{})
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-ending:
					return
				default:
				}
				of := rand.IntN(workspaces)
				body := fmt.Sprintf(`{"id":"w%d-%d","steps":[{"tool":"a:b"},{"tool":"c:%d"}]}`, w, n, n%7)
				for !recordedAt(anyOf().url, keys[of], body) {
					again.Add(1)
					time.Sleep(20 * time.Millisecond)
				}
				acknowledged[of].Add(1)
				total.Add(1)
			}
		})
	}
	reached := func(more int64) {
		until := total.Load() + more
		require.Eventually(t, func() bool { return total.Load() >= until }, time.Minute, time.Millisecond)
	}
	reached(100)
	c := start()
	agree(t, a, b, c)
	mu.Lock()
	members = append(members, c)
	mu.Unlock()
	reached(100)
	mu.Lock()
	members = members[1:] // as a load balancer does before it stops a server
	mu.Unlock()
	a.stop()
	agree(t, b, c)
	reached(100)
	d := start()
	agree(t, b, c, d)
	mu.Lock()
	members = append(members, d)
	mu.Unlock()
	reached(100)
	mu.Lock()
	members = slices.DeleteFunc(members, func(m *fleetMember) bool { return m == b })
	mu.Unlock()
	b.kill()
	reached(100)
	agree(t, c, d) // the lease of b has run out
	e := start()
	agree(t, c, d, e)
	close(ending)
	group.Wait()
	t.Logf("%d episodes acknowledged, %d requests repeated", total.Load(), again.Load())

	rest := []*fleetMember{c, d, e}
	for i := range workspaces {
		name := fmt.Sprint("w", i)
		head, err := log.Head(t.Context(), name)
		require.NoError(t, err)
		owners := c.fleet.Owners(name)
		require.Len(t, owners, 2)
		require.Eventually(t, func() bool {
			versions, hashes := map[string]bool{}, map[string]bool{}
			for _, m := range rest {
				require.Equal(t, owners, m.fleet.Owners(name))
				require.Equal(t, slices.Contains(owners, m.url), m.fleet.Keeps(name))
				if !m.fleet.Keeps(name) {
					continue
				}
				engine, err := m.workspaces.Get(t.Context(), name)
				require.NoError(t, err)
				r, _ := engine.Replica()
				if r.Position < head.Seq || engine.Model().Info().Seq != r.Position {
					return false
				}
				require.EqualValues(t, acknowledged[i].Load(), engine.Model().Stats().Episodes, name)
				versions[r.Version], hashes[r.Hash] = true, true
			}
			return len(versions) == 1 && len(hashes) == 1
		}, time.Minute, 10*time.Millisecond, name)
	}
	all := 0
	for _, m := range rest {
		owned := 0
		for i := range workspaces {
			if m.fleet.Keeps(fmt.Sprint("w", i)) {
				owned++
			}
		}
		all += owned
		require.Eventually(t, func() bool {
			open, started := m.workspaces.Holdings()
			return open == owned && started == owned
		}, time.Minute, 10*time.Millisecond, "what is not owned is unloaded")
		names, err := m.cfg.Store.Workspaces(t.Context())
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			return !slices.ContainsFunc(names, func(name string) bool {
				log, err := m.cfg.Store.Log(name)
				require.NoError(t, err)
				return !m.fleet.Keeps(name) && log.Head().Seq > 0
			})
		}, time.Minute, 10*time.Millisecond, "and its copy is cleared, which nobody would forget in")
	}
	require.Equal(t, 2*workspaces, all)
}

// recordedAt records an episode and reports whether it is there now, by this request or an earlier one.
func recordedAt(url, key, body string) bool {
	req, err := http.NewRequest(http.MethodPost, url+"/v1/episodes", strings.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var answer struct{ Accepted, Duplicates int }
	return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(&answer) == nil && answer.Accepted+answer.Duplicates == 1
}

// signedRequest is a request as a replica hands it on.
type signedRequest struct {
	by                         *fleetMember
	as, to, method, path, body string
	age                        time.Duration
}

func (r signedRequest) sign(t *testing.T, workspace string) (header string) {
	out, err := http.NewRequest(cmp.Or(r.method, "GET"), r.to+r.path, nil)
	require.NoError(t, err)
	sum := sha256.Sum256([]byte(r.body))
	f := forwarded{By: cmp.Or(r.as, r.by.url), Workspace: workspace, Scopes: request.ScopeRead, Source: "key:x", Body: sum[:]}
	return headerForwarded + ": " + r.by.sign(f, r.to, out, time.Now().Add(-r.age))
}

// A replica hands on what is for another one, with the access that it found and no other; the next owner answers where
// the first does not, and none is said to.
func TestFleetHandsOn(t *testing.T) {
	_, start := fleetOn(t, 2)
	a, b, c := start(), start(), start()
	agree(t, a, b, c)
	by := map[string]*fleetMember{a.url: a, b.url: b, c.url: c}
	var name string // of a workspace that a does not own
	for i := 0; name == "" || slices.Contains(a.fleet.Owners(name), a.url); i++ {
		name = fmt.Sprint("team", i)
	}
	owners := a.fleet.Owners(name)
	first, next := by[owners[0]], by[owners[1]]
	made := parse[keyMade](t, 200, a.ask("POST", "/v1/keys", fmt.Sprintf(`{"name":"ci","workspace":%q,"scopes":["read","write","admin"]}`, name), a.root()))
	key := bearerOf(made.Key)
	r := a.ask("POST", "/v1/episodes", `{"id":"e","steps":[{"tool":"x"},{"tool":"y"}]}`, key, "X-Request-Id: handed-on")
	require.Equal(t, 200, r.status, r.body)
	require.Equal(t, []string{"handed-on"}, r.header.Values("X-Request-Id"))
	require.Equal(t, []string{"nosniff"}, r.header.Values("X-Content-Type-Options"))
	require.Contains(t, a.ask("POST", "/v1/next", `{"context":["x"]}`, key).body, `"y"`, "the write is read at once, by any replica")
	open, _ := a.workspaces.Holdings()
	require.Less(t, open, 2, "a has at most the default workspace")

	// An administrator of a is one everywhere.
	require.Equal(t, 404, a.ask("POST", "/v1/forget", `{"episode":"other"}`, key, "X-Request-Id: audited").status)
	require.Equal(t, 200, a.ask("GET", "/v1/stats", "", a.root(), "Waymark-Workspace: "+name).status)
	require.Equal(t, 401, a.ask("GET", "/v1/stats", "", bearerOf("wmk_nobody_x")).status)
	read := parse[keyMade](t, 200, a.ask("POST", "/v1/keys", fmt.Sprintf(`{"name":"r","workspace":%q,"scopes":["read"]}`, name), a.root()))
	require.Equal(t, 403, a.ask("POST", "/v1/episodes", `{"id":"f","steps":[{"tool":"x"}]}`, bearerOf(read.Key)).status)
	require.Equal(t, 404, a.ask("GET", "/v1/tools/nothing", "", key).status)

	// Who claims to be a replica is refused, whatever it asserts.
	for _, claim := range []string{"x", "{}", ".", fmt.Sprintf(`{"by":%q,"workspace":%q,"scopes":7,"source":"local","operator":true}.AAAA`, a.url, name)} {
		require.Equal(t, 403, first.ask("GET", "/v1/keys", "", key, "Waymark-Forwarded: "+claim).status, claim)
	}
	// What was handed on is answered where it arrives, also by a replica that does not own the workspace: once, soon, and as
	// it was signed. Somebody who reads along can do nothing with it.
	for what, tt := range map[string]struct {
		sent   signedRequest
		change func(*signedRequest)
		want   int
	}{
		"as signed":              {signedRequest{by: first, to: a.url, path: "/v1/stats"}, nil, 200},
		"a body as signed":       {signedRequest{by: first, to: a.url, method: "POST", path: "/v1/next", body: `{"context":["x"]}`}, nil, 200},
		"another path":           {signedRequest{by: first, to: a.url, path: "/v1/stats"}, func(r *signedRequest) { r.path = "/v1/keys" }, 403},
		"another query":          {signedRequest{by: first, to: a.url, path: "/v1/tools?limit=1"}, func(r *signedRequest) { r.path = "/v1/tools?limit=2" }, 403},
		"another method":         {signedRequest{by: first, to: a.url, path: "/v1/tools"}, func(r *signedRequest) { r.method, r.body = "PUT", `[]` }, 403},
		"another body":           {signedRequest{by: first, to: a.url, method: "POST", path: "/v1/next", body: `{"context":["x"]}`}, func(r *signedRequest) { r.body = `{"context":["y"]}` }, 403},
		"for another replica":    {signedRequest{by: first, to: next.url, path: "/v1/stats"}, nil, 403},
		"signed by another one":  {signedRequest{by: first, as: next.url, to: a.url, path: "/v1/stats"}, nil, 403},
		"a minute old":           {signedRequest{by: first, to: a.url, path: "/v1/stats", age: time.Minute}, nil, 403},
		"from a minute in front": {signedRequest{by: first, to: a.url, path: "/v1/stats", age: -time.Minute}, nil, 403},
	} {
		header, r := tt.sent.sign(t, name), tt.sent
		if tt.change != nil {
			tt.change(&r)
		}
		method := cmp.Or(r.method, "GET")
		got := a.ask(method, r.path, r.body, header)
		require.Equal(t, tt.want, got.status, "%s: %s", what, got.body)
		require.Equal(t, 403, a.ask(method, r.path, r.body, header).status, "%s, again", what)
	}

	session := a.ask("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		key, "Accept: application/json, text/event-stream")
	require.Equal(t, 200, session.status, session.body)
	id := session.header.Get("Mcp-Session-Id")
	require.NotEmpty(t, id)
	for _, m := range []*fleetMember{a, b, c} { // one session at all replicas
		r := m.ask("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, key, "Accept: application/json, text/event-stream", "Mcp-Session-Id: "+id, "Mcp-Protocol-Version: 2025-11-25")
		require.Equal(t, 200, r.status, r.body)
		require.Contains(t, r.body, "suggest_next")
	}

	var ready struct {
		Status string
		Fleet  struct{ Owners, Live []string }
	}
	require.NoError(t, json.Unmarshal([]byte(a.ask("GET", "/readyz", "").body), &ready))
	require.Equal(t, "ready", ready.Status)
	require.Equal(t, a.fleet.Owners("default"), ready.Fleet.Owners)
	require.Len(t, ready.Fleet.Live, 3)
	described := a.ask("GET", "/v1/replica", "", key).body
	require.Contains(t, described, `"held":false`)
	require.Contains(t, next.ask("GET", "/v1/replica", "", key).body, `"held":true`)

	first.kill()
	r = a.ask("POST", "/v1/next", `{"context":["x"]}`, key)
	require.Equal(t, 200, r.status, r.body)
	require.Equal(t, 200, a.ask("POST", "/v1/episodes", `{"id":"g","steps":[{"tool":"x"},{"tool":"y"}]}`, key).status, "nothing was sent to who took no connection")
	next.kill()
	r = a.ask("POST", "/v1/next", `{"context":["x"]}`, key)
	requireProblem(t, 503, "none of the replicas that answer for this workspace can be reached", r)
	require.NotEmpty(t, r.header.Get("Retry-After"))
	require.Eventually(t, func() bool { return a.fleet.Answers(name) }, time.Minute, 10*time.Millisecond, "leases run out")
	r = a.ask("POST", "/v1/next", `{"context":["x"]}`, key)
	require.Equal(t, 200, r.status, r.body)
	require.Contains(t, r.body, `"y"`, "it has read the log")
}
