package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"waymark/server/internal/limit"
	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/transport"
)

// In a fleet the first owner of a workspace answers for it; a replica that gets a request for it hands it on.
//
//	client ──▶ any replica: who asks, may they, limits ──▶ first owner: the same limits, the answer
//	                                                   └─▶ next owner, where the first does not answer and asking twice is safe
//
// The replica that hands on has checked the credential, and says to the owner who asks. The owner takes its word because
// it is signed with the key that the replica has in the control log, for this one request: its target, method, path, body
// and time, once. What has been handed on once is answered where it arrives: replicas that see different fleets hand
// nothing in circles.

// headerForwarded is a request's sign of having been handed on: a [forwarded] in JSON, a dot and its signature.
const headerForwarded = "Waymark-Forwarded"

// forwarded is who handed a request on, and for whom.
type forwarded struct {
	By     string    `json:"by"`
	To     string    `json:"to"`
	Method string    `json:"method"`
	URI    string    `json:"uri"`
	At     time.Time `json:"at"`
	Nonce  string    `json:"nonce"`
	Body   []byte    `json:"body,omitempty"` // SHA-256; absent for streams

	Workspace    string         `json:"workspace"`
	Scopes       request.Scopes `json:"scopes"`
	Source       string         `json:"source"`
	Local        bool           `json:"local,omitempty"`
	Operator     bool           `json:"operator,omitempty"`
	Agent        *string        `json:"agent,omitempty"`
	Conversation string         `json:"conversation,omitempty"`
	Peer         string         `json:"peer,omitempty"`
}

// forwarder hands requests on to other replicas.
type forwarder struct {
	transport http.RoundTripper
	proxies   sync.Map // addresses that replicas have handed on from: many clients come from them

	mu     sync.Mutex
	silent map[string]time.Time // replicas that took no connection, until when they are asked last
	nonces map[string]time.Time // of requests that were handed on to this replica, until when they would be taken
	swept  time.Time            // when nonces were last looked through
}

// How long a replica may take to accept a connection, for how long one that did not is asked after the others, and how
// far the clocks of two replicas, and the way between them, may be apart.
const (
	forwardDial   = 2 * time.Second
	forwardSilent = 3 * time.Second
	forwardFresh  = 15 * time.Second
)

func newForwarder(secure *tls.Config) *forwarder {
	return &forwarder{silent: map[string]time.Time{}, nonces: map[string]time.Time{}, transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: forwardDial}).DialContext, MaxIdleConnsPerHost: 64, IdleConnTimeout: idleTimeout / 2,
		DisableCompression: true, TLSClientConfig: secure, TLSHandshakeTimeout: 2 * forwardDial,
	}}
}

// handedOn is the access of a request that another replica handed on; ok is false for others.
func (s *Server) handedOn(r *http.Request) (a request.Access, ok bool, err error) {
	values := r.Header.Values(headerForwarded)
	if len(values) == 0 {
		return a, false, nil
	}
	f, err := s.verified(r, values)
	if err != nil {
		return a, true, err
	}
	s.forward.proxies.Store(limit.AddressOf(request.PeerOf(r)), true)
	a = request.Access{Workspace: f.Workspace, Scopes: f.Scopes, Source: f.Source, Local: f.Local, Operator: f.Operator,
		Credential: r.Header.Get("Authorization"), Conversation: f.Conversation, Peer: f.Peer}
	if f.Agent != nil {
		a.Tools = s.cfg.Upstream.ToolSet(a.Workspace, *f.Agent)
	}
	return a, true, nil
}

// verified is what a replica of this fleet has signed for this request and no other.
func (s *Server) verified(r *http.Request, values []string) (f forwarded, err error) {
	refused := problem.New(http.StatusForbidden, headerForwarded+" is for replicas of this fleet")
	dot := max(0, strings.LastIndex(values[0], "."))
	text := values[0][:dot]
	sum, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(values[0][dot:], "."))
	if s.cfg.Fleet == nil || len(values) != 1 || err != nil || json.Unmarshal([]byte(text), &f) != nil {
		return f, refused
	}
	if known, err := s.cfg.Fleet.Signed(r.Context(), f.By, []byte(text), sum); err != nil || !known {
		return f, cmp.Or(err, error(refused))
	}
	if off := time.Since(f.At); off.Abs() > forwardFresh {
		return f, problem.New(http.StatusForbidden, fmt.Sprintf("the time at which a replica handed this request on differs by %v from this machine's: it is repeated, or the clocks of the replicas differ", off.Abs().Round(time.Second)))
	}
	if f.To != s.cfg.Fleet.Address() || f.Method != r.Method || f.URI != r.RequestURI || !s.forward.first(f.Nonce, f.At.Add(forwardFresh)) {
		return f, refused
	}
	if f.Body != nil { // no longer than the sender may have taken
		body, err := io.ReadAll(io.LimitReader(r.Body, max(s.cfg.MaxBody, evaluationBody)))
		if sum := sha256.Sum256(body); err != nil || !bytes.Equal(sum[:], f.Body) {
			return f, errors.Join(err, refused)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return f, nil
}

// first reports whether a nonce was not used before.
func (f *forwarder) first(nonce string, until time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.swept) > forwardFresh {
		f.swept = now
		maps.DeleteFunc(f.nonces, func(_ string, until time.Time) bool { return until.Before(now) })
	}
	_, used := f.nonces[nonce]
	f.nonces[nonce] = until
	return !used
}

// elsewhere reports whether another replica answers this request.
func (s *Server) elsewhere(c *gin.Context, a request.Access) bool {
	owners := s.answering(c, a)
	return len(owners) > 0 && owners[0] != s.cfg.Fleet.Address()
}

// answering are the replicas to ask, the first one first: that which carries out the run that is asked about, then the
// owners of the workspace. There are none for what every replica answers, and for what was handed on.
func (s *Server) answering(c *gin.Context, a request.Access) []string {
	ru, routed := s.ruleOf(c)
	if s.cfg.Fleet == nil || !routed || ru.Public || ru.Global || c.GetHeader(headerForwarded) != "" {
		return nil
	}
	owners := s.cfg.Fleet.Owners(a.Workspace)
	if ru.OfRun {
		if at := s.runs.Replica(c.Request.Context(), a.Workspace, c.Param("id")); at != "" {
			owners = append([]string{at}, slices.DeleteFunc(owners, func(o string) bool { return o == at })...)
		}
	}
	return owners
}

// handOn lets the owner of the workspace answer.
func (s *Server) handOn(c *gin.Context) {
	a := request.From(c.Request.Context())
	owners := s.answering(c, a)
	if len(owners) > 0 && s.cfg.Fleet.Problem() != nil { // what the address stands for is another replica
		problem.Fail(c, problem.New(http.StatusServiceUnavailable, s.cfg.Fleet.Problem().Error()))
		return
	}
	if len(owners) == 0 || owners[0] == s.cfg.Fleet.Address() {
		c.Next()
		return
	}
	if !s.cfg.Fleet.Known() {
		problem.Fail(c, problem.New(http.StatusServiceUnavailable, "the replicas that answer for this workspace do not know this one yet"))
		return
	}
	ru, _ := s.ruleOf(c)
	again := ru.Scope == request.ScopeRead && !ru.Stream && c.FullPath() != "/mcp" // asking twice changes nothing
	var body *bytes.Reader
	introduced := s.introduction(c, a)
	if !ru.Stream && c.Request.Body != nil {
		text, err := io.ReadAll(c.Request.Body)
		if err != nil {
			problem.Fail(c, errors.Join(err, problem.New(http.StatusBadRequest, "the body could not be read")))
			return
		}
		sum := sha256.Sum256(text)
		body, introduced.Body = bytes.NewReader(text), sum[:]
	}
	var failed error
	for _, owner := range s.forward.sorted(owners) {
		if body != nil {
			_, _ = body.Seek(0, io.SeekStart) // never fails
			c.Request.Body = io.NopCloser(body)
		}
		if owner == s.cfg.Fleet.Address() {
			c.Next()
			return
		}
		var dial *net.OpError
		switch failed = s.pass(c, owner, introduced, again); {
		case failed == nil:
			c.Writer.WriteHeaderNow()
			c.Abort()
			return
		case errors.As(failed, &dial) && dial.Op == "dial": // nothing has been sent
		case c.Request.Context().Err() != nil:
			problem.Fail(c, c.Request.Context().Err())
			return
		case !again:
			problem.Fail(c, errors.Join(failed, problem.New(http.StatusServiceUnavailable, "the replica that answers for this workspace closed the connection; the request may have been applied")))
			return
		}
		s.cfg.Logger.Warn("a replica does not answer", "replica", owner, "workspace", a.Workspace, "error", failed)
	}
	problem.Fail(c, errors.Join(failed, problem.New(http.StatusServiceUnavailable, "none of the replicas that answer for this workspace can be reached")))
}

// introduction says to an owner who asks.
func (s *Server) introduction(c *gin.Context, a request.Access) forwarded {
	f := forwarded{By: s.cfg.Fleet.Address(), Workspace: a.Workspace, Scopes: a.Scopes, Source: a.Source,
		Local: a.Local, Operator: a.Operator, Conversation: a.Conversation, Peer: a.Peer}
	if a.Tools != nil {
		f.Agent = &a.Tools.Name
	}
	if c.FullPath() == "/mcp" && f.Conversation == "" && f.Peer != "" { // the owner sees the connections of replicas alone
		f.Conversation = fmt.Sprintf("%s #%d", f.Peer, transport.CallerOf(c.Request.Context(), a.Source+"\x00"+f.Peer))
	}
	return f
}

// sign makes an introduction one for a request to an owner.
func (s *Server) sign(f forwarded, owner string, out *http.Request, at time.Time) string {
	f.To, f.Method, f.URI, f.At, f.Nonce = owner, out.Method, out.URL.RequestURI(), at, rand.Text()
	text, _ := json.Marshal(f) // strings, numbers and a time of today always encode
	return string(text) + "." + base64.RawURLEncoding.EncodeToString(s.cfg.Fleet.Sign(text))
}

// sorted are owners, those last that took no connection a moment ago.
func (f *forwarder) sorted(owners []string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var first, last []string
	for _, o := range owners {
		if time.Now().Before(f.silent[o]) {
			last = append(last, o)
		} else {
			first = append(first, o)
		}
	}
	return append(first, last...)
}

// ownHeaders are for the replica that the client speaks to: it has judged them.
var ownHeaders = []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", request.HeaderWorkspace, request.HeaderSource, request.HeaderAgent, request.HeaderConversation}

// errRefused is the answer of a replica that answers nothing for now.
var errRefused = errors.New("the replica refuses to answer")

// pass hands a request to a replica and copies its answer; an error says that nothing was answered yet. With again, a
// refusal is an error: another replica may answer.
func (s *Server) pass(c *gin.Context, owner string, introduced forwarded, again bool) (failed error) {
	f := s.forward
	target, err := url.Parse(owner)
	if err != nil {
		return err
	}
	if c.Request.Body != nil { // a connection that fails must not close what the next one sends
		c.Request.Body = io.NopCloser(c.Request.Body)
	}
	proxy := httputil.ReverseProxy{
		Transport: f.transport, FlushInterval: -1, ErrorLog: nil,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.URL.Path, r.Out.URL.RawPath = r.In.URL.Path, r.In.URL.RawPath
			for _, name := range ownHeaders {
				r.Out.Header.Del(name)
			}
			r.Out.Header.Set(headerForwarded, s.sign(introduced, owner, r.Out, time.Now()))
			r.Out.Header.Set("X-Request-Id", request.ExchangeFrom(r.In.Context()).Id)
		},
		ModifyResponse: func(resp *http.Response) error {
			if again && resp.StatusCode == http.StatusServiceUnavailable {
				return errRefused
			}
			for name := range resp.Header {
				c.Writer.Header().Del(name)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(c.Writer, c.Request)
	var dial *net.OpError
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.As(failed, &dial) && dial.Op == "dial" {
		f.silent[owner] = time.Now().Add(forwardSilent)
	} else {
		delete(f.silent, owner)
	}
	return failed
}

// leaveFleet tells the others to ask this replica no more, and gives them time to see it.
func (s *Server) leaveFleet(ctx context.Context, look time.Duration) {
	if s.cfg.Fleet == nil {
		return
	}
	s.cfg.Fleet.Leave(ctx)
	if live, _ := s.cfg.Fleet.Members(); len(live) > 0 {
		time.Sleep(look)
	}
}
