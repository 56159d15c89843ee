//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/storage"
	"waymark/storage/eventlog/logtest"
)

// soakTime is the duration of the long form, in which everything happens that can happen; the short form ends one server
// of each kind. Both are read before TestMain clears the settings.
var (
	soakTime, _ = time.ParseDuration(os.Getenv("WAYMARK_SOAK"))
	soakSeed    = loopSize("WAYMARK_SOAK_SEED", 0)
)

// soak is three servers on one log, with writers that repeat each episode until it is acknowledged, and one who asks.
type soak struct {
	t        *testing.T
	address  func(replica int) string
	replicas []*soakReplica
	client   *http.Client
	spaces   []*soakSpace
	ended    chan struct{}
	refused  atomic.Int64
	asked    atomic.Int64 // the replica that is asked questions, which nothing happens to
	calm     atomic.Bool

	all soakSpace // of all workspaces; its ids are the answers that no request should get
}

type soakReplica struct {
	dir, listen string
	proxies     []*logtest.Proxy // its ways to the log
	token       atomic.Pointer[string]
	*serving
}

// soakSpace is a workspace and what was acknowledged in it.
type soakSpace struct {
	name  string
	mu    sync.Mutex
	ids   []string
	wrong []string // answers that no request should get
	last  time.Time
	gap   time.Duration // the longest between two acknowledgements
}

func (s *soakSpace) acknowledged(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.last.IsZero() {
		s.gap = max(s.gap, now.Sub(s.last))
	}
	s.last = now
	if id != "" {
		s.ids = append(s.ids, id)
	}
}

func (f *soak) start(i int) {
	r := f.replicas[i]
	r.serving = startServer(f.t, r.dir, "--addr", r.listen, "--log", f.address(i))
	note, err := storage.ReadOwner(r.dir)
	require.NoError(f.t, err)
	r.token.Store(&note.Token)
}

// call returns the status and the answer; status 0 is none.
func (f *soak) call(replica int, method, path, workspace, body string) (status int, answer []byte) {
	req, err := http.NewRequest(method, "http://"+f.replicas[replica].listen+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Waymark-Workspace", workspace)
	req.Header.Set("Authorization", "Bearer "+*f.replicas[replica].token.Load())
	resp, err := f.client.Do(req)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		return 0, []byte(err.Error())
	}
	return resp.StatusCode, answer
}

// write records episodes until the end. A writer keeps to a server that acknowledges.
func (f *soak) write(w int) {
	space, replica := f.spaces[w%len(f.spaces)], w%len(f.replicas)
	for n := 0; ; n++ {
		select {
		case <-f.ended:
			return
		case <-time.After(soakPause):
		}
		replica = f.record(replica, space, fmt.Sprintf("w%d-%d", w, n))
	}
}

// record repeats an episode until a replica acknowledges it, and returns which one did.
func (f *soak) record(replica int, space *soakSpace, id string) int {
	body := fmt.Sprintf(`{"id":%q,"steps":[{"tool":"a:b"},{"tool":"t:%d"},{"tool":"c:d"}],"outcome":"success"}`, id, id[len(id)-1]%7)
	return f.repeat(replica, space, id, body)
}

// repeat sends an episode until it is acknowledged.
func (f *soak) repeat(replica int, space *soakSpace, id, body string) int {
	for ; ; replica++ {
		replica %= len(f.replicas)
		switch status, answer := f.call(replica, "POST", "/v1/episodes", space.name, body); {
		case status == http.StatusOK:
			space.acknowledged(id)
			f.all.acknowledged("")
			return replica
		case status >= 400 && status < 500 && status != http.StatusUnauthorized: // 401: the token of the process before
			f.wrong(fmt.Sprintf("%s in %s: %d %s", id, space.name, status, answer))
			return replica
		}
		f.refused.Add(1)
		time.Sleep(20 * time.Millisecond)
	}
}

// wrong keeps what must not have been answered.
func (f *soak) wrong(what string) {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	f.all.wrong = append(f.all.wrong, what)
}

// soakPause is how long a writer waits after an acknowledgement, so that a machine of two processors has time for questions.
const soakPause = 200 * time.Millisecond

// ask puts questions to a replica, until the end: calm is while nothing happens to any server, rough while something
// happens to another one.
func (f *soak) ask() (calm, rough []time.Duration, failed []string) {
	for {
		select {
		case <-f.ended:
			return calm, rough, failed
		case <-time.After(10 * time.Millisecond):
		}
		replica, wasCalm, began := f.asked.Load(), f.calm.Load(), time.Now()
		if replica < 0 {
			continue
		}
		status, answer := f.call(int(replica), "POST", "/v1/next", f.spaces[replica].name, `{"context":["a:b"],"limit":5}`)
		took := time.Since(began)
		switch {
		case f.asked.Load() != replica || f.calm.Load() != wasCalm: // something else happens by now
		case status != http.StatusOK:
			failed = append(failed, fmt.Sprintf("%d %.200s", status, answer))
		case wasCalm:
			calm = append(calm, took)
		default:
			rough = append(rough, took)
		}
	}
}

func (s *soakSpace) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids)
}

// progress waits until every workspace has new acknowledgements.
func (f *soak) progress(what string) {
	counts := make([]int, len(f.spaces))
	for i, s := range f.spaces {
		counts[i] = s.count()
	}
	for i, s := range f.spaces {
		for until := time.Now().Add(2 * time.Minute); s.count() < counts[i]+3; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(until) {
				for n, r := range f.replicas {
					_, answer := f.call(n, "GET", "/v1/stats", s.name, "")
					f.t.Logf("replica %d: %s\n%s", n, answer, r.stderr.Bytes()[max(0, r.stderr.Len()-3000):])
				}
				f.t.Fatalf("%s: nothing is acknowledged in %s", what, s.name)
			}
		}
	}
}

// ready waits until every replica says that it is.
func (f *soak) ready(what string) {
	for i := range f.replicas {
		require.Eventually(f.t, func() bool {
			status, _ := f.call(i, "GET", "/readyz", "default", "")
			return status == http.StatusOK
		}, 2*time.Minute, 20*time.Millisecond, "%s: replica %d is not ready", what, i)
	}
}

// step is something that happens, to a replica or (-1) to the log.
type step struct {
	name    string
	replica int
	do      func()
}

// freeze stops a process and its children until the returned function is called.
func freeze(process *os.Process) (thaw func()) {
	pids := append([]int{process.Pid}, childrenOf(process.Pid)...)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	return func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// outage is how long a server is stopped or cut off.
const outage = 8 * time.Second

func during(undo func()) {
	time.Sleep(outage)
	undo()
}

func (f *soak) kill(i int) {
	require.NoError(f.t, f.replicas[i].cmd.Process.Kill())
	_ = f.replicas[i].cmd.Wait()
}

// steps are what happens to replicas.
func (f *soak) steps() (steps []step) {
	for i, r := range f.replicas {
		all := func(each func(*logtest.Proxy) func()) func() {
			var undo []func()
			for _, p := range r.proxies {
				undo = append(undo, each(p))
			}
			return func() {
				for _, u := range undo {
					u()
				}
			}
		}
		steps = append(steps,
			step{fmt.Sprint("kill replica ", i), i, func() { f.kill(i); time.Sleep(500 * time.Millisecond); f.start(i) }},
			step{fmt.Sprint("stop replica ", i), i, func() { during(freeze(r.cmd.Process)) }},
			step{fmt.Sprint("refuse replica ", i), i, func() { during(all((*logtest.Proxy).Refuse)) }},
			step{fmt.Sprint("cut off replica ", i), i, func() { during(all((*logtest.Proxy).Hold)) }})
	}
	return steps
}

// proxied gives each replica ways of its own to the servers of the log.
func (f *soak) proxied(to ...string) {
	for _, r := range f.replicas {
		for _, address := range to {
			r.proxies = append(r.proxies, logtest.StartProxy(f.t, address))
		}
	}
}

func (r *soakReplica) ways() string {
	var ways []string
	for _, p := range r.proxies {
		ways = append(ways, p.Addr().String())
	}
	return strings.Join(ways, ",")
}

// onPostgres puts the servers on a primary of PostgreSQL and its synchronous standby.
func (f *soak) onPostgres() []step {
	primary := logtest.StartPostgres(f.t)
	standby, _ := primary.Standby()
	f.proxied(primary.Socket(), standby.Socket())
	f.address = func(i int) string {
		return fmt.Sprintf("postgres://waymark@%s/postgres?sslmode=disable&target_session_attrs=read-write", f.replicas[i].ways())
	}
	takeOver := func() { // the standby is up to date, or must not be promoted
		standby.Promote()
		primary.Rejoin(standby)
		primary, standby = standby, primary
	}
	return []step{
		{"kill the primary", -1, func() { primary.Crash(); takeOver() }},
		{"kill the primary again", -1, func() { primary.Crash(); time.Sleep(time.Second); takeOver() }},
		{"kill the primary, which starts again", -1, func() { primary.Crash(); time.Sleep(time.Second); primary.Start() }},
		{"kill the standby", -1, func() { standby.Crash(); time.Sleep(time.Second); standby.Start() }},
		{"stop the primary", -1, func() { during(freeze(primary.Process())) }},
		{"stop the standby", -1, func() { during(freeze(standby.Process())) }},
		{"kill the standby, then the primary", -1, func() { // nothing was acknowledged meanwhile
			standby.Crash()
			time.Sleep(outage)
			primary.Crash()
			standby.Start()
			takeOver()
		}},
		{"kill the standby, then the primary, which starts again and is killed", -1, func() {
			standby.Crash()
			time.Sleep(outage)
			primary.Crash()
			primary.Start()
			time.Sleep(outage)
			primary.Crash()
			standby.Start()
			takeOver()
		}},
	}
}

// Servers on a log of several machines, as processes: all of them end, stop and are cut off in turn, in rounds of an order
// that a seed gives. Every acknowledged episode is there once afterwards, and all servers have one model.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("processes without the race detector")
	}
	if soakTime == 0 {
		t.Parallel()
	}
	f := &soak{t: t, ended: make(chan struct{}), client: &http.Client{
		Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 128}}}
	f.run(soakTime)
}

// run lets things happen for a time, or (0) the two of the short form.
func (f *soak) run(lasts time.Duration) {
	t, writers, rest := f.t, 8, 300*time.Millisecond
	if lasts > 0 {
		writers, rest = 64, 5*time.Second
	}
	seed := soakSeed
	if seed == 0 {
		seed = int(rand.Uint32())
	}
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	for i := range 3 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, ln.Close())
		f.replicas = append(f.replicas, &soakReplica{dir: filepath.Join(t.TempDir(), fmt.Sprint("data", i)), listen: ln.Addr().String()})
	}
	steps := f.onPostgres()
	steps = append(steps, f.steps()...)
	for i := range f.replicas {
		f.start(i)
	}
	f.ready("start")
	f.chooseSpaces()
	var writing, asking sync.WaitGroup
	for w := range writers {
		writing.Go(func() { f.write(w) })
	}
	f.progress("start")
	var calm, rough []time.Duration
	var failed []string
	f.asked.Store(-1)
	asking.Go(func() { calm, rough, failed = f.ask() })
	rounds, happened := 0, 0
	for began := time.Now(); rounds == 0 || time.Since(began) < lasts; rounds++ {
		order := random.Perm(len(steps))
		if lasts == 0 { // one of each: what is first in the table
			order = []int{0, slices.IndexFunc(steps, func(s step) bool { return s.name == "kill replica 1" })}
		}
		for _, n := range order {
			s := steps[n]
			if lasts > 0 && time.Since(began) >= lasts {
				break
			}
			f.asked.Store(int64((s.replica + 1) % len(f.replicas)))
			f.calm.Store(true)
			time.Sleep(rest)
			f.calm.Store(false)
			at := time.Now()
			s.do()
			f.progress(s.name)
			f.asked.Store(-1)
			if happened++; lasts > 0 {
				t.Logf("%s: %v", s.name, time.Since(at).Round(100*time.Millisecond))
			}
			f.ready(s.name)
		}
	}
	close(f.ended)
	writing.Wait()
	asking.Wait()
	f.verify()
	gap, acknowledged := time.Duration(0), 0
	for _, s := range f.spaces {
		acknowledged += len(s.ids)
		gap = max(gap, s.gap)
	}
	t.Logf("seed %d: %d rounds, %d things happened, %d acknowledged, 0 lost, 0 twice, one model, %d requests repeated, longest gap %v, of one workspace %v; next: %d calm p50 %v p99 %v, %d rough p50 %v p99 %v, %d failed",
		seed, rounds, happened, acknowledged, f.refused.Load(), f.all.gap.Round(10*time.Millisecond), gap.Round(10*time.Millisecond),
		len(calm), quantile(calm, 0.5), quantile(calm, 0.99), len(rough), quantile(rough, 0.5), quantile(rough, 0.99), len(failed))
	require.Empty(t, failed, "questions to replicas that nothing happened to")
}

func quantile(took []time.Duration, q float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[int(q*float64(len(took)-1))].Round(10 * time.Microsecond)
}

// chooseSpaces makes eight workspaces.
func (f *soak) chooseSpaces() {
	for n := range 8 {
		space := &soakSpace{name: "default"}
		if n > 0 {
			space.name = fmt.Sprint("space", n)
		}
		f.repeat(n, space, "first", `{"id":"first","steps":[{"tool":"t:0"},{"tool":"t:1"},{"tool":"t:2"},{"tool":"t:3"},{"tool":"t:4"},{"tool":"t:5"},{"tool":"t:6"}],"outcome":"success"}`)
		space.last, f.all.last = time.Time{}, time.Time{} // what follows is no gap
		f.spaces = append(f.spaces, space)
	}
}

// soakModel is the model of a workspace, as one replica has it.
type soakModel struct {
	Model struct {
		Version string
		Seq     uint64
	}
	Episodes int
	Replica  live.Replica // of workspace default
}

func (f *soak) model(i int, workspace string) (m soakModel) {
	for _, path := range []string{"/v1/stats", "/readyz"} {
		_, answer := f.call(i, "GET", path, workspace, "")
		_ = json.Unmarshal(answer, &m)
	}
	return m
}

// verify compares what was acknowledged with what every server has.
func (f *soak) verify() {
	t := f.t
	require.Empty(t, f.all.wrong, "answers that no request should get")
	f.ready("the end")
	for _, s := range f.spaces {
		var seen []soakModel
		require.Eventually(t, func() bool {
			seen = nil
			for i := range f.replicas {
				seen = append(seen, f.model(i, s.name))
			}
			return !slices.ContainsFunc(seen, func(m soakModel) bool {
				return m.Model.Version == "" || m.Model != seen[0].Model || m.Replica.Error != "" || m.Replica.Lag > 0 || m.Replica.Hash != seen[0].Replica.Hash
			})
		}, 2*time.Minute, 100*time.Millisecond, "%s: %+v", s.name, &seen)
		var stored []string
		status, answer := f.call(0, "GET", "/v1/export", s.name, "")
		require.Equal(t, http.StatusOK, status, "%s", answer)
		for line := range strings.Lines(string(answer)) {
			var e struct{ Kind, ID string }
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			if e.Kind == "episode" {
				stored = append(stored, e.ID)
			}
		}
		require.Equal(t, len(stored), seen[0].Episodes, "counted in %s", s.name)
		lost, twice := lostAndTwice(s.ids, stored)
		require.Empty(t, lost, "lost in %s", s.name)
		require.Empty(t, twice, "twice in %s", s.name)
		invented, _ := lostAndTwice(stored, s.ids)
		require.Empty(t, invented, "stored in %s and never acknowledged", s.name)
	}
}

// lostAndTwice compares what was acknowledged with what is stored.
func lostAndTwice(acknowledged, stored []string) (lost, twice []string) {
	times := map[string]int{}
	for _, id := range stored {
		if times[id]++; times[id] == 2 {
			twice = append(twice, id)
		}
	}
	for _, id := range acknowledged {
		if times[id] == 0 {
			lost = append(lost, id)
		}
	}
	return lost, twice
}

func TestLostAndTwice(t *testing.T) {
	acknowledged := []string{"a", "b", "c"}
	for _, c := range []struct{ stored, lost, twice []string }{
		{stored: []string{"c", "a", "b"}},
		{stored: []string{"a", "b", "c", "unacknowledged"}},
		{stored: []string{"a", "c"}, lost: []string{"b"}},
		{stored: []string{"a", "b", "c", "b", "b"}, twice: []string{"b"}}, // a retry that was another write
		{stored: []string{"b", "b", "c"}, lost: []string{"a"}, twice: []string{"b"}},
	} {
		lost, twice := lostAndTwice(acknowledged, c.stored)
		require.Equal(t, c.lost, lost, c.stored)
		require.Equal(t, c.twice, twice, c.stored)
	}
}
