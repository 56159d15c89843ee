package storage

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func openTestPostgres(t *testing.T, address string) *postgres {
	e, err := openPostgres(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func put(t *testing.T, e Engine, writes ...Pair) {
	require.NoError(t, e.Update(t.Context(), nil, func(Reader) ([]Pair, error) { return writes, nil }))
}

// Two processes add to one number, while connections are killed, also in commits.
func TestPostgresCountsOnce(t *testing.T) {
	server := sharedPostgres(t)
	var cutting atomic.Bool
	var cuts atomic.Int64
	address := startProxy(t, server, func(proxy *pgProxy, sent []byte) bool {
		if cutting.Load() && bytes.Contains(sent, []byte("commit")) && rand.IntN(4) == 0 {
			switch cuts.Add(1) % 3 {
			case 0:
				return false // before the commit arrives
			case 1:
				go proxy.cut() // while it is carried out, or after
			default:
				go server.try("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'proxied' and state <> 'idle'")
			}
		}
		return true
	})
	engines := []*postgres{openTestPostgres(t, address), openTestPostgres(t, address)}
	cutting.Store(true)
	k := Key{tableRows, "w", "n"}
	var running sync.WaitGroup
	for _, e := range engines {
		running.Go(func() {
			for range 60 {
				err := e.Update(t.Context(), []string{"w"}, func(r Reader) ([]Pair, error) {
					values, err := r.Get(k)
					if err != nil {
						return nil, err
					}
					return []Pair{{k, []byte(name(number(string(values[0])) + 1))}}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	require.NotZero(t, cuts.Load())
	require.NoError(t, openTestPostgres(t, server.address()).View(t.Context(), func(r Reader) error {
		values, err := r.Get(k)
		require.NoError(t, err)
		require.Equal(t, uint64(120), number(string(values[0])))
		return nil
	}))
}

func TestPostgresRefuses(t *testing.T) {
	for _, address := range []string{
		"postgres://someone:geheim@127.0.0.1:1/db", "postgres://someone:geheim@127.0.0.1:x/db",
		"postgres://127.0.0.1:1/db?user=a&password=geheim", "postgres://a:geheim@/db?host=/none&sslmode=x",
		"mysql://a:geheim@127.0.0.1/db",
	} {
		_, err := Open(address, Options{})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "geheim")
		require.NotContains(t, Name(address), "geheim")
	}
	server, address := sharedPostgres(t), emptySchema(t)
	_, err := Open(address+"&synchronous_commit=off", Options{})
	require.ErrorContains(t, err, "synchronous_commit = off")
	server.set(t, "fsync", "off")
	require.Eventually(t, func() bool {
		s, err := Open(address, Options{})
		return err != nil && strings.Contains(err.Error(), "fsync = off") || err == nil && s.Close() != nil
	}, time.Minute, 10*time.Millisecond)
	server.set(t, "fsync", "on")
	require.Eventually(t, func() bool { return server.query(t, "show fsync") == "on" }, time.Minute, 10*time.Millisecond)
}

func TestPostgresStandby(t *testing.T) {
	primary := sharedPostgres(t).copy(t)
	standby, both := primary.standby(t)
	_, err := Open(standby.address(), Options{})
	require.ErrorContains(t, err, "standby")
	s := openTest(t, both, Options{})
	mustAppend(t, s, "w", Record{Payload: []byte("before")})
	primary.crash()
	standby.promote(t)
	require.Eventually(t, func() bool { // a connection that was begun during the failover still fails
		_, err := s.Append(t.Context(), "w", Batch{Records: []Record{{Key: "after", Payload: []byte("after")}}})
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	require.Len(t, collect(t, s.Read(t.Context(), "w", 0)), 2)
}

// stepped is an engine with a clock that a test sets.
type stepped struct {
	Engine
	clock *atomic.Pointer[time.Time]
}

type steppedReader struct {
	Reader
	clock *atomic.Pointer[time.Time]
}

func (r steppedReader) Now() (time.Time, error) { return *r.clock.Load(), nil }

func (e stepped) View(ctx context.Context, f func(Reader) error) error {
	return e.Engine.View(ctx, func(r Reader) error { return f(steppedReader{r, e.clock}) })
}

func (e stepped) Update(ctx context.Context, workspaces []string, f func(Reader) ([]Pair, error)) error {
	return e.Engine.Update(ctx, workspaces, func(r Reader) ([]Pair, error) { return f(steppedReader{r, e.clock}) })
}

// Leases follow the clock of the database alone, wherever it is set: no process takes one that is in force by it, and a
// fencing number never decreases.
func TestLeasesFollowTheClockOfTheDatabase(t *testing.T) {
	address := emptySchema(t)
	now := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC) // not that of any process
	clock := new(atomic.Pointer[time.Time])
	clock.Store(&now)
	stores := make([]*Store, 3)
	for i := range stores {
		e, err := openPostgres(t.Context(), address)
		require.NoError(t, err)
		stores[i], err = New(t.Context(), stepped{e, clock}, Options{Logger: quiet})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, stores[i].Close()) })
	}
	const seed = 5
	r := rand.New(rand.NewPCG(seed, 0))
	holder, until, fence := -1, time.Time{}, uint64(0)
	refused, taken := 0, 0
	for step := range 400 {
		now := clock.Load().Add([]time.Duration{0, time.Minute, 10 * time.Minute, time.Hour, -time.Hour, -10 * time.Minute}[r.IntN(6)])
		clock.Store(&now)
		i := r.IntN(len(stores))
		held, err := stores[i].System().Leased(t.Context(), "fold")
		require.NoError(t, err)
		require.Equal(t, holder >= 0 && now.Before(until), held, "seed %d, step %d", seed, step)
		if r.IntN(8) == 0 {
			require.NoError(t, stores[i].System().Release(t.Context(), "fold"))
			if i == holder {
				until = time.Time{}
			}
			continue
		}
		got, err := stores[i].System().Lease(t.Context(), "fold", 15*time.Minute)
		if held && i != holder {
			require.ErrorIs(t, err, ErrHeld, "seed %d, step %d", seed, step)
			refused++
			continue
		}
		require.NoError(t, err, "seed %d, step %d", seed, step)
		if i != holder {
			holder, fence = i, fence+1
			taken++
		}
		require.Equal(t, fence, got, "seed %d, step %d", seed, step)
		until = now.Add(15 * time.Minute)
	}
	require.Positive(t, refused)
	require.Greater(t, taken, 10)
}

// Two stores on one database: leases, fences, and what the other one writes.
func TestShared(t *testing.T) {
	ctx := t.Context()
	address := emptySchema(t)
	a, b := openTest(t, address, Options{}), openTest(t, address, Options{})
	_, more := b.Changes("w")
	mustAppend(t, a, "w", Record{Payload: []byte("x")})
	require.NoError(t, a.Table("w").Put(ctx, "row", []byte("v")))
	<-more
	require.Eventually(t, func() bool { n, _ := b.Changes("w"); return n == 2 }, 30*time.Second, time.Millisecond)
	require.Equal(t, a.Head("w"), b.Head("w"))
	row, _, err := b.Table("w").Get(ctx, "row")
	require.NoError(t, err)
	require.Equal(t, "v", string(row))
	head := b.Head("w")
	mustAppend(t, a, "w", Record{})
	_, err = b.Append(ctx, "w", Batch{At: &head, Records: []Record{{}}})
	require.ErrorIs(t, err, ErrBehind)

	first, err := a.System().Lease(ctx, "fold", time.Hour)
	require.NoError(t, err)
	put := func(s *Store, fence uint64) error {
		return s.PutSnapshot(ctx, "w", 1, "fold", fence, func(w io.Writer) error { _, err := w.Write([]byte{byte(fence)}); return err })
	}
	require.NoError(t, put(a, first))
	_, err = a.System().Lease(ctx, "fold", 100*time.Millisecond)
	require.NoError(t, err)
	var second uint64
	require.Eventually(t, func() bool { second, err = b.System().Lease(ctx, "fold", time.Hour); return err == nil }, 30*time.Second, 10*time.Millisecond)
	require.Greater(t, second, first)
	require.ErrorIs(t, put(a, first), ErrHeld)
	require.NoError(t, put(b, second))
	require.Equal(t, []testSnapshot{{1, []byte{byte(second)}}}, collect(t, snapshots(ctx, a, "w")))

	require.NoError(t, a.Delete(ctx, "w"))
	require.Equal(t, []Receipt{{Seq: 1, Status: Stored}}, mustAppend(t, b, "w", Record{Payload: []byte("new")}), "b had not seen that it was deleted")
	fence, err := NewMemory().System().Lease(ctx, "fold", time.Hour)
	require.NoError(t, err)
	require.Zero(t, fence)
}
