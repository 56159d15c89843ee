package server

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/storage"
	"waymark/storage/eventlog"
)

// slowLink is a connection to a shared log that may bring nothing, be down, or lose answers.
type slowLink struct {
	eventlog.Log
	held, down atomic.Bool
	lost       atomic.Pointer[string] // the log of which answers to appends are lost
}

func (l *slowLink) Read(ctx context.Context, workspace string, after uint64, follow bool) iter.Seq2[storage.Sealed, error] {
	return func(yield func(storage.Sealed, error) bool) {
		for e, err := range l.Log.Read(ctx, workspace, after, follow) {
			for l.held.Load() && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (l *slowLink) Append(ctx context.Context, workspace string, events []storage.Sealed) error {
	if l.down.Load() {
		return context.DeadlineExceeded
	}
	err := l.Log.Append(ctx, workspace, events)
	if lost := l.lost.Load(); err == nil && lost != nil && *lost == workspace {
		err = context.DeadlineExceeded
	}
	return err
}

func (l *slowLink) Head(ctx context.Context, workspace string) (storage.Head, error) {
	if l.down.Load() {
		return storage.Head{}, context.DeadlineExceeded
	}
	return l.Log.Head(ctx, workspace)
}

// A write at one replica is read at another that is asked with its position (min_seq), or the answer is 503 with a time to try again.
func TestReplicasReadYourWrites(t *testing.T) {
	log := eventlog.NewLocal(storage.NewMemory())
	link := &slowLink{Log: log}
	replica := func(l eventlog.Log) web {
		store := storage.NewMemory()
		workspaces := live.NewWorkspaces(store, live.Options{Shared: l})
		t.Cleanup(func() { require.NoError(t, workspaces.Close(context.Background())) })
		s, err := New(Config{Store: store, Workspaces: workspaces, Version: "test"})
		require.NoError(t, err)
		ts := httptest.NewServer(s.Handler())
		t.Cleanup(s.Close)
		t.Cleanup(ts.Close)
		return web{s, t, ts.URL}
	}
	a, b := replica(log), replica(link)
	send := func(w web, method, path, body string) (status int, header http.Header, answer map[string]any) {
		req, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
		return resp.StatusCode, resp.Header, answer
	}
	write := func(id string) (position string) {
		status, _, answer := send(a, http.MethodPost, "/v1/episodes", `{"id":"`+id+`","steps":[{"tool":"new:`+id+`"},{"tool":"new:next"}]}`)
		require.Equal(t, http.StatusOK, status, answer)
		return strconv.FormatFloat(answer["seq"].(float64), 'f', 0, 64)
	}
	next := func(context, position string) (status int, header http.Header, answer map[string]any) {
		return send(b, http.MethodPost, "/v1/next", `{"context":["`+context+`"],"min_seq":`+position+`}`)
	}
	status, _, answer := next("new:one", write("one"))
	require.Equal(t, http.StatusOK, status, answer)
	require.NotEmpty(t, answer["suggestions"])

	link.held.Store(true)
	position := write("two")
	status, header, _ := next("new:two", position)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NotEmpty(t, header.Get("Retry-After"))
	link.held.Store(false)
	require.Eventually(t, func() bool {
		status, _, _ := next("new:two", position)
		return status == http.StatusOK
	}, time.Minute, time.Millisecond)

	link.down.Store(true)
	episode := `{"id":"three","steps":[{"tool":"new:three"}]}`
	status, header, answer = send(b, http.MethodPost, "/v1/episodes", episode)
	require.Equal(t, http.StatusServiceUnavailable, status, answer)
	require.NotEmpty(t, header.Get("Retry-After"))
	replicaOf := func(w web) map[string]any {
		status, _, answer := send(w, http.MethodGet, "/readyz", "")
		require.Equal(t, http.StatusOK, status)
		return answer["replica"].(map[string]any)
	}
	require.Equal(t, "unreachable", replicaOf(b)["log"])
	status, _, _ = next("new:one", "0")
	require.Equal(t, http.StatusOK, status)
	link.down.Store(false)
	require.Eventually(t, func() bool {
		status, _, answer := send(b, http.MethodPost, "/v1/episodes", episode)
		return status == http.StatusOK && answer["accepted"].(float64) == 1
	}, time.Minute, 10*time.Millisecond)

	require.Eventually(t, func() bool {
		one, other := replicaOf(a), replicaOf(b)
		return one["lag"] == 0.0 && other["lag"] == 0.0 && one["model_hash"] == other["model_hash"]
	}, time.Minute, 10*time.Millisecond)
}
