package client

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Transport answers requests by calling a handler, without a socket: the command line never computes an answer of its
// own, so `waymark next` and POST /v1/next cannot differ. Both bodies stream: the handler
// reads while the request is still being written, and the caller reads while the handler writes.
type Transport struct {
	Handler http.Handler
}

// RoundTrip implements [http.RoundTripper]. It returns as soon as the handler has sent its header.
func (t Transport) RoundTrip(out *http.Request) (*http.Response, error) {
	in := out.Clone(out.Context())
	in.RequestURI = out.URL.RequestURI()
	in.Host = out.URL.Host
	in.RemoteAddr = "127.0.0.1:0" // the same user on the same machine, as over loopback
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Body == nil {
		in.Body = http.NoBody
	} else if in.ContentLength == 0 && in.Body != http.NoBody {
		in.ContentLength = -1 // unknown to a server, as over a socket
	}

	r, w := io.Pipe()
	a := &answer{
		header: make(http.Header),
		body:   w,
		buf:    bufio.NewWriterSize(w, 32<<10),
		sent:   make(chan struct{}),
		resp: &http.Response{
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Body: r, ContentLength: -1, Request: out, Trailer: make(http.Header),
		},
	}
	go a.run(t.Handler, in)
	select {
	case <-a.sent:
		return a.resp, nil
	case <-out.Context().Done():
		r.CloseWithError(out.Context().Err()) // unblocks a handler that goes on writing
		return nil, out.Context().Err()
	}
}

// answer is the response writer a handler sees.
type answer struct {
	header http.Header
	resp   *http.Response
	body   *io.PipeWriter
	buf    *bufio.Writer
	once   sync.Once
	sent   chan struct{} // closed when resp may be read

	names []string // trailers announced before the header was sent
}

// run calls the handler and ends the body the way the handler ended: cleanly, or, if it panicked, cut.
func (a *answer) run(h http.Handler, r *http.Request) {
	var end error
	defer func() {
		if p := recover(); p != nil {
			end = fmt.Errorf("handler of %s panicked: %v", r.URL.Path, p)
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				end = io.ErrUnexpectedEOF // the handler cut its answer on purpose
			}
			if !a.began() {
				a.WriteHeader(http.StatusInternalServerError)
			}
		}
		a.WriteHeader(http.StatusOK) // does nothing if a header was sent
		if err := a.buf.Flush(); end == nil {
			end = err
		}
		a.trailers()
		r.Body.Close()
		a.body.CloseWithError(end) // nil is io.EOF to the reader
	}()
	h.ServeHTTP(a, r)
}

func (a *answer) began() bool {
	select {
	case <-a.sent:
		return true
	default:
		return false
	}
}

// trailers moves what the handler set after its header: announced names, and prefixed ones.
func (a *answer) trailers() {
	for _, name := range a.names {
		if v, ok := a.header[http.CanonicalHeaderKey(name)]; ok {
			a.resp.Trailer[http.CanonicalHeaderKey(name)] = v
		}
	}
	for name, v := range a.header {
		if name, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			a.resp.Trailer[http.CanonicalHeaderKey(name)] = v
		}
	}
}

// Header implements [http.ResponseWriter].
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements [http.ResponseWriter]. Only the first call counts; 1xx is not passed on.
func (a *answer) WriteHeader(status int) {
	if status < 200 {
		return
	}
	a.once.Do(func() {
		for _, line := range a.header.Values("Trailer") {
			for name := range strings.SplitSeq(line, ",") {
				a.names = append(a.names, strings.TrimSpace(name))
			}
		}
		a.resp.StatusCode = status
		a.resp.Status = fmt.Sprintf("%d %s", status, http.StatusText(status))
		a.resp.Header = a.header.Clone()
		a.resp.Header.Del("Trailer")
		close(a.sent)
	})
}

// Write implements [http.ResponseWriter].
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.buf.Write(b)
}

// Flush implements [http.Flusher].
func (a *answer) Flush() { a.FlushError() }

// FlushError is Flush for [http.ResponseController].
func (a *answer) FlushError() error {
	a.WriteHeader(http.StatusOK)
	return a.buf.Flush()
}

// A pipe has no socket, hence no deadlines to keep: the caller's context ends a call. Both bodies
// already stream at once.

func (a *answer) SetReadDeadline(time.Time) error  { return nil }
func (a *answer) SetWriteDeadline(time.Time) error { return nil }
func (a *answer) EnableFullDuplex() error          { return nil }
