package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// killRounds is how often a server is killed; WAYMARK_KILL_ROUNDS sets it.
func killRounds(t *testing.T) int {
	rounds := 3
	if s := os.Getenv("WAYMARK_KILL_ROUNDS"); s != "" {
		var err error
		rounds, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	return rounds
}

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
				ok := recordOver(s.URLs.API, id)
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
	out, errs, code := waymark(t, "", "export", "--format", "waymark", "--data", dir)
	require.Zero(t, code, errs)
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
	rounds := killRounds(t)
	dir := filepath.Join(t.TempDir(), "data")
	random := rand.New(rand.NewPCG(1, 2))
	acked := map[string]bool{}
	for round := range rounds {
		recordUntilKilled(t, startServer(t, dir), round, random, acked)
		if round%10 == rounds%10-1 || round == rounds-1 { // each loss stays visible: looking now and then is enough
			keeps(t, dir, round, acked)
		}
	}
	_, errs, code := waymark(t, "", "rebuild", "--verify", "--data", dir)
	require.Zero(t, code, errs)
	t.Logf("%d rounds, %d acknowledged episodes, none lost", rounds, len(acked))
}

// Of three servers on one database one records and is killed, in turn, while the two others are asked. The one that
// starts builds is among them. Every question is answered, every server starts again, and in the end all have one model.
func TestKillOnPostgres(t *testing.T) {
	rounds := killRounds(t)
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
	answers, builds := 0, map[uint64]bool{}
	for round := range rounds {
		victim := round % len(servers)
		ended := make(chan struct{})
		var readers sync.WaitGroup
		var mu sync.Mutex
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
					mu.Lock()
					answers++
					mu.Unlock()
				}
			})
		}
		recordUntilKilled(t, servers[victim], round, random, acked)
		close(ended)
		readers.Wait()
		start(victim)
		if behind := modelOf(t, http.DefaultClient, servers[victim].URLs.API).Behind; behind != nil {
			builds[behind.Build] = true
		}
		if round%10 == rounds%10-1 || round == rounds-1 {
			keeps(t, servers[0].dir, round, acked)
		}
	}
	require.Eventually(t, func() bool {
		first := modelOf(t, http.DefaultClient, servers[0].URLs.API).Model.Version
		return first != "" && first == modelOf(t, http.DefaultClient, servers[1].URLs.API).Model.Version && first == modelOf(t, http.DefaultClient, servers[2].URLs.API).Model.Version
	}, 2*time.Minute, 100*time.Millisecond)
	for _, s := range servers {
		keeps(t, s.dir, rounds, acked)
		_, errs, code := waymark(t, "", "rebuild", "--verify", "--data", s.dir)
		require.Zero(t, code, errs)
	}
	t.Logf("%d rounds, %d acknowledged episodes, none lost, none twice; %d answers meanwhile, none failed; %d builds seen; one model",
		rounds, len(acked), answers, len(builds))
}

// statistics are what a server says of its model.
type statistics struct {
	Model  struct{ Version string }
	Behind *struct{ Build uint64 }
}

func modelOf(t *testing.T, client *http.Client, api string) (s statistics) {
	resp, err := client.Get(api + "/stats")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&s))
	return s
}

// record sends one episode and reports whether the server said that it is stored.
func recordOver(api, id string) bool {
	resp, err := http.Post(api+"/episodes", "application/json",
		strings.NewReader(`{"id":"`+id+`","steps":[{"tool":"a:b"},{"tool":"c:d"}]}`))
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var answer struct{ Accepted int }
	body, err := io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK && json.Unmarshal(body, &answer) == nil && answer.Accepted == 1
}
