package mcpserver

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/server/internal/limit"
	"waymark/server/internal/request"
)

// headerSession names the session of a request up to revision 2025-11-25.
const headerSession = "Mcp-Session-Id"

// sessionSpare is how long a session has to be unused before it gives way to a new one of the same client.
const sessionSpare = time.Minute

// mcpSessions keeps the number of sessions within the parts of their clients. Hosts that are restarted leave sessions
// behind, so a client at its limit first loses the session that it has not used for longest; hosts begin another when
// theirs is gone. Where all are in use a new one is refused.
type mcpSessions struct {
	limit.Share
	now       func() time.Time
	holdersOf func(request.Access) []limit.Holder
	live      func() map[string]*mcp.ServerSession

	mu    sync.Mutex
	known map[string]*mcpSession // by id
}

type mcpSession struct {
	*limit.Hold
	id    string // empty while it begins
	last  time.Time
	calls int // under way
}

// enter counts a request of a session, or a session that begins with it, until finished is called.
func (m *mcpSessions) enter(a request.Access, r *http.Request, w http.ResponseWriter) (finished func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.known[r.Header.Get(headerSession)]
	if s == nil {
		if r.Method != http.MethodPost || r.Header.Get(headerSession) != "" {
			return func() {}, nil // there is no such session, and none begins
		}
		room, err := m.begin(m.holdersOf(a))
		if err != nil {
			return nil, err
		}
		s = &mcpSession{Hold: room}
	}
	s.calls++
	return func() { m.leave(s, w.Header().Get(headerSession)) }, nil
}

// begin makes room for a session. m.mu is held.
func (m *mcpSessions) begin(holders []limit.Holder) (*limit.Hold, error) {
	open := m.live()
	maps.DeleteFunc(m.known, func(id string, s *mcpSession) bool {
		ended := open[id] == nil && s.calls == 0
		if ended {
			s.Release()
		}
		return ended
	})
	room, err := m.Take(1, holders)
	if err == nil {
		return room, nil
	}
	ids := slices.SortedFunc(maps.Keys(m.known), func(a, b string) int {
		return cmp.Or(m.known[a].last.Compare(m.known[b].last), cmp.Compare(a, b))
	})
	for _, id := range ids {
		if s := m.known[id]; s.calls == 0 && s.Holders[0] == holders[0] && m.now().Sub(s.last) >= sessionSpare {
			s.Release()
			delete(m.known, id)
			go func() { _ = open[id].Close() }()
			return m.Take(1, holders)
		}
	}
	return nil, err
}

// leave ends a request. A session that the answer names has begun, if it was not known.
func (m *mcpSessions) leave(s *mcpSession, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.calls--
	s.last = m.now()
	switch {
	case s.id != "":
	case id != "":
		s.id, m.known[id] = id, s
	default:
		s.Release()
	}
}
