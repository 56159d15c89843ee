package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sourceStdio is the source of what a host on the other end of a pipe records.
const sourceStdio = "mcp:stdio"

// pipeConversation names what is said over one pipe: processes with one data directory, and hosts of one name,
// are told apart by it.
func pipeConversation() string { return "pipe-" + rand.Text()[:16] }

// wait waits for the end of a session over the pipe. Once ctx has ended, calls in flight have the grace time; then
// they are cancelled and have half of it again.
func (f *frames) wait(ctx context.Context, grace time.Duration, ended <-chan error) error {
	select {
	case err := <-ended:
		if endOfInput(err) {
			return nil
		}
		return err
	case <-f.abandoned:
		return errAbandoned
	case <-ctx.Done():
	}
	f.drain()
	for _, patience := range []time.Duration{grace, grace / 2} {
		select {
		case <-ended:
			return nil
		case <-time.After(patience):
			f.stop()
		}
	}
	return errAbandoned
}

// errAbandoned ends a session whose answers nobody takes.
var errAbandoned = errors.New("answers could not be written: the host neither reads its pipe nor closes it")

// endOfInput reports whether the other side has just hung up.
func endOfInput(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) || errors.Is(err, mcp.ErrConnectionClosed)
}
