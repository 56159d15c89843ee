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

// maxAsked is how many bytes of the parameters and the body of a request the line of an administrative act holds.
const maxAsked = 256

// audit logs an administrative act. The line holds what was asked for without secrets, and never an answer, which may
// hold a key.
func (s *Server) audit(ctx context.Context, act string, asked any, err error) {
	a, x, status := request.From(ctx), request.ExchangeFrom(ctx), http.StatusOK
	if err != nil {
		status = problem.Of(err).Status
	}
	text, _ := jsonio.Encode(asked)
	s.cfg.Logger.InfoContext(ctx, "administrative act", "act", act, "status", status, "source", a.Source, "workspace", a.Workspace,
		"address", a.Peer, "request", x.Id, "about", x.About, "asked", catalog.Cut(redact.Text(string(text)), maxAsked))
}
