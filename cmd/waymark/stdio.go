package main

import (
	"context"
	"io"

	"waymark/cmd/waymark/internal/client"
	mcpserver "waymark/server/mcp"
)

// stdio are the two ends a host holds. Standard input stays open to be read until the host closes it.
func stdio(in io.Reader, out io.Writer) (io.ReadCloser, io.WriteCloser) {
	r, ok := in.(io.ReadCloser)
	if !ok {
		r = io.NopCloser(in)
	}
	w, ok := out.(io.WriteCloser)
	if !ok {
		w = writeNopCloser{out}
	}
	return r, w
}

type writeNopCloser struct{ io.Writer }

func (writeNopCloser) Close() error { return nil }

// bridge passes MCP messages on to the server that has the data directory.
func bridge(ctx context.Context, in io.ReadCloser, out io.WriteCloser, c *client.Client, agent string) error {
	return mcpserver.Bridge(ctx, in, out, c.Base+"/mcp", c.Token, c.Workspace, agent)
}
