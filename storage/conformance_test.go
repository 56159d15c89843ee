package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var quiet = slog.New(slog.DiscardHandler)

func openTest(t testing.TB, dir string, opts Options) *Badger {
	t.Helper()
	opts.Logger = quiet
	b, err := Open(dir, opts)
	require.NoError(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

// TestStore is the one suite both stores pass.
func TestStore(t *testing.T) {
	stores := map[string]func(t *testing.T) Store{
		"memory": func(t *testing.T) Store { return NewMemory() },
		"badger": func(t *testing.T) Store { return openTest(t, t.TempDir(), Options{}) },
	}
	cases := []struct {
		name string
		test func(t *testing.T, s Store)
	}{
		{"append", testAppend}, {"known", testKnown}, {"chain", testChain}, {"read", testRead}, {"erase", testErase},
		{"snapshots", testSnapshots}, {"snapshot errors", testSnapshotErrors},
		{"snapshots together", testSnapshotsTogether}, {"table", testTable}, {"workspaces", testWorkspaces},
		{"limits", testLimits}, {"closed", testClosed}, {"backup", testBackup}, {"cancelled", testCancelled},
	}
	for _, kind := range []string{"memory", "badger"} {
		for _, c := range cases {
			t.Run(kind+"/"+c.name, func(t *testing.T) { c.test(t, stores[kind](t)) })
		}
	}
}

// Known answers as Append would where it stores nothing, and changes nothing.
func testKnown(t *testing.T, s Store) {
	log := mustLog(t, s, "w").(Installer)
	a, b := Record{Key: "a", Payload: []byte("1")}, Record{Payload: []byte("2")}
	_, err := log.Append(t.Context(), []Record{b, a})
	require.NoError(t, err)
	for range 2 {
		known, err := log.Known(t.Context(), []Record{a, b, {Key: "a", Payload: []byte("3")}, {Key: "c", Payload: []byte("1")}})
		require.NoError(t, err)
		require.Equal(t, []Receipt{{Seq: 2, Status: Duplicate}, {}, {Seq: 2, Status: Conflict}, {}}, known)
		require.EqualValues(t, 2, log.Head().Seq)
	}
	_, err = log.Known(t.Context(), []Record{{Payload: make([]byte, MaxPayload+1)}})
	require.Error(t, err)
}

func collect[T any](t testing.TB, seq iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for v, err := range seq {
		require.NoError(t, err)
		all = append(all, v)
	}
	return all
}

func firstError[T any](seq iter.Seq2[T, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

func mustLog(t testing.TB, s Store, workspace string) Log {
	t.Helper()
	l, err := s.Log(workspace)
	require.NoError(t, err)
	return l
}

func mustAppend(t testing.TB, l Log, records ...Record) []Receipt {
	t.Helper()
	r, err := l.Append(t.Context(), records)
	require.NoError(t, err)
	require.Len(t, r, len(records))
	return r
}

func testAppend(t *testing.T, s Store) {
	l := mustLog(t, s, "default")
	assert.Equal(t, Head{}, l.Head())
	got := mustAppend(t, l,
		Record{Key: "a", Payload: []byte("one")},
		Record{Payload: []byte("two")},
		Record{Key: "a", Payload: []byte("one")},   // the same commit already has it
		Record{Key: "a", Payload: []byte("other")}, // and something else
		Record{Payload: []byte("two")},             // no key, no duplicate
		Record{})
	assert.Equal(t, []Receipt{{1, Stored}, {2, Stored}, {1, Duplicate}, {1, Conflict}, {3, Stored}, {4, Stored}}, got)
	assert.EqualValues(t, 4, l.Head().Seq)

	other := mustLog(t, s, "other") // keys are known in one workspace only
	assert.Equal(t, []Receipt{{1, Stored}}, mustAppend(t, other, Record{Key: "a", Payload: []byte("other")}))
	assert.Equal(t, []Receipt{{1, Duplicate}}, mustAppend(t, l, Record{Key: "a", Payload: []byte("one")}))
	assert.Empty(t, mustAppend(t, l))
}

// The expected chain was computed with Python's hashlib:
// c=bytes(32); for n,p in enumerate([b"one",b"two"],1): c=sha256(c+n.to_bytes(8,"big")+sha256(p).digest()).digest()
func testChain(t *testing.T, s Store) {
	l := mustLog(t, s, "default")
	mustAppend(t, l, Record{Payload: []byte("one")}, Record{Key: "k", Payload: []byte("two")})
	events := collect(t, l.Read(t.Context(), 0))
	assert.Equal(t, "fc9cf8c10b1704af1f46a5dead5c3ac3747fd219b9e38ebcfb9f129701edfe58", hex.EncodeToString(events[0].Chain[:]))
	assert.Equal(t, "a6e9b3ab7006dafb1cca1531294b5e35b40b1ac1959e81603b81cc7e8e2a2371", hex.EncodeToString(events[1].Chain[:]))
	assert.Equal(t, Head{Seq: 2, Chain: events[1].Chain}, l.Head())
}

func testRead(t *testing.T, s Store) {
	l := mustLog(t, s, "default")
	var records []Record
	for i := range 2500 { // more than a page and more than a commit
		records = append(records, Record{Key: fmt.Sprint(i), Payload: fmt.Append(nil, "payload ", i)})
	}
	receipts := mustAppend(t, l, records...)
	assert.Equal(t, Receipt{2500, Stored}, receipts[2499])
	events := collect(t, l.Read(t.Context(), 0))
	require.Len(t, events, 2500)
	for i, e := range events {
		require.EqualValues(t, i+1, e.Seq)
		require.Equal(t, records[i].Payload, e.Payload)
	}
	assert.Len(t, collect(t, l.Read(t.Context(), 2499)), 1)
	assert.Empty(t, collect(t, l.Read(t.Context(), 2500)))
	assert.Empty(t, collect(t, l.Read(t.Context(), ^uint64(0))))
	n := 0
	for range l.Read(t.Context(), 0) { // a reader may append and stop; it does not see what came later
		mustAppend(t, l, Record{Payload: []byte("late")})
		if n++; n == 3 {
			break
		}
	}
	assert.EqualValues(t, 2503, l.Head().Seq)
}

func testErase(t *testing.T, s Store) {
	l := mustLog(t, s, "default")
	mustAppend(t, l, Record{Key: "a", Payload: []byte("secret")}, Record{Payload: []byte("kept")})
	before := collect(t, l.Read(t.Context(), 0))
	require.NoError(t, l.Erase(t.Context(), []uint64{1, 1, 77, 0}))
	require.NoError(t, l.Erase(t.Context(), []uint64{1}))
	require.NoError(t, l.Erase(t.Context(), nil))
	after := collect(t, l.Read(t.Context(), 0))
	assert.True(t, after[0].Erased)
	assert.Empty(t, after[0].Payload)
	assert.Equal(t, before[0].Digest, after[0].Digest)
	assert.Equal(t, before[0].Chain, after[0].Chain)
	assert.Equal(t, before[1], after[1])
	assert.Equal(t, []Receipt{{1, Duplicate}, {1, Conflict}}, mustAppend(t, l,
		Record{Key: "a", Payload: []byte("secret")}, Record{Key: "a", Payload: []byte("new")}))
	var out bytes.Buffer
	_, err := s.Backup(t.Context(), &out)
	require.NoError(t, err)
	assert.NotContains(t, out.String(), "secret")
	assert.Contains(t, out.String(), "kept")
}

func putBytes(ctx context.Context, l Log, seq uint64, data []byte) error {
	return l.PutSnapshot(ctx, seq, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func testSnapshots(t *testing.T, s Store) {
	l := mustLog(t, s, "default")
	ctx := t.Context()
	assert.Empty(t, collect(t, l.Snapshots(ctx)))
	require.NoError(t, l.DropSnapshots(ctx))
	assert.ErrorContains(t, putBytes(ctx, l, 1, nil), "newer than the log")
	for range 4 {
		mustAppend(t, l, Record{Payload: []byte("x")})
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 80_000) // 1.28 MB, several chunks
	require.NoError(t, putBytes(ctx, l, 1, []byte("first")))
	require.NoError(t, putBytes(ctx, l, 3, big))
	require.NoError(t, putBytes(ctx, l, 2, []byte{})) // late, but newer than the oldest
	got := collect(t, l.Snapshots(ctx))
	require.Len(t, got, 2)
	assert.EqualValues(t, 3, got[0].Seq)
	assert.True(t, bytes.Equal(big, got[0].Data))
	assert.EqualValues(t, 2, got[1].Seq)
	assert.Empty(t, got[1].Data)
	require.NoError(t, putBytes(ctx, l, 3, []byte("again")))
	got = collect(t, l.Snapshots(ctx))
	require.Len(t, got, 2)
	assert.Equal(t, Snapshot{3, []byte("again")}, got[0])
	require.NoError(t, l.DropSnapshots(ctx))
	assert.Empty(t, collect(t, l.Snapshots(ctx)))
}

// What fails or is cut short leaves the snapshots as they were, and the next one goes through.
func testSnapshotErrors(t *testing.T, s Store) {
	l := mustLog(t, s, "default")
	mustAppend(t, l, Record{Payload: []byte("x")}, Record{Payload: []byte("y")})
	require.NoError(t, putBytes(t.Context(), l, 1, []byte("kept")))
	kept := []Snapshot{{1, []byte("kept")}}
	large := make([]byte, 3*snapshotChunk)

	broken := errors.New("cannot be encoded")
	for _, n := range []int{0, 10, len(large)} {
		err := l.PutSnapshot(t.Context(), 2, func(w io.Writer) error {
			_, err := w.Write(large[:n])
			return errors.Join(err, broken)
		})
		require.ErrorIs(t, err, broken)
	}
	assert.Panics(t, func() {
		l.PutSnapshot(t.Context(), 2, func(w io.Writer) error { panic("a bug of the caller") })
	})
	for _, n := range []int{1, len(large)} { // also where the writer swallows the error
		ctx, cancel := context.WithCancel(t.Context())
		err := l.PutSnapshot(ctx, 2, func(w io.Writer) error {
			cancel()
			w.Write(large[:n])
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, putBytes(ctx, l, 2, nil), context.Canceled)
		require.ErrorIs(t, l.DropSnapshots(ctx), context.Canceled)
	}
	assert.Equal(t, kept, collect(t, l.Snapshots(t.Context())))

	require.NoError(t, l.PutSnapshot(t.Context(), 2, func(w io.Writer) error { // the log goes on meanwhile
		mustAppend(t, l, Record{Payload: []byte("z")})
		for _, s := range collect(t, l.Snapshots(t.Context())) {
			io.WriteString(w, strings.ToUpper(string(s.Data)))
		}
		return nil
	}))
	assert.Equal(t, append([]Snapshot{{2, []byte("KEPT")}}, kept...), collect(t, l.Snapshots(t.Context())))

	deleted := make(chan error)
	err := l.PutSnapshot(t.Context(), 3, func(w io.Writer) error {
		go func() { deleted <- s.Delete(context.Background(), "default") }()
		for {
			if _, err := w.Write(large); err != nil {
				return err
			}
		}
	})
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, <-deleted)
	assert.ErrorIs(t, l.DropSnapshots(t.Context()), ErrNotFound)
	assert.ErrorIs(t, firstError(l.Snapshots(t.Context())), ErrNotFound)
	l = mustLog(t, s, "default")
	mustAppend(t, l, Record{Payload: []byte("x")})
	assert.Empty(t, collect(t, l.Snapshots(t.Context())), "a workspace of the same name is another one")
}

// A snapshot that was begun before DropSnapshots does not outlive it.
func testSnapshotsTogether(t *testing.T, s Store) {
	ctx := t.Context()
	l := mustLog(t, s, "default")
	mustAppend(t, l, make([]Record, 50)...)
	content := func(seq uint64) []byte {
		return bytes.Repeat(binary.BigEndian.AppendUint64(nil, seq), 1<<14+int(seq))
	}
	var puts, others sync.WaitGroup
	done := make(chan struct{})
	for w := range uint64(3) {
		puts.Go(func() {
			for i := range uint64(8) {
				seq := 1 + (w*17+i*5)%50
				assert.NoError(t, putBytes(ctx, l, seq, content(seq)))
			}
		})
	}
	for range 2 {
		others.Go(func() {
			for going := true; going; {
				select {
				case <-done:
					going = false // one last look
				default:
				}
				for s, err := range l.Snapshots(ctx) {
					assert.NoError(t, err)
					assert.True(t, bytes.Equal(content(s.Seq), s.Data))
				}
			}
		})
	}
	others.Go(func() {
		for range 5 {
			assert.NoError(t, l.DropSnapshots(ctx))
			mustAppend(t, l, Record{Payload: []byte("beside")})
		}
	})
	puts.Wait()
	close(done)
	others.Wait()

	begun := make(chan struct{})
	puts.Go(func() {
		assert.NoError(t, l.PutSnapshot(ctx, 50, func(w io.Writer) error {
			close(begun)
			_, err := w.Write(make([]byte, 4*snapshotChunk))
			return err
		}))
	})
	<-begun
	require.NoError(t, l.DropSnapshots(ctx))
	assert.Empty(t, collect(t, l.Snapshots(ctx)))
	puts.Wait()
}

func testTable(t *testing.T, s Store) {
	ctx := t.Context()
	tab, err := s.Table("default")
	require.NoError(t, err)
	for _, tab := range []Table{tab, s.System()} {
		_, _, err = tab.Get(ctx, "a/1")
		require.ErrorIs(t, err, ErrNotFound)
		v, err := tab.Put(ctx, "a/1", []byte("x"))
		require.NoError(t, err)
		assert.EqualValues(t, 1, v)
		v, err = tab.CAS(ctx, "a/1", 1, []byte("y"))
		require.NoError(t, err)
		assert.EqualValues(t, 2, v)
		_, err = tab.CAS(ctx, "a/1", 1, []byte("z"))
		require.ErrorIs(t, err, ErrConflict)
		_, err = tab.CAS(ctx, "a/1", 0, []byte("z"))
		require.ErrorIs(t, err, ErrConflict)
		v, err = tab.CAS(ctx, "a/2", 0, nil)
		require.NoError(t, err)
		assert.EqualValues(t, 1, v)
		_, err = tab.Put(ctx, "b", []byte("other"))
		require.NoError(t, err)
		got, version, err := tab.Get(ctx, "a/1")
		require.NoError(t, err)
		assert.Equal(t, "y", string(got))
		assert.EqualValues(t, 2, version)
		rows := collect(t, tab.List(ctx, "a/"))
		require.Len(t, rows, 2)
		assert.Equal(t, Entry{"a/1", []byte("y"), 2}, rows[0])
		assert.Equal(t, "a/2", rows[1].Key)
		assert.Len(t, collect(t, tab.List(ctx, "")), 3)
		require.NoError(t, tab.Delete(ctx, "a/1"))
		require.NoError(t, tab.Delete(ctx, "a/1"))
		_, _, err = tab.Get(ctx, "a/1")
		require.ErrorIs(t, err, ErrNotFound)
		v, err = tab.CAS(ctx, "a/1", 0, []byte("back"))
		require.NoError(t, err)
		assert.EqualValues(t, 1, v)
	}
	for i := range 1200 { // more rows than a page
		_, err := s.System().Put(ctx, fmt.Sprintf("many/%04d", i), nil)
		require.NoError(t, err)
		if _, ok := s.(*Badger); ok && i == 20 {
			break // each is a sync; paging is tested by bytes below
		}
	}
	for i := range 6 {
		_, err := s.System().Put(ctx, fmt.Sprintf("large/%d", i), make([]byte, MaxPayload))
		require.NoError(t, err)
	}
	rows := collect(t, s.System().List(ctx, "large/"))
	require.Len(t, rows, 6)
	assert.True(t, slices.IsSortedFunc(rows, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) }))
}

func testWorkspaces(t *testing.T, s Store) {
	ctx := t.Context()
	for _, name := range []string{"b", "a", "ab", "é"} {
		mustAppend(t, mustLog(t, s, name), Record{Key: "k", Payload: []byte(name)})
	}
	tab, err := s.Table("a")
	require.NoError(t, err)
	_, err = tab.Put(ctx, "row", nil)
	require.NoError(t, err)
	names, err := s.Workspaces(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "ab", "b", "é"}, names)

	old := mustLog(t, s, "a")
	testClear(t, s)
	require.NoError(t, s.Delete(ctx, "a"))
	require.ErrorIs(t, s.Delete(ctx, "a"), ErrNotFound)
	_, err = old.Append(ctx, []Record{{}})
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorIs(t, firstError(old.Read(ctx, 0)), ErrNotFound)
	_, _, err = tab.Get(ctx, "row")
	require.ErrorIs(t, err, ErrNotFound)

	l := mustLog(t, s, "a") // a new one with an old name is empty
	assert.Equal(t, Head{}, l.Head())
	assert.Equal(t, []Receipt{{1, Stored}}, mustAppend(t, l, Record{Key: "k", Payload: []byte("new")}))
	tab, err = s.Table("a")
	require.NoError(t, err)
	assert.Empty(t, collect(t, tab.List(ctx, "")))
	assert.Len(t, collect(t, mustLog(t, s, "ab").Read(ctx, 0)), 1)
}

func testLimits(t *testing.T, s Store) {
	ctx := t.Context()
	for _, name := range []string{"", strings.Repeat("x", maxWorkspace+1), "a\x00b", "\xff"} {
		_, err := s.Log(name)
		assert.Error(t, err, "%q", name)
		_, err = s.Table(name)
		assert.Error(t, err, "%q", name)
	}
	long := strings.Repeat("w", maxWorkspace)
	l := mustLog(t, s, long)
	_, err := l.Append(ctx, []Record{{Payload: make([]byte, MaxPayload+1)}})
	assert.ErrorContains(t, err, "at most")
	records := make([]Record, 20) // 5 MiB, several commits
	for i := range records {
		records[i] = Record{Key: strings.Repeat("k", 10_000) + fmt.Sprint(i), Payload: bytes.Repeat([]byte{byte(i)}, MaxPayload)}
	}
	mustAppend(t, l, records...)
	for i, e := range collect(t, l.Read(ctx, 0)) {
		require.True(t, bytes.Equal(records[i].Payload, e.Payload))
	}
	full := make([]Record, maxRecords) // as much as one commit may hold
	for i := range full {
		full[i] = Record{Key: fmt.Sprint("full", i), Payload: make([]byte, maxBytes/maxRecords-700)}
	}
	assert.EqualValues(t, 1020, mustAppend(t, l, full...)[999].Seq)

	_, err = s.System().Put(ctx, strings.Repeat("r", maxRowKey+1), nil)
	assert.ErrorContains(t, err, "at most")
	_, err = s.System().Put(ctx, "", nil)
	assert.Error(t, err)
	_, err = s.System().Put(ctx, strings.Repeat("r", maxRowKey), make([]byte, MaxPayload))
	assert.NoError(t, err)
	_, err = s.System().Put(ctx, "r", make([]byte, MaxPayload+1))
	assert.ErrorContains(t, err, "at most")
}

func testClosed(t *testing.T, s Store) {
	ctx := context.Background()
	l := mustLog(t, s, "default")
	mustAppend(t, l, Record{Payload: []byte("x")})
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err := l.Append(ctx, []Record{{}})
	assert.ErrorIs(t, err, ErrClosed)
	assert.ErrorIs(t, firstError(l.Read(ctx, 0)), ErrClosed)
	assert.ErrorIs(t, firstError(l.Snapshots(ctx)), ErrClosed)
	assert.ErrorIs(t, putBytes(ctx, l, 1, nil), ErrClosed)
	assert.ErrorIs(t, l.DropSnapshots(ctx), ErrClosed)
	assert.ErrorIs(t, l.Erase(ctx, []uint64{1}), ErrClosed)
	_, err = s.Log("default")
	assert.ErrorIs(t, err, ErrClosed)
	_, _, err = s.System().Get(ctx, "a")
	assert.ErrorIs(t, err, ErrClosed)
	_, err = s.System().Put(ctx, "a", nil)
	assert.ErrorIs(t, err, ErrClosed)
	_, err = s.Workspaces(ctx)
	assert.ErrorIs(t, err, ErrClosed)
	_, err = s.Backup(ctx, io.Discard)
	assert.ErrorIs(t, err, ErrClosed)
	assert.ErrorIs(t, s.Delete(ctx, "default"), ErrClosed)
}

func testCancelled(t *testing.T, s Store) {
	l := mustLog(t, s, "default")
	mustAppend(t, l, Record{Payload: []byte("x")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Append(ctx, []Record{{Payload: []byte("y")}})
	assert.ErrorIs(t, err, context.Canceled)
	assert.EqualValues(t, 1, l.Head().Seq)
	assert.ErrorIs(t, firstError(l.Read(ctx, 0)), context.Canceled)
	_, err = s.Backup(ctx, io.Discard)
	assert.ErrorIs(t, err, context.Canceled)
}

func testBackup(t *testing.T, s Store) {
	ctx := t.Context()
	fillForBackup(t, s)
	var first, second bytes.Buffer
	sum, err := s.Backup(ctx, &first)
	require.NoError(t, err)
	assert.Equal(t, 2, sum.Workspaces)
	assert.EqualValues(t, 41, sum.Events)
	assert.EqualValues(t, 2, sum.Rows)
	assert.EqualValues(t, first.Len(), sum.Bytes)

	dir := t.TempDir()
	got, err := Restore(ctx, bytes.NewReader(first.Bytes()), dir, Options{Logger: quiet})
	require.NoError(t, err)
	assert.Equal(t, sum, got)
	b := openTest(t, dir, Options{})
	assert.Equal(t, mustLog(t, s, "default").Head(), mustLog(t, b, "default").Head())
	again, err := b.Backup(ctx, &second)
	require.NoError(t, err)
	assert.Equal(t, sum, again)
	assert.True(t, bytes.Equal(first.Bytes(), second.Bytes()), "a restored store gives the same backup")
	assert.Equal(t, []Receipt{{3, Duplicate}}, mustAppend(t, mustLog(t, b, "default"), Record{Key: "key 2", Payload: []byte("payload 2")}))

	_, err = Restore(ctx, bytes.NewReader(first.Bytes()), dir, Options{Logger: quiet})
	assert.ErrorContains(t, err, "not empty")
}

func fillForBackup(t testing.TB, s Store) {
	t.Helper()
	var records []Record
	for i := range 40 {
		records = append(records, Record{Key: fmt.Sprint("key ", i), Payload: fmt.Append(nil, "payload ", i)})
	}
	mustAppend(t, mustLog(t, s, "default"), records...)
	mustAppend(t, mustLog(t, s, "b"), Record{Payload: []byte("x")})
	require.NoError(t, mustLog(t, s, "default").Erase(t.Context(), []uint64{5}))
	_, err := s.System().Put(t.Context(), "key/1", []byte("v"))
	require.NoError(t, err)
	tab, err := s.Table("default")
	require.NoError(t, err)
	_, err = tab.Put(t.Context(), "job/1", nil)
	require.NoError(t, err)
}

// Random operations on both stores at once; Memory is the model, and badger is closed and opened at
// random. Equal stores give equal backups, so one comparison covers everything but snapshots.
func TestModel(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { testModel(t, seed) })
	}
}

func testModel(t *testing.T, seed uint64) {
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	ctx := t.Context()
	dir := t.TempDir()
	b := openTest(t, dir, Options{})
	m := NewMemory()
	names := []string{"a", "b", "c"}
	for step := range 250 {
		name := names[r.IntN(len(names))]
		op := r.IntN(12)
		n, x := 1+r.IntN(8), r.Uint64()
		act := func(s Store) (result any) {
			r := rand.New(rand.NewPCG(x, 2))
			l := mustLog(t, s, name)
			tab := s.System()
			if r.IntN(2) == 0 {
				var err error
				tab, err = s.Table(name)
				require.NoError(t, err)
			}
			row := fmt.Sprint("row ", r.IntN(5))
			switch op {
			case 0, 1, 2, 3, 4:
				records := make([]Record, n)
				for i := range records {
					records[i].Payload = binary.AppendUvarint(nil, r.Uint64N(3))
					if r.IntN(3) > 0 {
						records[i].Key = fmt.Sprint(r.IntN(200))
					}
				}
				receipts, err := l.Append(ctx, records)
				require.NoError(t, err)
				return receipts
			case 5:
				require.NoError(t, l.Erase(ctx, []uint64{r.Uint64N(50), r.Uint64N(50)}))
			case 6:
				v, err := tab.Put(ctx, row, fmt.Append(nil, r.IntN(100)))
				require.NoError(t, err)
				return v
			case 7:
				v, err := tab.CAS(ctx, row, r.Uint64N(3), nil)
				return fmt.Sprint(v, errors.Is(err, ErrConflict))
			case 8:
				require.NoError(t, tab.Delete(ctx, row))
			case 9:
				return putBytes(ctx, l, r.Uint64N(30), fmt.Append(nil, step)) == nil
			case 10:
				var all []string
				for s, err := range l.Snapshots(ctx) {
					all = append(all, fmt.Sprint(s, err))
				}
				return all
			case 11:
				if r.IntN(4) == 0 {
					require.NoError(t, s.Delete(ctx, name))
				}
			}
			return nil
		}
		if r.IntN(40) == 0 {
			require.NoError(t, b.Close())
			b = openTest(t, dir, Options{})
		}
		require.Equal(t, act(m), act(b), "seed %d, step %d, operation %d", seed, step, op)
	}
	var mine, theirs bytes.Buffer
	_, err := m.Backup(ctx, &mine)
	require.NoError(t, err)
	_, err = b.Backup(ctx, &theirs)
	require.NoError(t, err)
	require.True(t, bytes.Equal(mine.Bytes(), theirs.Bytes()), "seed %d: backups differ", seed)
}

// testClear clears the log of a workspace, which keeps its rows and takes the same keys again.
func testClear(t *testing.T, s Store) {
	ctx := t.Context()
	require.ErrorIs(t, s.Clear(ctx, "nothing"), ErrNotFound)
	records := []Record{{Key: "k", Payload: []byte("one")}, {Payload: []byte("two")}}
	var was Log
	for range 2 {
		log, err := s.Log("cleared")
		require.NoError(t, err)
		require.Zero(t, log.Head())
		receipts, err := log.Append(ctx, records)
		require.NoError(t, err)
		require.Equal(t, []Receipt{{Seq: 1, Status: Stored}, {Seq: 2, Status: Stored}}, receipts)
		require.NoError(t, log.PutSnapshot(ctx, 2, func(w io.Writer) error { _, err := io.WriteString(w, "snapshot"); return err }))
		table, err := s.Table("cleared")
		require.NoError(t, err)
		_, err = table.Put(ctx, "row", []byte("value"))
		require.NoError(t, err)
		if was != nil {
			_, err = was.Append(ctx, records)
			require.ErrorIs(t, err, ErrNotFound)
		}
		was = log
		require.NoError(t, s.Clear(ctx, "cleared"))
	}
	log, err := s.Log("cleared")
	require.NoError(t, err)
	require.Zero(t, log.Head())
	for range log.Snapshots(ctx) {
		t.Fatal("a snapshot is left")
	}
	table, err := s.Table("cleared")
	require.NoError(t, err)
	row, _, err := table.Get(ctx, "row")
	require.NoError(t, err)
	require.Equal(t, "value", string(row))
	require.NoError(t, s.Delete(ctx, "cleared"))
}
