package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

func names(t *testing.T, e Engine, table kind, space, from, to string) (all []string) {
	require.NoError(t, e.View(t.Context(), func(r Reader) error {
		for p, err := range r.Scan(table, space, from, to) {
			require.NoError(t, err)
			all = append(all, p.Name)
		}
		return nil
	}))
	return all
}

func TestPostgresEntries(t *testing.T) {
	server := startPostgres(t)
	e := openTestPostgres(t, server.Address)
	var writes []Pair
	for i := range uint64(2500) { // several pages
		for _, table := range []kind{tableEvents, tableRows} {
			writes = append(writes, Pair{Key{table, "ä", name(i)}, []byte(fmt.Sprint(i))})
		}
	}
	rand.Shuffle(len(writes), func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
	put(t, e, writes...)
	big := make([]byte, 600<<10)
	put(t, e, Pair{Key{tableParts, "ä", "b\x00"}, big}, Pair{Key{tableParts, "ä", "b\xff"}, big}, Pair{Key{tableParts, "ä", "b"}, big},
		Pair{Key{tableParts, "ä", "a"}, []byte{}}, Pair{Key{tableParts, "ä~1", "c"}, big})
	require.Equal(t, []string{"a", "b", "b\x00", "b\xff"}, names(t, e, tableParts, "ä", "", ""))
	require.Equal(t, []string{"b", "b\x00"}, names(t, e, tableParts, "ä", "b", "b\x01"))
	for _, table := range []kind{tableEvents, tableRows} {
		all := names(t, e, table, "ä", "", "")
		require.Len(t, all, 2500)
		for i, n := range all {
			require.Equal(t, name(uint64(i)), n)
		}
		require.Equal(t, []string{name(7), name(8)}, names(t, e, table, "ä", name(7), name(9)))
	}
	require.NoError(t, e.View(t.Context(), func(r Reader) error {
		values, err := r.Get(Key{tableRows, "ä", name(3)}, Key{tableEvents, "ä", name(9999)}, Key{tableEvents, "ä", name(4)},
			Key{tableParts, "ä", "a"}, Key{tableRows, "ä", name(3)})
		require.Equal(t, [][]byte{[]byte("3"), nil, []byte("4"), {}, []byte("3")}, values)
		require.NotNil(t, values[3])
		now, err2 := r.Now()
		require.WithinDuration(t, time.Now(), now, time.Minute)
		return errors.Join(err, err2)
	}))
	put(t, e, Pair{Key: Key{tableEvents, "ä", name(0)}}, Pair{Key: Key{tableRows, "ä", name(0)}}, Pair{Key: Key{tableRows, "ä", "?"}})
	require.Len(t, names(t, e, tableEvents, "ä", "", ""), 2499)
	for _, table := range []kind{tableEvents, tableRows} {
		require.NoError(t, e.Drop(t.Context(), table, "ä", name(10), name(2490)))
		require.Len(t, names(t, e, table, "ä", "", ""), 19)
		require.NoError(t, e.Drop(t.Context(), table, "ä", "", ""))
		require.Empty(t, names(t, e, table, "ä", "", ""))
	}
	refused := errors.New("refused")
	require.Equal(t, refused, e.Update(t.Context(), []string{"new"}, func(Reader) ([]Pair, error) { return writes, refused }))
	require.Empty(t, names(t, e, tableRows, "ä", "", ""))
	require.Empty(t, names(t, e, tableHeads, "", "", ""))
	put2 := func(Reader) ([]Pair, error) { return writes[:1], nil }
	require.NoError(t, e.Update(t.Context(), []string{"new"}, put2))
	require.Empty(t, names(t, e, tableHeads, "", "", ""), "what was made to be locked is no header")
}

// Two processes add to one number, while connections are killed, also in commits.
func TestPostgresCountsOnce(t *testing.T) {
	server := startPostgres(t)
	proxy, address := startProxy(t, server)
	engines := []*postgres{openTestPostgres(t, address), openTestPostgres(t, address)}
	var mu sync.Mutex
	var kills sync.WaitGroup
	cuts := 0
	proxy.look(func(sent []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		if bytes.Contains(sent, []byte("commit")) && rand.IntN(4) == 0 {
			cuts++
			switch rand.IntN(3) {
			case 0:
				return false // before the commit arrives
			case 1:
				go proxy.cut() // while it is carried out, or after
			default:
				kill := server.psql("select pg_terminate_backend(pid) from pg_stat_activity where state <> 'idle' and pid <> pg_backend_pid()")
				kills.Go(func() { _ = kill.Run() })
			}
		}
		return true
	})
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
	proxy.look(nil)
	kills.Wait()
	require.NotZero(t, cuts)
	require.NoError(t, openTestPostgres(t, server.Address).View(t.Context(), func(r Reader) error {
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
	for setting, unsafe := range map[string]string{"fsync=off": "fsync", "synchronous_commit=off": "synchronous_commit"} {
		server := startPostgres(t, setting)
		_, err := Open(server.Address, Options{})
		require.ErrorContains(t, err, unsafe)
	}
}

func TestPostgresStandby(t *testing.T) {
	server := startPostgres(t)
	standby, both := server.standby()
	_, err := Open(standby.Address, Options{})
	require.ErrorContains(t, err, "standby")
	e := openTestPostgres(t, both)
	k := Key{tableRows, "w", "n"}
	put(t, e, Pair{k, []byte("1")})
	server.crash()
	standby.promote()
	put(t, e, Pair{Key{tableRows, "w", "m"}, []byte("2")})
	require.Equal(t, []string{"m", "n"}, names(t, e, tableRows, "w", "", ""))
}

func TestSharedIsLinearizable(t *testing.T) {
	server := startPostgres(t)
	linearizable(t, openPostgresTest(t, server.Address), openPostgresTest(t, server.Address))
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
	server := startPostgres(t)
	now := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC) // not that of any process
	clock := new(atomic.Pointer[time.Time])
	clock.Store(&now)
	stores := make([]*Store, 3)
	for i := range stores {
		e, err := openPostgres(t.Context(), server.Address)
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

func TestPostgresRestore(t *testing.T) {
	from := NewMemory()
	defer from.Close()
	for i := range 30 {
		_, err := from.Append(t.Context(), "w", Batch{Records: []Record{{Key: fmt.Sprint(i), Payload: []byte("event")}}, Changes: []Change{{Key: "r", Value: []byte("v")}}})
		require.NoError(t, err)
	}
	var backup bytes.Buffer
	want, err := from.Backup(t.Context(), &backup)
	require.NoError(t, err)
	server := startPostgres(t)
	ctx := context.Background()
	_, err = Restore(ctx, bytes.NewReader(backup.Bytes()[:backup.Len()-1]), server.Address, Options{})
	require.ErrorIs(t, err, ErrDamaged)
	e := openTestPostgres(t, server.Address)
	put(t, e, Pair{restoring, []byte{1}}) // as after a kill
	_, err = Open(server.Address, Options{})
	require.ErrorContains(t, err, "restore again")
	_, err = Restore(ctx, bytes.NewReader(backup.Bytes()), server.Address, Options{})
	require.ErrorContains(t, err, "restore again")
	put(t, e, Pair{Key: restoring})
	got, err := Restore(ctx, bytes.NewReader(backup.Bytes()), server.Address, Options{})
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = Restore(ctx, bytes.NewReader(backup.Bytes()), server.Address, Options{})
	require.ErrorContains(t, err, "not empty")
	s, err := Open(server.Address, Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.Equal(t, from.Head("w"), s.Head("w"))
	var again bytes.Buffer
	_, err = s.Backup(ctx, &again)
	require.NoError(t, err)
	require.True(t, bytes.Equal(backup.Bytes(), again.Bytes()), "one content has one spelling")
	require.Equal(t, "0", strings.TrimSpace(server.query("select count(*) from waymark_entries where name = 'restoring'")))
}
