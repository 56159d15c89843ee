package mcpserver

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/internal/bounded"
)

// session is the MCP session of a [relay] with one owner, over HTTP.
type session struct {
	Owner
	id, revision string                    // empty without a handshake
	ctx          context.Context           // ends with the session
	end          context.CancelFunc        // ends ctx
	asked        map[jsonrpc.ID]jsonrpc.ID // ids of questions as the host sees them: the server's own ids
}

// lostError reports that a session is over. With sent, it is unknown whether the message was carried out.
type lostError struct {
	error
	sent bool
}

var errNoAnswer = errors.New("the process that has the data directory does not answer")

// ask sends a call in the session that connect returns.
func (r *relay) ask(ctx context.Context, lost *session, req *jsonrpc.Request) (s *session, answer *jsonrpc.Response, err error) {
	if s, err = r.connect(ctx, lost); err != nil {
		return nil, nil, err
	}
	answer, err = r.post(ctx, s, req)
	if err == nil && req.Method == "initialize" && answer.Error == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.initialize = req
	}
	return s, answer, err
}

// connect returns a session other than the lost one: one that another call has opened since, or a new one with the
// current owner, in which it repeats the handshake of the host.
func (r *relay) connect(ctx context.Context, lost *session) (_ *session, err error) {
	began := time.Now()
	r.connecting.Lock()
	defer r.connecting.Unlock()
	r.mu.Lock()
	s, hello, initialized := r.session, r.initialize, r.initialized
	if s == lost {
		r.session = nil
	}
	r.mu.Unlock()
	if s != nil && s != lost {
		return s, nil
	}
	if lost != nil {
		lost.end()
	}
	if time.Since(began) > ownerPatience {
		return nil, lostError{errNoAnswer, false}
	}
	s = &session{asked: map[jsonrpc.ID]jsonrpc.ID{}}
	s.ctx, s.end = context.WithCancel(r.ctx)
	if s.Owner, err = r.findOwner(); err == nil && hello != nil {
		err = r.greet(ctx, s, hello, initialized)
	}
	if err != nil {
		s.end()
		bounded.Wait(ctx, ownerPause) // no other call searches meanwhile
		return nil, lostError{err, false}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = s
	return s, nil
}

// greet repeats the handshake of the host.
func (r *relay) greet(ctx context.Context, s *session, hello, initialized *jsonrpc.Request) error {
	answer, err := r.post(ctx, s, hello)
	if err == nil && answer.Error != nil {
		err = answer.Error
	}
	if err != nil || initialized == nil {
		return err
	}
	if err = r.listen(s, initialized); err == nil {
		r.write(&jsonrpc.Request{Method: "notifications/tools/list_changed"})
	}
	return err
}

// endSession ends the session with the owner, which would otherwise end it later by itself.
func (r *relay) endSession() {
	ctx, cancel := context.WithTimeout(r.ctx, time.Second)
	defer cancel()
	r.mu.Lock()
	s := r.session
	r.mu.Unlock()
	if s != nil && s.id != "" {
		if resp, err := r.send(ctx, s, http.MethodDelete, nil); err == nil {
			_ = resp.Body.Close()
		}
	}
}

// listen sends the notification that completes the handshake, and opens the event stream of the session.
func (r *relay) listen(s *session, initialized *jsonrpc.Request) error {
	_, err := r.post(r.ctx, s, initialized)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && s.id != "" && !r.ending {
		r.background.Go(func() { r.events(s) })
	}
	return err
}

// events forwards the messages of the event stream of a session, while both last. If the owner ends, it connects to the
// next one, because a host that makes no calls would otherwise never reach it.
func (r *relay) events(s *session) {
	for s.ctx.Err() == nil {
		resp, err := r.send(s.ctx, s, http.MethodGet, nil)
		switch {
		case err == nil:
			_, _ = r.messages(s, resp)
			bounded.Wait(s.ctx, ownerPause)
		case errors.As(err, new(lostError)): // connect changes nothing if a call has replaced the session
			for err != nil && r.ctx.Err() == nil {
				_, err = r.connect(r.ctx, s)
			}
		default: // refused for now
			bounded.Wait(s.ctx, time.Second)
		}
	}
}

// post sends a message, forwards the messages that the server sends before its answer, and returns the answer to a call.
func (r *relay) post(ctx context.Context, s *session, msg jsonrpc.Message) (answer *jsonrpc.Response, err error) {
	req, isRequest := msg.(*jsonrpc.Request)
	isCall := isRequest && req.IsCall()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !isCall || req.Method == "initialize" { // the following lines wait for it
		ctx, cancel = context.WithTimeout(ctx, ownerPatience)
		defer cancel()
	}
	resp, err := r.send(ctx, s, http.MethodPost, msg)
	if err != nil {
		return nil, err
	}
	if !isCall {
		return nil, resp.Body.Close()
	}
	if answer, err = r.messages(s, resp); answer == nil {
		return nil, lostError{fmt.Errorf("%s, and the connection ended before the answer: %w", resp.Status, err), true}
	}
	answer.ID = req.ID // some refusals have no id
	if req.Method == "initialize" {
		var agreed mcp.InitializeResult
		_ = json.Unmarshal(answer.Result, &agreed)
		s.id, s.revision = resp.Header.Get(headerSession), agreed.ProtocolVersion
	}
	return answer, nil
}

// messages reads the messages of a body to its end and forwards requests and notifications to the host. It returns the
// response, if there is one, and the error that ended the body. The connection of a body that is not read to its end
// cannot be used again. Waymark writes one message per line, plain or as the data of an event.
func (r *relay) messages(s *session, resp *http.Response) (answer *jsonrpc.Response, err error) {
	defer resp.Body.Close()
	for body := bufio.NewReader(resp.Body); ; {
		line, err := body.ReadBytes('\n')
		if line = bytes.TrimPrefix(line, []byte("data: ")); len(line) > 0 && line[0] == '{' {
			msg, wrong := jsonrpc.DecodeMessage(line)
			switch msg := msg.(type) {
			case *jsonrpc.Response:
				answer = msg
			case *jsonrpc.Request:
				r.forward(s, msg)
			}
			err = cmp.Or(err, wrong)
		}
		if err != nil {
			return answer, err
		}
	}
}

// send sends one HTTP request. It returns a response that contains a message; every other response is an error. If the
// owner has no connection for it (503), a message with a deadline is sent again, for example an answer to the owner's
// question: the owner counts the connections of all processes of the machine together.
func (r *relay) send(ctx context.Context, s *session, method string, msg jsonrpc.Message) (*http.Response, error) {
	var body []byte
	var err error
	if msg != nil {
		if body, err = jsonrpc.EncodeMessage(msg); err != nil {
			return nil, err
		}
	}
	out, err := http.NewRequestWithContext(ctx, method, s.Endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = r.headersOf(s, msg)
	resp, err := r.client.Do(out)
	if err != nil {
		var dial *net.OpError
		return nil, lostError{err, !errors.As(err, &dial) || dial.Op != "dial"}
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode < 300 || kind == "application/json" { // a refusal in JSON is a message
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var problem struct{ Detail string }
	_ = json.Unmarshal(text, &problem)
	err = fmt.Errorf("%s: %s", resp.Status, cmp.Or(problem.Detail, string(bytes.TrimSpace(text))))
	_, limited := ctx.Deadline()
	switch {
	case OwnerGone(resp.StatusCode, problem.Detail): // the owner refused the message, or cut it off
		return nil, lostError{err, resp.StatusCode != http.StatusUnauthorized && problem.Detail != Draining}
	case resp.StatusCode == http.StatusNotFound && kind == "text/plain": // the session has ended
		return nil, lostError{err, false}
	case resp.StatusCode == http.StatusServiceUnavailable && limited && bounded.Wait(ctx, busyPause):
		return r.send(ctx, s, method, msg)
	}
	return nil, err
}

// OwnerGone reports whether a refusal comes from an owner that is shutting down, or from another process at its
// address, which does not know the token.
func OwnerGone(status int, detail string) bool {
	return status == http.StatusUnauthorized || strings.HasSuffix(detail, Draining)
}

// headersOf returns the headers of a request, some of which repeat parts of its message.
func (r *relay) headersOf(s *session, msg jsonrpc.Message) http.Header {
	values := map[string]string{"Authorization": "Bearer " + s.Token, headerSession: s.id, headerProtocol: s.revision}
	if req, ok := msg.(*jsonrpc.Request); ok {
		p := paramsOf(req)
		if values[headerProtocol] = cmp.Or(p.Meta.Revision, s.revision); values[headerProtocol] >= firstStateless {
			values[HeaderMethod], values[headerName] = req.Method, cmp.Or(p.Name, p.URI)
		}
	}
	headers := r.headers.Clone()
	for name, value := range values {
		if value != "" {
			headers.Set(name, value)
		}
	}
	return headers
}
