package mcpserver

import (
	"net/http"
	"sync"

	"waymark/server/internal/api"
)

// headerSession names the session of a request up to revision 2025-11-25.
const headerSession = "Mcp-Session-Id"

// mcpSessions limits the number of sessions, of each client and in total. The SDK ends idle sessions.
type mcpSessions struct {
	api.Share
	clientsOf func(api.Access) []api.Client
	live      func() map[string]bool // ids of open sessions

	mu    sync.Mutex
	known map[string]*api.Hold // by id
}

// enter counts the session that a request begins, if any. finished is called after the response, which names it.
func (m *mcpSessions) enter(a api.Access, r *http.Request, w http.ResponseWriter) (finished func(), err error) {
	if r.Method != http.MethodPost || r.Header.Get(headerSession) != "" {
		return func() {}, nil
	}
	live := m.live()
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, held := range m.known {
		if !live[id] {
			held.Release()
			delete(m.known, id)
		}
	}
	held, err := m.Take(1, m.clientsOf(a))
	return func() {
		id := w.Header().Get(headerSession)
		if id == "" {
			held.Release()
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.known[id] = held
	}, err
}
