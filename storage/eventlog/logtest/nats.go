package logtest

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// NATS is a node of NATS in this process.
type NATS struct {
	*server.Server

	t    *testing.T
	opts server.Options
}

// StartNATS runs a node until the test ends.
func StartNATS(t *testing.T, o server.Options) *NATS {
	o.Host, o.JetStream, o.NoLog, o.NoSigs = "127.0.0.1", true, true, true
	n := &NATS{t: t, opts: o}
	n.Start()
	t.Cleanup(n.Stop)
	return n
}

// Start runs the node, also again after [NATS.Stop], at the same port.
func (n *NATS) Start() {
	o := n.opts
	s, err := server.NewServer(&o)
	require.NoError(n.t, err)
	n.Server = s
	go s.Start()
	if !s.ReadyForConnections(time.Minute) {
		n.t.Fatal("nats-server did not start")
	}
	n.opts.Port = s.Addr().(*net.TCPAddr).Port
}

// Stop ends the node and its connections.
func (n *NATS) Stop() {
	n.Shutdown()
	n.WaitForShutdown()
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

// StartCluster runs three nodes that sync always, with monitoring. They may still be looking for each other.
func StartCluster(t *testing.T) (nodes []*NATS, address string) {
	ports := freePorts(t, 6)
	routes := fmt.Sprintf("nats://127.0.0.1:%d,nats://127.0.0.1:%d,nats://127.0.0.1:%d", ports[0], ports[1], ports[2])
	list, monitors := "", ""
	for i := range 3 {
		n := StartNATS(t, server.Options{
			ServerName: fmt.Sprint("n", i), Port: ports[3+i], StoreDir: t.TempDir(), SyncAlways: true,
			HTTPHost: "127.0.0.1", HTTPPort: server.RANDOM_PORT,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[i]}, Routes: server.RoutesFromStr(routes),
		})
		nodes = append(nodes, n)
		list += map[bool]string{true: "", false: ","}[i == 0] + n.Addr().String()
		monitors += fmt.Sprintf("&monitor=http://%s", n.MonitorAddr())
	}
	return nodes, "nats://" + list + "?" + monitors[1:]
}
