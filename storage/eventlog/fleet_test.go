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
		message := []byte("a request")
		for _, tt := range []struct {
			by, message string
			signature   []byte
			want        bool
		}{
			{fleet[1].Address(), "a request", fleet[1].Sign(message), true},
			{fleet[1].Address(), "another", fleet[1].Sign(message), false},
			{fleet[1].Address(), "a request", fleet[0].Sign(message), false},
			{"http://elsewhere", "a request", fleet[1].Sign(message), false},
			{"", "a request", nil, false},
		} {
			ok, err := fleet[0].Signed(t.Context(), tt.by, []byte(tt.message), tt.signature)
			require.NoError(t, err)
			require.Equal(t, tt.want, ok, tt.by)
		}
	})
	for _, address := range []string{"", "10.0.0.1:7070", "ftp://a", "http://a/path", "http://u@a", "http://a?b"} {
		_, err := share(t, storage.NewMemory(), NewLocal(storage.NewMemory())).Join(t.Context(), address, 1)
		require.ErrorContains(t, err, "of a replica is not http://HOST:PORT", address)
	}
}

// A second replica with the address of another says so, and the first one stays known by it. The restart of one that ended
// without a word goes on at once; one with another data directory when the lease has run out.
func TestFleetAddressIsOfOneReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		const address = "http://10.0.0.1:7070"
		observer := joined(t, store, "http://10.0.0.9:7070", 1)
		knows := func(f *Fleet) bool {
			ok, err := observer.Signed(t.Context(), address, []byte("m"), f.Sign([]byte("m")))
			require.NoError(t, err)
			return ok
		}
		data, holder := storage.NewMemory(), NewLocal(store)
		s := share(t, data, holder)
		first, err := s.Join(t.Context(), address, 1)
		require.NoError(t, err)
		first.Loaded(t.Context())
		for _, loaded := range []bool{false, true} {
			second := joined(t, store, address, 1)
			if loaded {
				second.Loaded(t.Context())
			}
			time.Sleep(fleetLease + 2*FleetLook)
			require.ErrorContains(t, second.Problem(), "another server has the fleet address "+address+": give each server one of its own")
			require.NoError(t, first.Problem())
			for f, want := range map[*Fleet]bool{first: true, second: false} {
				require.Equal(t, want, knows(f))
			}
			second.Leave(t.Context())
			live, _ := observer.Members()
			require.Equal(t, []string{address}, live)
		}
		first.stop() // it ends without a word, and starts again
		again, err := s.Join(t.Context(), address, 1)
		require.NoError(t, err)
		require.NoError(t, again.Problem())
		require.True(t, again.Asked())
		require.True(t, knows(again))
		again.stop()
		other := joined(t, store, address, 1) // it starts on a new volume
		require.Error(t, other.Problem())
		time.Sleep(fleetLease + 2*FleetLook)
		require.NoError(t, other.Problem())
		require.True(t, knows(other))
	})
}

// A data directory keeps its name; a copy of it elsewhere has another one.
func TestHolderOfLeases(t *testing.T) {
	var names []string
	for store, places := range map[storage.Store][]string{storage.NewMemory(): {"a:/data", "a:/data", "b:/data"}, storage.NewMemory(): {"a:/data"}} {
		for _, place := range places {
			name, err := Holder(t.Context(), store, place)
			require.NoError(t, err)
			names = append(names, name)
		}
	}
	slices.Sort(names)
	require.Len(t, slices.Compact(names), 3)
}

// A workspace that is deleted and begins anew: its logs and rows of before are in no copy, whoever makes it and however.
func TestCopiesLeaveOutWhatWasDeleted(t *testing.T) {
	log := NewLocal(storage.NewMemory())
	own := storage.NewMemory()
	s := share(t, own, log)
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
	names, err := LogNames(t.Context(), log, 1)
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
	rows, err := FetchControl(t.Context(), log, store, 1)
	require.NoError(t, err)
	require.Equal(t, 1, rows, "the row of the second, and none that says that one was deleted")
	changed, err := PublishControl(t.Context(), store, log, 1)
	require.NoError(t, err)
	require.Zero(t, changed)
	_, err = s.System().Put(t.Context(), replicaPrefix+"http://a:1", []byte("key"))
	require.NoError(t, err)
	fresh := NewLocal(storage.NewMemory())
	_, err = PublishControl(t.Context(), own, fresh, 1)
	require.NoError(t, err)
	names, err = LogNames(t.Context(), fresh, 1)
	require.NoError(t, err)
	require.Empty(t, names, "the log of the second one has the plain name in another log")
	_, _, err = share(t, storage.NewMemory(), fresh).System().Get(t.Context(), replicaPrefix+"http://a:1")
	require.ErrorIs(t, err, storage.ErrNotFound, "replicas of one log are not known in another")
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

// A replica whose key could not be stored says so, until it is: the others would refuse what it hands on.
func TestReplicaIsKnownOnceTheLogHasItsKey(t *testing.T) {
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
