package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recordUntilKilled has several clients record at a server, and kills it at a random moment. What was acknowledged is
// added.
func recordUntilKilled(t *testing.T, s *serving, round int, random *rand.Rand, acked map[string]bool) {
	const writers = 3
	var mu sync.Mutex
	var wg sync.WaitGroup
	first := make(chan struct{}, writers) // something is acknowledged, or a writer has ended
	for writer := range writers {
		wg.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("r%d-w%d-%d", round, writer, n)
				ok := stored(http.DefaultClient, s.URLs.API, id)
				if n == 0 {
					first <- struct{}{}
				}
				if !ok {
					return
				}
				mu.Lock()
				acked[id] = true
				mu.Unlock()
			}
		})
	}
	<-first // on a busy machine the first answer takes longer than all the rest
	time.Sleep(time.Duration(random.IntN(180)) * time.Millisecond)
	require.NoError(t, s.cmd.Process.Kill())
	s.cmd.Wait()
	wg.Wait()
}

// keeps checks that a store has all that was acknowledged, and nothing twice.
func keeps(t *testing.T, dir string, round int, acked map[string]bool) {
	out, _ := says(t, 0, "export", "--format", "waymark", "--data", dir)
	kept := map[string]bool{}
	for line := range strings.Lines(out) {
		var l struct{ Kind, ID string }
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		require.False(t, kept[l.Kind+l.ID], "round %d: %s %s is there twice", round, l.Kind, l.ID)
		kept[l.Kind+l.ID] = true
	}
	for id := range acked {
		require.True(t, kept["episode"+id], "round %d: episode %s was acknowledged and is gone", round, id)
	}
	require.NotEmpty(t, acked, "nothing was ever acknowledged: the test tests nothing")
}

// What was acknowledged survives kill -9 at any moment.
func TestKillWhileRecording(t *testing.T) {
	t.Parallel()
	kills := rounds(t, "WAYMARK_KILL_ROUNDS", 3)
	dir := filepath.Join(t.TempDir(), "data")
	random := rand.New(rand.NewPCG(1, 2))
	acked := map[string]bool{}
	for round := range kills {
		recordUntilKilled(t, startServer(t, dir), round, random, acked)
		if round%10 == 9 || round == kills-1 { // each loss stays visible: looking now and then is enough
			keeps(t, dir, round, acked)
		}
	}
	says(t, 0, "rebuild", "--verify", "--data", dir)
	t.Logf("%d rounds, %d acknowledged episodes, none lost", kills, len(acked))
}

// Of three servers on one database one records and is killed, in turn, while the two others are asked. The one that
// starts builds is among them. Every question is answered, every server starts again, and in the end all have one model.
func TestKillOnPostgres(t *testing.T) {
	t.Parallel()
	kills := rounds(t, "WAYMARK_KILL_ROUNDS", 3)
	db := startDatabase(t)
	servers := make([]*serving, 3)
	root := t.TempDir()
	start := func(i int) {
		servers[i] = startServer(t, filepath.Join(root, strconv.Itoa(i)), "--store", db.address)
	}
	for i := range servers {
		start(i)
	}
	random := rand.New(rand.NewPCG(1, 2))
	acked := map[string]bool{}
	for round := range kills {
		victim := round % len(servers)
		ended := make(chan struct{})
		var readers sync.WaitGroup
		for i, s := range servers {
			if i == victim {
				continue
			}
			readers.Go(func() {
				for going := true; going; { // at least once
					select {
					case <-ended:
						going = false
					default:
					}
					resp, err := http.Post(s.URLs.API+"/next", "application/json", strings.NewReader(`{"context":["a:b"]}`))
					if assert.NoError(t, err, "round %d, server %d", round, i) {
						resp.Body.Close()
						assert.Equal(t, http.StatusOK, resp.StatusCode, "round %d, server %d", round, i)
					}
				}
			})
		}
		recordUntilKilled(t, servers[victim], round, random, acked)
		close(ended)
		readers.Wait()
		start(victim)
		if round%10 == 9 || round == kills-1 {
			keeps(t, servers[0].dir, round, acked)
		}
	}
	oneModel(t, http.DefaultClient, servers...)
	for _, s := range servers {
		keeps(t, s.dir, kills, acked)
		says(t, 0, "rebuild", "--verify", "--data", s.dir)
	}
	t.Logf("%d rounds, %d acknowledged episodes, none lost, none twice", kills, len(acked))
}

// oneModel waits until all servers answer from one model.
func oneModel(t *testing.T, client *http.Client, servers ...*serving) {
	require.Eventually(t, func() bool {
		versions := map[string]bool{}
		for _, s := range servers {
			resp, err := client.Get(s.URLs.API + "/stats")
			require.NoError(t, err)
			var stats struct{ Model struct{ Version string } }
			require.NoError(t, json.NewDecoder(resp.Body).Decode(&stats))
			resp.Body.Close()
			versions[stats.Model.Version] = true
		}
		return len(versions) == 1 && !versions[""]
	}, 2*time.Minute, 100*time.Millisecond)
}

// stored records an episode and reports whether it is there now, by this request or an earlier one.
func stored(client *http.Client, api, id string) bool {
	resp, err := client.Post(api+"/episodes", "application/json", strings.NewReader(`{"id":"`+id+`","steps":[{"tool":"a:b"},{"tool":"c:d"}]}`))
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var answer struct{ Accepted, Duplicates int }
	return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(&answer) == nil && answer.Accepted+answer.Duplicates == 1
}
