package storage

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pgServer is a PostgreSQL server in a temporary directory.
type pgServer struct {
	Address string

	t        testing.TB
	dir      string
	program  string
	settings []string
	cmd      *exec.Cmd
	log      bytes.Buffer
}

// startPostgres runs a server until the test ends. The test is skipped where PostgreSQL is not installed.
func startPostgres(t testing.TB, settings ...string) *pgServer {
	p := newPostgres(t, settings)
	p.run(p.beside("initdb"), "-D", p.data(), "-U", "waymark", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
	return p.started()
}

func newPostgres(t testing.TB, settings []string) *pgServer {
	program, err := exec.LookPath("postgres")
	if err != nil {
		t.Skipf("no PostgreSQL on this machine: %v", err)
	}
	program, err = filepath.EvalSymlinks(program)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "pg") // short: it holds a socket; not below a directory that only root may enter
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &pgServer{
		Address: "postgres:///postgres?user=waymark&host=" + dir,
		t:       t, dir: dir, program: program, settings: settings,
	}
}

func (p *pgServer) started() *pgServer {
	p.start()
	p.t.Cleanup(func() {
		p.stop()
		if p.t.Failed() {
			p.t.Logf("%s", p.log.Bytes()[max(0, p.log.Len()-4000):])
		}
	})
	return p
}

// standby starts a copy of the server that follows it. From then on the server acknowledges nothing that the copy
// lacks. The address is of whichever of both takes writes.
func (p *pgServer) standby() (standby *pgServer, address string) {
	standby = newPostgres(p.t, p.settings)
	standby.run(p.beside("pg_basebackup"), "-D", standby.data(), "-R", "-X", "stream", "-c", "fast",
		"-d", "host="+p.dir+" user=waymark application_name=standby")
	standby.started()
	p.waitsFor("standby")
	return standby, "postgres:///postgres?user=waymark&host=" + p.dir + "," + standby.dir + "&target_session_attrs=read-write"
}

// waitsFor names the standbys that a commit waits for, once one follows, and waits until it has what was committed
// before.
func (p *pgServer) waitsFor(standbys string) {
	follows := func(state string) {
		require.Eventually(p.t, func() bool {
			return standbys == "" ||
				strings.Contains(p.query("select 'state='||state||sync_state from pg_stat_replication"), "state=streaming"+state)
		}, time.Minute, 10*time.Millisecond)
	}
	follows("")
	p.query("alter system set synchronous_standby_names = '" + standbys + "'")
	p.query("select pg_reload_conf()")
	follows("sync")
}

// promote makes a standby take writes, without a standby of its own.
func (p *pgServer) promote() {
	require.Eventually(p.t, func() bool { // what it recovers may cancel a statement
		_, _ = p.psql("select pg_promote()").CombinedOutput()
		answer, _ := p.psql("select 'recovers='||pg_is_in_recovery()").CombinedOutput()
		return bytes.Contains(answer, []byte("recovers=false"))
	}, time.Minute, 10*time.Millisecond)
	p.waitsFor("")
}

// query runs a statement as the superuser.
func (p *pgServer) query(statement string) string {
	answer, err := p.psql(statement).CombinedOutput()
	require.NoError(p.t, err, "%s", answer)
	return string(answer)
}

func (p *pgServer) psql(statement string) *exec.Cmd {
	return p.command(p.beside("psql"), "-At", "-h", p.dir, "-U", "waymark", "-d", "postgres", "-c", statement)
}

func (p *pgServer) run(name string, args ...string) {
	out, err := p.command(name, args...).CombinedOutput()
	require.NoError(p.t, err, "%s", out)
}

func (p *pgServer) beside(name string) string { return filepath.Join(filepath.Dir(p.program), name) }

func (p *pgServer) data() string { return filepath.Join(p.dir, "data") }

// socket is the path at which it takes connections.
func (p *pgServer) socket() string { return filepath.Join(p.dir, ".s.PGSQL.5432") }

// command runs as nobody where this process is root: PostgreSQL refuses root.
func (p *pgServer) command(name string, args ...string) *exec.Cmd {
	if os.Getuid() == 0 {
		const nobody = 65534
		require.NoError(p.t, os.Chown(p.dir, nobody, nobody))
		name, args = "setpriv", append([]string{"--reuid=65534", "--regid=65534", "--clear-groups", name}, args...)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	return cmd
}

// start runs the server, also again after stop or crash.
func (p *pgServer) start() {
	args := []string{
		"-D", p.data(), "-k", p.dir, "-c", "listen_addresses=", "-c", "max_connections=60", "-c", "shared_buffers=16MB",
		"-c", "wal_retrieve_retry_interval=200ms",
	}
	for _, s := range p.settings {
		args = append(args, "-c", s)
	}
	p.cmd = p.command(p.program, args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	require.NoError(p.t, p.cmd.Start())
	require.Eventually(p.t, func() bool {
		pid, err := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
		return err == nil && (bytes.Contains(pid, []byte("ready")) || bytes.Contains(pid, []byte("standby")))
	}, time.Minute, 10*time.Millisecond)
}

// crash ends the server at once: the next start recovers as after a crash.
func (p *pgServer) crash() { p.end(syscall.SIGQUIT) }

// stop ends the server and its connections.
func (p *pgServer) stop() { p.end(os.Interrupt) }

func (p *pgServer) end(signal os.Signal) {
	if p.cmd == nil {
		return
	}
	require.NoError(p.t, p.cmd.Process.Signal(signal))
	_ = p.cmd.Wait()
	p.cmd = nil
}

// pgProxy passes connections on to a server, and cuts them off from it.
type pgProxy struct {
	net.Listener

	socket string
	mu     sync.Mutex
	conns  []net.Conn
	seen   func(sent []byte) (pass bool) // looks at what clients send; nil: all passes
}

// startProxy listens until the test ends.
func startProxy(t testing.TB, server *pgServer) (p *pgProxy, address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p = &pgProxy{Listener: l, socket: server.socket()}
	t.Cleanup(func() { l.Close(); p.cut() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", p.socket)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			go p.copy(out, in, true)
			go p.copy(in, out, false)
		}
	}()
	return p, "postgres://waymark@" + l.Addr().String() + "/postgres"
}

func (p *pgProxy) copy(to, from net.Conn, sent bool) {
	defer to.Close()
	for buffer := make([]byte, 32<<10); ; {
		n, err := from.Read(buffer)
		if n > 0 && err == nil {
			p.mu.Lock()
			seen := p.seen
			p.mu.Unlock()
			if sent && seen != nil && !seen(buffer[:n]) {
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

// look has seen asked about all that clients send from now on; where it answers false, nothing is passed on and all
// connections are cut.
func (p *pgProxy) look(seen func(sent []byte) (pass bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = seen
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
