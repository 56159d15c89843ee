package storage

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// pgServer is a PostgreSQL server in a temporary directory.
type pgServer struct {
	dir     string
	cmd     *exec.Cmd
	schemas int
}

// shared is the server of all tests; those that stop a server start a copy of it. TestMain ends it.
var shared *pgServer

// sharedPostgres starts the server at its first call. The test is skipped where PostgreSQL is not installed.
func sharedPostgres(t testing.TB) *pgServer {
	if shared == nil {
		p := newPostgres(t)
		p.run(t, "initdb", "-D", p.data(), "-U", "waymark", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
		p.start(t)
		shared = p
	}
	return shared
}

// emptySchema returns the address of a new schema on the shared server, where a store finds no table.
func emptySchema(t testing.TB) string {
	p := sharedPostgres(t)
	p.schemas++
	schema := fmt.Sprint("s", p.schemas)
	p.query(t, "create schema "+schema)
	return p.address() + "&search_path=" + schema
}

func newPostgres(t testing.TB) *pgServer {
	if _, err := exec.LookPath("postgres"); err != nil {
		t.Skipf("no PostgreSQL on this machine: %v", err)
	}
	dir, err := os.MkdirTemp("", "pg") // short: it holds a socket; not below a directory that only root may enter
	require.NoError(t, err)
	return &pgServer{dir: dir}
}

// copy runs a server with a copy of the data until the test ends.
func (p *pgServer) copy(t testing.TB, options ...string) *pgServer {
	c := newPostgres(t)
	from := "host=" + p.dir + " user=waymark application_name=standby"
	c.run(t, "pg_basebackup", append(options, "-D", c.data(), "-X", "stream", "-c", "fast", "-N", "-d", from)...)
	c.start(t)
	t.Cleanup(c.crash)
	return c
}

// standby starts a copy of the server that follows it. From then on the server acknowledges nothing that the copy
// lacks. The address is of whichever of both takes writes.
func (p *pgServer) standby(t testing.TB) (standby *pgServer, address string) {
	standby = p.copy(t, "-R")
	p.set(t, "synchronous_standby_names", "standby")
	require.Eventually(t, func() bool {
		return p.query(t, "select state||sync_state from pg_stat_replication") == "streamingsync"
	}, time.Minute, 10*time.Millisecond)
	return standby, "postgres:///postgres?user=waymark&host=" + p.dir + "," + standby.dir + "&target_session_attrs=read-write"
}

// promote makes a standby take writes, without a standby of its own.
func (p *pgServer) promote(t testing.TB) {
	require.Eventually(t, func() bool { // what it recovers may cancel a statement
		_, _ = p.try("select pg_promote()")
		recovers, err := p.try("select pg_is_in_recovery()")
		return err == nil && recovers == "f"
	}, time.Minute, 10*time.Millisecond)
	p.set(t, "synchronous_standby_names", "")
}

func (p *pgServer) set(t testing.TB, setting, value string) {
	p.query(t, fmt.Sprintf("alter system set %s = '%s'", setting, value))
	p.query(t, "select pg_reload_conf()")
}

func (p *pgServer) query(t testing.TB, statement string) string {
	answer, err := p.try(statement)
	require.NoError(t, err)
	return answer
}

// try runs a statement as the superuser and returns the first value of its answer.
func (p *pgServer) try(statement string) (string, error) {
	conn, err := pgconn.Connect(context.Background(), p.address())
	if err != nil {
		return "", err
	}
	defer conn.Close(context.Background())
	results, err := conn.Exec(context.Background(), statement).ReadAll()
	if err != nil || len(results[0].Rows) == 0 {
		return "", err
	}
	return string(results[0].Rows[0][0]), nil
}

func (p *pgServer) address() string { return "postgres:///postgres?user=waymark&host=" + p.dir }

func (p *pgServer) data() string { return filepath.Join(p.dir, "data") }

func (p *pgServer) run(t testing.TB, name string, args ...string) {
	out, err := p.command(t, name, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// command is a program of PostgreSQL, which may not be in the PATH. It runs as nobody where this process is root:
// PostgreSQL refuses root.
func (p *pgServer) command(t testing.TB, name string, args ...string) *exec.Cmd {
	server, err := exec.LookPath("postgres")
	require.NoError(t, err)
	server, err = filepath.EvalSymlinks(server)
	require.NoError(t, err)
	name = filepath.Join(filepath.Dir(server), name)
	if os.Getuid() == 0 {
		const nobody = 65534
		require.NoError(t, os.Chown(p.dir, nobody, nobody))
		name, args = "setpriv", append([]string{"--reuid=65534", "--regid=65534", "--clear-groups", name}, args...)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	return cmd
}

func (p *pgServer) start(t testing.TB) {
	p.cmd = p.command(t, "postgres", "-D", p.data(), "-k", p.dir, "-c", "listen_addresses=", "-c", "max_connections=60",
		"-c", "shared_buffers=16MB", "-c", "wal_retrieve_retry_interval=200ms")
	log, err := os.Create(filepath.Join(p.dir, "log"))
	require.NoError(t, err)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	require.NoError(t, p.cmd.Start())
	require.NoError(t, log.Close())
	require.Eventually(t, func() bool {
		pid, err := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
		return err == nil && (bytes.Contains(pid, []byte("ready")) || bytes.Contains(pid, []byte("standby")))
	}, time.Minute, 10*time.Millisecond)
}

// crash ends the server at once, and removes its data.
func (p *pgServer) crash() {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT) // an error is right for a server that a test has ended
	_ = p.cmd.Wait()
	os.RemoveAll(p.dir)
}

// pgProxy passes connections on to a server, and cuts them off from it.
type pgProxy struct {
	mu    sync.Mutex
	conns []net.Conn
}

// startProxy listens until the test ends. pass receives what clients send; if it returns false, nothing is passed on and
// all connections are cut.
func startProxy(t testing.TB, server *pgServer, pass func(p *pgProxy, sent []byte) bool) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := new(pgProxy)
	t.Cleanup(func() { l.Close(); p.cut() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", filepath.Join(server.dir, ".s.PGSQL.5432"))
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			go p.copy(out, in, pass)
			go p.copy(in, out, func(*pgProxy, []byte) bool { return true })
		}
	}()
	return "postgres://waymark@" + l.Addr().String() + "/postgres?application_name=proxied"
}

func (p *pgProxy) copy(to, from net.Conn, pass func(*pgProxy, []byte) bool) {
	defer to.Close()
	for buffer := make([]byte, 32<<10); ; {
		n, err := from.Read(buffer)
		if n > 0 && err == nil {
			if !pass(p, buffer[:n]) {
				p.cut()
				return
			}
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

// cut closes all connections.
func (p *pgProxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}
