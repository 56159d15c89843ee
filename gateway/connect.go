package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect starts or reaches the server and shakes hands: by the newest revision of the protocol, and if
// that leads nowhere, by the one before, which is the last that all servers know.
func (u *upstream) connect(ctx context.Context) (*link, error) {
	def, err := u.def.expanded(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	def.SSE = def.SSE || u.sse
	if !u.legacy && !def.SSE {
		first, cancel := context.WithTimeout(ctx, u.opts.StartTimeout/2)
		defer cancel()
		l, err := u.shake(first, def, "")
		if err == nil || ctx.Err() != nil || errors.Is(err, errNoStart) || errors.Is(err, errNoLogin) {
			return l, err
		}
		u.log.Debug("a server did not take the newest revision", "error", err)
	}
	l, err := u.shake(ctx, def, lastWithHandshake)
	if err != nil && def.URL != "" && !def.SSE && ctx.Err() == nil && !errors.Is(err, errNoLogin) && !errors.Is(err, errItself) { // configurations often name no transport
		def.SSE = true
		if l, sse := u.shake(ctx, def, lastWithHandshake); sse == nil {
			u.sse = true
			return l, nil
		}
	}
	if err == nil {
		u.legacy = true
	}
	return l, err
}

// lastWithHandshake is the last revision that begins with a handshake.
const lastWithHandshake = "2025-11-25"

// ownName is what Waymark calls itself in a handshake.
const ownName = "waymark"

// errItself: the tools of a Waymark would be asked by their own answers.
var errItself = errors.New("the server is Waymark: a gateway does not connect to one, least of all to itself")

// errNoStart: there is nothing to shake hands with.
var errNoStart = errors.New("the program cannot be run")

func (u *upstream) shake(ctx context.Context, def Definition, revision string) (*link, error) {
	l := &link{done: make(chan struct{}), broken: make(chan struct{})}
	client := mcp.NewClient(&mcp.Implementation{Name: ownName, Title: "Waymark", Version: u.opts.Version}, &mcp.ClientOptions{
		Logger:                 slog.New(slog.DiscardHandler),
		Capabilities:           &mcp.ClientCapabilities{}, // what a host can do comes with its calls
		MultiRoundTrip:         &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { u.refresh() },

		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { u.refresh() },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { u.refresh() },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			l.progress.report(r.Params)
		},
	})
	transport, err := u.transport(def, l)
	if err != nil {
		return nil, err
	}
	opening, opened := ctx, func() bool { return true }
	l.end = func() {}
	if def.SSE { // its stream lasts as long as the connection
		opening, l.end = context.WithCancel(context.WithoutCancel(ctx))
		opened = context.AfterFunc(ctx, l.end)
	}
	session, err := client.Connect(opening, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if !opened() && err == nil {
		err = errors.Join(context.Cause(ctx), session.Close())
	}
	if err != nil {
		l.end()
		if l.child != nil {
			story := l.child.story()
			l.child.end(true)
			return nil, fmt.Errorf("%w (%s)", err, story)
		}
		return nil, u.refusal(l, err)
	}
	l.session = session
	if info := session.InitializeResult(); info != nil && info.ServerInfo != nil && info.ServerInfo.Name == ownName {
		close(l.done)
		u.close(l, true)
		return nil, errItself
	}
	go func() {
		l.err = session.Wait()
		close(l.done)
	}()
	return l, nil
}

// transport is the way to the server. Over pipes it starts it.
func (u *upstream) transport(def Definition, l *link) (mcp.Transport, error) {
	if def.URL != "" {
		next := u.opts.HTTP
		if def.Reserved && u.opts.reserved != nil {
			next = u.opts.reserved
		}
		var login auth.OAuthHandler
		if _, fixed := def.Headers["Authorization"]; !fixed {
			login = &signed{u.opts.Logins, &def, next, &l.refused}
		}
		client := &http.Client{
			Transport:     &wire{next: next, headers: def.Headers, limit: u.opts.Limits.MaxAnswer, sse: def.SSE, login: login != nil && !def.SSE},
			CheckRedirect: noRedirect,
		}
		if def.SSE {
			return tapped{&mcp.SSEClientTransport{Endpoint: def.URL, HTTPClient: client}}, nil
		}
		return &mcp.StreamableClientTransport{Endpoint: def.URL, HTTPClient: client, OAuthHandler: login, MaxEventSize: u.opts.Limits.MaxAnswer, MaxRetries: 2}, nil
	}
	c, err := start(def, u.log)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoStart, err)
	}
	l.child, l.frames = c, newFrames(c.stdout, u.opts.Limits.MaxAnswer)
	return tapped{&mcp.IOTransport{Reader: l.frames, Writer: c.stdin, MaxLineLength: u.opts.Limits.MaxAnswer + 4<<10}}, nil
}

// close ends a connection. A child that does not answer is not asked.
func (u *upstream) close(l *link, hurry bool) {
	select {
	case <-l.done:
	default:
		l.breakOff("waymark is stopping it") // ends the calls under way; a reason given before stands
	}
	if l.child != nil {
		l.child.end(hurry)
	}
	_ = l.session.Close()
	l.end()
	<-l.done
}
