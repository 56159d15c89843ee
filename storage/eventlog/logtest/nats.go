package logtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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

// NATSProcess is a node of NATS in a process of its own.
type NATSProcess struct {
	Address, Monitor string

	t             *testing.T
	program, file string
	cmd           *exec.Cmd
	log           bytes.Buffer
}

// StartClusterProcesses runs three nodes as [StartCluster] does, but as processes, which can be killed. Clients hear of
// none but those that they name.
func StartClusterProcesses(t *testing.T) (nodes []*NATSProcess) {
	dir := t.TempDir()
	program := filepath.Join(dir, "nats-server")
	out, err := exec.Command("go", "build", "-o", program, "github.com/nats-io/nats-server/v2").CombinedOutput()
	require.NoError(t, err, "%s", out)
	ports := freePorts(t, 9)
	for i := range 3 {
		n := &NATSProcess{t: t, program: program, file: filepath.Join(dir, fmt.Sprintf("n%d.conf", i)),
			Address: fmt.Sprintf("127.0.0.1:%d", ports[i]), Monitor: fmt.Sprintf("http://127.0.0.1:%d", ports[3+i])}
		require.NoError(t, os.WriteFile(n.file, fmt.Appendf(nil, `
server_name: n%d, listen: "%s", http: "127.0.0.1:%d"
jetstream { store_dir: %q, sync_interval: always }
cluster { name: test, listen: "127.0.0.1:%d", no_advertise: true
	routes: ["nats://127.0.0.1:%d", "nats://127.0.0.1:%d", "nats://127.0.0.1:%d"] }
`, i, n.Address, ports[3+i], filepath.Join(dir, fmt.Sprint("store", i)), ports[6+i], ports[6], ports[7], ports[8]), 0o600))
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		n.Start()
		t.Cleanup(func() {
			n.Kill()
			if t.Failed() {
				t.Logf("%s", n.log.Bytes()[max(0, n.log.Len()-1000):])
			}
		})
	}
	return nodes
}

// Start runs the node, also again after [NATSProcess.Kill].
func (n *NATSProcess) Start() {
	n.cmd = exec.Command(n.program, "-c", n.file)
	n.cmd.Stdout, n.cmd.Stderr = &n.log, &n.log
	require.NoError(n.t, n.cmd.Start())
}

// Kill ends the node at once.
func (n *NATSProcess) Kill() {
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

// Process is the one that runs.
func (n *NATSProcess) Process() *os.Process { return n.cmd.Process }
