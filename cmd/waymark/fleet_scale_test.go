//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/storage"
	"waymark/storage/eventlog"
	"waymark/storage/eventlog/logtest"
)

var fleetScale = loopSize("WAYMARK_SCALE", 0)

// scaleReplica is one server of the measured fleet.
type scaleReplica struct {
	*serving
	url, token string
}

func (r *scaleReplica) call(t testing.TB, client *http.Client, method, path, workspace, kind string, body []byte) (status int, answer string) {
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Waymark-Workspace", workspace)
	req.Header.Set("Content-Type", kind)
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// memory is what a process holds, in MB: now and at most.
func (r *scaleReplica) memory(t testing.TB) (now, most int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		switch fields[0] {
		case "VmRSS:":
			now, _ = strconv.Atoi(fields[1])
		case "VmHWM:":
			most, _ = strconv.Atoi(fields[1])
		}
	}
	return now >> 10, most >> 10
}

// TestFleetOfManyWorkspaces measures three servers with many workspaces on one database: WAYMARK_SCALE=1000 says how many.
func TestFleetOfManyWorkspaces(t *testing.T) {
	workspaces := fleetScale
	if workspaces == 0 {
		t.Skip("a measurement: WAYMARK_SCALE=1000 runs it with 1,000 workspaces")
	}
	const tools, episodes, replicas, owners = 130, 100, 3, 2
	db, client := logtest.StartPostgres(t), &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var addresses, dirs []string
	for i := range replicas {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addresses = append(addresses, ln.Addr().String())
		dirs = append(dirs, filepath.Join(t.TempDir(), fmt.Sprint("data", i)))
		require.NoError(t, ln.Close())
	}
	start := func(i int) *scaleReplica {
		s := startServer(t, dirs[i], "--addr", addresses[i], "--log", db.Address, "--fleet-owners", fmt.Sprint(owners))
		note, err := storage.ReadOwner(dirs[i])
		require.NoError(t, err)
		return &scaleReplica{s, "http://" + addresses[i], note.Token}
	}
	fleet := make([]*scaleReplica, replicas)
	startAll := func() time.Duration {
		began := time.Now()
		for i := range fleet {
			fleet[i] = start(i)
		}
		for _, r := range fleet {
			r.becomesReady(t, client)
		}
		return time.Since(began)
	}
	report := func(when string) {
		for i, r := range fleet {
			now, most := r.memory(t)
			_, answer := r.call(t, client, "GET", "/v1/replica", "default", "application/json", nil)
			t.Logf("%s: replica %d has %d MB, at most %d MB; %s", when, i, now, most, answer[strings.Index(answer, `"workspaces_open"`):])
		}
	}
	startAll()
	report("empty")

	// Seven workspaces are recorded, and the logs of the others are copies of theirs.
	const kinds = 7
	log, err := eventlog.Open(t.Context(), db.Address, eventlog.Options{})
	require.NoError(t, err)
	defer log.Close()
	var histories [kinds][]storage.Sealed
	for n := range min(kinds, workspaces) {
		name := scaleName(n)
		catalog, history := scaleData(n, tools, episodes)
		status, answer := fleet[n%replicas].call(t, client, "PUT", "/v1/tools", name, "application/json", catalog)
		require.Equal(t, 200, status, answer)
		status, answer = fleet[n%replicas].call(t, client, "POST", "/v1/import", name, "application/x-ndjson", history)
		require.Equal(t, 200, status, answer)
		require.Contains(t, answer, fmt.Sprintf(`"episodes":%d`, episodes))
		for e, err := range log.Read(t.Context(), name, 0, false) {
			require.NoError(t, err)
			histories[n] = append(histories[n], e)
		}
	}
	began := time.Now()
	for n := kinds; n < workspaces; n++ {
		require.NoError(t, log.Append(t.Context(), scaleName(n), histories[n%kinds]))
	}
	t.Logf("%d workspaces of %d tools and %d episodes (%d events) in the log after %v", workspaces, tools, episodes, len(histories[0]), time.Since(began).Round(time.Second))
	loaded := func() bool {
		open := 0
		for _, r := range fleet {
			_, answer := r.call(t, client, "GET", "/v1/replica", "default", "application/json", nil)
			var of struct {
				Fleet struct {
					Open    int `json:"workspaces_open"`
					Started int `json:"workspaces_started"`
				}
			}
			require.NoError(t, json.Unmarshal([]byte(answer), &of))
			if open += of.Fleet.Started; of.Fleet.Started < of.Fleet.Open {
				return false
			}
		}
		return open >= workspaces*owners
	}
	require.Eventually(t, loaded, time.Hour, time.Second)
	t.Logf("the owners have them after %v", time.Since(began).Round(time.Second))
	report("recorded")
	askEach := func(what string) { // the first question to a workspace waits for what is computed or read
		began, slowest := time.Now(), time.Duration(0)
		for n := range workspaces {
			asked := time.Now()
			status, answer := fleet[n%replicas].call(t, client, "POST", "/v1/next", scaleName(n), "application/json", []byte(`{"context":["s0:t1"]}`))
			require.Equal(t, 200, status, answer)
			slowest = max(slowest, time.Since(asked))
		}
		t.Logf("%s: each workspace answered once after %v, the slowest in %v", what, time.Since(began).Round(100*time.Millisecond), slowest.Round(time.Millisecond))
	}
	for n := range workspaces {
		require.Eventually(t, func() bool {
			_, answer := fleet[n%replicas].call(t, client, "GET", "/v1/stats", scaleName(n), "application/json", nil)
			return strings.Contains(answer, `"built_at":"20`)
		}, time.Hour, 20*time.Millisecond)
	}
	t.Logf("first owners have built models after %v", time.Since(began).Round(time.Second))
	askEach("built")
	report("built")

	for i := range fleet {
		code := fleet[i].stop(t)
		require.Zero(t, code, fleet[i].stderr.String()[max(0, fleet[i].stderr.Len()-2000):])
	}
	t.Logf("all replicas ready %v after a start from their own data", startAll().Round(100*time.Millisecond))
	askEach("restarted")
	report("restarted")
	require.Zero(t, fleet[2].stop(t))
	require.NoError(t, os.RemoveAll(dirs[2]))
	began = time.Now()
	fleet[2] = start(2)
	fleet[2].becomesReady(t, client)
	t.Logf("a replica without data is ready after %v", time.Since(began).Round(100*time.Millisecond))
	askEach("replaced")
	report("replaced")

	const clients, lasts = 16, 20 * time.Second
	var group sync.WaitGroup
	took := make([][]time.Duration, clients)
	until := time.Now().Add(lasts)
	for c := range clients {
		group.Go(func() {
			for time.Now().Before(until) {
				n, at := rand.IntN(workspaces), time.Now()
				body := fmt.Appendf(nil, `{"context":["s%d:t%d"]}`, n%7, rand.IntN(tools))
				status, answer := fleet[rand.IntN(replicas)].call(t, client, "POST", "/v1/next", scaleName(n), "application/json", body)
				require.Equal(t, 200, status, answer)
				took[c] = append(took[c], time.Since(at))
			}
		})
	}
	group.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	t.Logf("%d clients at random replicas: %.0f questions a second, p50 %v, p99 %v", clients, float64(len(all))/lasts.Seconds(), all[len(all)/2], all[len(all)*99/100])
	report("asked")
}

func (r *scaleReplica) becomesReady(t testing.TB, client *http.Client) {
	require.Eventually(t, func() bool {
		status, _ := r.call(t, client, "GET", "/readyz", "default", "application/json", nil)
		return status == http.StatusOK
	}, time.Hour, 100*time.Millisecond)
}

func scaleName(n int) string { return fmt.Sprintf("w%04d", n) }

// scaleData is the catalog and the history of one workspace.
func scaleData(n, tools, episodes int) (catalog, history []byte) {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	name := func(tool int) string { return fmt.Sprintf("s%d:t%d", n%7, tool) }
	var entries []string
	for tool := range tools {
		entries = append(entries, fmt.Sprintf(`{"id":%q,"description":"Does step %d of the work of team %d and gives its result back."}`, name(tool), tool, n%7))
	}
	for e := range episodes {
		var steps []string
		for tool := random.IntN(tools); len(steps) < 6; tool = (tool*3 + random.IntN(3)) % tools {
			steps = append(steps, fmt.Sprintf(`{"tool":%q}`, name(tool)))
		}
		history = fmt.Appendf(history, `{"kind":"episode","id":"e%d","intent":"do the work of day %d","steps":[%s],"outcome":"success"}`+"\n", e, e, strings.Join(steps, ","))
	}
	return []byte("[" + strings.Join(entries, ",") + "]"), history
}
