package live

import (
	"errors"
	"fmt"
	"slices"
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
)

// The next format, which only tests have: episodes are events of kind Z.
const (
	nextFormat = Format + 1
	kindNext   = 'Z'
)

func init() {
	next := kinds[kindEpisode]
	next.format = nextFormat
	kinds[kindNext] = next
}

// versioned is a machine of a fleet and the program that runs on it.
type versioned struct {
	t      *testing.T
	disk   storage.Store
	link   *link
	shared *eventlog.Shared
	spaces *Workspaces
	engine atomic.Pointer[Engine]
	reads  int
}

func (v *versioned) start(reads int) (err error) {
	v.reads = reads
	if v.shared, err = eventlog.Share(v.t.Context(), v.disk, v.link, reads); err != nil {
		return err
	}
	v.spaces = NewWorkspaces(v.shared, Options{Serves: true, Shared: v.link, reads: reads, Measure: suggest.MeasureOptions{WithoutLearned: true}})
	e, err := v.spaces.Open(v.t.Context(), DefaultWorkspace)
	v.engine.Store(e)
	return err
}

func (v *versioned) stop() {
	v.engine.Store(nil)
	require.NoError(v.t, v.spaces.Close(ctx))
	v.shared.Leave()
}

// write records an episode as the program that runs does: as an event of the next format where that is active.
func (v *versioned) write(id string) error {
	e := v.engine.Load()
	if e == nil {
		return ErrClosed
	}
	format, err := e.format(ctx)
	if err != nil {
		return err
	}
	kind := byte(kindEpisode)
	if v.reads >= nextFormat && format >= nextFormat {
		kind = kindNext
	}
	return writeAs(e, kind, id)
}

func writeAs(e *Engine, kind byte, id string) (err error) {
	ep := episode(id, "a", "t"+id[len(id)-1:], "c")
	payload, err := encode(kind, &ep)
	if err != nil {
		return err
	}
	return errors.Join(e.submit(ctx, &op{
		prepare: func(*writer) []entry { return []entry{{kind, "episode/" + id, payload, &ep}} },
		finish:  func(_ *writer, _ []storage.Receipt, failed error) { err = failed },
	}), err)
}

// written counts the episodes of a log by id, and says where the first event of the next format is.
func written(t *testing.T, log storage.Log) (n map[string]int, next uint64) {
	n = map[string]int{}
	for ev, err := range decoded(ctx, log, 0, log.Head().Seq, nil) {
		require.NoError(t, err)
		if ep, ok := ev.value.(*episodic.Episode); ok {
			n[ep.ID]++
		}
		if ev.kind == kindNext && next == 0 {
			next = ev.seq
		}
	}
	return n, next
}

// Three replicas are replaced one by one by a version with another format, while clients write. Until the last one is
// replaced the format cannot be activated, then its events are folded by all. A replica of the version before that was
// cut off meanwhile, and one that comes back, refuse and store nothing of it.
func TestRollingUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, connect := sharedLog()
		var fleet []*versioned
		for range 4 {
			fleet = append(fleet, &versioned{t: t, disk: storage.NewMemory(), link: connect()})
			require.NoError(t, fleet[len(fleet)-1].start(Format))
		}
		fleet, cutOff := fleet[:3], fleet[3]
		ending := make(chan struct{})
		var group sync.WaitGroup
		acknowledged := make([][]string, 4)
		for w := range acknowledged {
			group.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-ending:
						return
					case <-time.After(40 * time.Millisecond):
					}
					id := fmt.Sprintf("w%d-%d", w, n)
					for try := w; fleet[try%3].write(id) != nil; try++ { // the next replica, as a load balancer does
						time.Sleep(10 * time.Millisecond)
					}
					acknowledged[w] = append(acknowledged[w], id)
				}
			})
		}
		raise := func() error { _, err := eventlog.Raise(ctx, connect(), nextFormat); return err }
		time.Sleep(2 * time.Second)
		cutOff.link.set(true)
		for _, v := range fleet {
			require.ErrorContains(t, raise(), "live replicas read formats up to 1", "also those that nobody asks")
			v.stop()
			time.Sleep(500 * time.Millisecond)
			require.NoError(t, v.start(nextFormat))
			time.Sleep(2 * time.Second)
			for _, other := range fleet {
				require.NoError(t, other.engine.Load().Serves())
				a, err := other.engine.Load().Model().Next(suggest.NextRequest{Context: []string{"a"}})
				require.NoError(t, err)
				require.NotEmpty(t, a.Suggestions)
			}
			require.ErrorContains(t, writeAs(v.engine.Load(), kindNext, "early"), "has format 2; format 1 is active")
		}
		time.Sleep(10 * time.Second) // the lease of the one that was cut off runs out
		log, err := store.Log(DefaultWorkspace)
		require.NoError(t, err)
		before := log.Head().Seq
		_, next := written(t, log)
		require.Zero(t, next)
		require.NoError(t, raise())
		require.NoError(t, raise(), "again changes nothing")
		time.Sleep(5 * time.Second)
		close(ending)
		group.Wait()

		engines := []*Engine{}
		for _, v := range fleet {
			engines = append(engines, v.engine.Load())
		}
		fresh := &versioned{t: t, disk: storage.NewMemory(), link: connect()}
		require.NoError(t, fresh.start(nextFormat))
		r := converge(t, append(engines, fresh.engine.Load())...)
		require.Equal(t, [2]int{nextFormat, nextFormat}, [2]int{r.Format, r.Reads})
		all := slices.Concat(acknowledged...)
		for _, v := range append(fleet, fresh) {
			n, next := written(t, v.engine.Load().log)
			require.Len(t, n, len(all))
			for _, id := range all {
				require.Equal(t, 1, n[id], id)
			}
			require.Greater(t, next, before)
		}
		_, next = written(t, log)
		t.Logf("%d episodes, the first of format %d at event %d of %d", len(all), nextFormat, next, r.Position)

		cutOff.link.set(false)
		time.Sleep(10 * time.Second)
		refuses := func(err error) {
			t.Helper()
			require.ErrorIs(t, err, ErrNewer)
			require.ErrorContains(t, err, "in event format 2 and this program reads formats up to 1: start this replica with the version of the program that the others have")
		}
		refuses(cutOff.engine.Load().Serves())
		refuses(cutOff.write("late"))
		_, next = written(t, cutOff.engine.Load().log)
		require.Zero(t, next, "nothing of the next format is stored")
		cutOff.stop()
		refuses(cutOff.start(Format))
		old := &versioned{t: t, disk: storage.NewMemory(), link: connect()}
		refuses(old.start(Format))
		names, err := old.disk.Workspaces(ctx)
		require.NoError(t, err)
		require.Empty(t, names)
		fleet[0].stop()
		refuses(fleet[0].start(Format)) // its own data directory says so, whether the log answers or not
		fleet[0].link.set(true)
		refuses(fleet[0].start(Format))
		fleet[0].link.set(false)
		require.NoError(t, cutOff.start(nextFormat))
		require.Equal(t, r.Hash, converge(t, cutOff.engine.Load(), fresh.engine.Load()).Hash, "the new version goes on with what it has")
		for _, v := range []*versioned{fleet[1], fleet[2], fresh, cutOff} {
			v.stop()
		}
	})
}
