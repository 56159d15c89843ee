package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"waymark/catalog"
)

// A child is a server that runs as a process of ours. It leads a process group of its own, so that what it
// starts ends with it.
//
//	stdin  ◀── messages        closing it asks the child to end
//	stdout ──▶ messages        (see frames)
//	stderr ──▶ the log         bounded, the last lines kept for "what happened"
type child struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	said   tail
	exited chan struct{} // closed when the process is gone
	err    error         // why, once exited is closed
	ending sync.Once
	silent chan struct{} // closed when nothing more comes on stderr
}

// start runs a definition whose variables are replaced. No shell is involved.
func start(d Definition, log *slog.Logger) (*child, error) {
	cmd := exec.Command(d.Command, d.Args...)
	cmd.Env = d.environment(os.LookupEnv)
	if cmd.Dir = d.Dir; cmd.Dir == "" {
		cmd.Dir, _ = os.UserHomeDir() // none: where we are
	}
	var files []*os.File
	closeAll := func() {
		for _, f := range files {
			_ = f.Close()
		}
	}
	pipe := func() (r, w *os.File, err error) {
		r, w, err = os.Pipe()
		files = append(files, r, w)
		return r, w, err
	}
	inRead, inWrite, err1 := pipe()
	outRead, outWrite, err2 := pipe()
	errRead, errWrite, err3 := pipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		closeAll()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, errWrite
	group(cmd)
	if err := launch(cmd); err != nil {
		closeAll()
		return nil, err
	}
	for _, f := range []*os.File{inRead, outWrite, errWrite} {
		_ = f.Close() // the child has its own
	}
	c := &child{cmd: cmd, stdin: inWrite, stdout: outRead, stderr: errRead, exited: make(chan struct{}), silent: make(chan struct{})}
	go func() {
		defer close(c.silent)
		c.said.keep(errRead, d.ID, log)
	}()
	go func() {
		c.err = cmd.Wait()
		killGroup(cmd) // what it left behind
		close(c.exited)
	}()
	return c, nil
}

// The time a child gets to end by itself after its input was closed, and after it was asked to.
const graceAfterEOF, graceAfterTerm = time.Second, time.Second

// end stops the child and what it started, and waits until they are gone: input closed, then asked, then
// killed. With hurry it is killed at once.
func (c *child) end(hurry bool) {
	c.ending.Do(func() {
		_ = c.stdin.Close()
		if !hurry && !c.gone(graceAfterEOF) {
			terminateGroup(c.cmd)
			c.gone(graceAfterTerm)
		}
		killGroup(c.cmd)
		<-c.exited
		_ = c.stdout.Close()
		_ = c.stderr.Close() // grandchildren that left the group may hold the other end
		<-c.silent
	})
}

func (c *child) gone(within time.Duration) bool {
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-c.exited:
		return true
	case <-late.C:
		return false
	}
}

// story is how the child ended, with the last it said.
func (c *child) story() string {
	select {
	case <-c.exited:
	case <-time.After(500 * time.Millisecond): // its pipe may be seen to close before it is
		return c.said.with("its output ended")
	}
	select { // the last words may still be on their way
	case <-c.silent:
	case <-time.After(100 * time.Millisecond):
	}
	how := "it ended"
	if c.err != nil {
		how += ": " + c.err.Error()
	} else {
		how += " with exit status 0"
	}
	return c.said.with(how)
}

// tail keeps the last lines of what a child says beside its messages. What goes to the log is bounded: a
// chatty server must not fill a disk.
type tail struct {
	mu    sync.Mutex
	last  []byte
	total int64
}

const (
	tailBytes   = 2 << 10 // kept
	loggedBytes = 1 << 20 // of one child go to the log
)

func (t *tail) keep(r io.Reader, server string, log *slog.Logger) {
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			t.mu.Lock()
			before := t.total
			t.total += int64(n)
			t.last = append(t.last, buf[:n]...)
			if over := len(t.last) - tailBytes; over > 0 {
				t.last = append(t.last[:0], t.last[over:]...)
			}
			t.mu.Unlock()
			if before < loggedBytes {
				log.Log(context.Background(), slog.LevelDebug, "a server says", "server", server, "text", catalog.Cut(string(buf[:n]), 4<<10))
				if before+int64(n) >= loggedBytes {
					log.Warn("a server says too much; the rest of its stderr is not logged", "server", server)
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// with adds the last thing said to a sentence.
func (t *tail) with(sentence string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := catalog.Cut(string(t.last), 400); text != "" {
		return fmt.Sprintf("%s; it last said: %s", sentence, text)
	}
	return sentence
}
