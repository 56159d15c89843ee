package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	eventRetry   = time.Second
	largestEvent = 4 << 20
)

// events carries what the server says on its own, on the event stream of the session. The SDK opens
// that stream only for its own client, which would answer messages instead of passing them on. A
// stream that breaks is opened again; a server that refuses it has nothing to say. tried is called when the
// server has answered for the first time.
func (b *bridge) events(ctx context.Context, tried func()) {
	defer tried()
	for ctx.Err() == nil {
		if !b.listen(ctx, tried) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(eventRetry):
		}
	}
}

// listen reads one event stream to its end. It reports whether another try makes sense.
func (b *bridge) listen(ctx context.Context, tried func()) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.endpoint, nil)
	if err != nil {
		return false
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", b.remote.SessionID())
	resp, err := b.client.Do(req)
	tried()
	if err != nil {
		return true
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode >= http.StatusInternalServerError
	}
	err = readEvents(resp.Body, func(data []byte) error {
		msg, err := jsonrpc.DecodeMessage(data)
		if err != nil {
			return fmt.Errorf("event: %w", err)
		}
		return b.local.Write(ctx, msg)
	})
	return err == nil
}

// readEvents calls message with the data of each event of a server-sent event stream: the lines that
// start with "data:", joined, up to an empty line. Names, ids and comments mean nothing to MCP. An
// event cut off by the end of the stream does not count. The error is that of message or of an event
// that is too large; a stream that ends, however it does, is none.
func readEvents(r io.Reader, message func(data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, largestEvent)
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			if len(data) > 0 {
				if err := message(data); err != nil {
					return err
				}
			}
			data = nil
			continue
		}
		rest, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		if data != nil {
			data = append(data, '\n')
		}
		if data = append(data, bytes.TrimPrefix(rest, []byte(" "))...); len(data) > largestEvent {
			return bufio.ErrTooLong
		}
	}
	if lines.Err() == bufio.ErrTooLong {
		return bufio.ErrTooLong
	}
	return nil
}
