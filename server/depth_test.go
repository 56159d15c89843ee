package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/storage"
)

// tracedStore reports the stacks of all goroutines at the moment an episode is appended.
type tracedStore struct {
	storage.Store
	stacks *string
}

func (s tracedStore) Log(workspace string) (storage.Log, error) {
	log, err := s.Store.Log(workspace)
	return tracedLog{log, s.stacks}, err
}

type tracedLog struct {
	storage.Log
	stacks *string
}

func (l tracedLog) Append(ctx context.Context, records []storage.Record) ([]storage.Receipt, error) {
	if strings.HasPrefix(records[0].Key, "episode/") {
		buf := make([]byte, 1<<20)
		*l.stacks = string(buf[:runtime.Stack(buf, true)])
	}
	return l.Log.Append(ctx, records)
}

var ownFrame = regexp.MustCompile(`(?m)^waymark/[^\n]*\(.*\)$`)

// A recorded episode passes at most 15 functions of this program, from the handler of the route to the log: those that
// wait in the request's goroutine and those of the writer.
func TestRecordingIsShallow(t *testing.T) {
	var stacks string
	store := tracedStore{storage.NewMemory(), &stacks}
	workspaces := live.NewWorkspaces(store, live.Options{})
	t.Cleanup(func() { assert.NoError(t, workspaces.Close(context.Background())) })
	s, err := New(Config{Store: store, Workspaces: workspaces})
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, "/v1/episodes", strings.NewReader(`{"id":"e","steps":[{"tool":"a"}]}`))
	r.Header.Set("Content-Type", "application/json")
	r.Host = "127.0.0.1"
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body)

	var passed []string
	for _, goroutine := range strings.Split(stacks, "\n\n") {
		frames := ownFrame.FindAllString(goroutine, -1)
		if !strings.Contains(goroutine, "tracedLog") && !strings.Contains(goroutine, "(*Server).record(") {
			continue
		}
		for _, frame := range frames {
			if !strings.Contains(frame, "tracedLog") {
				passed = append(passed, frame)
			}
			if strings.Contains(frame, "(*Server).record(") {
				break
			}
		}
	}
	text := strings.Join(passed, "\n")
	require.Contains(t, text, "server.(*Server).record(")
	require.Contains(t, text, "live.(*Engine).Record(")
	require.Contains(t, text, "live.(*writer).append(")
	require.LessOrEqual(t, len(passed), 15, text)
}
