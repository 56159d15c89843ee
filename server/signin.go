package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
)

// A sign-in link opens the page as whoever asked for it, so that no key is typed or stored in a browser. Its code is in the
// fragment of the address, which browsers send to nobody, and is exchanged once for a session token.
const (
	linkLife    = 2 * time.Minute
	sessionLife = 12 * time.Hour
	mostSignIns = 1000 // links, and as many sessions; the oldest give way
	mostOwn     = 50   // of these of one credential: nobody else's give way to more

	sessionPrefix = "wms_"
)

// signIn is a link or a session. It stands for the credential that asked for it and ends with it: the credential is
// verified at each request.
type signIn struct {
	credential string // the header Authorization; empty: none was needed
	workspace  string
	ends       time.Time
	used       bool
	digest     [sha256.Size]byte // of its text
}

// signIns are those of one kind, the oldest first: all of one kind live equally long.
type signIns []*signIn

func (l *signIns) add(text string, one *signIn, now time.Time) {
	one.digest = sha256.Sum256([]byte(text))
	kept := slices.DeleteFunc(*l, func(s *signIn) bool { return now.After(s.ends.Add(linkLife)) }) // a link can say for a while that it expired
	own := 0
	for _, s := range kept {
		if s.credential == one.credential {
			own++
		}
	}
	if own >= mostOwn {
		oldest := slices.IndexFunc(kept, func(s *signIn) bool { return s.credential == one.credential })
		kept = slices.Delete(kept, oldest, oldest+1)
	} else if len(kept) >= mostSignIns {
		kept = slices.Delete(kept, 0, 1)
	}
	*l = append(kept, one)
}

func (l signIns) get(text string) *signIn {
	digest := sha256.Sum256([]byte(text))
	if i := slices.IndexFunc(l, func(s *signIn) bool { return s.digest == digest }); i >= 0 {
		return l[i]
	}
	return nil
}

type pageSessions struct {
	sync.Mutex
	links, sessions signIns
}

type signInAnswer struct {
	Path      string    `json:"path" doc:"Of the page, to be opened in a browser."`
	ExpiresAt time.Time `json:"expires_at"`
}

type exchangeBody struct {
	Code string `json:"code" minLength:"1" maxLength:"128" doc:"Of the path of a sign-in link."`
}

type exchangeAnswer struct {
	Token     string    `json:"token" doc:"A bearer token, which stands for the credential that made the link."`
	ExpiresAt time.Time `json:"expires_at"`
	Workspace string    `json:"workspace"`
}

func (s *Server) signInRoutes(r *route.Table) {
	route.Add(r, route.Rule{Scope: request.ScopeAdmin, Global: true}, huma.Operation{OperationID: "create-sign-in-link", Method: http.MethodPost, Path: "/v1/sign-in-links", Tags: []string{"Administration"}, Summary: "A link that signs in to the page once",
		Description: "Opens the page as the caller, for two minutes and one use."}, s.signInLink)
	route.Add(r, route.Rule{Public: true}, huma.Operation{OperationID: "exchange-sign-in-link", Method: http.MethodPost, Path: "/v1/sign-in-links/exchange", Tags: []string{"Administration"}, Summary: "Exchange the code of a sign-in link for a session token",
		Description: "410 if the link was used or has expired. The token ends after 12 hours, with the process, and when the credential that made the link is revoked.", Errors: []int{http.StatusGone}}, s.exchangeLink)
}

func (s *Server) signInLink(ctx context.Context, _ *struct{}) (signInAnswer, error) {
	code, now, a := rand.Text(), s.cfg.Now(), request.From(ctx)
	s.page.Lock()
	defer s.page.Unlock()
	link := &signIn{credential: a.Credential, workspace: a.Workspace, ends: now.Add(linkLife)}
	s.page.links.add(code, link, now)
	return signInAnswer{"/#/sign-in?code=" + code, link.ends.UTC()}, nil
}

func (s *Server) exchangeLink(_ context.Context, q *question[exchangeBody]) (none exchangeAnswer, err error) {
	now := s.cfg.Now()
	s.page.Lock()
	defer s.page.Unlock()
	link := s.page.links.get(q.Body.Code)
	again := "; POST /v1/sign-in-links makes another"
	switch {
	case link == nil:
		return none, problem.New(http.StatusGone, "this sign-in link is unknown here, or has expired"+again)
	case link.used:
		return none, problem.New(http.StatusGone, "this sign-in link was used already"+again)
	case now.After(link.ends):
		return none, problem.New(http.StatusGone, fmt.Sprintf("this sign-in link expired after %g minutes%s", linkLife.Minutes(), again))
	}
	link.used = true
	session := *link
	session.ends = now.Add(sessionLife)
	token := sessionPrefix + rand.Text()
	s.page.sessions.add(token, &session, now)
	return exchangeAnswer{token, session.ends.UTC(), session.workspace}, nil
}

// session is the session that a token names; ok is false where there is none.
func (s *Server) session(token string) (_ signIn, ok bool) {
	s.page.Lock()
	defer s.page.Unlock()
	one := s.page.sessions.get(token)
	if one == nil || s.cfg.Now().After(one.ends) {
		return signIn{}, false
	}
	return *one, true
}
