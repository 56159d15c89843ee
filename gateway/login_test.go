package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/run"
)

// guarded is a server over HTTP that asks for a token, and its authorization server, which checks what OAuth 2.1 demands.
type guarded struct {
	*httptest.Server
	mu       sync.Mutex
	lifetime int               // of access tokens in seconds; 0: not said
	codes    map[string]string // code → challenge
	access   map[string]bool   // valid tokens
	refresh  map[string]bool
	counts   map[string]int // of grants by type, and of what was refused
	wrong    []string       // requests that OAuth 2.1 does not allow
}

func guard(t *testing.T) *guarded {
	g := &guarded{codes: map[string]string{}, access: map[string]bool{}, refresh: map[string]bool{}, counts: map[string]int{}, lifetime: 3600}
	s := goodServer()
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	g.Server = httptest.NewServer(mux)
	t.Cleanup(func() { closeHTTP(g.Server, s) })
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		g.mu.Lock()
		known := g.access[token]
		if !known {
			g.counts["refused"]++
		}
		g.mu.Unlock()
		if !known {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		tools.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{g.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]any{"issuer": g.URL, "authorization_endpoint": g.URL + "/authorize", "token_endpoint": g.URL + "/token",
			"registration_endpoint": g.URL + "/register", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var m map[string]any
		_ = json.NewDecoder(r.Body).Decode(&m)
		m["client_id"] = "client-1"
		answer(w, 201, m)
	})
	mux.HandleFunc("/authorize", g.authorize)
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		status, v := g.token(r.PostForm)
		answer(w, status, v)
	})
	return g
}

func (g *guarded) authorize(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := r.URL.Query()
	if q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || q.Get("resource") != g.URL+"/mcp" || q.Get("response_type") != "code" || q.Get("client_id") != "client-1" {
		g.wrong = append(g.wrong, "authorize "+r.URL.RawQuery)
	}
	code := fmt.Sprintf("code-%d", len(g.codes))
	g.codes[code] = q.Get("code_challenge") + " " + q.Get("redirect_uri")
	back, _ := url.Parse(q.Get("redirect_uri"))
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token gives one if all is right.
func (g *guarded) token(form url.Values) (int, any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	refuse := func(kind, why string) (int, any) {
		g.wrong = append(g.wrong, why)
		return 400, map[string]string{"error": kind}
	}
	if form.Get("resource") != g.URL+"/mcp" || form.Get("client_id") != "client-1" {
		return refuse("invalid_request", "token without its resource or client")
	}
	switch form.Get("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		if g.codes[form.Get("code")] != base64.RawURLEncoding.EncodeToString(sum[:])+" "+form.Get("redirect_uri") {
			return refuse("invalid_grant", "the verifier does not fit the challenge")
		}
		delete(g.codes, form.Get("code"))
	case "refresh_token":
		if !g.refresh[form.Get("refresh_token")] {
			g.counts["revoked"]++
			return 400, map[string]string{"error": "invalid_grant"}
		}
		delete(g.refresh, form.Get("refresh_token")) // each is used once
	default:
		return refuse("unsupported_grant_type", form.Get("grant_type"))
	}
	g.counts[form.Get("grant_type")]++
	n := g.counts["authorization_code"] + g.counts["refresh_token"]
	claims, _ := json.Marshal(map[string]any{"aud": []string{g.URL + "/mcp"}, "n": n})
	access, refresh := "e30."+base64.RawURLEncoding.EncodeToString(claims)+".SECRET", fmt.Sprintf("refresh-SECRET-%d", n)
	g.access[access], g.refresh[refresh] = true, true
	return 200, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": g.lifetime}
}

func (g *guarded) count(what string) int { g.mu.Lock(); defer g.mu.Unlock(); return g.counts[what] }

func (g *guarded) set(change func()) { g.mu.Lock(); defer g.mu.Unlock(); change() }

func (g *guarded) definition() Definition { return Definition{ID: "web", URL: g.URL + "/mcp"} }

// logIn follows the link as a browser does.
func logIn(t *testing.T, l *Logins, d Definition, o Options) error {
	return l.Login(t.Context(), d, o, LoginClient{}, func(link string) {
		go func() {
			if forged, err := url.Parse(link); err == nil { // an answer to another question changes nothing
				if resp, err := http.Get(forged.Query().Get("redirect_uri") + "?code=forged&state=other"); err == nil {
					resp.Body.Close()
				}
			}
			if resp, err := http.Get(link); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
	})
}

// The whole way: without a login the error names the command; with one calls work, tokens are renewed where they end or
// are refused, and where they are revoked the error names the command again.
func TestLogin(t *testing.T) {
	web, dir := guard(t), t.TempDir()
	o := quick(t)
	o.Logins = OpenLogins(dir, "default")
	g := open(t, o)
	connect(t, g, web.definition())
	problem := func() string { return server(g, "web").Problem }
	require.Eventually(t, func() bool { return strings.Contains(problem(), "waymark gateway login web") }, 30*time.Second, 5*time.Millisecond, "%s", problem())

	require.NoError(t, logIn(t, o.Logins, web.definition(), o))
	ready(t, g, "web")
	assert.Empty(t, call(t, g, "web:echo", `{"text":"hello"}`).Failure)
	assert.Zero(t, web.count("refresh_token"))

	web.set(func() { clear(web.access) }) // the server takes none of them any more
	assert.Empty(t, call(t, g, "web:echo", `{"text":"hello"}`).Failure)
	assert.Equal(t, 1, web.count("refresh_token"))
	web.set(func() { web.lifetime = 1; clear(web.access) }) // those that come end at once
	assert.Empty(t, call(t, g, "web:echo", `{"text":"hello"}`).Failure)
	refused := web.count("refused")
	assert.Empty(t, call(t, g, "web:echo", `{"text":"hello"}`).Failure)
	assert.Equal(t, 4, web.count("refresh_token"), "one that ended is renewed, also for the second attempt")
	assert.Equal(t, refused, web.count("refused"), "before it is sent")

	web.set(func() { clear(web.access); clear(web.refresh) }) // revoked
	r := call(t, g, "web:echo", `{"text":"hello"}`)
	assert.Equal(t, run.FailedAuth, r.Failure)
	assert.Contains(t, r.Message, "waymark gateway login web")
	assert.Positive(t, web.count("revoked"))
	web.set(func() { web.lifetime = 3600 })
	require.NoError(t, logIn(t, o.Logins, web.definition(), o))
	require.Eventually(t, func() bool {
		r, err := g.Call(t.Context(), run.Call{Tool: "web:echo", Arguments: json.RawMessage(`{"text":"hello"}`)})
		return err == nil && r.Failure == ""
	}, 30*time.Second, 20*time.Millisecond)
	assert.Empty(t, web.wrong, "every request was as OAuth 2.1 demands")
	for _, said := range []string{problem(), r.Message} {
		assert.NotContains(t, said, "SECRET")
	}

	// Another address under the same id gets no token, and what was dropped is gone.
	moved := web.definition()
	moved.URL = "http://127.0.0.1:1/mcp"
	token, err := o.Logins.token(t.Context(), &moved, http.DefaultTransport, "")
	require.NoError(t, err)
	assert.Empty(t, token)
	require.NoError(t, o.Logins.Forget("web"))
	token, err = o.Logins.token(t.Context(), new(web.definition()), http.DefaultTransport, "")
	require.NoError(t, err)
	assert.Empty(t, token)
}

// Answers of a server that does not do what OAuth 2.1 demands.
func TestLoginRefusals(t *testing.T) {
	o := quick(t)
	l := OpenLogins(t.TempDir(), "default")
	assert.ErrorContains(t, l.Login(t.Context(), Definition{ID: "cal", Command: "/bin/cal"}, o, LoginClient{}, func(string) {}), "has no login")
	assert.ErrorContains(t, l.Login(t.Context(), Definition{ID: "open", URL: "http://mcp.example/mcp"}, o, LoginClient{}, func(string) {}), "unencrypted")
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer plain.Close()
	assert.ErrorContains(t, l.Login(t.Context(), Definition{ID: "web", URL: plain.URL}, o, LoginClient{}, func(string) {}), "asks for no login")

	web := guard(t)
	web.set(func() { web.codes = map[string]string{} })
	err := l.Login(t.Context(), web.definition(), o, LoginClient{}, func(link string) { // the user says no
		u, _ := url.Parse(link)
		go func() {
			if resp, err := http.Get(u.Query().Get("redirect_uri") + "?error=access_denied&state=" + u.Query().Get("state")); err == nil {
				resp.Body.Close()
			}
		}()
	})
	assert.ErrorContains(t, err, "access was not granted")
	err = l.Login(t.Context(), web.definition(), o, LoginClient{}, func(link string) { // a code of somebody else
		u, _ := url.Parse(link)
		go func() {
			if resp, err := http.Get(u.Query().Get("redirect_uri") + "?code=stolen&state=" + u.Query().Get("state")); err == nil {
				resp.Body.Close()
			}
		}()
	})
	assert.ErrorContains(t, err, "invalid_grant")
}

// A login is renewed once, however many requests find that it ended: a refresh token may be valid once.
func TestRenewedOnce(t *testing.T) {
	renewals := atomic.Int32{}
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		renewals.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"second","refresh_token":"b","token_type":"bearer","expires_in":3600}`)
	}))
	defer tokens.Close()
	d := Definition{ID: "web", URL: "https://mcp.example/mcp"}
	l := OpenLogins(t.TempDir(), "default")
	require.NoError(t, l.keep("web", &login{Resource: d.URL, TokenURL: tokens.URL, Access: "first", Refresh: "a"}))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			token, err := l.token(t.Context(), &d, http.DefaultTransport, "first")
			assert.NoError(t, err)
			assert.Equal(t, "second", token)
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, renewals.Load())
}
