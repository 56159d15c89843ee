package eventlog

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"waymark/storage"
	"waymark/storage/eventlog/logtest"
)

func TestPostgresRefusesSettingsThatLoseEvents(t *testing.T) {
	address := startPostgres(t)
	for option, want := range map[string]string{
		"synchronous_commit%3Doff": "synchronous_commit = off",
		"synchronous_commit%3Don":  "",
	} {
		l, err := Open(t.Context(), address+"&options=-c%20"+option, Options{})
		if want != "" {
			require.ErrorContains(t, err, want)
			l, err = Open(t.Context(), address+"&options=-c%20"+option, Options{Unsafe: true})
		}
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
	address = startPostgres(t, "fsync=off")
	_, err := Open(t.Context(), address, Options{})
	require.ErrorContains(t, err, "fsync = off")
}

// A node alone is refused for what it is, a cluster that syncs is accepted and outlives a node.
func TestNATSSettings(t *testing.T) {
	t.Run("no monitoring", func(t *testing.T) {
		_, err := Open(t.Context(), startNATS(t), Options{})
		require.ErrorContains(t, err, "monitor")
	})
	t.Run("a stream that drops events", func(t *testing.T) {
		address := startNATS(t)
		conn, err := nats.Connect(address)
		require.NoError(t, err)
		defer conn.Close()
		js, err := jetstream.New(conn)
		require.NoError(t, err)
		_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "WAYMARK_3", Subjects: []string{"waymark.3.>"}, MaxAge: time.Hour})
		require.NoError(t, err)
		_, err = Open(t.Context(), address, Options{Unsafe: true})
		require.ErrorContains(t, err, "stream WAYMARK_3 drops old events")
	})
	t.Run("cluster", func(t *testing.T) {
		nodes, address := logtest.StartCluster(t)
		l := opener(address, Options{})(t)
		first := sealed(t, storage.Head{}, 3, "first")
		require.NoError(t, l.Append(t.Context(), "w", first))
		leader := 0
		for i, n := range nodes {
			stream, _ := l.(*NATS).place("w")
			if n.JetStreamIsStreamLeader("$G", stream.CachedInfo().Config.Name) {
				leader = i
			}
		}
		nodes[leader].Stop()
		second := sealed(t, first[2].Head(), 3, "second")
		require.Eventually(t, func() bool { return l.Append(t.Context(), "w", second) == nil }, 2*time.Minute, 50*time.Millisecond)
		require.NoError(t, l.Append(t.Context(), "w", second))
		require.Len(t, contents(t, l, "w", storage.Head{}), 6)
	})
}

func TestErrorsHideSecrets(t *testing.T) {
	for _, address := range []string{
		"postgres://u:s3%20cret@127.0.0.1:1/x?connect_timeout=1", "postgres://u:s3%20cret@127.0.0.1:port/x", "postgres://u:s3%20cret@[::1/x",
		"nats://u:s3%20cret@127.0.0.1:1", "nats://s3cret@127.0.0.1:1", "nats://u:s3cret@%zz", "nats://u:s3cret@h?creds=/no/such&x=1", "other://u:s3cret@h",
		"postgres://127.0.0.1:1/x?password=s3%20cret&connect_timeout=1", "postgres://127.0.0.1:1/x?options=a=b&password=s3cret&sslpassword=s3%20cret",
	} {
		_, err := Open(t.Context(), address, Options{Unsafe: true})
		require.Error(t, err, address)
		for _, secret := range []string{"s3cret", "s3 cret", "s3%20cret"} {
			require.NotContains(t, err.Error(), secret, address)
			require.NotContains(t, fmt.Sprintf("%+v", err), secret, address)
		}
	}
}

// A server of NATS is what the tests need and the program does not.
func TestTheProgramLinksNoNATSServer(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "waymark/cmd/waymark").Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.Contains(t, packages, "github.com/nats-io/nats.go")
	for _, p := range packages {
		require.False(t, strings.HasPrefix(p, "github.com/nats-io/nats-server/"), p)
	}
}
