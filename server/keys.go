package server

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"waymark/server/internal/api"
	"waymark/storage"
)

func (s *Server) keys() keyStore { return keyStore{Table: s.cfg.Store.System()} }

// createKey stores a new key and returns it with the only copy of its text. A workspace that does not exist is
// created: who has a key may ask before anything is recorded.
func (s *Server) createKey(ctx context.Context, name, workspace string, set api.Scopes, agent string) (KeyInfo, string, error) {
	if err := s.cfg.Workspaces.Create(ctx, workspace); err != nil {
		return KeyInfo{}, "", err
	}
	return s.keys().create(ctx, name, workspace, set.Names(), agent, s.cfg.Now())
}

// keyAccess is the access that the text of a key grants. Unknown id and wrong secret are one error.
func (s *Server) keyAccess(ctx context.Context, token string) (api.Access, error) {
	row, err := s.keys().verify(ctx, token)
	if errors.Is(err, errBadKey) {
		return api.Access{}, api.ErrBadCredential
	}
	if err != nil {
		return api.Access{}, err
	}
	set, err := api.ParseScopes(row.Scopes)
	if err != nil {
		return api.Access{}, fmt.Errorf("key %s: %w", row.ID, errors.Join(storage.ErrDamaged, err))
	}
	a := api.Access{Workspace: row.Workspace, Scopes: set, Source: "key:" + row.ID}
	if row.Agent != "" {
		a.Tools = s.cfg.Upstream.ToolSet(row.Workspace, row.Agent)
	}
	return a, nil
}

// accessOf decides who a request is from.
//
//	no Authorization   loopback without keys: everything in "default"; otherwise refused
//	the local token    everything; Waymark-Workspace, Waymark-Source and Waymark-Agent are obeyed
//	wmk_<id>_<secret>  what the key grants
//	wms_<session>      what the credential grants that made the sign-in link
//
// From anybody but the bearer of the local token these headers are refused rather than ignored,
// so that nobody believes to have written somewhere else.
func (s *Server) accessOf(r *http.Request) (api.Access, error) {
	a, err := s.credential(r)
	if err != nil {
		return api.Access{}, err
	}
	a.Conversation, a.Peer = r.Header.Get(api.HeaderConversation), api.PeerOf(r)
	workspace, source, agent := r.Header.Get(api.HeaderWorkspace), r.Header.Get(api.HeaderSource), r.Header.Get(api.HeaderAgent)
	if workspace == "" && source == "" && agent == "" {
		return a, nil
	}
	if !a.Local {
		return api.Access{}, api.Problem(http.StatusForbidden,
			api.HeaderWorkspace+", "+api.HeaderSource+" and "+api.HeaderAgent+" are obeyed only with the local token; the workspace comes from the credential")
	}
	if workspace != "" {
		if !api.WorkspaceName.MatchString(workspace) {
			return api.Access{}, api.Problem(http.StatusBadRequest, fmt.Sprintf("workspace %q is not a name of 1 to 64 of a-z, 0-9, dot, dash, underscore", workspace))
		}
		a.Workspace = workspace
	}
	if source != "" {
		if !api.SourceName.MatchString(source) {
			return api.Access{}, api.Problem(http.StatusBadRequest, "the source is not 1 to 128 visible ASCII characters")
		}
		a.Source = source
	}
	if agent != "" {
		a.Tools = s.cfg.Upstream.ToolSet(a.Workspace, agent)
	}
	return a, nil
}

func (s *Server) credential(r *http.Request) (api.Access, error) {
	values := r.Header.Values("Authorization")
	if len(values) > 1 {
		return api.Access{}, api.ErrBadCredential
	}
	if len(values) == 0 {
		return s.granted(r.Context(), "")
	}
	_, token, _ := strings.Cut(values[0], " ")
	if token = strings.TrimSpace(token); !strings.HasPrefix(token, sessionPrefix) {
		return s.granted(r.Context(), values[0])
	}
	session, ok := s.page.get(token, s.cfg.Now())
	if !ok {
		return api.Access{}, api.ErrNoSession
	}
	a, err := s.granted(r.Context(), session.credential)
	a.Workspace = session.workspace
	return a, err
}

// needsKey reports whether every request needs a credential, on loopback too: once a key exists, a request without one has no identity.
func (s *Server) needsKey(ctx context.Context) (bool, error) {
	if s.cfg.RequireKey {
		return true, nil
	}
	n, _ := s.cfg.Store.Changes("") // of the rows of the system
	if seen := s.keyed.Load(); seen != nil && seen.changes == n {
		return seen.any, nil
	}
	any, err := s.keys().any(ctx)
	if err == nil {
		s.keyed.Store(&keyed{any, n})
	}
	return any, err
}

// keyed says whether there was a key when the rows of the system had changed so often: a server answers questions while
// the database of a shared store does not.
type keyed struct {
	any     bool
	changes uint64
}

// granted is what the header Authorization grants; empty: there is none.
func (s *Server) granted(ctx context.Context, authorization string) (api.Access, error) {
	if authorization == "" {
		// A handler mounted elsewhere than in Serve may stand on an address that others can reach.
		local, known := ctx.Value(http.LocalAddrContextKey).(*net.TCPAddr)
		needed, err := s.needsKey(ctx)
		if err != nil || needed || known && !local.IP.IsLoopback() {
			return api.Access{}, cmp.Or(err, api.ErrNoCredential)
		}
		return api.Access{Workspace: api.DefaultWorkspace, Scopes: api.AllScopes, Source: "local", Operator: true}, nil
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return api.Access{}, api.ErrBadCredential
	}
	token = strings.TrimSpace(token)
	if s.cfg.LocalToken != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.cfg.LocalToken)) == 1 {
		return api.Access{Workspace: api.DefaultWorkspace, Scopes: api.AllScopes, Source: "local", Local: true, Operator: true, Credential: authorization}, nil
	}
	a, err := s.keyAccess(ctx, token)
	a.Credential = authorization
	return a, err
}
