package gateway

import (
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

// A child is a server that runs as a child process. It leads a process group of its own, so that the processes it
// starts end with it.
//
//	stdin  ◀── messages        closing it asks the child to end
//	stdout ──▶ messages        (see frames)
//	stderr ──▶ the log         bounded, the last bytes kept for error messages
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	said   tail
	exited chan struct{} // closed when the process is gone
	err    error         // exit error; valid once exited is closed
	ending sync.Once
}

// start runs the command of a definition whose variables are replaced. It uses no shell.
func start(d Definition, log *slog.Logger) (*child, error) {
	cmd := exec.Command(d.Command, d.Args...)
	cmd.Env = d.environment(os.LookupEnv)
	if cmd.Dir = d.Dir; cmd.Dir == "" {
		cmd.Dir, _ = os.UserHomeDir() // if there is none: our own directory
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, stdout: read, said: tail{server: d.ID, log: log}, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = write, &c.said
	cmd.WaitDelay = 100 * time.Millisecond // to read the rest of stderr, which its own children may keep open
	group(cmd)
	if c.stdin, err = cmd.StdinPipe(); err == nil {
		err = cmd.Start()
	}
	_ = write.Close() // the child has its own copy
	if err != nil {
		_ = read.Close()
		return nil, err
	}
	go func() {
		c.err = cmd.Wait()
		killGroup(cmd) // the processes that it left behind
		close(c.exited)
	}()
	return c, nil
}

// grace is the time that a child has to exit after its input is closed, and again after the signal to terminate.
const grace = time.Second

// end stops the child with the processes it started, and waits until they have ended: it closes stdin, then sends the
// signal to terminate, then kills. With hurry there is no delay between these steps.
func (c *child) end(hurry bool) {
	c.ending.Do(func() {
		_ = c.stdin.Close()
		for _, ask := range []func(*exec.Cmd){terminateGroup, killGroup} {
			select {
			case <-c.exited:
			case <-time.After(map[bool]time.Duration{false: grace}[hurry]):
				ask(c.cmd)
			}
		}
		<-c.exited
		_ = c.stdout.Close()
	})
}

// story describes how the child ended, with its last output on stderr.
func (c *child) story() string {
	select {
	case <-c.exited:
	case <-time.After(500 * time.Millisecond): // its pipe may close before it exits
		return c.said.with("it still runs")
	}
	how := "it ended"
	if c.err != nil && !errors.Is(c.err, exec.ErrWaitDelay) {
		how += ": " + c.err.Error()
	} else {
		how += " with exit status 0"
	}
	return c.said.with(how)
}

// tail keeps the last bytes that a child writes to stderr. The amount that goes to the log is limited, so that a
// verbose server cannot fill the disk.
type tail struct {
	server string
	log    *slog.Logger
	mu     sync.Mutex
	last   []byte
	total  int
}

const (
	tailBytes   = 2 << 10 // that are kept
	loggedBytes = 1 << 20 // of one child go to the log
)

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.total < loggedBytes {
		t.log.Debug("a server says", "server", t.server, "text", catalog.Cut(string(text), 4<<10))
		if t.total+len(text) >= loggedBytes {
			t.log.Warn("a server says too much; the rest of its stderr is not logged", "server", t.server)
		}
	}
	t.total += len(text)
	t.last = append(t.last, text...)
	t.last = append(t.last[:0], t.last[max(0, len(t.last)-tailBytes):]...)
	return len(text), nil
}

// with appends the last output to a sentence.
func (t *tail) with(sentence string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := catalog.Cut(string(t.last), 400); text != "" {
		return fmt.Sprintf("%s; it last said: %s", sentence, text)
	}
	return sentence
}
