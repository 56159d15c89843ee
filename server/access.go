package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"

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

// headerConversation names the conversation of a request that has no MCP session. It separates calls of one
// credential and grants nothing.
const headerConversation = "Waymark-Conversation"

// peerOf is the address of the machine that a request comes from.
func peerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}
