package eventlog

import (
	"context"
	"net"
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
	way := logtest.StartProxy(t, logtest.StartPostgres(t).Socket())
	l := opener("postgres://waymark@"+silent.Addr().String()+","+way.Addr().String()+"/postgres?sslmode=disable", Options{})(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // the live package gives so long
	defer cancel()
	require.NoError(t, l.Append(ctx, "w", sealed(t, storage.Head{}, 1, "first")))
}
