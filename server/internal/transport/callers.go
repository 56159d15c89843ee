package transport

import (
	"context"
	"slices"
	"sync"
	"time"
)

// callers tells apart programs that give one name and come from one address, by how HTTP clients use connections: a
// client with an idle connection asks over that one and opens no other. What was open and idle for a while when a
// connection was accepted is therefore of other programs. What was idle for moments only proves nothing: a client dials
// while all its connections are at work, and one of them is free before the new one is there.
//
// Where several programs may have opened a connection it is nobody's: its calls are a program of their own, so that no
// episode mixes what two hosts did.
type callers struct {
	mu sync.Mutex
	by map[string][]*caller // by name
}

type caller struct {
	number int // 1, 2, …: the lowest that was free
	conns  []*countedConn
	last   time.Time
}

const (
	certainlyIdle = time.Second      // after which a client would have used a connection
	callerRest    = 30 * time.Minute // how long a program without a connection is remembered
	mostCallers   = 64               // of one name; the one that rested longest is forgotten
	mostRivals    = 64               // connections looked at when one is accepted
)

// CallerOf is the number of the program that a request comes from, among those of one name: 1 for the first. 0: the
// request came over no connection of this server, or through a proxy. The context is that of the request.
func CallerOf(ctx context.Context, name string) int {
	hc, ok := ctx.Value(connKey{}).(*headConn)
	if !ok {
		return 0
	}
	c := countedOf(hc)
	if c == nil || c.address == "" {
		return 0
	}
	return c.of.callers.of(c, name, time.Now())
}

// rivalsOf lists connections of the same address over which their programs could have asked instead of opening c.
// l.mu is held.
func (l *connections) rivalsOf(c *countedConn, now time.Time) (rivals []*countedConn) {
	for e := l.idle.Front(); e != nil && len(rivals) < mostRivals; e = e.Next() {
		o := e.Value.(*countedConn)
		if now.Sub(o.since) < certainlyIdle {
			break // the list is in the order of since
		}
		if o.asked && o.address == c.address {
			rivals = append(rivals, o)
		}
	}
	return rivals
}

func (k *callers) of(c *countedConn, name string, now time.Time) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(now)
	all := k.by[name]
	var x *caller
	if at := slices.IndexFunc(all, func(x *caller) bool { return slices.Contains(x.conns, c) }); at >= 0 {
		x = all[at]
	} else {
		c.of.mu.Lock()
		rivals := c.rivals
		c.of.mu.Unlock()
		var may []*caller
		for _, o := range all {
			if !o.had(rivals) {
				may = append(may, o)
			}
		}
		if len(may) == 1 {
			x = may[0]
		} else {
			x = k.add(name)
		}
		x.conns = append(x.conns, c)
	}
	x.last = now
	return x.number
}

// add is a program that was not there before.
func (k *callers) add(name string) *caller {
	all := k.by[name]
	if len(all) == mostCallers {
		oldest := slices.MinFunc(all, func(a, b *caller) int { return a.last.Compare(b.last) })
		all = slices.DeleteFunc(all, func(o *caller) bool { return o == oldest })
	}
	x := &caller{number: 1}
	for slices.ContainsFunc(all, func(o *caller) bool { return o.number == x.number }) {
		x.number++
	}
	if k.by == nil {
		k.by = map[string][]*caller{}
	}
	k.by[name] = append(all, x)
	return x
}

// had reports whether one of the connections is the program's and still open: a client that closed it had given it up.
func (x *caller) had(rivals []*countedConn) bool {
	return slices.ContainsFunc(x.conns, func(c *countedConn) bool { return slices.Contains(rivals, c) && c.isOpen() })
}

func (c *countedConn) isOpen() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return !c.dropped
}

// forget drops closed connections, and the programs that have none any more and have rested. k.mu is held.
func (k *callers) forget(now time.Time) {
	for name, all := range k.by {
		all = slices.DeleteFunc(all, func(x *caller) bool {
			x.conns = slices.DeleteFunc(x.conns, func(c *countedConn) bool { return !c.isOpen() })
			return len(x.conns) == 0 && now.Sub(x.last) > callerRest
		})
		if k.by[name] = all; len(all) == 0 {
			delete(k.by, name)
		}
	}
}
