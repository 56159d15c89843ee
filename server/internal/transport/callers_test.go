package transport

import (
	"container/list"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCallers(t *testing.T) {
	l := &connections{idle: list.New(), by: map[string]int{}}
	open := func() *countedConn { return &countedConn{of: l} } // with a request under way
	idle := func(c *countedConn) { l.rest(c, true) }
	k, now := &l.callers, time.Unix(1e9, 0)
	a := open()
	require.Equal(t, 1, k.of(a, "host", now))
	parallel := open()
	require.Equal(t, 1, k.of(parallel, "host", now), "the first connection is at work: the same program asks in parallel")
	idle(a)
	idle(parallel)
	b := open()
	require.Equal(t, 2, k.of(b, "host", now), "the first program would ask over an idle connection")
	require.Equal(t, 1, k.of(b, "other host", now), "another name on one connection")
	idle(b)
	l.drop(a)
	c := open()
	require.Equal(t, 3, k.of(c, "host", now), "both have an idle one")
	idle(c)
	l.drop(parallel)
	require.Equal(t, 1, k.of(open(), "host", now), "the first is back")
	require.Equal(t, 2, k.of(b, "host", now))
	l.drop(b)
	l.drop(c)
	later := now.Add(callerRest + time.Second)
	require.Equal(t, 1, k.of(open(), "third host", later))
	require.Len(t, k.by["host"], 1, "the others are forgotten")
	require.NotContains(t, k.by, "other host")
}
