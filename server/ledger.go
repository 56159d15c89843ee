package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"waymark/server/internal/request"
)

// ledgerMetrics are the account of the asking workspace.
func (s *Server) ledgerMetrics(own *prometheus.Registry, r *http.Request) {
	t := s.books.Of(request.From(r.Context()).Workspace).Totals()
	for _, m := range []struct {
		name, help string
		value      int
	}{
		{"waymark_discovery_conversations_total", "Conversations in which tools were looked for.", t.Conversations},
		{"waymark_discovery_turns_total", "Calls that looked for tools.", t.Turns},
		{"waymark_discovery_spent_tokens_total", "Estimated tokens of calls that looked for tools.", t.Spent},
	} {
		own.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: m.name, Help: m.help}, func() float64 { return float64(m.value) }))
	}
	for _, m := range []struct {
		name, help string
		value      int
	}{
		{"waymark_discovery_gross_tokens", "Estimated tokens of tool definitions avoided, less those listed instead.", t.Gross},
		{"waymark_discovery_net_tokens", "Gross less spent.", t.Net},
	} {
		own.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: m.name, Help: m.help}, func() float64 { return float64(m.value) }))
	}
}
