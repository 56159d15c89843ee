package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// exchange is one request and its answer, as the log will tell of it.
type exchange struct {
	id      string
	failure error // behind a 5xx; never shown to the caller
}

type exchangeKey struct{}

// exchangeFrom is never nil, so that code outside a request may note failures into the void.
func exchangeFrom(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return new(exchange)
}

var (
	requestID   = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)
	traceParent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)
)

// observe names the request, sets its deadlines, and tells log and metrics how it ended. The log
// has the route, never the query or headers, which may hold intents and secrets.
func (s *Server) observe(c *gin.Context) {
	start := time.Now()
	x := &exchange{id: c.GetHeader("X-Request-Id")}
	if !requestID.MatchString(x.id) {
		var b [12]byte
		_, _ = rand.Read(b[:]) // never fails since Go 1.24
		x.id = hex.EncodeToString(b[:])
	}
	ctx := context.WithValue(c.Request.Context(), exchangeKey{}, x)
	c.Header("X-Request-Id", x.id)
	if trace := c.GetHeader("Traceparent"); traceParent.MatchString(trace) {
		c.Header("Traceparent", trace)
	}
	c.Header("X-Content-Type-Options", "nosniff")
	if strings.HasPrefix(c.FullPath(), "/v1/") {
		c.Header("Cache-Control", "no-cache") // cached answers must ask with If-None-Match
	}

	ru, _ := s.ruleOf(c)
	rc := http.NewResponseController(c.Writer)
	if ru.stream {
		_ = rc.SetReadDeadline(time.Time{}) // unsupported only by writers that have no connection
		_ = rc.SetWriteDeadline(time.Time{})
		if c.Request.Body != nil {
			c.Request.Body = &readToEnd{ReadCloser: c.Request.Body, rc: rc, idle: idleTimeout}
		}
	} else {
		timeout := s.timeLimit(ru)
		_ = rc.SetReadDeadline(start.Add(readTimeout))
		_ = rc.SetWriteDeadline(start.Add(timeout + answerGrace))
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
		if c.Request.Body != nil {
			c.Request.Body = &readToEnd{ReadCloser: c.Request.Body, rc: rc}
		}
	}
	c.Request = c.Request.WithContext(ctx)
	s.metrics.inFlight.Inc()
	defer recordAgain(c.Request)
	defer func() {
		s.metrics.inFlight.Dec()
		took := time.Since(start)
		route := c.FullPath()
		if route == "" {
			route = "none"
		}
		status := c.Writer.Status()
		s.metrics.requests.WithLabelValues(methodLabel(c.Request.Method), route, strconv.Itoa(status)).Inc()
		s.metrics.seconds.WithLabelValues(route).Observe(took.Seconds())
		level, attrs := slogLevel(status, x.failure), []any{"method", methodLabel(c.Request.Method), "route", route, "status", status,
			"bytes", max(c.Writer.Size(), 0), "took", took, "request", x.id}
		if a := accessFrom(c.Request.Context()); a.Source != "" {
			attrs = append(attrs, "source", a.Source, "workspace", a.Workspace)
		}
		if x.failure != nil {
			attrs = append(attrs, "error", x.failure.Error())
		}
		s.cfg.Logger.Log(c.Request.Context(), level, "request", attrs...)
	}()
	c.Next()
}

// readToEnd lifts the read deadline once the body is read: net/http watches the connection while
// the handler runs, and a deadline that passes then would cancel it. A stream may take as long as it
// likes, but not fall silent for longer than idle.
type readToEnd struct {
	io.ReadCloser
	rc   *http.ResponseController
	idle time.Duration
}

func (b *readToEnd) Read(p []byte) (int, error) {
	if b.idle > 0 {
		_ = b.rc.SetReadDeadline(time.Now().Add(b.idle))
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// recoverPanic keeps a bug in one request from ending the process, and from looking like an answer: net/http sends
// 200 for a handler that wrote nothing.
func (s *Server) recoverPanic(c *gin.Context) {
	defer func() {
		recovered := recover()
		if recovered == nil {
			s.requireAnswer(c)
			return
		}
		v, stack := panicOf(recovered)
		if v == http.ErrAbortHandler { // a stream broken off on purpose
			panic(v)
		}
		if p, ok := v.(problemPanic); ok { // a stream that failed before its first byte
			c.Writer.Header().Del("Trailer")
			fail(c, p.err)
			return
		}
		s.metrics.panics.Inc()
		s.cfg.Logger.Error("panic in a request", "route", c.FullPath(), "request", exchangeFrom(c.Request.Context()).id,
			"panic", fmt.Sprint(v), "stack", string(stack))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler) // half an answer must not look whole
		}
		fail(c, refuse(http.StatusInternalServerError, "internal error"))
	}()
	c.Next()
}

// requireAnswer answers in place of a handler that did not: one whose request was cancelled, or one with a bug.
func (s *Server) requireAnswer(c *gin.Context) {
	listens := c.Request.Method == http.MethodGet && strings.HasPrefix(c.Writer.Header().Get("Content-Type"), "text/event-stream")
	if c.Writer.Written() || c.Writer.Status() != http.StatusOK || listens { // there may have been no event
		return
	}
	if err := c.Request.Context().Err(); err != nil {
		fail(c, err)
		return
	}
	fail(c, errors.New("the handler wrote no answer"))
}

// refuseDraining refuses requests that come after shutdown has begun, on connections that were open before. Probes
// are answered.
func (s *Server) refuseDraining(c *gin.Context) {
	if s.isDraining() && (strings.HasPrefix(c.FullPath(), "/v1/") || c.FullPath() == "/mcp") {
		c.Header("Connection", "close")
		fail(c, refuse(http.StatusServiceUnavailable, "the server is shutting down"))
		return
	}
	c.Next()
}

// guard refuses requests that a web page made a browser send: a Host that is not ours means DNS
// rebinding, an Origin that is not ours a cross-site call. It also refuses ambiguous framing.
func (s *Server) guard(c *gin.Context) {
	r := c.Request
	if !s.hostAllowed(r) {
		fail(c, refuse(http.StatusForbidden, "the Host header names a host that this server does not answer for"))
		return
	}
	if ambiguousFraming(r) {
		c.Header("Connection", "close")
		fail(c, refuse(http.StatusBadRequest, "Content-Length and Transfer-Encoding together leave open where the body ends"))
		return
	}
	origins := r.Header.Values("Origin")
	if len(origins) > 0 {
		listed := len(origins) == 1 && slices.Contains(s.cfg.Origins, origins[0])
		if !listed && (len(origins) != 1 || !sameOrigin(origins[0], r)) {
			fail(c, refuse(http.StatusForbidden, "the Origin header names an origin that may not call this server"))
			return
		}
		if listed {
			c.Header("Access-Control-Allow-Origin", origins[0])
			c.Header("Access-Control-Expose-Headers", "ETag, Link, Location, X-Request-Id, Retry-After, Mcp-Session-Id")
			c.Writer.Header().Add("Vary", "Origin")
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				c.Header("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
				c.Header("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, If-None-Match, X-Request-Id, Traceparent, "+
					"Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-Id")
				c.Header("Access-Control-Max-Age", "600")
				c.AbortWithStatus(http.StatusNoContent)
				return
			}
		}
	}
	if err := s.csrf.Check(r); err != nil {
		fail(c, refuse(http.StatusForbidden, "a browser sent this request across sites"))
		return
	}
	c.Next()
}

// hostAllowed takes loopback names, the address the connection came in on, and the configured hosts.
func (s *Server) hostAllowed(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if host == "localhost" {
		return true
	}
	if ip := net.ParseIP(host); ip != nil {
		if ip.IsLoopback() {
			return true
		}
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && local.IP.Equal(ip) {
			return true
		}
	}
	return slices.ContainsFunc(s.cfg.Hosts, func(h string) bool {
		return host != "" && (strings.EqualFold(h, host) || strings.EqualFold(h, r.Host))
	})
}

func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// authorize finds out who asks, and whether they may.
func (s *Server) authorize(c *gin.Context) {
	ru, routed := s.ruleOf(c)
	a, err := s.accessOf(c.Request)
	switch {
	case !routed: // 404 and 405 tell nothing that the documentation does not
	case err != nil && ru.public: // a public page shows less without a credential
	case err != nil:
		fail(c, err)
		return
	case !ru.public && !a.may(ru.scope):
		fail(c, refuse(http.StatusForbidden, "this needs a key with scope "+strings.Join((ru.scope&^a.Scopes).names(), ", ")))
		return
	}
	if err == nil {
		c.Request = c.Request.WithContext(withAccess(c.Request.Context(), a))
		if routed && !ru.public && !ru.creates && !ru.global {
			if err := s.workspaceExists(c.Request.Context(), a); err != nil {
				fail(c, err)
				return
			}
		}
	}
	c.Next()
}

// workspaceExists refuses to ask a workspace that does not exist: most likely its name is misspelt, and an answer
// from an empty one would look like one that knows nothing. Which others there are is for the operator alone.
func (s *Server) workspaceExists(ctx context.Context, a access) error {
	ok, err := s.cfg.Workspaces.Exists(ctx, a.Workspace)
	if ok || err != nil {
		return err
	}
	says := fmt.Sprintf("there is no workspace %q", a.Workspace)
	if names, err := s.workspaces(ctx); err == nil && a.Operator {
		if more := len(names) - shownWorkspaces; more > 0 {
			names = append(names[:shownWorkspaces:shownWorkspaces], fmt.Sprintf("%d more", more))
		}
		says += "; existing workspaces: " + strings.Join(names, ", ")
	}
	return refuse(http.StatusNotFound, says+". The first import or record creates one, and so does `waymark workspace create`")
}

// shownWorkspaces is how many are named in an error.
const shownWorkspaces = 20

// limitBody checks what kind of body it is and how long it may be, and keeps all bodies together
// within Config.MaxBodies.
func (s *Server) limitBody(c *gin.Context) {
	r := c.Request
	ru, routed := s.ruleOf(c)
	if !routed || r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 || strings.HasPrefix(c.FullPath(), "/mcp") {
		c.Next()
		return
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") && !(ru.gzip && strings.EqualFold(enc, "gzip")) {
		fail(c, refuse(http.StatusUnsupportedMediaType, "compressed bodies are not taken"))
		return
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, hasCharset := params["charset"]
	lines := kind == ndjson && ru.ndjson
	if err != nil || (kind != "application/json" && !lines && (kind != ru.also || kind == "")) || (hasCharset && !strings.EqualFold(charset, "utf-8")) {
		want := "application/json"
		if ru.ndjson {
			want += " or " + ndjson
		}
		if ru.also != "" {
			want += " or " + ru.also
		}
		fail(c, refuse(http.StatusUnsupportedMediaType, "the Content-Type must be "+want))
		return
	}
	r.Header.Set("Content-Type", kind) // huma compares the type as it is written
	limit := max(s.cfg.MaxBody, ru.body)
	reserve := limit
	if !lines {
		if r.ContentLength > limit {
			fail(c, refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit)))
			return
		}
		if r.ContentLength > 0 {
			reserve = r.ContentLength
		}
		r.Body = http.MaxBytesReader(c.Writer, r.Body, limit)
	}
	if s.bodies.Add(reserve) > s.cfg.MaxBodies {
		s.bodies.Add(-reserve)
		fail(c, refuse(http.StatusServiceUnavailable, "too many bodies are being read at the same time"))
		return
	}
	defer s.bodies.Add(-reserve)
	c.Next()
}
