package transport

import (
	"context"
	"slices"
	"sync"
	"time"
)

// callers tells apart programs that give one name and come from one address, by how HTTP clients use connections: a
// client with an idle connection asks over that one and opens no other. So a new connection belongs to another program
// while the known one has an idle one open, and else to the program that was there last.
type callers struct {
	mu sync.Mutex
	by map[string][]*caller // by name, the one that asked last at the end
}

type caller struct {
	number int // 1, 2, …: the lowest that was free
	conns  []*countedConn
	last   time.Time
}

// callerRest is how long a program without a connection is remembered.
const callerRest = 30 * time.Minute

// CallerOf is the number of the program that a request comes from, among those of one name: 1 for the first. 0: the
// request came over no connection of this server. The context is that of the request.
func CallerOf(ctx context.Context, name string) int {
	hc, ok := ctx.Value(connKey{}).(*headConn)
	if !ok {
		return 0
	}
	c := countedOf(hc)
	if c == nil {
		return 0
	}
	return c.of.callers.of(c, name, time.Now())
}

func (k *callers) of(c *countedConn, name string, now time.Time) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.by[name]
	at := slices.IndexFunc(all, func(x *caller) bool { return slices.Contains(x.conns, c) })
	if at < 0 {
		k.forget(now)
		all = k.by[name]
		for i, x := range slices.Backward(all) {
			if !x.waits() {
				at = i
				break
			}
		}
	}
	var x *caller
	if at >= 0 {
		x = all[at]
		all = slices.Delete(all, at, at+1)
	} else {
		x = &caller{number: 1}
		for slices.ContainsFunc(all, func(o *caller) bool { return o.number == x.number }) {
			x.number++
		}
	}
	if !slices.Contains(x.conns, c) {
		x.conns = append(x.conns, c)
	}
	x.last = now
	if k.by == nil {
		k.by = map[string][]*caller{}
	}
	k.by[name] = append(all, x)
	return x.number
}

// waits reports whether the program has an idle connection; it forgets those that are closed.
func (x *caller) waits() (idle bool) {
	x.conns = slices.DeleteFunc(x.conns, func(c *countedConn) bool {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		idle = idle || !c.dropped && c.at != nil
		return c.dropped
	})
	return idle
}

// forget drops the programs that have no connection any more and have rested. k.mu is held.
func (k *callers) forget(now time.Time) {
	for name, all := range k.by {
		all = slices.DeleteFunc(all, func(x *caller) bool {
			x.waits()
			return len(x.conns) == 0 && now.Sub(x.last) > callerRest
		})
		if k.by[name] = all; len(all) == 0 {
			delete(k.by, name)
		}
	}
}
