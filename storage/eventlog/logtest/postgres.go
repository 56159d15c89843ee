// Package logtest starts the servers that tests of shared logs need.
package logtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Postgres is a server in a temporary directory, as nobody where this process is root: it refuses root.
type Postgres struct {
	Address string

	t        *testing.T
	dir      string
	program  string
	settings []string
	cmd      *exec.Cmd
	log      bytes.Buffer
}

// StartPostgres runs a server until the test ends. The test is skipped where PostgreSQL is not installed.
func StartPostgres(t *testing.T, settings ...string) *Postgres {
	initdb := find(t, "initdb")
	p := newPostgres(t, settings)
	p.run(initdb, "-D", p.data(), "-U", "waymark", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
	return p.started()
}

func find(t *testing.T, name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no PostgreSQL on this machine: %v", err)
	}
	path, err = filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return path
}

func newPostgres(t *testing.T, settings []string) *Postgres {
	dir, err := os.MkdirTemp("", "pg") // short: it holds a socket; not below a directory that nobody may enter
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &Postgres{Address: "postgres:///postgres?user=waymark&host=" + dir, t: t, dir: dir, program: find(t, "postgres"), settings: settings}
}

// Data is the directory of its files.
func (p *Postgres) Data() string { return p.data() }

func (p *Postgres) run(name string, args ...string) {
	out, err := p.command(name, args...).CombinedOutput()
	require.NoError(p.t, err, "%s", out)
}

func (p *Postgres) started() *Postgres {
	p.Start()
	p.t.Cleanup(func() {
		p.Stop()
		if p.t.Failed() {
			p.t.Logf("%s", p.log.Bytes()[max(0, p.log.Len()-4000):])
		}
	})
	return p
}

// Standby starts a copy of the server that follows it. From then on the server acknowledges nothing that the copy lacks.
// The address is of whichever of both takes writes.
func (p *Postgres) Standby() (standby *Postgres, address string) {
	standby = newPostgres(p.t, p.settings)
	standby.copy(p)
	standby.started()
	p.waitsFor("standby")
	return standby, "postgres:///postgres?user=waymark&host=" + p.dir + "," + standby.dir + "&target_session_attrs=read-write"
}

func (p *Postgres) copy(of *Postgres) {
	p.run(p.beside("pg_basebackup"), "-D", p.data(), "-R", "-X", "stream", "-c", "fast", "-d", "host="+of.dir+" user=waymark application_name=standby")
}

// Rejoin makes a server that has ended the standby of another one, which acknowledges nothing more that it lacks. It is
// up to date when this returns.
func (p *Postgres) Rejoin(primary *Postgres) {
	require.NoError(p.t, os.RemoveAll(p.data()))
	p.copy(primary)
	p.Start()
	primary.waitsFor("standby")
}

// waitsFor names the standbys that a commit waits for, once one follows, and waits until it has what was committed before.
func (p *Postgres) waitsFor(standbys string) {
	follows := func(state string) {
		require.Eventually(p.t, func() bool {
			return standbys == "" || bytes.Contains(p.query("select 'state='||state||sync_state from pg_stat_replication"), []byte("state=streaming"+state))
		}, time.Minute, 10*time.Millisecond)
	}
	follows("")
	p.query("alter system set synchronous_standby_names = '" + standbys + "'")
	p.query("select pg_reload_conf()")
	follows("sync")
}

// Promote makes a standby take writes, without one of its own.
func (p *Postgres) Promote() {
	require.Eventually(p.t, func() bool { // what it recovers may cancel a statement
		_, _ = p.psql("select pg_promote()").CombinedOutput()
		answer, _ := p.psql("select 'recovers='||pg_is_in_recovery()").CombinedOutput()
		return bytes.Contains(answer, []byte("recovers=false"))
	}, time.Minute, 10*time.Millisecond)
	p.waitsFor("")
}

func (p *Postgres) query(statement string) (answer []byte) {
	answer, err := p.psql(statement).CombinedOutput()
	require.NoError(p.t, err, "%s", answer)
	return answer
}

func (p *Postgres) psql(statement string) *exec.Cmd {
	return p.command(p.beside("psql"), "-h", p.dir, "-U", "waymark", "-d", "postgres", "-c", statement)
}

func (p *Postgres) beside(name string) string { return filepath.Join(filepath.Dir(p.program), name) }

// Socket is the path at which it takes connections.
func (p *Postgres) Socket() string { return filepath.Join(p.dir, ".s.PGSQL.5432") }

// Process is its first process.
func (p *Postgres) Process() *os.Process { return p.cmd.Process }

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *Postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	asNobody(p.t, cmd, p.dir)
	return cmd
}

// Start runs the server, also again after [Postgres.Stop].
func (p *Postgres) Start() {
	args := []string{"-D", p.data(), "-k", p.dir, "-c", "listen_addresses=", "-c", "max_connections=60", "-c", "shared_buffers=16MB", "-c", "wal_retrieve_retry_interval=200ms"}
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

// Crash ends the server at once: its processes write nothing more, and the next start recovers as after a crash.
func (p *Postgres) Crash() { p.end(syscall.SIGQUIT) }

// Stop ends the server and its connections.
func (p *Postgres) Stop() { p.end(os.Interrupt) }

func (p *Postgres) end(signal os.Signal) {
	if p.cmd == nil {
		return
	}
	require.NoError(p.t, p.cmd.Process.Signal(signal))
	_ = p.cmd.Wait()
	p.cmd = nil
}
