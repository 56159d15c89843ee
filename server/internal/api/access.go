package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"

	"waymark/live"
	"waymark/suggest"
)

// Scopes is a set of what a caller may do.
type Scopes uint8

const (
	ScopeRead  Scopes = 1 << iota // ask: search, next, dag, explain, lists, graph, stats
	ScopeWrite                    // tell: episodes, feedback, catalog, rebuild
	ScopeAdmin                    // keep house: keys, import, export, forget, backup
)

// AllScopes are all scopes there are.
const AllScopes = ScopeRead | ScopeWrite | ScopeAdmin

var scopeNames = []struct {
	scope Scopes
	name  string
}{{ScopeRead, "read"}, {ScopeWrite, "write"}, {ScopeAdmin, "admin"}}

// Names lists the scopes in the set, weakest first.
func (s Scopes) Names() []string {
	out := []string{}
	for _, n := range scopeNames {
		if s&n.scope != 0 {
			out = append(out, n.name)
		}
	}
	return out
}

// ParseScopes is the inverse of names.
func ParseScopes(names []string) (Scopes, error) {
	var set Scopes
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

// Access is who is asking: the one workspace the request may see, what it may do there, and the
// source under which its episodes count. These come from the credential alone, never from a body.
type Access struct {
	Workspace  string
	Scopes     Scopes
	Source     string
	Local      bool   // bearer of the local token: the user who started the server
	Operator   bool   // may act on the whole data directory: Local, or anybody on a loopback without keys
	Credential string // the header Authorization behind it; of a session, the one that its link was made with

	// Tools is the tool set of the agent that asks; nil: everything.
	Tools *suggest.ToolSet

	// What tells the callers of one credential apart, and grants nothing.
	Conversation string // as the caller names it; may be empty
	Peer         string // address of the other end; empty over a pipe
	Session      string // of MCP, under which the caller's episodes are kept that name none; may be empty
}

// Holder names the credential against which limits count: that of the operator is one, whatever source it claims.
func (a Access) Holder() string {
	if a.Operator {
		return "operator"
	}
	return a.Source
}

// May reports whether every scope asked for is granted.
func (a Access) May(want Scopes) bool { return a.Scopes&want == want }

// Trust is how far the caller is trusted with the catalog: what a key with the scope admin and the command line of this
// machine put counts as looked at; what somebody without a credential puts, on a server without keys, is checked.
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

// With is a context of a request by a caller.
func With(ctx context.Context, a Access) context.Context {
	return context.WithValue(ctx, accessKey{}, a)
}

// From is the access of the request. The zero access may do nothing.
func From(ctx context.Context) Access {
	a, _ := ctx.Value(accessKey{}).(Access)
	return a
}

// DefaultWorkspace is the workspace of a caller without a key.
const DefaultWorkspace = live.DefaultWorkspace

// The headers by which the local command line picks a workspace and a source.
const (
	HeaderWorkspace = "Waymark-Workspace"
	HeaderSource    = "Waymark-Source"
	HeaderAgent     = "Waymark-Agent" // and an agent, whose tool set then bounds the request
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

// HeaderConversation names the conversation of a request that has no MCP session. It separates calls of one
// credential and grants nothing.
const HeaderConversation = "Waymark-Conversation"

// PeerOf is the address of the machine that a request comes from.
func PeerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// Exchange is one request and its answer, for the log.
type Exchange struct {
	Id      string
	Failure error    // behind a 5xx; never shown to the caller
	Size    int64    // of the body, as far as it was read
	Ended   []func() // called once the request is answered

	// Progress tells the caller how far the work is; nil: it did not ask.
	Progress func(done, total float64, message string)
	reported bool    // once
	done     float64 // at last
	message  string
}

// Report sends the caller the progress of the work, if it asked for it. What is done never falls, and small steps are left out: a
// hundred notifications are as good as a million.
func (x *Exchange) Report(done, total float64, message string) {
	small := done < x.done+total/100 && message == x.message && done < total
	if x.Progress == nil || x.reported && (done <= x.done || small) {
		return
	}
	x.reported, x.done, x.message = true, done, message
	x.Progress(done, total, message)
}

type exchangeKey struct{}

// WithExchange is a context of a request.
func WithExchange(ctx context.Context, x *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// ExchangeFrom is never nil, so that code outside a request may note a failure without a check.
func ExchangeFrom(ctx context.Context) *Exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*Exchange); ok {
		return x
	}
	return new(Exchange)
}
