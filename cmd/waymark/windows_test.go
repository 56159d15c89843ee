package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostWindow is a window of a host: a waymark mcp that records and asks without a pause.
type hostWindow struct {
	t       *testing.T
	dir     string
	cmd     *exec.Cmd
	session *mcp.ClientSession
	stderr  bytes.Buffer
	ended   chan struct{}
	over    atomic.Bool // its process is to end
	answers atomic.Int64
}

// work is all that the windows of a test did.
type work struct {
	mu    sync.Mutex
	n     int
	acked []string // intents
	errs  []error  // of windows whose process was not ended
}

func (w *work) window(t *testing.T, dir, revision string) *hostWindow {
	h := &hostWindow{t: t, dir: dir, ended: make(chan struct{}), cmd: exec.Command(program, "mcp", "--data", dir)}
	h.cmd.Stderr = &h.stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	var err error
	h.session, err = client.Connect(t.Context(), &mcp.CommandTransport{Command: h.cmd, TerminateDuration: 30 * time.Second}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err, "%s", &h.stderr)
	t.Cleanup(func() { h.end(func() { h.session.Close() }) })
	go func() {
		defer close(h.ended)
		for !h.over.Load() {
			w.turn(h)
		}
	}()
	return h
}

// turn records one episode and asks one question.
func (w *work) turn(h *hostWindow) {
	w.mu.Lock()
	w.n++
	intent := fmt.Sprintf("task number %d", w.n)
	w.mu.Unlock()
	for _, call := range []*mcp.CallToolParams{
		{Name: "record_episode", Arguments: map[string]any{"intent": intent, "steps": []any{map[string]any{"tool": "a:b"}, map[string]any{"tool": "c:d"}}}},
		{Name: "suggest_next", Arguments: map[string]any{"context": []string{"a:b"}}},
	} {
		r, err := h.session.CallTool(context.Background(), call)
		if err == nil && r.IsError {
			err = fmt.Errorf("%s: %v", call.Name, r.Content[0].(*mcp.TextContent).Text)
		}
		w.mu.Lock()
		if err == nil && call.Name == "record_episode" {
			w.acked = append(w.acked, intent)
		}
		if err != nil && !h.over.Load() {
			w.errs = append(w.errs, err)
		}
		w.mu.Unlock()
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			return
		}
		h.answers.Add(1)
	}
}

// end ends the process of a window, and waits until nothing of it is left.
func (h *hostWindow) end(how func()) {
	if h.over.Swap(true) {
		return
	}
	how()
	h.session.Close()
	<-h.ended
}

// answering waits until each window has been answered again, n times.
func answering(t *testing.T, n int64, windows ...*hostWindow) {
	t.Helper()
	for _, h := range windows {
		before := h.answers.Load()
		require.Eventually(t, func() bool { return h.answers.Load() >= before+n }, time.Minute, 5*time.Millisecond, "a window is not answered any more: %s", &h.stderr)
	}
}

// check demands that no window failed, and that all that was acknowledged is there, once.
func (w *work) check(t *testing.T, dir string) {
	t.Helper()
	require.Empty(t, w.errs)
	out, _ := says(t, 0, "export", "--format", "waymark", "--data", dir)
	times := map[string]int{}
	for line := range strings.Lines(out) {
		var l struct{ Kind, Intent string }
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		if l.Intent != "" {
			times[l.Intent]++
		}
	}
	require.NotEmpty(t, w.acked)
	for _, intent := range w.acked {
		assert.Equal(t, 1, times[intent], "%s was acknowledged", intent)
	}
	for intent, n := range times {
		assert.LessOrEqual(t, n, 1, intent)
	}
}

// rounds is how often a test repeats what may fail by chance: as often as a variable says, or else n times.
func rounds(t *testing.T, variable string, n int) int {
	if s := os.Getenv(variable); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	return n
}

// Whichever window of a host ends, in whatever way, the others go on: no call of theirs fails, nothing acknowledged is
// lost, and nothing is recorded twice. WAYMARK_WINDOW_ROUNDS sets how many windows end.
func TestWindowsOutliveEachOther(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	w := &work{}
	revisions := []string{"2025-11-25", "2025-06-18", "2026-07-28"}
	var windows []*hostWindow
	for _, revision := range revisions {
		windows = append(windows, w.window(t, dir, revision))
	}
	answering(t, 4, windows...)
	random := rand.New(rand.NewPCG(3, 4))
	kills := rounds(t, "WAYMARK_WINDOW_ROUNDS", 5)
	for round := 0; round < kills; {
		owner, err := readOwner(dir)
		for i, h := range windows {
			if err != nil || h.cmd.Process.Pid != owner.PID || owner.Addr == "" {
				continue
			}
			time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
			how := func() { require.NoError(t, h.cmd.Process.Kill()) }
			if round%5 == 4 {
				how = func() { h.session.Close() }
			}
			h.end(how)
			windows[i] = w.window(t, dir, revisions[i])
			answering(t, 4, windows...)
			round++
		}
	}
	for _, h := range windows {
		h.end(func() { h.session.Close() })
	}
	w.check(t, dir)
	_, err := readOwner(dir)
	assert.ErrorIs(t, err, fs.ErrNotExist, "the last window takes the note along")
}

// A server takes the data directory over from the windows that share it, and they go on when it ends, in whatever way.
// WAYMARK_SERVE_ROUNDS sets how often.
func TestWindowsOutliveAServer(t *testing.T) {
	t.Parallel()
	if os.PathSeparator == '\\' {
		t.Skip("no signals are sent to other processes")
	}
	dir := filepath.Join(t.TempDir(), "data")
	w := &work{}
	var windows []*hostWindow
	for _, revision := range []string{"2025-11-25", "2025-06-18", "2026-07-28"} {
		windows = append(windows, w.window(t, dir, revision))
	}
	for round := range rounds(t, "WAYMARK_SERVE_ROUNDS", 3) {
		s := startServer(t, dir)
		owner, err := readOwner(dir)
		require.NoError(t, err)
		require.Equal(t, s.cmd.Process.Pid, owner.PID)
		answering(t, 4, windows...)
		if round%2 == 0 {
			require.Zero(t, s.stop(t), s.stderr)
		} else {
			require.NoError(t, s.cmd.Process.Kill())
			s.cmd.Wait()
		}
		if round%3 != 2 { // else the next one starts at once
			answering(t, 4, windows...)
		}
	}
	for _, h := range windows {
		h.end(func() { h.session.Close() })
	}
	w.check(t, dir)
}

// The port that a window opens for the others answers nobody without the token of the owner note.
func TestWindowWantsItsToken(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	mcpClient(t, &mcp.CommandTransport{Command: exec.Command(program, "mcp", "--data", dir)})
	owner, err := readOwner(dir)
	require.NoError(t, err)
	api := "http://" + owner.Addr + "/v1"
	assert.Equal(t, http.StatusOK, createdKey{Key: owner.Token}.asks(t, api))
	assert.Equal(t, http.StatusUnauthorized, createdKey{}.asks(t, api))
	assert.Equal(t, http.StatusUnauthorized, createdKey{Key: "wrong"}.asks(t, api))
}
