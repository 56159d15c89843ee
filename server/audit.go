package server

import (
	"context"
	"net/http"

	"waymark/catalog"
	"waymark/internal/redact"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/problem"
	"waymark/server/internal/request"
)

// maxAsked is how many bytes of the parameters and the body of a request the line of an administrative act holds, and
// maxLogged how many of an error, which may quote them.
const (
	maxAsked  = 256
	maxLogged = 1 << 10
)

// refusedActs is how many acts of a credential that change nothing are logged a second: one an hour.
const refusedActs = 1.0 / 3600

// audit logs an administrative act. The line holds what was asked for without secrets, and never an answer, which may
// hold a key. Refused acts cost their caller nothing, and so do rebuilds, which may be refused later or join the one that
// runs, so that few of them are logged.
func (s *Server) audit(ctx context.Context, act string, asked any, err error) {
	a, x, status := request.From(ctx), request.ExchangeFrom(ctx), http.StatusOK
	if err != nil {
		status = problem.Of(err).Status
	}
	credential := a.Credential
	if act == "rebuild" && err == nil {
		credential = act + " " + credential
	}
	if (act == "rebuild" || err != nil) && !s.refused.get(credential, refusedActs, 1).AllowN(s.cfg.Now(), 1) {
		return
	}
	text, _ := jsonio.Encode(asked)
	s.cfg.Logger.InfoContext(ctx, "administrative act", "act", act, "status", status, "source", a.Source, "workspace", a.Workspace,
		"address", a.Peer, "request", x.Id, "about", x.About, "asked", catalog.Cut(redact.Text(string(text)), maxAsked))
}
