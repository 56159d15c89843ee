package eventlog

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"waymark/storage/eventlog/logtest"
)

// startNATS runs one node in this process.
func startNATS(t *testing.T) (address string) {
	s := runNATS(t, &server.Options{StoreDir: t.TempDir(), Port: server.RANDOM_PORT})
	return s.ClientURL()
}

func runNATS(t *testing.T, o *server.Options) *server.Server {
	o.Host, o.JetStream, o.NoLog, o.NoSigs = "127.0.0.1", true, true, true
	s, err := server.NewServer(o)
	require.NoError(t, err)
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("nats-server did not start")
	}
	return s
}

// freePorts are ports that nobody uses at the moment.
func freePorts(t *testing.T, n int) []int {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// startCluster runs three nodes that sync always, with monitoring. They may still be looking for each other.
func startCluster(t *testing.T) (nodes []*server.Server, address string) {
	ports := freePorts(t, 3)
	var routes []string
	for _, p := range ports {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", p))
	}
	list, monitors := "", ""
	for i, p := range ports {
		o := &server.Options{
			ServerName: fmt.Sprint("n", i), Port: server.RANDOM_PORT, StoreDir: t.TempDir(), SyncAlways: true,
			HTTPHost: "127.0.0.1", HTTPPort: server.RANDOM_PORT,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: p}, Routes: server.RoutesFromStr(routes[0] + "," + routes[1] + "," + routes[2]),
		}
		s := func() *server.Server {
			o.Host, o.JetStream, o.NoLog, o.NoSigs = "127.0.0.1", true, true, true
			s, err := server.NewServer(o)
			require.NoError(t, err)
			go s.Start()
			t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
			return s
		}()
		nodes = append(nodes, s)
	}
	for i, s := range nodes {
		require.True(t, s.ReadyForConnections(time.Minute))
		list += map[bool]string{true: "", false: ","}[i == 0] + s.Addr().String()
		monitors += fmt.Sprintf("&monitor=http://%s", s.MonitorAddr())
	}
	return nodes, "nats://" + list + "?" + monitors[1:]
}

// startPostgres runs a server for the test.
func startPostgres(t *testing.T, settings ...string) (address string) {
	return logtest.StartPostgres(t, settings...).Address
}
