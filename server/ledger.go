package server

import (
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"waymark/server/ledger"
)

// books are the accounts of the workspaces since the program was started. They are not stored: what a
// conversation would have cost without us is of no use once it is over.
type books struct {
	mu          sync.Mutex
	byWorkspace map[string]*ledger.Book
}

func (b *books) of(workspace string) *ledger.Book {
	b.mu.Lock()
	defer b.mu.Unlock()
	book := b.byWorkspace[workspace]
	if book == nil {
		book = new(ledger.Book)
		b.byWorkspace[workspace] = book
	}
	return book
}

func (b *books) drop(workspace string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.byWorkspace, workspace)
}

// listedSize is what a tool of ours takes in the prompt of a host, in bytes, as definitionSize.
func listedSize(t *mcp.Tool) int {
	text, err := encodeJSON(map[string]any{"name": t.Name, "description": t.Description, "inputSchema": t.InputSchema})
	if err != nil {
		return 0 // it could not be listed either
	}
	return len(text) + len(",")
}

// ledgerMetrics are the account of the asking workspace.
func (s *Server) ledgerMetrics(own *prometheus.Registry, r *http.Request) {
	t := s.cfg.books.of(accessFrom(r.Context()).Workspace).Totals()
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
