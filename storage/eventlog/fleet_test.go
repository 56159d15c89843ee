package eventlog

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/storage"
)

// joined is a replica of a log in memory.
func joined(t *testing.T, store storage.Store, address string, owners int) *Fleet {
	t.Helper()
	f, err := share(t, storage.NewMemory(), NewLocal(store)).Join(t.Context(), address, owners)
	require.NoError(t, err)
	t.Cleanup(func() { f.Leave(context.Background()) })
	return f
}

// Replicas see each other, one that joins or ends moves only its own workspaces, and one that is silent is dead after
// its lease.
func TestFleetOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		const workspaces = 3000
		owners := func(f *Fleet) (all [][]string) {
			for i := range workspaces {
				all = append(all, f.Owners(fmt.Sprint("w", i)))
			}
			return all
		}
		var fleet []*Fleet
		for i := range 4 {
			f := joined(t, store, fmt.Sprintf("http://10.0.0.%d:7070", i), 2)
			if fleet = append(fleet, f); i == 0 {
				require.True(t, f.Answers("any"), "one alone answers, also while it loads")
			}
		}
		time.Sleep(2 * FleetLook)
		live, joining := fleet[0].Members()
		require.Empty(t, live)
		require.Len(t, joining, 4)
		for _, f := range fleet[:3] {
			f.Loaded(t.Context())
		}
		time.Sleep(2 * FleetLook)
		three := owners(fleet[0])
		count := map[string]int{}
		for i, of := range three {
			name := fmt.Sprint("w", i)
			require.Len(t, of, 2)
			require.Equal(t, of, fleet[1].Owners(name))
			require.Equal(t, of, fleet[3].Owners(name), "who joins asks those who live")
			require.NotContains(t, of, fleet[3].Address())
			for _, address := range of {
				count[address]++
				require.True(t, fleet[slices.IndexFunc(fleet, func(f *Fleet) bool { return f.Address() == address })].Keeps(name), "until the other has joined")
			}
		}
		for address, n := range count {
			require.InDelta(t, workspaces*2/3, n, 150, address)
		}
		fleet[3].Loaded(t.Context())
		time.Sleep(2 * FleetLook)
		moved := 0
		for i, of := range owners(fleet[0]) {
			if slices.Contains(of, fleet[3].Address()) {
				moved++
				require.True(t, fleet[3].Loads(fmt.Sprint("w", i)))
				rest := slices.DeleteFunc(slices.Clone(of), func(a string) bool { return a == fleet[3].Address() })
				require.Subset(t, three[i], rest, "only the newcomer is new")
			} else {
				require.Equal(t, three[i], of)
			}
		}
		require.InDelta(t, workspaces*2/4, moved, 150)

		fleet[3].Leave(t.Context())
		time.Sleep(2 * FleetLook)
		require.Equal(t, three, owners(fleet[0]), "one that leaves is asked no more")
		fleet[2].stop() // it ends without a word
		time.Sleep(fleetLease + 2*FleetLook)
		live, _ = fleet[0].Members()
		require.Len(t, live, 2)
		ok, err := fleet[0].Knows(t.Context(), fleet[1].Address(), fleet[1].Token())
		require.NoError(t, err)
		require.True(t, ok)
		for _, claim := range [][2]string{{fleet[1].Address(), fleet[0].Token()}, {"http://elsewhere", fleet[1].Token()}, {"", ""}} {
			ok, err := fleet[0].Knows(t.Context(), claim[0], claim[1])
			require.NoError(t, err)
			require.False(t, ok, claim)
		}
	})
	for _, address := range []string{"", "10.0.0.1:7070", "ftp://a", "http://a/path", "http://u@a", "http://a?b"} {
		_, err := share(t, storage.NewMemory(), NewLocal(storage.NewMemory())).Join(t.Context(), address, 1)
		require.ErrorContains(t, err, "of a replica is not http://HOST:PORT", address)
	}
}

// A workspace that is deleted and begins anew: its logs and rows of before are in no copy, whoever makes it and however.
func TestCopiesLeaveOutWhatWasDeleted(t *testing.T) {
	log := NewLocal(storage.NewMemory())
	s := share(t, storage.NewMemory(), log)
	for round := range 2 {
		name, err := s.LogName(t.Context(), "w")
		require.NoError(t, err)
		require.NoError(t, log.Append(t.Context(), name, sealed(t, storage.Head{}, 1, fmt.Sprint("round", round))))
		table, err := s.Table("w")
		require.NoError(t, err)
		_, err = table.Put(t.Context(), fmt.Sprint("quarantine/", round), []byte("row"))
		require.NoError(t, err)
		if round == 0 {
			require.NoError(t, s.Retire(t.Context(), "w"))
			_, _, err = table.Get(t.Context(), "quarantine/0")
			require.ErrorIs(t, err, storage.ErrNotFound)
		}
	}
	names, err := LogNames(t.Context(), log)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"w": "w~1"}, names)
	current := Renamed{Log: log, Names: names}
	workspaces, err := current.Workspaces(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{ControlLog, "w"}, workspaces)
	store := storage.NewMemory()
	_, err = Copy(t.Context(), current, NewLocal(store), "w")
	require.NoError(t, err)
	require.Equal(t, []string{"payload of round1-0"}, contents(t, NewLocal(store), "w", storage.Head{}))
	rows, err := FetchControl(t.Context(), log, store)
	require.NoError(t, err)
	require.Equal(t, 1, rows, "the row of the second, and none that says that one was deleted")
	changed, err := PublishControl(t.Context(), store, log)
	require.NoError(t, err)
	require.Zero(t, changed)
	late := share(t, storage.NewMemory(), log)
	name, err := late.LogName(t.Context(), "w")
	require.NoError(t, err)
	require.Equal(t, "w~1", name)
	table, err := late.Table("w")
	require.NoError(t, err)
	_, _, err = table.Get(t.Context(), "quarantine/0")
	require.ErrorIs(t, err, storage.ErrNotFound)
	_, _, err = table.Get(t.Context(), "quarantine/1")
	require.NoError(t, err)
}

// A replica whose token could not be stored says so, until it is: the others would refuse what it hands on.
func TestReplicaIsKnownOnceTheLogHasItsToken(t *testing.T) {
	log := &failing{Log: NewLocal(storage.NewMemory())}
	shared := share(t, storage.NewMemory(), log)
	log.down.Store(true)
	f, err := shared.Join(t.Context(), "http://a:1", 1)
	require.NoError(t, err)
	require.False(t, f.Known())
	log.down.Store(false)
	require.Eventually(t, f.Known, time.Minute, 10*time.Millisecond)
	f.Leave(t.Context())
}
