package eventlog

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

// startCluster runs three nodes that sync always, with monitoring.
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
	require.Eventually(t, func() bool {
		for _, s := range nodes {
			if s.JetStreamIsLeader() {
				return len(s.JetStreamClusterPeers()) == 3
			}
		}
		return false
	}, time.Minute, 20*time.Millisecond)
	return nodes, "nats://" + list + "?" + monitors[1:]
}

// startPostgres runs a server in a temporary directory, as nobody where this process is root: it refuses root.
func startPostgres(t *testing.T, settings ...string) (address string) {
	find := func(name string) string {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("no PostgreSQL on this machine: %v", err)
		}
		path, err = filepath.EvalSymlinks(path)
		require.NoError(t, err)
		return path
	}
	initdb, postgres := find("initdb"), find("postgres")
	dir, err := os.MkdirTemp("", "pg") // short: it holds a socket; not below a directory that nobody may enter
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C", "TZ=UTC")
		asNobody(t, cmd, dir)
		return cmd
	}
	out, err := command(initdb, "-D", data, "-U", "waymark", "-A", "trust", "-E", "UTF8", "--no-locale", "-N").CombinedOutput()
	require.NoError(t, err, "%s", out)
	args := []string{"-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=60", "-c", "shared_buffers=16MB"}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	cmd := command(postgres, args...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt)) // fast shutdown
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s", log.Bytes())
		}
	})
	require.Eventually(t, func() bool {
		pid, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
		return err == nil && bytes.Contains(pid, []byte("ready"))
	}, time.Minute, 10*time.Millisecond)
	return "postgres:///postgres?user=waymark&host=" + dir
}
