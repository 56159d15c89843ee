package mcpserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	eventRetry   = time.Second
	largestEvent = 4 << 20
)

// events carries what the server says on its own, on the event stream of the session, as long as both last. Its end
// is how a host that asks nothing gets to the next owner. tried is called when the server has answered for the first time.
func (r *relay) events(s *session, tried func()) {
	for s.ctx.Err() == nil {
		resp, err := r.send(s.ctx, s, http.MethodGet, nil)
		tried()
		if errors.As(err, new(lostError)) {
			break
		}
		if err != nil { // refused, for now
			pause(s.ctx, eventRetry)
			continue
		}
		_ = readEvents(resp.Body, func(data []byte) error {
			msg, err := jsonrpc.DecodeMessage(data)
			if req, ok := msg.(*jsonrpc.Request); ok {
				r.pass(s, req)
			}
			return err
		})
		_ = resp.Body.Close()
	}
	for s.ctx.Err() == nil { // nobody else has replaced it
		if _, err := r.connect(r.ctx, s); err == nil {
			return
		}
	}
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
