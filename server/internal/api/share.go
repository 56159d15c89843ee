package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"

	"golang.org/x/sync/semaphore"
)

// The total that the server may hold at once is divided, so that no client can use up the part of the others: one API
// key holds at most a quarter of each total; one address, and the operator, at most half.
const (
	keyPart     = 4
	addressPart = 2
)

// Client is a client that shares are counted against.
type Client struct {
	name string
	part int64 // it holds at most total/part
	says string
}

// ClientsOf returns the clients that a request counts against: its credential, then its address. The address of a proxy
// does not count, because many clients share it.
func ClientsOf(a Access, isProxy func(address string) bool) []Client {
	credential := Client{name: a.LimitKey(), part: keyPart, says: "this credential"}
	if a.Operator {
		credential.part, credential.says = addressPart, "the operator"
	}
	return append([]Client{credential}, addressClient(a.Peer, isProxy)...)
}

// addressClient returns the address as a client; nil if it does not count.
func addressClient(peer string, isProxy func(address string) bool) []Client {
	address := AddressOf(peer)
	if address == "" || isProxy(address) {
		return nil
	}
	return []Client{{name: "address " + address, part: addressPart, says: "this address"}}
}

// AddressOf returns the address that limits count by. For IPv6 it is the /64 network, which one customer has.
func AddressOf(peer string) string {
	a, err := netip.ParseAddr(peer)
	if err != nil {
		return ""
	}
	if a = a.Unmap().WithZone(""); a.Is6() && !a.IsLoopback() {
		p, _ := a.Prefix(64) // fails only for an invalid number of bits
		return p.String()
	}
	return a.String()
}

// A Share divides a total among clients.
type Share struct {
	what  string // the unit, for errors
	total int64

	mu   sync.Mutex
	used int64
	by   map[string]int64
}

// NewShare returns a share of a total; what names its unit.
func NewShare(what string, total int64) Share { return Share{what: what, total: total} }

// A Hold is an amount that is counted against clients.
type Hold struct {
	of      *Share
	n       int64
	Clients []Client
}

// Release gives the whole amount back. A second call, or a call on nil, does nothing.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.add(-h.n, h.Clients)
	h.n = 0
}

// Take counts n against each client. It returns 429 if a client would exceed its part, and 503 if all together would
// exceed the total.
func (s *Share) Take(n int64, clients []Client) (*Hold, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range clients {
		if most := max(s.total/h.part, 1); s.by[h.name]+n > most {
			return nil, Problem(http.StatusTooManyRequests, fmt.Sprintf("%s holds too many %s: at most %d of %d", h.says, s.what, most, s.total))
		}
	}
	if s.used+n > s.total {
		return nil, Problem(http.StatusServiceUnavailable, fmt.Sprintf("too many %s at the same time: at most %d", s.what, s.total))
	}
	s.add(n, clients)
	return &Hold{s, n, clients}, nil
}

func (s *Share) add(n int64, clients []Client) {
	if s.by == nil {
		s.by = map[string]int64{}
	}
	s.used += n
	for _, h := range clients {
		if s.by[h.name] += n; s.by[h.name] == 0 {
			delete(s.by, h.name)
		}
	}
}

// Held returns the amount that all clients hold together.
func (s *Share) Held() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// ComputeLimiter limits how many long computations run at once, one per turn. One credential uses at most all turns but
// one, in the order of arrival; its further computations wait behind these, so that they delay only that credential.
type ComputeLimiter struct {
	most  int64
	all   *semaphore.Weighted
	own   sync.Map // *semaphore.Weighted by credential: at most as many as there are keys
	queue Share
}

// maxQueued limits how many long computations run or wait, and maxQueued/queuePart how many of one credential.
const maxQueued, queuePart = 512, 8

// LongQuestion is the size in bytes up to which a request is answered without a turn. The response time grows with the
// size: a search for 500 bytes takes 2 ms, one for 8,000 bytes 40 ms.
const LongQuestion = 512

// NewComputeLimiter returns a limiter with turns for most computations at once, but at least 2.
func NewComputeLimiter(most int) *ComputeLimiter {
	n := int64(max(most, 2))
	return &ComputeLimiter{most: n, all: semaphore.NewWeighted(n), queue: NewShare("plans and other long computations", maxQueued)}
}

// Enter waits for a turn; leave ends it.
func (t *ComputeLimiter) Enter(ctx context.Context, credential string) (leave func(), err error) {
	place, err := t.queue.Take(1, []Client{{name: credential, part: queuePart, says: "this credential"}})
	if err != nil {
		return nil, err
	}
	own, _ := t.own.LoadOrStore(credential, semaphore.NewWeighted(t.most-1))
	leave = place.Release
	for _, turns := range []*semaphore.Weighted{own.(*semaphore.Weighted), t.all} {
		if err := turns.Acquire(ctx, 1); err != nil {
			leave()
			if errors.Is(err, context.DeadlineExceeded) {
				return nil, Problem(http.StatusServiceUnavailable, "plans and other long computations of others took as long as this request may take")
			}
			return nil, err
		}
		before := leave
		leave = func() { turns.Release(1); before() }
	}
	return leave, nil
}
