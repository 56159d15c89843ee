package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// names lists a directory; one that does not exist is empty.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := readDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// snapshotFiles returns a store of 30 events with two snapshots, early at 10 and late at 25, and the
// folder they lie in.
func snapshotFiles(t *testing.T) (l Log, folder string) {
	dir := fillForFindings(t)
	return mustLog(t, openTest(t, dir, Options{}), "default"), filepath.Join(dir, "snapshots", "w-default")
}

// tell is what a caller sees, a line for each snapshot.
func tell(t *testing.T, l Log) (all []string) {
	for s, err := range l.Snapshots(t.Context()) {
		if err != nil {
			require.ErrorIs(t, err, ErrDamaged)
			require.Nil(t, s.Data)
			all = append(all, fmt.Sprint(s.Seq, " damaged"))
		} else {
			all = append(all, fmt.Sprintf("%d %s", s.Seq, s.Data))
		}
	}
	return all
}

// Every bit and every length: what is not the file that was written is damaged, and the older one
// takes its place.
func TestDamagedSnapshot(t *testing.T) {
	l, folder := snapshotFiles(t)
	path := filepath.Join(folder, snapshotName(25))
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	check := func(name string, b []byte) {
		require.NoError(t, os.WriteFile(path, b, 0o600))
		require.Equal(t, []string{"25 damaged", "10 early"}, tell(t, l), name)
	}
	for i := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[i] ^= 1 << bit
			check(fmt.Sprintf("bit %d of byte %d", bit, i), b)
		}
	}
	for n := range good {
		check(fmt.Sprintf("cut to %d bytes", n), good[:n])
	}
	check("one byte more", append(bytes.Clone(good), 0))
	check("twice", append(bytes.Clone(good), good...))
	other, err := os.ReadFile(filepath.Join(folder, snapshotName(10)))
	require.NoError(t, err)
	check("that of another seq", other)
	stored, content, err := readStored(t.Context(), bytes.NewReader(good), int64(len(good)))
	require.NoError(t, err)
	forked := stored
	forked.Chain[0] ^= 1
	check("that of another history", appendSnapshot(nil, forked, content))
	former := bytes.Clone(good)
	former[len(snapshotMagic)]--
	check("another format", former)
	for _, length := range []uint64{0, 3, 5, math.MaxUint64} {
		stored.length = length
		check("another length", appendSnapshot(nil, stored, good[snapshotHeader:len(good)-snapshotTrailer]))
	}
	stored.length = 4
	check("not compressed", appendSnapshot(nil, stored, []byte("late")))
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	require.Equal(t, []string{"25 damaged", "10 early"}, tell(t, l), "a directory")
	require.NoError(t, os.Remove(path))
	require.Equal(t, []string{"10 early"}, tell(t, l), "gone")
	require.NoError(t, os.WriteFile(path, good, 0o600))
	require.Equal(t, []string{"25 late", "10 early"}, tell(t, l))
	require.NoError(t, os.WriteFile(filepath.Join(folder, snapshotName(31)), good, 0o600))
	require.Equal(t, []string{"31 damaged", "25 late"}, tell(t, l), "beyond the head")
}

// A wild length must not be allocated.
func TestWildLengthOfSnapshot(t *testing.T) {
	for _, length := range []uint64{1, 1 << 40, math.MaxInt64, 1 << 63, math.MaxUint64, math.MaxUint64 - uint64(snapshotHeader) - 7} {
		h := snapshotHead{Head: Head{Seq: 1}, stored: length}
		header := h.appendTo(nil)
		b := binary.BigEndian.AppendUint64(header, snapshotSum(header, nil))
		_, _, err := readSnapshot(t.Context(), bytes.NewReader(b), int64(len(b)))
		require.ErrorContains(t, err, fmt.Sprintf("a content of %d bytes in a file of %d", length, len(b)))
	}
	for size := range int64(snapshotHeader + snapshotTrailer) {
		b := appendSnapshot(nil, snapshotHead{}, nil)
		_, _, err := readSnapshot(t.Context(), bytes.NewReader(b), size)
		require.Error(t, err)
	}
}

// Whatever lies beside the snapshots after a crash or a change from outside: files half written go at
// open or with the next snapshot, the folder of no workspace and what is beyond the log go at open,
// and what is not ours stays.
func TestSnapshotLeftovers(t *testing.T) {
	dir := fillForFindings(t)
	root := filepath.Join(dir, "snapshots")
	folder := filepath.Join(root, "w-default")
	leave := func(path string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("left"), 0o600))
	}
	leave(filepath.Join(folder, "123.tmp"))
	leave(filepath.Join(folder, snapshotName(31)))
	leave(filepath.Join(folder, snapshotName(9))) // a third: the crash came before its removal
	leave(filepath.Join(folder, "notes.txt"))
	leave(filepath.Join(root, "w-gone", snapshotName(1)))
	leave(filepath.Join(root, "lost+found", "1"))
	leave(filepath.Join(root, "w-file"))
	l := mustLog(t, openTest(t, dir, Options{}), "default")
	own := []string{snapshotName(10), snapshotName(25), "notes.txt"}
	assert.Equal(t, own, names(t, folder))
	assert.Equal(t, []string{"lost+found", "w-default", "w-file"}, names(t, root))
	assert.Equal(t, []string{"25 late", "10 early"}, tell(t, l))

	leave(filepath.Join(folder, "456.tmp"))
	leave(filepath.Join(folder, "18446744073709551616.snapshot")) // 2⁶⁴ is no seq
	leave(filepath.Join(folder, "7.snapshot"))
	require.NoError(t, putBytes(t.Context(), l, 20, []byte("late, but newer than one")))
	assert.Equal(t, []string{snapshotName(20), snapshotName(25), "18446744073709551616.snapshot", "7.snapshot", "notes.txt"}, names(t, folder))
	assert.Equal(t, []string{"25 late", "20 late, but newer than one"}, tell(t, l))

	require.NoError(t, l.DropSnapshots(t.Context()))
	assert.NoDirExists(t, folder, "what was derived is gone, whatever its name")
	assert.Empty(t, tell(t, l))
	require.NoError(t, putBytes(t.Context(), l, 20, []byte("new")))
	assert.Equal(t, []string{"20 new"}, tell(t, l))
}

// A file is removed in steps; none of them is left.
func TestLargeSnapshotsAreRemoved(t *testing.T) {
	l, folder := snapshotFiles(t)
	for seq := uint64(26); seq < 30; seq++ {
		require.NoError(t, putBytes(t.Context(), l, seq, make([]byte, 2*snapshotStep+int(seq))))
	}
	assert.Equal(t, []string{snapshotName(28), snapshotName(29)}, names(t, folder))
	got := collect(t, l.Snapshots(t.Context()))
	assert.Len(t, got[0].Data, 2*snapshotStep+29)
	assert.Len(t, got[1].Data, 2*snapshotStep+28)
}

// Nothing but the snapshots is left of puts that fail, and permissions are those of the directory.
func TestSnapshotFiles(t *testing.T) {
	l, folder := snapshotFiles(t)
	err := l.PutSnapshot(t.Context(), 26, func(w io.Writer) error {
		w.Write(make([]byte, 2*snapshotChunk))
		assert.Len(t, names(t, folder), 3)
		return errors.New("no")
	})
	require.Error(t, err)
	assert.Equal(t, []string{snapshotName(10), snapshotName(25)}, names(t, folder))
	for path, mode := range map[string]fs.FileMode{
		filepath.Dir(folder): 0o700, folder: 0o700, filepath.Join(folder, snapshotName(25)): 0o600,
	} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), path)
	}
}

// A log that was cut and grew again has other events at the same seqs.
func TestSnapshotOfAHistoryThatWasCut(t *testing.T) {
	dir := fillForFindings(t)
	direct(t, dir, func(txn *badger.Txn) error { return txn.Delete(eventKey("default", 21)) })
	kept, err := os.ReadFile(filepath.Join(dir, "snapshots", "w-default", snapshotName(25)))
	require.NoError(t, err)
	b := openTest(t, dir, Options{AcceptDamage: true})
	l := mustLog(t, b, "default")
	require.Equal(t, []string{"10 early"}, tell(t, l))
	for range 10 {
		mustAppend(t, l, Record{Payload: []byte("another")})
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "snapshots", "w-default", snapshotName(25)), kept, 0o600))
	require.Equal(t, []string{"25 damaged", "10 early"}, tell(t, l))
}

// Snapshots are neither in a backup nor kept where one is restored.
func TestSnapshotsAreNotInBackups(t *testing.T) {
	l, folder := snapshotFiles(t)
	var out bytes.Buffer
	_, err := l.(*badgerLog).b.Backup(t.Context(), &out)
	require.NoError(t, err)
	require.NotContains(t, out.String(), "late")
	dir := filepath.Join(t.TempDir(), "new")
	require.NoError(t, os.CopyFS(filepath.Join(dir, "snapshots", "w-default"), os.DirFS(folder)))
	_, err = Restore(t.Context(), bytes.NewReader(out.Bytes()), dir, Options{Logger: quiet})
	require.ErrorContains(t, err, "not empty")
	require.NoError(t, os.RemoveAll(dir))
	_, err = Restore(t.Context(), bytes.NewReader(out.Bytes()), dir, Options{Logger: quiet})
	require.NoError(t, err)
	assert.NoDirExists(t, filepath.Join(dir, "snapshots"))
	assert.Empty(t, tell(t, mustLog(t, openTest(t, dir, Options{}), "default")))
}

func TestSnapshotFolder(t *testing.T) {
	long := strings.Repeat("Ü", maxWorkspace/2)
	all := []string{"default", "team-a", "0_9", "Default", "DEFAULT", "con", "a.b", "..", ".", "/", "../../etc", "a/b", `a\b`, "w-a", "x-a",
		" ", "default ", "ü", "u\u0308", long, strings.Repeat("a", maxWorkspace), strings.Repeat("A", maxWorkspace)}
	seen := make(map[string]string)
	for _, name := range all {
		require.NoError(t, checkWorkspace(name))
		folder := snapshotFolder(name)
		assert.Regexp(t, `^(w-[a-z0-9_-]+|x-[a-z2-7]+)$`, folder)
		assert.LessOrEqual(t, len(folder), 255)
		assert.Empty(t, seen[folder], name)
		seen[folder] = name
	}
	assert.Equal(t, "w-default", snapshotFolder("default"))

	dir := t.TempDir()
	b := openTest(t, dir, Options{})
	for _, name := range all {
		l := mustLog(t, b, name)
		require.NoError(t, putBytes(t.Context(), l, 0, []byte(name)))
	}
	require.NoError(t, b.Close())
	assert.Len(t, names(t, filepath.Join(dir, "snapshots")), len(all))
	b = openTest(t, dir, Options{})
	for _, name := range all {
		assert.Equal(t, []string{"0 " + name}, tell(t, mustLog(t, b, name)))
		require.NoError(t, b.Delete(t.Context(), name))
	}
	assert.Empty(t, names(t, filepath.Join(dir, "snapshots")))
}

// A snapshot is refused while there is still room for events, at once or in its middle; to drop
// snapshots needs no room.
func TestSnapshotSpaceGuard(t *testing.T) {
	var free atomic.Uint64
	free.Store(math.MaxInt64)
	dir := t.TempDir()
	b := openTest(t, dir, Options{free: func(string) (uint64, error) { return free.Load(), nil }})
	l := mustLog(t, b, "default")
	mustAppend(t, l, Record{Payload: []byte("x")})
	require.NoError(t, putBytes(t.Context(), l, 0, []byte("kept")))
	size, err := allocated(filepath.Join(dir, "db"))
	require.NoError(t, err)
	low := spaceReserve + size/2 + 8<<20 // events still go in
	written := 0
	err = l.PutSnapshot(t.Context(), 1, func(w io.Writer) error {
		free.Store(low)
		for {
			if _, err := w.Write(make([]byte, snapshotChunk)); err != nil {
				return err
			}
			written += snapshotChunk
		}
	})
	require.ErrorIs(t, err, ErrNoSpace)
	assert.LessOrEqual(t, written, spaceBytes)
	require.ErrorIs(t, putBytes(t.Context(), l, 1, nil), ErrNoSpace)
	for range spaceInterval + 1 {
		mustAppend(t, l, Record{Payload: []byte("x")})
	}
	assert.Equal(t, []string{"0 kept"}, tell(t, l))
	assert.Equal(t, []string{snapshotName(0)}, names(t, filepath.Join(dir, "snapshots", "w-default")))
	free.Store(0)
	require.NoError(t, l.DropSnapshots(t.Context()))
	assert.NoError(t, b.Health())
	require.NoError(t, b.Close())
}

// After a failed commit nothing is accepted but to forget.
func TestSnapshotAfterFailedCommit(t *testing.T) {
	var failing atomic.Bool
	b := openTest(t, t.TempDir(), Options{commit: func(txn *badger.Txn) error {
		if failing.Load() {
			return errors.New("input/output error")
		}
		return txn.Commit()
	}})
	l := mustLog(t, b, "default")
	require.NoError(t, putBytes(t.Context(), l, 0, []byte("kept")))
	failing.Store(true)
	_, err := l.Append(t.Context(), []Record{{Payload: []byte("x")}})
	require.Error(t, err)
	require.ErrorIs(t, putBytes(t.Context(), l, 0, []byte("new")), ErrReadOnly)
	assert.Equal(t, []string{"0 kept"}, tell(t, l))
	require.NoError(t, l.DropSnapshots(t.Context()))
}

// Close does not wait for what a caller does between two writes; the next write says that it is over,
// and what was written goes when the store is opened again.
func TestCloseWhileASnapshotIsWritten(t *testing.T) {
	dir := fillForFindings(t)
	b := openTest(t, dir, Options{})
	l := mustLog(t, b, "default")
	err := l.PutSnapshot(t.Context(), 26, func(w io.Writer) error {
		_, err := w.Write(make([]byte, 2*snapshotChunk))
		require.NoError(t, errors.Join(err, b.Close()))
		_, err = w.Write(make([]byte, 2*snapshotChunk))
		return err
	})
	require.ErrorIs(t, err, ErrClosed)
	l = mustLog(t, openTest(t, dir, Options{}), "default")
	assert.Equal(t, []string{"25 late", "10 early"}, tell(t, l))
	assert.Len(t, names(t, filepath.Join(dir, "snapshots", "w-default")), 2)
}

func BenchmarkSnapshot(b *testing.B) {
	data := make([]byte, 64<<20)
	rand.NewChaCha8([32]byte{1}).Read(data)
	l := mustLog(b, openTest(b, b.TempDir(), Options{}), "default")
	put := func() { // at a new seq, so the third is removed
		seq := mustAppend(b, l, Record{})[0].Seq
		require.NoError(b, putBytes(context.Background(), l, seq, data))
	}
	b.Run("put", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			put()
		}
	})
	put()
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			for s, err := range l.Snapshots(context.Background()) {
				require.NoError(b, err)
				require.Len(b, s.Data, len(data))
				break
			}
		}
	})
	b.Run("append beside", func(b *testing.B) {
		done := make(chan struct{})
		var puts sync.WaitGroup
		puts.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					put()
				}
			}
		})
		var took []time.Duration
		for b.Loop() {
			begin := time.Now()
			mustAppend(b, l, Record{Payload: data[:200]})
			took = append(took, time.Since(begin))
		}
		close(done)
		puts.Wait()
		slices.Sort(took)
		for _, share := range []int{50, 99, 100} {
			b.ReportMetric(float64(took[(len(took)-1)*share/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", share))
		}
	})
}
