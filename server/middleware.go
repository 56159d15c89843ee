package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"waymark/catalog"
	"waymark/internal/bounded"
	"waymark/server/internal/api"
	mcpserver "waymark/server/mcp"
)

// fail answers a request with the problem of an error and ends the chain.
func fail(c *gin.Context, err error) {
	api.Fail(c.Writer, c.Request, err)
	c.Abort()
}

var requestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// observe assigns the request id, sets the deadlines of the request, and logs and measures its result. The log contains
// the route, but never the query or the headers, which may contain intents and secrets.
func (s *Server) observe(c *gin.Context) {
	start := time.Now()
	x := &api.Exchange{Id: c.GetHeader("X-Request-Id")}
	if !requestID.MatchString(x.Id) {
		var b [12]byte
		_, _ = rand.Read(b[:]) // never fails since Go 1.24
		x.Id = hex.EncodeToString(b[:])
	}
	ctx := api.WithExchange(c.Request.Context(), x)
	c.Header("X-Request-Id", x.Id)
	c.Header("X-Content-Type-Options", "nosniff")
	if strings.HasPrefix(c.FullPath(), "/v1/") {
		c.Header("Cache-Control", "no-store") // a response describes one moment, and may contain a key
	}

	ru, _ := s.ruleOf(c)
	rc := http.NewResponseController(c.Writer)
	var body *readToEnd
	if c.Request.Body != nil && c.Request.Body != http.NoBody {
		body = &readToEnd{ReadCloser: c.Request.Body, rc: rc, x: x}
		c.Request.Body = body
	}
	c.Writer = &steadyWriter{ResponseWriter: c.Writer, rc: rc}
	_ = rc.SetWriteDeadline(time.Time{}) // fails only for writers that have no connection
	if ru.Stream {
		_ = rc.SetReadDeadline(time.Time{})
		if body != nil {
			body.grace = s.cfg.grace
			_ = rc.SetReadDeadline(start.Add(s.cfg.grace)) // of an unread body; net/http reads what is left of it
		}
	} else {
		_ = rc.SetReadDeadline(start.Add(api.ReadTimeout))
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.routes.TimeLimit(ru))
		defer cancel()
	}
	c.Request = c.Request.WithContext(ctx)
	s.metrics.inFlight.Inc()
	defer func() {
		s.metrics.inFlight.Dec()
		_ = rc.SetWriteDeadline(time.Now().Add(slowWrites)) // for the buffered bytes
		for _, end := range x.Cleanups {
			end()
		}
		took := time.Since(start)
		route := c.FullPath()
		if route == "" {
			route = "none"
		}
		status := c.Writer.Status()
		s.metrics.requests.WithLabelValues(methodLabel(c.Request.Method), route, strconv.Itoa(status)).Inc()
		s.metrics.seconds.WithLabelValues(route).Observe(took.Seconds())
		level, attrs := slogLevel(status, x.Failure), []any{"method", methodLabel(c.Request.Method), "route", route, "status", status,
			"bytes", max(c.Writer.Size(), 0), "took", took, "request", x.Id}
		if a := api.From(c.Request.Context()); a.Source != "" {
			attrs = append(attrs, "source", a.Source, "workspace", a.Workspace)
		}
		if x.Failure != nil {
			attrs = append(attrs, "error", catalog.Cut(x.Failure.Error(), maxLogged))
		}
		s.cfg.Logger.Log(c.Request.Context(), level, "request", attrs...)
	}()
	c.Next()
}

// Limits for slow clients. If the request as a whole has no time limit, its body has to arrive, after the grace period,
// at no less than slowRate, averaged over the time spent waiting for it. Each part of a response has its own time
// limit.
const (
	slowGrace  = 10 * time.Second // default of Limits.grace
	slowRate   = 256              // bytes a second
	slowWrites = 30 * time.Second

	maxLogged     = 1 << 10 // bytes of a logged error, which may quote the request
	refusedLinger = 500 * time.Millisecond
)

// readToEnd removes the read deadline when the body has been read: net/http watches the connection while the handler
// runs, and a deadline that expires then would cancel the request.
type readToEnd struct {
	io.ReadCloser
	rc    *http.ResponseController
	grace time.Duration // of a request without a time limit, before slowRate applies

	read   int64
	waited time.Duration
	x      *api.Exchange
}

func (b *readToEnd) Read(p []byte) (int, error) {
	began := time.Now()
	if b.grace > 0 {
		allowance := b.grace + time.Duration(b.read)*time.Second/slowRate - b.waited
		_ = b.rc.SetReadDeadline(began.Add(min(allowance, idleTimeout)))
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	b.x.Size = b.read
	b.waited += time.Since(began)
	switch {
	case err == io.EOF:
		_ = b.rc.SetReadDeadline(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errors.Join(api.ErrSlowBody, err)
	}
	return n, err
}

// steadyWriter aborts a response whose client does not accept the written bytes in time.
type steadyWriter struct {
	gin.ResponseWriter
	rc *http.ResponseController
}

func (w *steadyWriter) Write(p []byte) (int, error) {
	defer w.limit()()
	return w.ResponseWriter.Write(p)
}

func (w *steadyWriter) WriteString(p string) (int, error) {
	defer w.limit()()
	return w.ResponseWriter.WriteString(p)
}

func (w *steadyWriter) Flush() {
	defer w.limit()()
	w.ResponseWriter.Flush()
}

// limit sets a deadline for one write and removes it afterwards, because a stream may be silent for a long time.
func (w *steadyWriter) limit() (lift func()) {
	_ = w.rc.SetWriteDeadline(time.Now().Add(slowWrites))
	return func() { _ = w.rc.SetWriteDeadline(time.Time{}) }
}

// Unwrap gives a ResponseController access to the wrapped writer.
func (w *steadyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// recoverPanic keeps a panic in one request from ending the process and from looking like a success: net/http sends 200
// for a handler that wrote nothing.
func (s *Server) recoverPanic(c *gin.Context) {
	defer func() {
		recovered := recover()
		if recovered == nil {
			s.requireAnswer(c)
			return
		}
		if recovered == http.ErrAbortHandler { // a stream broken off on purpose
			panic(recovered)
		}
		s.metrics.panics.Inc()
		s.cfg.Logger.Error("panic in a request", "route", c.FullPath(), "request", api.ExchangeFrom(c.Request.Context()).Id,
			"panic", fmt.Sprint(recovered), "stack", string(debug.Stack()))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler) // a partial response must not look complete
		}
		fail(c, api.Internal)
	}()
	c.Next()
}

// requireAnswer writes an error if the handler wrote no response, because its request was cancelled or it has a bug.
func (s *Server) requireAnswer(c *gin.Context) {
	listens := c.Request.Method == http.MethodGet && strings.HasPrefix(c.Writer.Header().Get("Content-Type"), "text/event-stream")
	if c.Writer.Written() || c.Writer.Status() != http.StatusOK || listens { // an event stream may end without an event
		return
	}
	if err := c.Request.Context().Err(); err != nil {
		fail(c, err)
		return
	}
	fail(c, errors.New("the handler wrote no answer"))
}

// checks returns a middleware that answers with the first error of its checks. A check may end the request itself.
func checks(all ...func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		for _, check := range all {
			if err := check(c); err != nil {
				fail(c, err)
			}
			if c.IsAborted() {
				return
			}
		}
	}
}

// unescapePath percent-decodes the parameters of a path.
func unescapePath(c *gin.Context) (err error) {
	for i, p := range c.Params {
		if c.Params[i].Value, err = url.PathUnescape(p.Value); err != nil {
			return api.Problem(http.StatusBadRequest, "the id in the path is not percent-encoded")
		}
	}
	return nil
}

// refuseDraining refuses requests that arrive after shutdown has begun, on connections that were open before. It lets
// probes through.
func (s *Server) refuseDraining(c *gin.Context) error {
	if s.isDraining() && (strings.HasPrefix(c.FullPath(), "/v1/") || c.FullPath() == "/mcp") {
		c.Header("Connection", "close")
		return api.Problem(http.StatusServiceUnavailable, mcpserver.Draining)
	}
	return nil
}

// guard refuses requests that a web page made a browser send: a Host that is not accepted means DNS rebinding, and an
// Origin that is not accepted means a cross-site call.
func (s *Server) guard(c *gin.Context) error {
	r := c.Request
	if !s.hostAllowed(r) {
		return api.Problem(http.StatusForbidden, "the Host header names a host that this server does not answer for")
	}
	origins := r.Header.Values("Origin")
	if len(origins) > 0 {
		listed := len(origins) == 1 && slices.Contains(s.cfg.Origins, origins[0])
		if !listed && (len(origins) != 1 || !sameOrigin(origins[0], r)) {
			return api.Problem(http.StatusForbidden, "the Origin header names an origin that may not call this server")
		}
		if listed {
			c.Header("Access-Control-Allow-Origin", origins[0])
			c.Header("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, Mcp-Session-Id")
			c.Writer.Header().Add("Vary", "Origin")
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				c.Header("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
				c.Header("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Request-Id, Traceparent, "+
					"Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-Id")
				c.Header("Access-Control-Max-Age", "600")
				c.AbortWithStatus(http.StatusNoContent)
			}
		}
	}
	// Another site may link to a page of this server, but may request nothing else, not even to measure the response
	// time.
	foreign := len(origins) == 0 && r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Dest") != "document"
	if err := s.csrf.Check(r); err != nil || foreign {
		return api.Problem(http.StatusForbidden, "a browser sent this request across sites")
	}
	return nil
}

// hostAllowed accepts loopback names, the local address of the connection, and the configured hosts.
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

// authorize determines the access of a request, and refuses it if the rule of its route requires more.
func (s *Server) authorize(c *gin.Context) error {
	ru, routed := s.ruleOf(c)
	a, err := s.accessOf(c.Request)
	switch {
	case err != nil && (!routed || ru.Public): // public pages then show less; 404 and 405 only confirm the documentation
		return nil
	case err != nil:
		return err
	case a.Tools != nil && ru.Public: // answered without access, because a page shows more with it
		return nil
	case routed && !ru.Public && !a.May(ru.Scope):
		return api.Problem(http.StatusForbidden, "this needs a key with scope "+strings.Join((ru.Scope&^a.Scopes).Names(), ", "))
	case ru.Operator && !a.Operator:
		return api.Problem(http.StatusForbidden, "only the operator of the server may do this")
	case routed && !ru.Public && a.Tools != nil && !ru.ToolSet:
		return api.Problem(http.StatusForbidden, fmt.Sprintf("a credential with the tool set of agent %q may search, and ask for next tools and plans, or connect to /mcp; nothing else", a.Tools.Name))
	}
	c.Request = c.Request.WithContext(api.With(c.Request.Context(), a))
	if !routed || ru.Public || ru.Global || ru.CreatesWorkspace {
		return nil
	}
	if !s.cfg.Workspaces.Exists(a.Workspace) { // the response of an empty workspace would hide a misspelt name
		var names []string
		if a.Operator { // only the operator may see which other workspaces exist
			names, _ = s.workspaces(c.Request.Context())
		}
		shown := strings.Join(append([]string{""}, names[:min(len(names), 20)]...), ", ")
		err = api.Problem(http.StatusNotFound, fmt.Sprintf("there is no workspace %q%s. The first import or record creates one, and so does `waymark workspace create`",
			a.Workspace, strings.Replace(shown, ", ", "; existing workspaces: ", 1)))
	}
	return err
}

// limitRate answers 429 if a credential sends requests faster than its token bucket fills.
func (s *Server) limitRate(c *gin.Context) error {
	a := api.From(c.Request.Context())
	if s.cfg.Rate < 0 || a.Workspace == "" {
		return nil
	}
	perSecond, burst := s.cfg.Rate, s.cfg.Burst
	if a.Operator { // tools of the same machine, among them load tests
		perSecond, burst = 10*perSecond, 10*burst
	}
	bucket, _ := s.rates.LoadOrStore(a.LimitKey(), rate.NewLimiter(rate.Limit(perSecond), burst))
	if bucket.(*rate.Limiter).Allow() {
		return nil
	}
	s.metrics.limited.Inc()
	c.Header("Retry-After", strconv.Itoa(int(math.Ceil(1/perSecond))))
	return api.Problem(http.StatusTooManyRequests, "too many requests with this credential")
}

// limitOpen limits the open requests, and the streams among them, of each client and of all together.
func (s *Server) limitOpen(c *gin.Context) error {
	a := api.From(c.Request.Context())
	if a.Workspace == "" { // probes and pages are limited only by their connections
		return nil
	}
	err := s.hold(c, &s.open, 1)
	listens := c.Request.Method == http.MethodGet || c.GetHeader(mcpserver.HeaderMethod) == "subscriptions/listen"
	if ru, _ := s.ruleOf(c); err == nil && ru.Stream && listens {
		err = s.hold(c, &s.streams, 1)
	}
	return err
}

// hold counts n units of a share against the clients of a request until the request has been answered.
func (s *Server) hold(c *gin.Context, share *api.Share, n int64) error {
	held, err := share.Take(n, s.clientsOf(api.From(c.Request.Context())))
	x := api.ExchangeFrom(c.Request.Context())
	x.Cleanups = append(x.Cleanups, held.Release)
	return err
}

// limitBody checks the media type and the length of a body, and keeps the total of all bodies within Config.MaxBodies.
func (s *Server) limitBody(c *gin.Context) error {
	r := c.Request
	ru, routed := s.ruleOf(c)
	if !routed || r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") && !(ru.Gzip && strings.EqualFold(enc, "gzip")) {
		return api.Problem(http.StatusUnsupportedMediaType, "compressed bodies are not taken")
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, hasCharset := params["charset"]
	lines := kind == ndjson && ru.Also == ndjson
	if c.FullPath() == "/mcp" { // the SDK refuses other types
		kind, err = "application/json", nil
	}
	if err != nil || kind != "application/json" && kind != ru.Also || (hasCharset && !strings.EqualFold(charset, "utf-8")) {
		want := "application/json"
		if ru.Also != "" {
			want += " or " + ru.Also
		}
		return api.Problem(http.StatusUnsupportedMediaType, "the Content-Type must be "+want)
	}
	if c.FullPath() != "/mcp" {
		r.Header.Set("Content-Type", kind) // huma compares the header without parsing it
	}
	room := max(s.cfg.MaxBody, ru.Body)
	limit := room
	if lines {
		limit = bounded.Stream
	}
	if r.ContentLength > limit {
		c.Header("Connection", "close")
		fail(c, api.Problem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit)))
		// The response is sent before any of the body arrives. The body is then discarded for a moment: closing at once
		// would reset the connection of a client that still writes, and the client would lose the response.
		c.Writer.Flush()
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(refusedLinger))
		_, _ = io.Copy(io.Discard, r.Body)
		return nil
	}
	if c.FullPath() != "/mcp" { // there the SDK applies the limit
		r.Body = http.MaxBytesReader(c.Writer, r.Body, limit)
	}
	// Until the request has been answered, a body counts with its length, or with the maximum if its length is unknown.
	// A body of lines counts with the maximum of one line, because it is read line by line.
	n := room
	if !lines && r.ContentLength > 0 {
		n = min(r.ContentLength, room)
	}
	if err = s.hold(c, &s.bodies, n); err != nil {
		c.Header("Connection", "close") // the body is not read
	}
	return err
}
