package transport

import (
	"container/list"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCallers(t *testing.T) {
	l := &connections{idle: list.New(), by: map[string]int{}, limit: 1000}
	now := time.Unix(1e9, 0)
	open := func() *countedConn { // with a request under way
		c := &countedConn{of: l, address: "10.0.0.1", asked: true}
		c.rivals = l.rivalsOf(c, now)
		return c
	}
	idle := func(c *countedConn) {
		l.rest(c, true)
		c.since = now
	}
	k := &l.callers
	a := open()
	require.Equal(t, 1, k.of(a, "host", now))
	parallel := open() // the client dials while a is at work, and uses a first
	idle(a)
	require.Equal(t, 1, k.of(parallel, "host", now))
	idle(parallel)
	require.Equal(t, 1, k.of(open(), "host", now), "idle for a moment only")

	now = now.Add(2 * certainlyIdle)
	l.callers.by["host"][0].conns = []*countedConn{a, parallel}
	b := open()
	require.Equal(t, 2, k.of(b, "host", now), "the first program would ask over an idle connection")
	require.Equal(t, 1, k.of(b, "other host", now), "another name on one connection")
	idle(b)
	now = now.Add(2 * certainlyIdle)
	c := open()
	require.Equal(t, 3, k.of(c, "host", now), "both have an idle one")
	idle(c)

	gone := open() // accepted while all three are idle, but the first has given up its connections since
	l.drop(a)
	l.drop(parallel)
	require.Equal(t, 3, k.of(c, "host", now))
	now = now.Add(2 * certainlyIdle)
	require.Equal(t, 1, k.of(open(), "host", now), "the first is back: the others have idle connections")
	require.Equal(t, 1, k.of(gone, "third host", now))
	l.drop(b)
	l.drop(c)
	require.Equal(t, 4, k.of(open(), "host", now), "the second, the third or another one: nobody's")
	require.Equal(t, 5, k.of(open(), "host", now))

	later := now.Add(callerRest + time.Second)
	for _, x := range k.by["host"] {
		for _, c := range x.conns {
			l.drop(c)
		}
	}
	require.Equal(t, 1, k.of(open(), "third host", later))
	require.NotContains(t, k.by, "host", "all are forgotten")
	for range 2 * mostCallers {
		k.add("flood")
	}
	require.Len(t, k.by["flood"], mostCallers)
}
