package eventlog

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/storage"
	"waymark/storage/eventlog/logtest"
)

// tries appends for a short time.
func tries(t *testing.T, l Log, ws string, events []storage.Sealed) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return l.Append(ctx, ws, events)
}

// Where the synchronous standby does not answer, nothing is acknowledged, also where the next attempt could find what the
// one before has written, and after a restart of the primary: if that is lost then, the standby has everything.
func TestNothingIsStoredWithoutTheStandby(t *testing.T) {
	t.Parallel()
	primary := logtest.StartPostgres(t)
	standby, address := primary.Standby()
	l := opener(address, Options{})(t)
	first := sealed(t, storage.Head{}, 1, "first")
	require.NoError(t, l.Append(t.Context(), "w", first))
	other := opener(address, Options{})(t)
	head, err := other.Head(t.Context(), "w") // on a connection that stays open, so that it does not wait for the standby
	require.NoError(t, err)
	require.Equal(t, first[0].Head(), head)
	standby.Stop()
	second := sealed(t, first[0].Head(), 1, "second")
	for range 2 {
		require.Error(t, tries(t, l, "w", second))
	}
	require.Error(t, tries(t, other, "w", second), "what was given up is not visible")
	primary.Crash()
	primary.Start() // now it is visible there
	for range 2 {
		require.Error(t, tries(t, l, "w", second))
	}
	standby.Start()
	require.Eventually(t, func() bool { return tries(t, l, "w", second) == nil }, time.Minute, 10*time.Millisecond)
	primary.Crash()
	standby.Promote()
	require.Len(t, contents(t, l, "w", storage.Head{}), 2)
}

// A server that takes connections and answers nothing, as a machine that is stopped, does not keep the program from the
// next one.
func TestSilentServersArePassedOver(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	t.Run("postgres", func(t *testing.T) {
		way := logtest.StartProxy(t, logtest.StartPostgres(t).Socket())
		l := opener("postgres://waymark@"+silent.Addr().String()+","+way.Addr().String()+"/postgres?sslmode=disable", Options{})(t)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // the live package gives so long
		defer cancel()
		require.NoError(t, l.Append(ctx, "w", sealed(t, storage.Head{}, 1, "first")))
	})
	t.Run("nats", func(t *testing.T) {
		nodes, _ := logtest.StartCluster(t)
		var ways []*logtest.Proxy
		list := ""
		for _, n := range nodes {
			w := logtest.StartProxy(t, n.Addr().String())
			ways, list = append(ways, w), list+","+w.Addr().String()
		}
		l := opener("nats://"+list[1:], Options{Unsafe: true})(t)
		first := sealed(t, storage.Head{}, 1, "first")
		require.NoError(t, l.Append(t.Context(), "w", first))
		for _, w := range ways {
			if used := l.(*NATS).conn.ConnectedAddr(); used == w.Addr().String() {
				release := w.Hold()
				defer release()
			}
		}
		second := sealed(t, first[0].Head(), 1, "second")
		require.Eventually(t, func() bool { return tries(t, l, "w", second) == nil }, time.Minute, 10*time.Millisecond)
	})
}

// An append that a leader without a majority has not stored yet is waited for.
func TestAppendInFlightIsWaitedFor(t *testing.T) {
	t.Parallel()
	nodes, address := logtest.StartCluster(t)
	l := opener(address, Options{})(t)
	first := sealed(t, storage.Head{}, 1, "first")
	require.NoError(t, l.Append(t.Context(), "w", first))
	stream, _ := l.(*NATS).place("w")
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	for _, n := range nodes {
		if n.Name() != info.Cluster.Leader {
			n.Stop()
		}
	}
	second := sealed(t, first[0].Head(), 1, "second")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	require.ErrorIs(t, l.Append(ctx, "w", second), context.DeadlineExceeded)
	for _, n := range nodes {
		if n.Name() != info.Cluster.Leader {
			n.Start()
		}
	}
	require.Eventually(t, func() bool { return tries(t, l, "w", second) == nil }, time.Minute, 10*time.Millisecond)
}

// One server of three that is down keeps no program from starting.
func TestSyncIsCheckedOfAMajority(t *testing.T) {
	monitor := func(answer string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	synced := `{"jetstream":{"config":{"sync_always":true}}}`
	a, b, lossy := monitor(synced), monitor(synced), monitor(`{"jetstream":{"config":{"sync_always":false}}}`)
	down := httptest.NewServer(nil)
	down.Close()
	require.NoError(t, checkSync(t.Context(), []string{down.URL, a, b}))
	require.ErrorContains(t, checkSync(t.Context(), []string{a, b, lossy}), "does not sync")
	require.ErrorContains(t, checkSync(t.Context(), []string{down.URL, lossy, a}), "does not sync")
	err := checkSync(t.Context(), []string{a, down.URL, down.URL})
	require.ErrorContains(t, err, "connection refused")
	require.True(t, unreachable(err))
}

// A read leaves nothing behind on the server of NATS, which refuses readers beyond a number.
func TestReadsLeaveNoConsumers(t *testing.T) {
	l := opener(startNATS(t), Options{Unsafe: true})(t)
	require.NoError(t, l.Append(t.Context(), "w", sealed(t, storage.Head{}, 1, "first")))
	for range 20 {
		require.Len(t, contents(t, l, "w", storage.Head{}), 1)
	}
	stream, _ := l.(*NATS).place("w")
	require.Eventually(t, func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.State.Consumers == 0
	}, natsIdle*2/3, 10*time.Millisecond)
}
