package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestReopen(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	var head Head
	for i := range 3 {
		b, err := Open(dir, Options{Logger: quiet})
		require.NoError(t, err)
		l := mustLog(t, b, "default")
		require.Equal(t, head, l.Head())
		mustAppend(t, l, Record{Key: "once", Payload: []byte("x")}, Record{Payload: fmt.Append(nil, i)})
		head = l.Head()
		require.NoError(t, b.Health())
		require.NoError(t, b.Close())
	}
	assert.EqualValues(t, 4, head.Seq)
	info, err := os.Stat(dir + "/db")
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
}

func TestInUse(t *testing.T) {
	dir := t.TempDir()
	b := openTest(t, dir, Options{})
	_, err := Open(dir, Options{Logger: quiet})
	require.ErrorIs(t, err, ErrInUse)
	require.NoError(t, b.unlock()) // badger's own lock is mapped too
	_, err = Open(dir, Options{Logger: quiet})
	require.ErrorIs(t, err, ErrInUse)
	require.NotErrorIs(t, err, ErrDamaged)
}

// Low space refuses writes, not reads, and is over as soon as there is space again.
func TestSpaceGuard(t *testing.T) {
	var free atomic.Uint64
	free.Store(math.MaxInt64)
	asked := 0
	dir := t.TempDir()
	opts := Options{free: func(string) (uint64, error) { asked++; return free.Load(), nil }}
	b := openTest(t, dir, opts)
	l := mustLog(t, b, "default")
	free.Store(spaceReserve) // less than reserve + database/2
	var err error
	n := 0
	for ; err == nil && n <= spaceInterval; n++ {
		_, err = l.Append(t.Context(), []Record{{Payload: []byte("x")}})
	}
	require.ErrorIs(t, err, ErrNoSpace)
	assert.LessOrEqual(t, n, spaceInterval)
	before := asked
	_, err = b.System().Put(t.Context(), "row", nil)
	require.ErrorIs(t, err, ErrNoSpace)
	assert.Equal(t, before+1, asked, "while space is low every write looks")
	assert.Len(t, collect(t, l.Read(t.Context(), 0)), int(l.Head().Seq))
	assert.NoError(t, b.Health())
	require.ErrorIs(t, b.Writable(), ErrNoSpace)
	free.Store(math.MaxInt64)
	require.NoError(t, b.Writable())
	mustAppend(t, l, Record{Payload: []byte("y")})

	free.Store(spaceReserve) // many bytes in few commits are noticed as well
	for n = 0; err == nil || n == 0; n++ {
		_, err = l.Append(t.Context(), []Record{{Payload: make([]byte, MaxPayload)}})
	}
	require.ErrorIs(t, err, ErrNoSpace)
	assert.LessOrEqual(t, n, spaceInterval)
	require.NoError(t, b.Close())
	_, err = Open(dir, Options{Logger: quiet, free: func(string) (uint64, error) { return 0, nil }})
	require.ErrorIs(t, err, ErrNoSpace)
}

func TestFreeSpaceOfThisMachine(t *testing.T) {
	free, err := freeSpace(t.TempDir())
	require.NoError(t, err)
	assert.Positive(t, free)
	dir := t.TempDir()
	openTest(t, dir, Options{})
	size, err := allocated(dir)
	require.NoError(t, err)
	if spaceKnown {
		assert.Less(t, size, uint64(2*memTable+8<<20), "an empty database is sparse but for the log")
	}
}

// 64 writers of 20 events each must share commits.
func TestGroupCommit(t *testing.T) {
	var commits atomic.Int64
	b := openTest(t, t.TempDir(), Options{commit: func(txn *badger.Txn) error {
		commits.Add(1)
		return txn.Commit()
	}})
	const writers, each = 64, 20
	logs := []Log{mustLog(t, b, "a"), mustLog(t, b, "b")}
	commits.Store(0)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				_, err := logs[w%2].Append(context.Background(), []Record{{Key: fmt.Sprint(w, " ", i), Payload: []byte("x")}})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	t.Logf("%d appends in %d commits", writers*each, commits.Load())
	assert.Less(t, commits.Load(), int64(writers*each/4))
	for _, l := range logs {
		assert.EqualValues(t, writers*each/2, l.Head().Seq)
		assert.Len(t, collect(t, l.Read(t.Context(), 0)), writers*each/2)
	}
}

// The first group is held in its commit; what queues up behind it meets in the second one.
func TestOneGroup(t *testing.T) {
	entered, release := make(chan struct{}, 8), make(chan struct{})
	var hold atomic.Bool
	b := openTest(t, t.TempDir(), Options{commit: func(txn *badger.Txn) error {
		if hold.Load() {
			entered <- struct{}{}
			<-release
		}
		return txn.Commit()
	}})
	l := mustLog(t, b, "default")
	hold.Store(true)
	ctx := t.Context()
	var wg sync.WaitGroup
	wg.Go(func() { mustAppend(t, l, Record{Payload: []byte("first")}) })
	<-entered
	assert.Zero(t, l.Head().Seq, "nothing is visible before it is durable")

	receipts := make([]Receipt, 3)
	for i, payload := range []string{"p", "p", "q"} { // same key: stored, duplicate, conflict
		wg.Go(func() { receipts[i] = mustAppend(t, l, Record{Key: "k", Payload: []byte(payload)})[0] })
		waitQueued(t, b, i+1)
	}
	cancelled, cancel := context.WithCancel(ctx)
	withdrawn := make(chan error)
	go func() {
		_, err := l.Append(cancelled, []Record{{Payload: []byte("withdrawn")}})
		withdrawn <- err
	}()
	waitQueued(t, b, 4)
	cancel()
	require.ErrorIs(t, <-withdrawn, context.Canceled)
	cas := make(chan error, 2) // two compare-and-sets of one row: one wins
	for range 2 {
		go func() { _, err := b.System().CAS(ctx, "row", 0, nil); cas <- err }()
	}
	waitQueued(t, b, 6)
	hold.Store(false)
	before := b.committer.commits.Load()
	close(release)
	wg.Wait()
	won, lost := <-cas, <-cas
	if won != nil {
		won, lost = lost, won
	}
	assert.NoError(t, won)
	assert.ErrorIs(t, lost, ErrConflict)
	assert.Equal(t, []Receipt{{2, Stored}, {2, Duplicate}, {2, Conflict}}, receipts)
	assert.EqualValues(t, 2, l.Head().Seq)
	assert.Equal(t, before+2, b.committer.commits.Load())
}

func waitQueued(t *testing.T, b *Badger, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(b.committer.queue) == n }, 2*time.Minute, time.Millisecond)
}

// A context that ends during the commit does not turn a stored event into an error.
func TestCancelledWhileCommitting(t *testing.T) {
	var hook atomic.Pointer[context.CancelFunc]
	b := openTest(t, t.TempDir(), Options{commit: func(txn *badger.Txn) error {
		if cancel := hook.Load(); cancel != nil {
			(*cancel)()
			time.Sleep(5 * time.Millisecond)
		}
		return txn.Commit()
	}})
	l := mustLog(t, b, "default")
	ctx, cancel := context.WithCancel(t.Context())
	hook.Store(&cancel)
	got, err := l.Append(ctx, []Record{{Payload: []byte("x")}})
	require.NoError(t, err)
	assert.Equal(t, []Receipt{{1, Stored}}, got)
}

func TestFailedCommit(t *testing.T) {
	var failing atomic.Bool
	broken := errors.New("input/output error")
	dir := t.TempDir()
	b := openTest(t, dir, Options{commit: func(txn *badger.Txn) error {
		if failing.Load() {
			return broken
		}
		return txn.Commit()
	}})
	l := mustLog(t, b, "default")
	mustAppend(t, l, Record{Payload: []byte("x")})
	failing.Store(true)
	_, err := l.Append(t.Context(), []Record{{Payload: []byte("y")}})
	require.ErrorIs(t, err, broken)
	failing.Store(false)
	_, err = l.Append(t.Context(), []Record{{Payload: []byte("z")}})
	require.ErrorIs(t, err, ErrReadOnly)
	require.ErrorIs(t, b.Health(), ErrReadOnly)
	assert.Len(t, collect(t, l.Read(t.Context(), 0)), 1)
	require.NoError(t, b.Close())
	b = openTest(t, dir, Options{})
	assert.EqualValues(t, 1, mustLog(t, b, "default").Head().Seq)
}

// An ERROR line of badger is a failure that it reports in no other way.
func TestErrorLine(t *testing.T) {
	b := openTest(t, t.TempDir(), Options{})
	slogger{b}.Warningf("nothing of note")
	require.NoError(t, b.Health())
	slogger{b}.Errorf("Error while curlf sync: %v\n", errors.New("disk gone"))
	require.ErrorContains(t, b.Health(), "disk gone")
}

// A deletion that was interrupted after its mark is finished by the next Open.
func TestInterruptedDelete(t *testing.T) {
	dir := fillForFindings(t)
	direct(t, dir, func(txn *badger.Txn) error {
		return errors.Join(txn.Set(registryKey("default"), encodeWorkspace(flagDeleting)), txn.Delete(eventKey("default", 3)))
	})
	b := openTest(t, dir, Options{})
	names, err := b.Workspaces(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"other"}, names)
	require.NoError(t, b.Close())
	assert.NoDirExists(t, filepath.Join(dir, "snapshots", "w-default"))
	direct(t, dir, func(txn *badger.Txn) error {
		for _, kind := range []byte{kindEvent, kindRow} {
			err := each(txn, kind, func(k, _ []byte) {
				name, _, err := splitKey(k)
				assert.NoError(t, err)
				assert.NotEqual(t, "default", name, "key %q is left", k)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// One of the log alone keeps the table, and the log begins anew.
func TestInterruptedClear(t *testing.T) {
	dir := fillForFindings(t)
	b := openTest(t, dir, Options{})
	table, err := b.Table("default")
	require.NoError(t, err)
	_, err = table.Put(t.Context(), "kept", []byte("row"))
	require.NoError(t, err)
	require.NoError(t, b.Close())
	direct(t, dir, func(txn *badger.Txn) error {
		return errors.Join(txn.Set(registryKey("default"), encodeWorkspace(flagClearing)), txn.Delete(eventKey("default", 3)))
	})
	for range 2 {
		b = openTest(t, dir, Options{})
		log, err := b.Log("default")
		require.NoError(t, err)
		require.Zero(t, log.Head())
		table, err := b.Table("default")
		require.NoError(t, err)
		row, _, err := table.Get(t.Context(), "kept")
		require.NoError(t, err)
		require.Equal(t, "row", string(row))
		require.NoError(t, b.Close())
	}
	assert.NoDirExists(t, filepath.Join(dir, "snapshots", "w-default"))
}

// The high-water file follows after a while, or sooner after many events.
func TestMarkFollows(t *testing.T) {
	for _, tt := range []struct {
		events int
		rest   time.Duration
	}{{1, time.Millisecond}, {markEvents, time.Hour}} {
		dir := t.TempDir()
		l := mustLog(t, openTest(t, dir, Options{rest: tt.rest}), "default")
		mustAppend(t, l, make([]Record, tt.events)...)
		require.Eventually(t, func() bool {
			m, ok, err := readMark(dir)
			return err == nil && ok && m.heads["default"] == l.Head() && l.Head().Seq == uint64(tt.events)
		}, 2*time.Minute, time.Millisecond)
	}
}

func TestOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	_, err := ReadOwner(dir)
	require.ErrorIs(t, err, ErrNotFound)
	o := Owner{PID: 4711, Addr: "127.0.0.1:8080", Token: "secret", Started: "2026-01-02T03:04:05Z", Command: "serve"}
	require.NoError(t, WriteOwner(dir, Owner{PID: 1}))
	require.NoError(t, WriteOwner(dir, o))
	got, err := ReadOwner(dir)
	require.NoError(t, err)
	assert.Equal(t, o, got)
	for path, mode := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, ownerName): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm())
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ownerName), []byte("{"), 0o600))
	_, err = ReadOwner(dir)
	require.Error(t, err)
	require.NoError(t, RemoveOwner(dir))
	require.NoError(t, RemoveOwner(dir))
}

// A high-water file that has no room is written when there is room again: until then writes are refused, afterwards
// they go on without a restart.
func TestMarkWithoutRoom(t *testing.T) {
	var full atomic.Bool
	inject = func(_, path string) error {
		if full.Load() && strings.Contains(path, highWaterName) {
			return syscall.ENOSPC
		}
		return nil
	}
	t.Cleanup(func() { inject = nil })
	b := openTest(t, t.TempDir(), Options{rest: time.Millisecond})
	l := mustLog(t, b, "default")
	full.Store(true)
	require.Eventually(t, func() bool {
		_, err := l.Append(t.Context(), []Record{{Payload: []byte("x")}})
		return errors.Is(err, ErrNoSpace)
	}, time.Minute, time.Millisecond)
	require.ErrorIs(t, b.Writable(), ErrNoSpace)
	require.NoError(t, b.Health(), "the store is whole")
	full.Store(false)
	require.Eventually(t, func() bool { return b.Writable() == nil }, time.Minute, time.Millisecond)
	mustAppend(t, l, Record{Payload: []byte("y")})
	require.NoError(t, b.Close())
}
