package api

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A computation waits behind those of other credentials that run or have a turn, not behind all that wait.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewComputeLimiter(2)
		first, err := q.Enter(t.Context(), "a")
		require.NoError(t, err)
		other, err := q.Enter(t.Context(), "c")
		require.NoError(t, err)
		order := make(chan string, 10)
		for _, who := range []string{"a", "a", "a", "b", "b"} {
			go func() {
				leave, err := q.Enter(t.Context(), who)
				assert.NoError(t, err)
				order <- who
				leave()
			}()
			synctest.Wait()
		}
		first()
		synctest.Wait()
		assert.Equal(t, "b", <-order)
		rest := []string{<-order, <-order, <-order, <-order}
		slices.Sort(rest)
		assert.Equal(t, []string{"a", "a", "a", "b"}, rest)
		other()

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		one, err := q.Enter(t.Context(), "a")
		require.NoError(t, err)
		_, err = q.Enter(ctx, "a")
		assert.Equal(t, 503, ProblemOf(err).Status)
		one()
	})
}

// Clients of IPv6 are counted by network.
func TestAddresses(t *testing.T) {
	for peer, want := range map[string]string{
		"203.0.113.9": "203.0.113.9", "::ffff:203.0.113.9": "203.0.113.9", "2001:db8:1:2:3::4": "2001:db8:1:2::/64",
		"::1": "::1", "fe80::1%eth0": "fe80::/64", "": "", "pipe": "",
	} {
		assert.Equal(t, want, AddressOf(peer), peer)
	}
}

// A total is refused to everybody once it is used up, whoever has a part left.
func TestATotalIsBounded(t *testing.T) {
	s := NewShare("things", 8)
	for i := range 4 {
		_, err := s.Take(2, []Client{{name: fmt.Sprint("key:", i), part: keyPart}})
		require.NoError(t, err)
	}
	_, err := s.Take(1, []Client{{name: "key:5", part: keyPart}})
	assert.Equal(t, 503, ProblemOf(err).Status)
}
