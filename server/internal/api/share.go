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

// What the whole server may hold at once is divided, so that no client can use up what the others need: one API key
// holds at most a quarter of each total, one address, and the operator, at most half.
const (
	keyPart     = 4
	addressPart = 2
)

// Holder is a client as the shares count it.
type Holder struct {
	name string
	part int64 // it holds at most this part of a total
	says string
}

// HoldersOf names the clients that a request counts against: its credential and its address, the credential first.
// Many clients come from the address of a proxy, so it does not count.
func HoldersOf(a Access, isProxy func(address string) bool) []Holder {
	credential := Holder{name: a.Holder(), part: keyPart, says: "this credential"}
	if a.Operator {
		credential.part, credential.says = addressPart, "the operator"
	}
	return append([]Holder{credential}, addressHolder(a.Peer, isProxy)...)
}

// addressHolder is the address as a client, if it counts.
func addressHolder(peer string, isProxy func(address string) bool) []Holder {
	address := AddressOf(peer)
	if address == "" || isProxy(address) {
		return nil
	}
	return []Holder{{name: "address " + address, part: addressPart, says: "this address"}}
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

// Release gives all back, once. Of nil there is nothing.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.add(-h.n, h.Holders)
	h.n = 0
}

// Take counts n against each holder. A holder whose part is used up is refused with 429, everybody with 503 once the
// total is.
func (s *Share) Take(n int64, holders []Holder) (*Hold, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range holders {
		if most := max(s.total/h.part, 1); s.by[h.name]+n > most {
			return nil, Problem(http.StatusTooManyRequests, fmt.Sprintf("%s holds too many %s: at most %d of %d", h.says, s.what, most, s.total))
		}
	}
	if s.used+n > s.total {
		return nil, Problem(http.StatusServiceUnavailable, fmt.Sprintf("too many %s at the same time: at most %d", s.what, s.total))
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

// Turns lets a number of long computations run at once. Of one credential all but one of them run or wait among the
// others, in the order in which they come, and the rest waits behind these, so that it delays its own only.
type Turns struct {
	most  int64
	all   *semaphore.Weighted
	own   sync.Map // of *semaphore.Weighted, by credential: at most as many as there are keys
	queue Share
}

// maxQueued is how many long computations run or wait, and maxQueued/queuePart how many of one credential.
const maxQueued, queuePart = 512, 8

// LongQuestion is how many bytes of a question are answered without waiting for a turn. The time of an answer grows with
// them: a search for 500 bytes takes 2 ms, one for 8,000 bytes 40 ms.
const LongQuestion = 512

// NewTurns lets a number of computations, at least 2, run at once.
func NewTurns(most int) *Turns {
	n := int64(max(most, 2))
	return &Turns{most: n, all: semaphore.NewWeighted(n), queue: NewShare("plans and other long computations", maxQueued)}
}

// Enter waits for a turn; leave ends it.
func (t *Turns) Enter(ctx context.Context, credential string) (leave func(), err error) {
	place, err := t.queue.Take(1, []Holder{{name: credential, part: queuePart, says: "this credential"}})
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
