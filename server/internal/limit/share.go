// Package limit divides what a server has among its clients: connections, bytes, computations, and time.
package limit

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"waymark/server/internal/problem"
	"waymark/server/internal/request"
)

// What the whole server may hold at once is divided, so that no client can use up what the others need: one API key
// holds at most a quarter of each total, one address, and the operator, at most half.
const (
	keyPart     = 4
	AddressPart = 2
)

// Holder is a client as the shares count it.
type Holder struct {
	name string
	part int64 // it holds at most this part of a total
	says string
}

// HoldersOf names the clients that a request counts against: its credential and its address, the credential first.
// Many clients come from the address of a proxy, so it does not count.
func HoldersOf(a request.Access, isProxy func(address string) bool) []Holder {
	credential := Holder{name: a.Source, part: keyPart, says: "this credential"}
	if a.Operator {
		credential = Holder{name: "operator", part: AddressPart, says: "the operator"}
	}
	address := AddressOf(a.Peer)
	if address == "" || isProxy(address) {
		return []Holder{credential}
	}
	return []Holder{credential, {name: "address " + address, part: AddressPart, says: "this address"}}
}

// AddressOf is the address that limits count by: of IPv6 the network of 64 bits, which is what one customer has.
func AddressOf(peer string) string {
	a, err := netip.ParseAddr(peer)
	if err != nil {
		return ""
	}
	if a = a.Unmap().WithZone(""); a.Is6() && !a.IsLoopback() {
		p, _ := a.Prefix(64) // fails only for more bits than there are
		return p.String()
	}
	return a.String()
}

// A Share divides a total of something among clients.
type Share struct {
	what  string // in errors
	total int64

	mu   sync.Mutex
	used int64
	by   map[string]int64
}

// NewShare divides a total of what it names.
func NewShare(what string, total int64) Share { return Share{what: what, total: total} }

// A Hold is what is counted against clients.
type Hold struct {
	of      *Share
	n       int64
	Holders []Holder
}

// Keep gives back all but n.
func (h *Hold) Keep(n int64) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if n < h.n {
		h.of.add(n-h.n, h.Holders)
		h.n = n
	}
}

// Release gives all back.
func (h *Hold) Release() { h.Keep(0) }

// Take counts n against each holder. A holder whose part is used up is refused with 429, everybody with 503 once the
// total is.
func (s *Share) Take(n int64, holders []Holder) (*Hold, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range holders {
		if most := max(s.total/h.part, 1); s.by[h.name]+n > most {
			return nil, problem.New(http.StatusTooManyRequests, fmt.Sprintf("%s holds too many %s: at most %d of %d", h.says, s.what, most, s.total))
		}
	}
	if s.used+n > s.total {
		return nil, problem.New(http.StatusServiceUnavailable, fmt.Sprintf("too many %s at the same time: at most %d", s.what, s.total))
	}
	s.add(n, holders)
	return &Hold{s, n, holders}, nil
}

func (s *Share) add(n int64, holders []Holder) {
	if s.by == nil {
		s.by = map[string]int64{}
	}
	s.used += n
	for _, h := range holders {
		if s.by[h.name] += n; s.by[h.name] == 0 {
			delete(s.by, h.name)
		}
	}
}

// Held is what all hold together.
func (s *Share) Held() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Turns lets a number of long computations run at once. Those that wait get their turn by credential, one each in
// rotation, so that a credential with many questions delays its own only.
type Turns struct {
	slots int // computations at once; one credential gets at most all but one

	mu      sync.Mutex
	busy    int
	running map[string]int
	waiting map[string][]chan struct{}
	ring    []string // credentials that wait, the next one first
}

// maxWaiting is how many questions of one credential wait for their turn; maxQueued how many of all.
const (
	maxWaiting = 64
	maxQueued  = 512
)

// LongQuestion is how many bytes of a question are answered without waiting for a turn. The time of an answer grows with
// them: a search for 500 bytes takes 2 ms, one for 8,000 bytes 40 ms.
const LongQuestion = 512

// NewTurns lets a number of computations run at once.
func NewTurns(slots int) *Turns {
	return &Turns{slots: max(slots, 2), running: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// Enter waits for a turn; leave ends it.
func (t *Turns) Enter(ctx context.Context, who string) (leave func(), err error) {
	t.mu.Lock()
	queued := 0
	for _, w := range t.waiting {
		queued += len(w)
	}
	switch {
	case len(t.waiting[who]) >= maxWaiting:
		t.mu.Unlock()
		return nil, problem.New(http.StatusTooManyRequests, "too many plans and other long computations of this credential wait for their turn")
	case queued >= maxQueued:
		t.mu.Unlock()
		return nil, problem.New(http.StatusServiceUnavailable, "too many plans and other long computations wait for their turn")
	}
	turn := make(chan struct{})
	if len(t.waiting[who]) == 0 {
		t.ring = append(t.ring, who)
	}
	t.waiting[who] = append(t.waiting[who], turn)
	t.next()
	t.mu.Unlock()
	leave = sync.OnceFunc(func() { t.leave(who) })
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(t.waiting[who], turn); at >= 0 {
		t.drop(who, at)
	} else { // its turn came at the same moment
		t.end(who)
	}
	if context.Cause(ctx) == context.DeadlineExceeded {
		return nil, problem.New(http.StatusServiceUnavailable, "plans and other long computations of others took as long as this request may take")
	}
	return nil, ctx.Err()
}

// next starts what may start. t.mu is held.
func (t *Turns) next() {
	for tried := 0; t.busy < t.slots && tried < len(t.ring); {
		who := t.ring[0]
		t.ring = append(t.ring[1:], who)
		if t.running[who] >= t.slots-1 {
			tried++
			continue
		}
		close(t.waiting[who][0])
		t.drop(who, 0)
		t.busy++
		t.running[who]++
		tried = 0
	}
}

// drop takes one that waits out of the queue. t.mu is held.
func (t *Turns) drop(who string, at int) {
	if t.waiting[who] = slices.Delete(t.waiting[who], at, at+1); len(t.waiting[who]) == 0 {
		delete(t.waiting, who)
		t.ring = slices.DeleteFunc(t.ring, func(w string) bool { return w == who })
	}
}

func (t *Turns) leave(who string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end(who)
}

// end frees the slot of one that ran. t.mu is held.
func (t *Turns) end(who string) {
	t.busy--
	if t.running[who]--; t.running[who] == 0 {
		delete(t.running, who)
	}
	t.next()
}
