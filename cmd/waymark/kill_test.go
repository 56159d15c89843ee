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

	"github.com/stretchr/testify/require"
)

// What was acknowledged survives kill -9 at any moment. WAYMARK_KILL_ROUNDS sets how often.
func TestKillWhileRecording(t *testing.T) {
	rounds := 3
	if s := os.Getenv("WAYMARK_KILL_ROUNDS"); s != "" {
		var err error
		rounds, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	const writers = 3
	dir := filepath.Join(t.TempDir(), "data")
	random := rand.New(rand.NewPCG(1, 2))
	acked := map[string]bool{}
	for round := range rounds {
		s := startServer(t, dir)
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

		if round%10 != rounds%10-1 && round != rounds-1 {
			continue // each loss stays visible: looking now and then is enough
		}
		out, errs, code := waymark(t, "", "export", "--format", "waymark", "--data", dir)
		require.Zero(t, code, errs)
		kept := map[string]bool{}
		for line := range strings.Lines(out) {
			var l struct{ Kind, ID string }
			require.NoError(t, json.Unmarshal([]byte(line), &l))
			kept[l.ID] = true
		}
		for id := range acked {
			require.True(t, kept[id], "round %d: episode %s was acknowledged and is gone", round, id)
		}
	}
	require.NotEmpty(t, acked, "nothing was ever acknowledged: the test tests nothing")
	_, errs, code := waymark(t, "", "rebuild", "--verify", "--data", dir)
	require.Zero(t, code, errs)
	t.Logf("%d rounds, %d acknowledged episodes, none lost", rounds, len(acked))
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
