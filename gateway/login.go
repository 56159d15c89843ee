package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// LoginsFile is the file of the tokens in the data directory. It is not in the database, because tokens must not be in
// a backup.
const LoginsFile = "logins.json"

// refreshBefore is the time before its expiry at which a token is renewed.
const refreshBefore = 30 * time.Second

// Logins holds the OAuth tokens of one workspace's servers. All methods may be called concurrently.
type Logins struct {
	dir, workspace string
	mu             sync.Mutex // one use of the file at a time
	renewing       sync.Mutex // one renewal at a time: a refresh token may be valid only once
}

// login is the credential that the authorization server of one server issued.
type login struct {
	Resource     string    `json:"resource"` // the URL by which the server identifies itself
	TokenURL     string    `json:"token_url"`
	ClientID     string    `json:"client_id"`
	ClientSecret string    `json:"client_secret,omitempty"`
	Access       string    `json:"access_token"`
	Refresh      string    `json:"refresh_token,omitempty"`
	Expiry       time.Time `json:"expiry,omitzero"`
}

// OpenLogins returns the logins of a workspace in a data directory. It does not read them yet.
func OpenLogins(dir, workspace string) *Logins { return &Logins{dir: dir, workspace: workspace} }

// read returns all logins by workspace and server.
func (l *Logins) read() (map[string]map[string]*login, error) {
	all := map[string]map[string]*login{}
	if readPrivate(l.dir, LoginsFile, &all) != nil {
		// An error of a decoder may quote a token.
		return nil, fmt.Errorf("%s cannot be read", filepath.Join(l.dir, LoginsFile))
	}
	return all, nil
}

// get returns the login of a server; nil if there is none.
func (l *Logins) get(server string) (*login, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err := l.read()
	return all[l.workspace][server], err
}

// keep replaces the login of a server; nil drops it.
func (l *Logins) keep(server string, now *login) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err := l.read()
	if err != nil || now == nil && all[l.workspace][server] == nil {
		return err
	}
	if all[l.workspace] == nil {
		all[l.workspace] = map[string]*login{}
	}
	all[l.workspace][server] = now
	if now == nil {
		delete(all[l.workspace], server)
	}
	return writePrivate(l.dir, LoginsFile, all)
}

// Forget deletes the login of a server. It is no error if there is none.
func (l *Logins) Forget(server string) error { return l.keep(server, nil) }

// token returns the access token for a request to a server. It renews a token that has expired or equals refused. The
// token is empty if there is no login for the address.
func (l *Logins) token(ctx context.Context, d *Definition, through http.RoundTripper, refused string) (string, error) {
	for alone := false; ; alone = true {
		now, err := l.get(d.ID)
		if err != nil || now == nil || !sameOrigin(d.URL, now.Resource) {
			return "", err
		}
		ended := !now.Expiry.IsZero() && time.Until(now.Expiry) < refreshBefore
		if now.Refresh == "" || !ended && now.Access != refused {
			return now.Access, nil
		}
		if !alone { // another request may renew it meanwhile
			l.renewing.Lock()
			defer l.renewing.Unlock()
			continue
		}
		renewed, err := now.renew(ctx, &http.Client{Transport: through, CheckRedirect: noRedirect})
		if err != nil || renewed == nil { // revoked: the server will refuse it
			return now.Access, err
		}
		return renewed.Access, l.keep(d.ID, renewed)
	}
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func sameOrigin(one, other string) bool {
	a, err1 := url.Parse(one)
	b, err2 := url.Parse(other)
	return err1 == nil && err2 == nil && a.Scheme == b.Scheme && a.Host == b.Host
}

// renew requests a new token. It returns neither a login nor an error if the old one was revoked. Errors contain
// nothing of the request, and of the answer only the error code or status. The library's renewal omits the resource, so
// renew uses its exchange of a code with an empty code, which counts as none (RFC 6749, section 3.2).
func (l login) renew(ctx context.Context, client *http.Client) (*login, error) {
	config := oauth2.Config{ClientID: l.ClientID, ClientSecret: l.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: oauth2.AuthStyleInParams}}
	t, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, client), "", oauth2.SetAuthURLParam("grant_type", "refresh_token"),
		oauth2.SetAuthURLParam("refresh_token", l.Refresh), oauth2.SetAuthURLParam("resource", l.Resource))
	said, answered := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case answered && said.ErrorCode == "invalid_grant":
		return nil, nil
	case answered:
		return nil, fmt.Errorf("the authorization server gave no token: %s", cutError(said))
	case err != nil:
		return nil, errors.New("the authorization server does not answer with a token")
	}
	l.Access, l.Refresh, l.Expiry = t.AccessToken, cmp.Or(t.RefreshToken, l.Refresh), t.Expiry.UTC()
	return &l, nil
}

// signed supplies the token of a login to the requests of the SDK.
type signed struct {
	logins  *Logins // nil: none
	def     *Definition
	through http.RoundTripper
	refused *atomic.Bool // the last answer that asked for a login was 401
}

// TokenSource implements [auth.OAuthHandler].
func (s *signed) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	token, err := s.token(ctx, "")
	if err != nil || token == "" {
		return nil, err
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token}), nil
}

// Authorize implements [auth.OAuthHandler]: it renews the token that was refused.
func (s *signed) Authorize(ctx context.Context, r *http.Request, resp *http.Response) error {
	defer resp.Body.Close()
	s.refused.Store(resp.StatusCode == http.StatusUnauthorized)
	was := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	token, err := s.token(ctx, was)
	if err == nil && token == was {
		err = fmt.Errorf("the server refused the credential (HTTP %d)", resp.StatusCode)
	}
	return err
}

func (s *signed) token(ctx context.Context, refused string) (token string, err error) {
	if s.logins == nil {
		return "", nil
	}
	if token, err = s.logins.token(ctx, s.def, s.through, refused); err != nil {
		err = fmt.Errorf("the login of server %s cannot be used: %w; %w: waymark gateway login %s", s.def.ID, err, errNoLogin, s.def.ID)
	}
	return token, err
}

// errNoLogin means that another attempt cannot succeed before the user logs in.
var errNoLogin = errors.New("log in with")

// refusal returns an error that asks for a login if the server refused the credential of a connection, otherwise err.
func (u *upstream) refusal(l *link, err error) error {
	if _, fixed := u.def.Headers["Authorization"]; fixed || !l.refused.Load() {
		return err
	}
	return fmt.Errorf("the server refused the credential (HTTP 401); %w: waymark gateway login %s", errNoLogin, u.def.ID)
}

// LoginClient identifies a program to an authorization server. Without an ID, the program registers itself.
type LoginClient struct{ ID, Secret string }

// Login lets a person grant access to a server in the browser, at the link that is passed to show, and stores the
// tokens. It uses the authorization code flow with PKCE; the browser is redirected to a local port.
func (l *Logins) Login(ctx context.Context, d Definition, o Options, as LoginClient, show func(link string)) error {
	if d.URL == "" || d.SSE {
		return fmt.Errorf("server %s is not reached over streamable HTTP; it has no login", d.ID)
	}
	if u, err := url.Parse(d.URL); err != nil || u.Scheme != "https" && !IsLoopback(u.Hostname()) {
		return fmt.Errorf("server %s: tokens are not sent over unencrypted http to %s", d.ID, d.URL)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	o = o.filled()
	way := d.reach(o.StartTimeout)
	defer way.CloseIdleConnections()
	client := &http.Client{Transport: way, CheckRedirect: noRedirect, Timeout: o.StartTimeout}
	now, asked := &login{}, false
	back := "http://" + listener.Addr().String() + "/callback"
	config := &auth.AuthorizationCodeHandlerConfig{RedirectURL: back, Client: client, RequestRefreshToken: true, AcceptUnadvertisedIss: true,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			asked = true
			link, err := url.Parse(args.URL)
			if err != nil {
				return nil, errors.New("the authorization server names no valid address")
			}
			now.Resource = link.Query().Get("resource")
			if !sameOrigin(d.URL, now.Resource) {
				return nil, fmt.Errorf("the server asks for a login at %q, which is another address than its own", now.Resource)
			}
			show(args.URL)
			return awaitCode(ctx, listener, link.Query().Get("state"))
		},
		NewTokenSource: func(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			now.TokenURL, now.ClientID, now.ClientSecret = c.Endpoint.TokenURL, c.ClientID, c.ClientSecret
			now.Access, now.Refresh, now.Expiry = t.AccessToken, t.RefreshToken, t.Expiry.UTC()
			return oauth2.StaticTokenSource(t), nil
		},
	}
	if as.ID != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: as.ID}
		if as.Secret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: as.Secret}
		}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Waymark", RedirectURIs: []string{back}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}}}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return err
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: ownName, Version: o.Version}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: d.URL, HTTPClient: client, OAuthHandler: handler, DisableStandaloneSSE: true},
		&mcp.ClientSessionOptions{ProtocolVersion: lastWithHandshake}) // one request: each refused one asks the person
	if err == nil {
		_ = session.Close()
	}
	var said *oauth2.RetrieveError
	switch {
	case now.Access != "": // any other error of the server does not concern the login
		return l.keep(d.ID, now)
	case errors.As(err, &said): // its text contains the whole answer
		return fmt.Errorf("log in to server %s: the authorization server gave no token: %s", d.ID, cutError(said))
	case asked:
		return fmt.Errorf("log in to server %s: %w", d.ID, err)
	}
	return fmt.Errorf("log in to server %s: it asks for no login: %w", d.ID, cmp.Or(err, errors.New("it answers without one")))
}

func cutError(e *oauth2.RetrieveError) string {
	if e.ErrorCode != "" {
		return e.ErrorCode
	}
	return fmt.Sprintf("HTTP %d", e.Response.StatusCode)
}

// awaitCode waits for the answer of the authorization server, which the browser delivers. It ignores an answer with
// another state.
func awaitCode(ctx context.Context, listener net.Listener, state string) (result *auth.AuthorizationResult, err error) {
	ctx, came := context.WithCancel(ctx)
	defer came()
	err = errors.New("access was not granted in time")
	var once sync.Once
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/callback" || q.Get("state") != state {
			http.NotFound(w, r)
			return
		}
		said := "Logged in. You can close this page."
		once.Do(func() {
			result, err = &auth.AuthorizationResult{Code: q.Get("code"), State: state, Iss: q.Get("iss")}, nil
			if refused := q.Get("error"); refused != "" || result.Code == "" {
				err, said = fmt.Errorf("access was not granted: %q", refused), "Access was not granted. You can close this page."
			}
		})
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, said)
		came()
	})}
	go func() { _ = srv.Serve(listener) }()
	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = srv.Shutdown(ending) // the browser still gets its page
	once.Do(func() {})       // no later answer counts
	return result, err
}
