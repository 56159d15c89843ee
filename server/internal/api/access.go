package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"

	"waymark/live"
	"waymark/suggest"
)

// Scopes is a set of permissions.
type Scopes uint8

const (
	ScopeRead  Scopes = 1 << iota // reads: search, next, dag, explain, lists, graph, stats
	ScopeWrite                    // records: episodes, feedback, catalog, rebuild
	ScopeAdmin                    // administration: keys, import, export, forget, backup
)

// AllScopes contains every scope.
const AllScopes = ScopeRead | ScopeWrite | ScopeAdmin

// scopeNames are the names of the scopes by their bits.
var scopeNames = []string{"read", "write", "admin"}

// Names lists the scopes in the set, weakest first.
func (s Scopes) Names() []string {
	out := []string{}
	for i, name := range scopeNames {
		if s&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// ParseScopes is the inverse of Names.
func ParseScopes(names []string) (Scopes, error) {
	var set Scopes
	for _, name := range names {
		i := slices.Index(scopeNames, name)
		if i < 0 {
			return 0, fmt.Errorf("unknown scope %q: want read, write or admin", name)
		}
		set |= 1 << i
	}
	return set, nil
}

// Access is the caller of a request: the one workspace that it may use, its permissions there, and the source under
// which its episodes are recorded. These come from the credential alone, never from a body.
type Access struct {
	Workspace  string
	Scopes     Scopes
	Source     string
	Local      bool   // bearer of the local token: the user who started the server
	Operator   bool   // may act on the whole data directory: Local, or any caller on a loopback without keys
	Credential string // the Authorization header; of a page session, the header of the caller that created its link

	// Tools is the tool set of the calling agent; nil: all tools.
	Tools *suggest.ToolSet

	// These fields distinguish the callers of one credential, and grant nothing.
	Conversation string // named by the caller; may be empty
	Peer         string // remote address; empty over a pipe
	Session      string // session of MCP for recorded episodes that name none; may be empty
}

// LimitKey returns the key that limits count a request under. The operator has one key, whatever source it claims.
func (a Access) LimitKey() string {
	if a.Operator {
		return "operator"
	}
	return a.Source
}

// May reports whether all wanted scopes are granted.
func (a Access) May(want Scopes) bool { return a.Scopes&want == want }

// Trust returns the trust in catalog entries of the caller. Entries from a key with the scope admin, or from the
// command line of this machine, count as reviewed. Entries from a caller without a credential, on a server without
// keys, are checked.
func (a Access) Trust() live.Trust {
	switch {
	case !a.May(ScopeAdmin):
		return live.Untrusted
	case a.Operator && !a.Local:
		return live.Checked
	}
	return live.Approver
}

// Approves reports whether the caller may read and release entries that wait for approval.
func (a Access) Approves() bool { return a.Trust() == live.Approver }

type accessKey struct{}

// With returns a context that carries the access of a request.
func With(ctx context.Context, a Access) context.Context {
	return context.WithValue(ctx, accessKey{}, a)
}

// From returns the access of the request. The zero access has no permissions.
func From(ctx context.Context) Access {
	a, _ := ctx.Value(accessKey{}).(Access)
	return a
}

// DefaultWorkspace is the workspace of a caller without a key.
const DefaultWorkspace = live.DefaultWorkspace

// The headers with which the local command line selects a workspace, a source and an agent.
const (
	HeaderWorkspace = "Waymark-Workspace"
	HeaderSource    = "Waymark-Source"
	HeaderAgent     = "Waymark-Agent" // the agent whose tool set limits the request
)

var (
	WorkspaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	SourceName    = regexp.MustCompile(`^[!-~]{1,128}$`)
)

var (
	ErrNoCredential  = errors.New("an API key is required: Authorization: Bearer wmk_…")
	ErrBadCredential = errors.New("the credential is unknown or revoked")
	ErrNoSession     = errors.New("the session has ended; sign in again")
)

// HeaderConversation names the conversation of a request without an MCP session. It distinguishes calls of one
// credential and grants nothing.
const HeaderConversation = "Waymark-Conversation"

// PeerOf returns the address of the machine that sent a request.
func PeerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// Exchange is one request and its response, for the log.
type Exchange struct {
	Id       string
	Failure  error    // cause of a 5xx; never shown to the caller
	Size     int64    // bytes read of the body
	Cleanups []func() // called after the request has been answered

	// Progress sends the progress of the work to the caller; nil: the caller did not request it.
	Progress func(done, total float64, message string)
	reported bool    // Progress was called before
	done     float64 // in the last report
	message  string
}

// Report sends the progress of the work to a caller that requested it. The reported value never decreases, and steps of
// less than 1 % with the same message are left out: a hundred notifications are as useful as a million.
func (x *Exchange) Report(done, total float64, message string) {
	small := done < x.done+total/100 && message == x.message && done < total
	if x.Progress == nil || x.reported && (done <= x.done || small) {
		return
	}
	x.reported, x.done, x.message = true, done, message
	x.Progress(done, total, message)
}

type exchangeKey struct{}

// WithExchange returns a context that carries the exchange of a request.
func WithExchange(ctx context.Context, x *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// ExchangeFrom returns the exchange of a context. It is never nil, so that code outside a request can set a failure.
func ExchangeFrom(ctx context.Context) *Exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*Exchange); ok {
		return x
	}
	return new(Exchange)
}
