// Package logtest starts the servers that tests of shared logs need.
package logtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
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
	find := func(name string) string {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("no PostgreSQL on this machine: %v", err)
		}
		path, err = filepath.EvalSymlinks(path)
		require.NoError(t, err)
		return path
	}
	initdb := find("initdb")
	dir, err := os.MkdirTemp("", "pg") // short: it holds a socket; not below a directory that nobody may enter
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &Postgres{Address: "postgres:///postgres?user=waymark&host=" + dir, t: t, dir: dir, program: find("postgres"), settings: settings}
	out, err := p.command(initdb, "-D", p.data(), "-U", "waymark", "-A", "trust", "-E", "UTF8", "--no-locale", "-N").CombinedOutput()
	require.NoError(t, err, "%s", out)
	p.Start()
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("%s", p.log.Bytes())
		}
	})
	return p
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *Postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	asNobody(p.t, cmd, p.dir)
	return cmd
}

// Start runs the server, also again after [Postgres.Stop].
func (p *Postgres) Start() {
	args := []string{"-D", p.data(), "-k", p.dir, "-c", "listen_addresses=", "-c", "max_connections=60", "-c", "shared_buffers=16MB"}
	for _, s := range p.settings {
		args = append(args, "-c", s)
	}
	p.cmd = p.command(p.program, args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	require.NoError(p.t, p.cmd.Start())
	require.Eventually(p.t, func() bool {
		pid, err := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
		return err == nil && bytes.Contains(pid, []byte("ready"))
	}, time.Minute, 10*time.Millisecond)
}

// Stop ends the server and its connections.
func (p *Postgres) Stop() {
	if p.cmd == nil {
		return
	}
	require.NoError(p.t, p.cmd.Process.Signal(os.Interrupt)) // fast shutdown
	_ = p.cmd.Wait()
	p.cmd = nil
}
