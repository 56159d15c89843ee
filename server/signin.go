package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"waymark/server/internal/api"
)

// A sign-in link opens the page with the access of the caller that created it, so that no key is typed or stored in a
// browser. Its code is in the fragment of the URL, which browsers do not send, and can be exchanged once for a session
// token.
const (
	linkLife    = 2 * time.Minute
	sessionLife = 12 * time.Hour
	mostOwn     = 50 // links and sessions per credential; a new one replaces the one that expires first

	sessionPrefix = "wms_"
)

// signIn is a link or a session. It represents the credential that created it and expires with it: the credential is
// verified at each request.
type signIn struct {
	credential string // the Authorization header; empty: none was needed
	workspace  string
	ends       time.Time
}

// pageSessions stores links and sessions by the digests of their texts.
type pageSessions struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]signIn
}

func (p *pageSessions) add(text string, one signIn, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.all, func(_ [sha256.Size]byte, s signIn) bool { return now.After(s.ends) })
	var own [][sha256.Size]byte
	for digest, s := range p.all {
		if s.credential == one.credential {
			own = append(own, digest)
		}
	}
	if len(own) >= mostOwn {
		delete(p.all, slices.MinFunc(own, func(a, b [sha256.Size]byte) int { return p.all[a].ends.Compare(p.all[b].ends) }))
	}
	if p.all == nil {
		p.all = map[[sha256.Size]byte]signIn{}
	}
	p.all[sha256.Sum256([]byte(text))] = one
}

// get returns the link or session with a text. It deletes a link, which is valid only once.
func (p *pageSessions) get(text string, now time.Time) (one signIn, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	digest := sha256.Sum256([]byte(text))
	one, ok = p.all[digest]
	if !strings.HasPrefix(text, sessionPrefix) {
		delete(p.all, digest)
	}
	return one, ok && !now.After(one.ends)
}

type signInAnswer struct {
	Path      string    `json:"path" doc:"Address of the page, to open in a browser."`
	ExpiresAt time.Time `json:"expires_at"`
}

type exchangeBody struct {
	Code string `json:"code" minLength:"1" maxLength:"128" doc:"Of the path of a sign-in link."`
}

type exchangeAnswer struct {
	Token     string    `json:"token" doc:"A bearer token for the credential that created the link."`
	ExpiresAt time.Time `json:"expires_at"`
	Workspace string    `json:"workspace"`
}

func (s *Server) signInRoutes(r *api.Table) {
	api.Add(r, api.Rule{Scope: api.ScopeAdmin, Global: true}, huma.Operation{OperationID: "create-sign-in-link", Method: http.MethodPost, Path: "/v1/sign-in-links", Tags: []string{"Administration"}, Summary: "A link that signs in to the page once",
		Description: "Opens the page as the caller, for two minutes and one use."}, s.signInLink)
	api.Add(r, api.Rule{Public: true}, huma.Operation{OperationID: "exchange-sign-in-link", Method: http.MethodPost, Path: "/v1/sign-in-links/exchange", Tags: []string{"Administration"}, Summary: "Exchange the code of a sign-in link for a session token",
		Description: "410 if the link was used or has expired. The token ends after 12 hours, with the process, and when the credential that made the link is revoked.", Errors: []int{http.StatusGone}}, s.exchangeLink)
}

func (s *Server) signInLink(ctx context.Context, _ *struct{}) (signInAnswer, error) {
	code, now, a := rand.Text(), s.cfg.Now(), api.From(ctx)
	link := signIn{a.Credential, a.Workspace, now.Add(linkLife)}
	s.page.add(code, link, now)
	return signInAnswer{"/#/sign-in?code=" + code, link.ends.UTC()}, nil
}

func (s *Server) exchangeLink(_ context.Context, q *question[exchangeBody]) (out exchangeAnswer, err error) {
	now := s.cfg.Now()
	session, ok := s.page.get(q.Body.Code, now)
	if !ok || strings.HasPrefix(q.Body.Code, sessionPrefix) {
		return out, api.Problem(http.StatusGone, "this sign-in link was used already, or has expired after two minutes; POST /v1/sign-in-links makes another")
	}
	session.ends = now.Add(sessionLife)
	token := sessionPrefix + rand.Text()
	s.page.add(token, session, now)
	return exchangeAnswer{token, session.ends.UTC(), session.workspace}, nil
}
