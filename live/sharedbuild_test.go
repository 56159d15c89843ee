package live

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/storage"
	"waymark/storage/eventlog"
	"waymark/suggest"
	"waymark/suggest/history"
)

// member is a replica whose control rows are shared, too, and which counts what it measures.
type member struct {
	*Engine
	link     *link
	all      *Workspaces
	measured *atomic.Int32 // builds of something recorded
	end      func()
}

// memberOf starts a replica in a bubble. wrong, if any, changes what it measures.
func memberOf(t *testing.T, l *link, store storage.Store, wrong func(*history.Counts) *history.Counts) *member {
	t.Helper()
	shared, err := eventlog.Share(t.Context(), store, l)
	require.NoError(t, err)
	m := &member{link: l, measured: &atomic.Int32{}}
	m.all = NewWorkspaces(shared, Options{Serves: true, Shared: l, measure: func(ctx context.Context, c *history.Counts, o suggest.MeasureOptions) (*suggest.Measures, error) {
		if len(c.IDs) > 0 {
			m.measured.Add(1)
		}
		if wrong != nil {
			c = wrong(c)
		}
		return suggest.Measure(ctx, c, o)
	}})
	m.end = sync.OnceFunc(func() {
		require.NoError(t, m.all.Close(ctx))
		shared.Leave()
	})
	t.Cleanup(m.end)
	m.Engine, err = m.all.Get(t.Context(), DefaultWorkspace)
	require.NoError(t, err)
	return m
}

// pairOf starts two replicas on one log in memory; the first one starts builds.
func pairOf(t *testing.T) (log storage.Store, connect func() *link, a, b *member) {
	t.Helper()
	log, connect = sharedLog()
	a = memberOf(t, connect(), storage.NewMemory(), nil)
	time.Sleep(2 * sharedLook)
	return log, connect, a, memberOf(t, connect(), storage.NewMemory(), nil)
}

func (m *member) grow(t *testing.T, n int) {
	t.Helper()
	var all []episodic.Episode
	for i := range n {
		all = append(all, episode(fmt.Sprintf("%d-%d", m.Head().Seq, i), "a", "b", fmt.Sprint("c", i%5)))
	}
	record(t, m.Engine, all...)
	_, err := m.Build(t.Context())
	require.NoError(t, err)
}

// blobs lists what a log in memory has of shared builds, by hash.
func blobs(t *testing.T, log storage.Store) (sums []string) {
	t.Helper()
	for row, err := range log.System().List(t.Context(), "blob/") {
		require.NoError(t, err)
		if sum := strings.TrimPrefix(row.Key, "blob/"); !strings.Contains(sum, "/") {
			sums = append(sums, sum)
		}
	}
	return sums
}

// The replica that starts builds measures, the other takes what it measured, and a new one begins with it. All answer the
// same as a replay.
func TestBuildsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, connect, a, b := pairOf(t)
		for range 3 {
			a.grow(t, 20)
			time.Sleep(time.Minute)
			converge(t, a.Engine, b.Engine)
		}
		built := sharedBuildIn(t.Context(), a.table)
		require.Equal(t, a.current.Load().built, built.Seq)
		require.Equal(t, []string{built.Sum}, blobs(t, log), "of builds before nothing is left")
		// converge verifies by a replay, which measures.
		require.LessOrEqual(t, b.measured.Load(), int32(3+1), "one in %d builds is computed, too", verifyOneIn)

		record(t, a.Engine, episode("after", "a", "c1"))
		c := memberOf(t, connect(), storage.NewMemory(), nil)
		time.Sleep(time.Second)
		require.Zero(t, c.measured.Load(), "a new replica measures nothing")
		converge(t, a.Engine, b.Engine, c.Engine)
	})
}

// A history that was built before it was copied into a log: nobody builds it again.
func TestBuildsFromBeforeAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone := storage.NewMemory()
		before := NewWorkspaces(alone, Options{})
		e, err := before.Get(t.Context(), DefaultWorkspace)
		require.NoError(t, err)
		(&member{Engine: e}).grow(t, 20)
		require.NoError(t, before.Close(t.Context()))
		log, connect := sharedLog()
		_, err = eventlog.Copy(t.Context(), eventlog.NewLocal(alone), eventlog.NewLocal(log), DefaultWorkspace)
		require.NoError(t, err)
		a := memberOf(t, connect(), alone, nil)
		time.Sleep(2 * time.Second)
		b := memberOf(t, connect(), storage.NewMemory(), nil)
		time.Sleep(2 * time.Second)
		require.Zero(t, a.measured.Load()+b.measured.Load())
		converge(t, a.Engine, b.Engine)
	})
}

// What cannot be fetched is computed: where no blob follows the row, it is damaged, or the replica that measures ends.
func TestBuildsThatAreNotSharedAreComputed(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, log storage.Store, a, b *member){
		"lost": func(t *testing.T, log storage.Store, a, b *member) {
			a.link.noBlobs.Store(true)
			a.grow(t, 20)
		},
		"damaged": func(t *testing.T, log storage.Store, a, b *member) {
			b.link.set(true)
			a.grow(t, 20)
			time.Sleep(time.Second)
			for row, err := range log.System().List(t.Context(), "blob/") {
				require.NoError(t, err)
				if strings.Count(row.Key, "/") == 2 {
					row.Value[len(row.Value)/2] ^= 1
					_, err := log.System().Put(t.Context(), row.Key, row.Value)
					require.NoError(t, err)
				}
			}
			b.link.set(false)
		},
		"gone": func(t *testing.T, log storage.Store, a, b *member) {
			record(t, a.Engine, episode("x", "a", "b"))
			_, _ = a.Rebuild(t.Context(), false)
			a.end()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, _, a, b := pairOf(t)
				time.Sleep(time.Second)
				spoil(t, log, a, b)
				time.Sleep(5 * time.Minute)
				require.NotZero(t, b.current.Load().built)
				require.NotZero(t, b.measured.Load())
				verify(t, b.Engine)
			})
		})
	}
}

// A replica that folded something else than the one that measures says so at the next build.
func TestASharedBuildFindsAWrongFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, a, b := pairOf(t)
		a.grow(t, 20)
		time.Sleep(time.Minute)
		r, _ := b.Replica()
		require.Empty(t, r.Error)
		require.NoError(t, b.do(t.Context(), func(w *writer) {
			ep := episode("only here", "a", "b")
			w.state.Record(&ep)
		}))
		a.grow(t, 40)
		time.Sleep(time.Minute)
		r, _ = b.Replica()
		require.Contains(t, r.Error, whatItCounts+": "+errBuildDiffers.Error())
	})
}

// What a replica measures wrongly is found by another one that measures the same build, within some builds.
func TestASharedBuildFindsWrongMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, connect := sharedLog()
		wrong := false
		a := memberOf(t, connect(), storage.NewMemory(), func(c *history.Counts) *history.Counts {
			if !wrong || len(c.IDs) == 0 {
				return c
			}
			other := history.NewState() // of as many tools and episodes
			for i := range c.Past.N {
				ep := episode(fmt.Sprint("x", i), c.IDs[i%len(c.IDs)])
				other.Record(&ep)
			}
			return other.Freeze()
		})
		time.Sleep(2 * sharedLook)
		b := memberOf(t, connect(), storage.NewMemory(), nil)
		a.grow(t, 20)
		wrong = true
		for builds := range 200 {
			a.grow(t, 1)
			time.Sleep(time.Second)
			if r, _ := b.Replica(); r.Error != "" {
				require.Contains(t, r.Error, errBuildDiffers.Error())
				t.Logf("found at build %d", builds+1)
				return
			}
		}
		t.Fatal("never found")
	})
}

// What is forgotten, and a workspace that is deleted, is in no blob any more.
func TestSharedBuildsForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, connect, a, b := pairOf(t)
		a.grow(t, 20)
		time.Sleep(time.Minute)
		stopped := storage.NewMemory()
		memberOf(t, connect(), stopped, nil).end()
		before := blobs(t, log)
		require.Len(t, before, 1)
		_, err := b.Forget(t.Context(), Selection{Episode: "0-3"})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		for _, sum := range blobs(t, log) {
			require.NotEqual(t, before[0], sum)
			require.Equal(t, sharedBuildIn(t.Context(), a.table).Sum, sum)
		}
		converge(t, a.Engine, b.Engine)                                      // also where the other one starts a build before it has that of the request
		for _, disk := range []storage.Store{storage.NewMemory(), stopped} { // they begin with the result of the build after it
			c := memberOf(t, connect(), disk, nil)
			time.Sleep(time.Minute)
			converge(t, a.Engine, c.Engine)
			erased := 0
			for ev, err := range c.log.Read(t.Context(), 0) {
				require.NoError(t, err)
				require.NotContains(t, string(ev.Payload), `"id":"0-3"`)
				if ev.Erased {
					erased++
				}
			}
			require.Equal(t, 1, erased)
			c.end()
		}
		a.grow(t, 20)
		time.Sleep(time.Minute)
		require.Len(t, blobs(t, log), 1)
		require.NoError(t, b.all.Delete(t.Context(), DefaultWorkspace))
		time.Sleep(time.Minute)
		require.Empty(t, blobs(t, log))
	})
}
