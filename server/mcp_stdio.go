package server

import (
	"context"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sourceStdio is the source of what a host on the other end of a pipe records.
const sourceStdio = "mcp:stdio"

// ServeStdio answers one host that started this program as its child: MCP messages, one a line, in
// on in and out on out, until in ends or ctx does. Nothing but messages may go to out; the log goes
// elsewhere. Whoever can start the program may do everything in the workspace.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser, workspace string) error {
	ctx = withAccess(ctx, access{Workspace: workspace, Scopes: allScopes, Source: sourceStdio, Local: true})
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
