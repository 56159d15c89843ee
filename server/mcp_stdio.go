package server

import (
	"context"
	"crypto/rand"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sourceStdio is the source of what a host on the other end of a pipe records.
const sourceStdio = "mcp:stdio"

// pipeConversation names what is said over one pipe: processes with one data directory, and hosts of one name,
// are told apart by it.
func pipeConversation() string { return "pipe-" + rand.Text()[:16] }

// ServeStdio answers one host that started this program as its child: MCP messages, one a line, in
// on in and out on out, until in ends or ctx does. Nothing but messages may go to out; the log goes
// elsewhere. Whoever can start the program may do everything in the workspace.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser, workspace string) error {
	ctx = withAccess(ctx, access{Workspace: workspace, Scopes: allScopes, Source: sourceStdio, Local: true, Conversation: pipeConversation()})
	in, out = newFrames(in, out)
	session, err := newMCPServer(s.cfg, workspace).Connect(ctx, &mcp.IOTransport{Reader: in, Writer: out}, nil)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = session.Close() })
	defer stop()
	err = session.Wait()
	if ctx.Err() != nil || endOfInput(err) {
		return nil
	}
	return err
}

// endOfInput reports whether the other side has just hung up.
func endOfInput(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, mcp.ErrConnectionClosed)
}
