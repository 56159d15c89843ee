package server

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"waymark/live/state"
	"waymark/storage"
)

func (s *Server) keys() state.Keys { return state.Keys{Table: s.cfg.Store.System()} }

// createKey stores a new key and returns it with the only copy of its text. A workspace that does not exist is
// created: who has a key may ask before anything is recorded.
func (s *Server) createKey(ctx context.Context, name, workspace string, set scopes) (state.KeyInfo, string, error) {
	if err := s.cfg.Workspaces.Create(ctx, workspace); err != nil {
		return state.KeyInfo{}, "", err
	}
	return s.keys().Create(ctx, name, workspace, set.names(), s.cfg.Now())
}

// keyAccess is the access that the text of a key grants. Unknown id and wrong secret are one error.
func (s *Server) keyAccess(ctx context.Context, token string) (access, error) {
	row, err := s.keys().Verify(ctx, token)
	if errors.Is(err, state.ErrBadKey) {
		return access{}, errBadCredential
	}
	if err != nil {
		return access{}, err
	}
	set, err := parseScopes(row.Scopes)
	if err != nil {
		return access{}, fmt.Errorf("key %s: %w", row.ID, errors.Join(storage.ErrDamaged, err))
	}
	return access{Workspace: row.Workspace, Scopes: set, Source: "key:" + row.ID}, nil
}

// accessOf decides who a request is from.
//
//	no Authorization   loopback without keys: everything in "default"; otherwise refused
//	the local token    everything; Waymark-Workspace and Waymark-Source are obeyed
//	wmk_<id>_<secret>  what the key grants
//
// From anybody but the bearer of the local token the two headers are refused rather than ignored,
// so that nobody believes to have written somewhere else.
func (s *Server) accessOf(r *http.Request) (access, error) {
	a, err := s.credential(r)
	if err != nil {
		return access{}, err
	}
	a.Conversation, a.Peer = r.Header.Get(headerConversation), peerOf(r)
	workspace, source := r.Header.Get(headerWorkspace), r.Header.Get(headerSource)
	if workspace == "" && source == "" {
		return a, nil
	}
	if !a.Local {
		return access{}, refuse(http.StatusForbidden,
			headerWorkspace+" and "+headerSource+" are obeyed only with the local token; the workspace comes from the credential")
	}
	if workspace != "" {
		if !workspaceName.MatchString(workspace) {
			return access{}, refuse(http.StatusBadRequest, fmt.Sprintf("workspace %q is not a name of 1 to 64 of a-z, 0-9, dot, dash, underscore", workspace))
		}
		a.Workspace = workspace
	}
	if source != "" {
		if !sourceName.MatchString(source) {
			return access{}, refuse(http.StatusBadRequest, "the source is not 1 to 128 visible ASCII characters")
		}
		a.Source = source
	}
	return a, nil
}

func (s *Server) credential(r *http.Request) (access, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		// A handler mounted elsewhere than in Serve may stand on an address that others can reach.
		local, known := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		if s.cfg.RequireKey || known && !local.IP.IsLoopback() {
			return access{}, errNoCredential
		}
		return access{Workspace: defaultWorkspace, Scopes: allScopes, Source: "local", Operator: true}, nil
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return access{}, errBadCredential
	}
	token = strings.TrimSpace(token)
	if s.cfg.LocalToken != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.cfg.LocalToken)) == 1 {
		return access{Workspace: defaultWorkspace, Scopes: allScopes, Source: "local", Local: true, Operator: true}, nil
	}
	return s.keyAccess(r.Context(), token)
}
