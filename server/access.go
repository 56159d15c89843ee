package server

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"

	"waymark/live"
)

// scopes is a set of what a caller may do.
type scopes uint8

const (
	scopeRead  scopes = 1 << iota // ask: search, next, dag, explain, lists, graph, stats
	scopeWrite                    // tell: episodes, feedback, catalog, rebuild
	scopeAdmin                    // keep house: keys, import, export, forget, backup
)

const allScopes = scopeRead | scopeWrite | scopeAdmin

var scopeNames = []struct {
	scope scopes
	name  string
}{{scopeRead, "read"}, {scopeWrite, "write"}, {scopeAdmin, "admin"}}

// names lists the scopes in the set, weakest first.
func (s scopes) names() []string {
	out := []string{}
	for _, n := range scopeNames {
		if s&n.scope != 0 {
			out = append(out, n.name)
		}
	}
	return out
}

// parseScopes is the inverse of names.
func parseScopes(names []string) (scopes, error) {
	var set scopes
	for _, name := range names {
		known := false
		for _, n := range scopeNames {
			if n.name == name {
				set, known = set|n.scope, true
			}
		}
		if !known {
			return 0, fmt.Errorf("unknown scope %q: want read, write or admin", name)
		}
	}
	return set, nil
}

// access is who is asking: the one workspace the request may see, what it may do there, and the
// source under which its episodes count. These come from the credential alone, never from a body.
type access struct {
	Workspace string
	Scopes    scopes
	Source    string
	Local     bool // bearer of the local token: the user who started the server
	Operator  bool // may act on the whole data directory: Local, or anybody on a loopback without keys

	// What tells the callers of one credential apart, and grants nothing.
	Conversation string // as the caller names it; may be empty
	Peer         string // address of the other end; empty over a pipe
}

// may reports whether every scope asked for is granted.
func (a access) may(want scopes) bool { return a.Scopes&want == want }

// approves reports whether what the caller puts into the catalog counts as looked at: a key with the scope admin does,
// and the command line of this machine, but not somebody without a credential.
func (a access) approves() bool { return a.may(scopeAdmin) && (a.Local || !a.Operator) }

type accessKey struct{}

func withAccess(ctx context.Context, a access) context.Context {
	return context.WithValue(ctx, accessKey{}, a)
}

// accessFrom is the access of the request. The zero access may do nothing.
func accessFrom(ctx context.Context) access {
	a, _ := ctx.Value(accessKey{}).(access)
	return a
}

const defaultWorkspace = live.DefaultWorkspace

// The headers by which the local command line picks a workspace and a source.
const (
	headerWorkspace = "Waymark-Workspace"
	headerSource    = "Waymark-Source"
)

var (
	workspaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	sourceName    = regexp.MustCompile(`^[!-~]{1,128}$`)
)

var (
	errNoCredential  = errors.New("an API key is required: Authorization: Bearer wmk_…")
	errBadCredential = errors.New("the credential is unknown or revoked")
)

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
