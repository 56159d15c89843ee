package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var quiet = slog.New(slog.DiscardHandler)

func openTest(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	opts.Logger = quiet
	s, err := Open(dir, opts)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func openPostgresTest(t testing.TB, address string) *Store {
	t.Helper()
	s, err := Open(address, Options{Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// newDatabase makes an empty database on a server.
func newDatabase(t testing.TB, server *pgServer, n int) string {
	name := fmt.Sprint("db", n)
	server.query("create database " + name)
	return strings.Replace(server.Address, "/postgres?", "/"+name+"?", 1)
}

// TestStore is the one suite that all engines pass.
func TestStore(t *testing.T) {
	cases := []struct {
		name string
		test func(t *testing.T, s *Store)
	}{
		{"append", testAppend}, {"chain", testChain}, {"at", testAt}, {"rows", testRows}, {"batch", testBatch},
		{"read", testRead}, {"erase", testErase}, {"snapshots", testSnapshots}, {"snapshot errors", testSnapshotErrors},
		{"snapshots together", testSnapshotsTogether}, {"workspaces", testWorkspaces}, {"limits", testLimits},
		{"changes", testChanges}, {"closed", testClosed}, {"cancelled", testCancelled}, {"linearizable", testLinearizable},
	}
	run := func(t *testing.T, open func(t *testing.T) *Store) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
		}
	}
	t.Run("badger", func(t *testing.T) { run(t, func(t *testing.T) *Store { return openTest(t, t.TempDir(), Options{}) }) })
	t.Run("postgres", func(t *testing.T) {
		server, n := startPostgres(t), 0
		run(t, func(t *testing.T) *Store { n++; return openPostgresTest(t, newDatabase(t, server, n)) })
	})
}

func collect[T any](t testing.TB, seq iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for v, err := range seq {
		require.NoError(t, err)
		all = append(all, v)
	}
	return all
}

type testSnapshot struct {
	Seq  uint64
	Data []byte
}

// snapshots reads the snapshots of a workspace.
func snapshots(ctx context.Context, s *Store, workspace string) iter.Seq2[testSnapshot, error] {
	return func(yield func(testSnapshot, error) bool) {
		kept, err := s.Snapshots(ctx, workspace)
		if err != nil {
			yield(testSnapshot{}, err)
		}
		for _, k := range kept {
			data, err := k.Data(ctx)
			if removed := errors.Is(err, ErrNotFound); !removed && !yield(testSnapshot{k.Seq, data}, err) {
				return
			}
		}
	}
}

func firstError[T any](seq iter.Seq2[T, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

func mustAppend(t testing.TB, s *Store, workspace string, records ...Record) []Receipt {
	t.Helper()
	done, err := s.Append(context.Background(), workspace, Batch{Records: records})
	require.NoError(t, err)
	require.Len(t, done.Receipts, len(records))
	for i := range done.Receipts {
		done.Receipts[i].Chain = [32]byte{}
	}
	return done.Receipts
}

func testAppend(t *testing.T, s *Store) {
	assert.Equal(t, Head{}, s.Head("w"))
	got := mustAppend(t, s, "w",
		Record{Key: "a", Payload: []byte("one")},
		Record{Payload: []byte("two")},
		Record{Key: "a", Payload: []byte("one")},   // the same transaction already has it
		Record{Key: "a", Payload: []byte("other")}, // and something else
		Record{Payload: []byte("two")},             // no key, no duplicate
		Record{})
	assert.Equal(t, []Receipt{{Seq: 1, Status: Stored}, {Seq: 2, Status: Stored}, {Seq: 1, Status: Duplicate}, {Seq: 1, Status: Conflict}, {Seq: 3, Status: Stored}, {Seq: 4, Status: Stored}}, got)
	assert.EqualValues(t, 4, s.Head("w").Seq)
	assert.Equal(t, []Receipt{{Seq: 1, Status: Stored}}, mustAppend(t, s, "other", Record{Key: "a", Payload: []byte("other")}))
	assert.Equal(t, []Receipt{{Seq: 1, Status: Duplicate}}, mustAppend(t, s, "w", Record{Key: "a", Payload: []byte("one")}))
	assert.Empty(t, mustAppend(t, s, "w"))
}

// The expected chain was computed with Python's hashlib:
// c=bytes(32); for n,p in enumerate([b"one",b"two"],1): c=sha256(c+n.to_bytes(8,"big")+sha256(p).digest()).digest()
func testChain(t *testing.T, s *Store) {
	mustAppend(t, s, "w", Record{Payload: []byte("one")}, Record{Key: "k", Payload: []byte("two")})
	events := collect(t, s.Read(t.Context(), "w", 0))
	assert.Equal(t, "fc9cf8c10b1704af1f46a5dead5c3ac3747fd219b9e38ebcfb9f129701edfe58", hex.EncodeToString(events[0].Chain[:]))
	assert.Equal(t, "a6e9b3ab7006dafb1cca1531294b5e35b40b1ac1959e81603b81cc7e8e2a2371", hex.EncodeToString(events[1].Chain[:]))
	assert.Equal(t, Head{Seq: 2, Chain: events[1].Chain}, s.Head("w"))
}

func testAt(t *testing.T, s *Store) {
	ctx := t.Context()
	done, err := s.Append(ctx, "w", Batch{At: &Head{}, Records: []Record{{Payload: []byte("1")}}})
	require.NoError(t, err)
	require.Equal(t, s.Head("w"), done.Head)
	_, err = s.Append(ctx, "w", Batch{At: &Head{}, Records: []Record{{Payload: []byte("2")}}, Changes: []Change{{Key: "r", Value: []byte("x")}}})
	require.ErrorIs(t, err, ErrBehind)
	_, err = s.Append(ctx, "w", Batch{At: &Head{Seq: 1}, Records: []Record{{}}}) // another history of the same length
	require.ErrorIs(t, err, ErrBehind)
	_, _, err = s.Table("w").Get(ctx, "r")
	require.ErrorIs(t, err, ErrNotFound)
	done, err = s.Append(ctx, "w", Batch{At: &done.Head, Records: make([]Record, 2*maxRecords+1)})
	require.NoError(t, err)
	require.EqualValues(t, 2*maxRecords+2, done.Head.Seq)
}

func testRows(t *testing.T, s *Store) {
	ctx := t.Context()
	for _, tab := range []Table{s.Table("w"), s.System()} {
		_, _, err := tab.Get(ctx, "a/1")
		require.ErrorIs(t, err, ErrNotFound)
		require.Empty(t, collect(t, tab.List(ctx, "")))
		require.NoError(t, tab.Put(ctx, "a/1", []byte("x")))
		require.NoError(t, tab.CAS(ctx, "a/1", 1, []byte("y")))
		require.ErrorIs(t, tab.CAS(ctx, "a/1", 1, []byte("z")), ErrConflict)
		require.ErrorIs(t, tab.CAS(ctx, "a/1", 0, []byte("z")), ErrConflict)
		require.NoError(t, tab.CAS(ctx, "a/2", 0, nil))
		require.NoError(t, tab.Put(ctx, "b\xff\x00", []byte("other"))) // any bytes
		value, version, err := tab.Get(ctx, "a/1")
		require.NoError(t, err)
		assert.Equal(t, "y", string(value))
		assert.EqualValues(t, 2, version)
		assert.Equal(t, []Row{{"a/1", []byte("y"), 2}, {"a/2", []byte{}, 1}}, collect(t, tab.List(ctx, "a/")))
		assert.Len(t, collect(t, tab.List(ctx, "")), 3)
		assert.Len(t, collect(t, tab.List(ctx, "b\xff")), 1)
		require.NoError(t, tab.Delete(ctx, "a/1", "none"))
		require.NoError(t, tab.Delete(ctx, "a/1"))
		_, _, err = tab.Get(ctx, "a/1")
		require.ErrorIs(t, err, ErrNotFound)
		require.NoError(t, tab.CAS(ctx, "a/1", 0, []byte("back")))
	}
	many := make([]Change, maxRecords)
	for half := range 2 { // more than a page
		for i := range many {
			many[i] = Change{Key: fmt.Sprintf("many/%04d", half*maxRecords+i), Value: []byte{1}}
		}
		require.NoError(t, s.System().Apply(ctx, many...))
	}
	for i := range 6 { // and more than its bytes
		require.NoError(t, s.System().Put(ctx, fmt.Sprintf("large/%d", i), make([]byte, MaxPayload)))
	}
	require.Len(t, collect(t, s.System().List(ctx, "large/")), 6)
	rows := collect(t, s.System().List(ctx, "many/"))
	require.Len(t, rows, 2*maxRecords)
	assert.True(t, slices.IsSortedFunc(rows, func(a, b Row) int { return strings.Compare(a.Key, b.Key) }))
}

// A batch is all or nothing, and refused ones do not touch those that share a transaction with them.
func testBatch(t *testing.T, s *Store) {
	ctx := t.Context()
	one := uint64(1)
	_, err := s.Append(ctx, "w", Batch{Records: []Record{{Key: "k"}}, Changes: []Change{{Key: "a", Value: []byte("x")}, {"b", []byte("y"), &one}}})
	require.ErrorIs(t, err, ErrConflict)
	require.Zero(t, s.Head("w"))
	exists := s.Exists("w")
	require.False(t, exists)
	done, err := s.Append(ctx, "w", Batch{
		Records: []Record{{Key: "k"}}, Changes: []Change{{Key: "a", Value: []byte("x")}, {"b", []byte("y"), new(uint64)}, {Key: "c"}},
	})
	require.NoError(t, err)
	require.EqualValues(t, 1, done.Receipts[0].Seq)

	const n = 60
	var wg sync.WaitGroup
	var won sync.Map
	for i := range n {
		wg.Go(func() {
			b := Batch{Records: []Record{{Key: fmt.Sprint("together ", i)}}}
			if i%3 == 0 {
				b.Changes = []Change{{"race", []byte{byte(i)}, new(uint64)}}
			}
			done, err := s.Append(context.Background(), "w", b)
			if i%3 != 0 {
				assert.NoError(t, err)
			} else if !errors.Is(err, ErrConflict) {
				assert.NoError(t, err)
				won.Store(i, done)
			}
		})
	}
	wg.Wait()
	winners := 0
	won.Range(func(any, any) bool { winners++; return true })
	require.Equal(t, 1, winners)
	require.Len(t, collect(t, s.Read(ctx, "w", 0)), 1+n*2/3+1)
}

func testRead(t *testing.T, s *Store) {
	var records []Record
	for i := range 2500 { // more than a page and more than a transaction
		records = append(records, Record{Key: fmt.Sprint(i), Payload: fmt.Append(nil, "payload ", i)})
	}
	assert.Equal(t, Receipt{Seq: 2500, Status: Stored}, mustAppend(t, s, "w", records...)[2499])
	events := collect(t, s.Read(t.Context(), "w", 0))
	require.Len(t, events, 2500)
	for i, e := range events {
		require.EqualValues(t, i+1, e.Seq)
		require.Equal(t, records[i].Payload, e.Payload)
	}
	assert.Equal(t, events[2499:], collect(t, s.Read(t.Context(), "w", 2499)))
	assert.Empty(t, collect(t, s.Read(t.Context(), "w", 2500)))
	assert.Empty(t, collect(t, s.Read(t.Context(), "w", ^uint64(0))))
	assert.Empty(t, collect(t, s.Read(t.Context(), "nothing", 0)))
	n := 0
	for range s.Read(t.Context(), "w", 0) { // a reader may append and stop; it does not see what came later
		mustAppend(t, s, "w", Record{Payload: []byte("late")})
		if n++; n == 3 {
			break
		}
	}
	assert.EqualValues(t, 2503, s.Head("w").Seq)
	err := error(nil)
	for e, failed := range s.Read(t.Context(), "w", 0) { // the workspace goes while it is read
		if e.Seq == 1 {
			require.NoError(t, s.Delete(t.Context(), "w"))
		}
		err = failed
	}
	require.ErrorIs(t, err, ErrNotFound)
	require.NotErrorIs(t, err, ErrDamaged)
}

func putBytes(ctx context.Context, s *Store, workspace string, seq uint64, data []byte) error {
	return s.PutSnapshot(ctx, workspace, seq, "", 0, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func erase(t *testing.T, s *Store, seqs ...uint64) {
	t.Helper()
	_, err := s.Append(t.Context(), "w", Batch{Erase: seqs})
	require.NoError(t, err)
}

func testErase(t *testing.T, s *Store) {
	mustAppend(t, s, "w", Record{Key: "a", Payload: []byte("secret")}, Record{Payload: []byte("kept")})
	before := collect(t, s.Read(t.Context(), "w", 0))
	require.NoError(t, putBytes(t.Context(), s, "w", 2, []byte("counts the secret")))
	erase(t, s, 1, 1, 77, 0)
	erase(t, s, 1)
	erase(t, s)
	after := collect(t, s.Read(t.Context(), "w", 0))
	assert.True(t, after[0].Erased)
	assert.Empty(t, after[0].Payload)
	assert.Equal(t, before[0].Digest, after[0].Digest)
	assert.Equal(t, before[0].Chain, after[0].Chain)
	assert.Equal(t, before[1], after[1])
	assert.Equal(t, []Receipt{{Seq: 1, Status: Duplicate}, {Seq: 1, Status: Conflict}}, mustAppend(t, s, "w",
		Record{Key: "a", Payload: []byte("secret")}, Record{Key: "a", Payload: []byte("new")}))
	assert.Empty(t, collect(t, snapshots(t.Context(), s, "w")))
	require.ErrorContains(t, putBytes(t.Context(), s, "w", 2, []byte("begun before")), "erased")
	_, err := s.Append(t.Context(), "w", Batch{Erase: []uint64{2}, Records: []Record{{Payload: []byte("says so")}}})
	require.NoError(t, err)
	require.NoError(t, putBytes(t.Context(), s, "w", 3, []byte("after it")))
	var out bytes.Buffer
	_, err = s.Backup(t.Context(), &out)
	require.NoError(t, err)
	assert.NotContains(t, out.String(), "secret")
	assert.Contains(t, out.String(), "says so")
	require.NoError(t, s.engine.View(t.Context(), func(r Reader) error {
		for p, err := range r.Scan(tableParts, "w", "", "") {
			require.NoError(t, err)
			require.NotContains(t, string(p.Value), "secret")
		}
		return nil
	}))
}

func testSnapshots(t *testing.T, s *Store) {
	ctx := t.Context()
	assert.Empty(t, collect(t, snapshots(ctx, s, "w")))
	require.NoError(t, s.DropSnapshots(ctx, "w"))
	require.ErrorIs(t, putBytes(ctx, s, "w", 1, nil), ErrNotFound)
	mustAppend(t, s, "w", make([]Record, 4)...)
	require.ErrorContains(t, putBytes(ctx, s, "w", 5, nil), "not in the log")
	big := bytes.Repeat([]byte("0123456789abcdef"), 80_000) // several parts
	require.NoError(t, putBytes(ctx, s, "w", 1, []byte("first")))
	require.NoError(t, putBytes(ctx, s, "w", 3, big))
	require.NoError(t, putBytes(ctx, s, "w", 2, []byte{})) // late, but newer than the oldest
	got := collect(t, snapshots(ctx, s, "w"))
	require.Len(t, got, 2)
	assert.EqualValues(t, 3, got[0].Seq)
	assert.True(t, bytes.Equal(big, got[0].Data))
	assert.EqualValues(t, 2, got[1].Seq)
	assert.Empty(t, got[1].Data)
	require.NoError(t, putBytes(ctx, s, "w", 3, []byte("again")))
	got = collect(t, snapshots(ctx, s, "w"))
	require.Len(t, got, 2)
	assert.Equal(t, testSnapshot{3, []byte("again")}, got[0])

	require.NoError(t, putBytes(ctx, s, "w", 4, big)) // which is then damaged
	require.NoError(t, s.engine.Update(ctx, nil, func(r Reader) (changed []Pair, err error) {
		for p := range r.Scan(tableParts, "w", name(4), "") {
			changed = append(changed, Pair{p.Key, bytes.ToUpper(p.Value)})
		}
		return changed[:1], nil
	}))
	var found []string
	for snapshot, err := range snapshots(ctx, s, "w") {
		found = append(found, fmt.Sprint(snapshot.Seq, errors.Is(err, ErrDamaged)))
	}
	require.Equal(t, []string{"4 true", "3 false"}, found)
	require.NoError(t, s.DropSnapshots(ctx, "w"))
	assert.Empty(t, collect(t, snapshots(ctx, s, "w")))
}

// What fails or is cut short leaves the snapshots as they were, and the next one goes through.
func testSnapshotErrors(t *testing.T, s *Store) {
	mustAppend(t, s, "w", make([]Record, 2)...)
	require.NoError(t, putBytes(t.Context(), s, "w", 2, []byte("kept")))
	kept := []testSnapshot{{2, []byte("kept")}}
	large := make([]byte, 3*partBytes)
	broken := errors.New("cannot be encoded")
	for _, n := range []int{0, 10, len(large)} {
		err := s.PutSnapshot(t.Context(), "w", 2, "", 0, func(w io.Writer) error {
			_, err := w.Write(large[:n])
			return errors.Join(err, broken)
		})
		require.ErrorIs(t, err, broken)
	}
	assert.Panics(t, func() {
		s.PutSnapshot(t.Context(), "w", 2, "", 0, func(w io.Writer) error { panic("a bug of the caller") })
	})
	for _, n := range []int{1, len(large)} { // also where the writer swallows the error
		ctx, cancel := context.WithCancel(t.Context())
		err := s.PutSnapshot(ctx, "w", 2, "", 0, func(w io.Writer) error {
			cancel()
			w.Write(large[:n])
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, putBytes(ctx, s, "w", 2, nil), context.Canceled)
		require.ErrorIs(t, s.DropSnapshots(ctx, "w"), context.Canceled)
	}
	assert.Equal(t, kept, collect(t, snapshots(t.Context(), s, "w")))
	mustAppend(t, s, "w", Record{})
	err := s.PutSnapshot(t.Context(), "w", 3, "", 0, func(w io.Writer) error {
		w.Write(large)
		erase(t, s, 1)
		return nil
	})
	require.ErrorContains(t, err, "erased")
	err = s.PutSnapshot(t.Context(), "w", 3, "", 0, func(w io.Writer) error {
		w.Write(large)
		return s.Delete(t.Context(), "w")
	})
	require.ErrorIs(t, err, ErrNotFound)
	mustAppend(t, s, "w", Record{})
	assert.Empty(t, collect(t, snapshots(t.Context(), s, "w")), "a workspace of the same name is another one")
}

func testSnapshotsTogether(t *testing.T, s *Store) {
	ctx := t.Context()
	mustAppend(t, s, "w", make([]Record, 50)...)
	content := func(seq uint64) []byte { return bytes.Repeat([]byte{byte(seq)}, 1<<19+int(seq)) }
	var puts, reads sync.WaitGroup
	done := make(chan struct{})
	for w := range uint64(3) {
		puts.Go(func() {
			for i := range uint64(5) {
				seq := 1 + (w*17+i*5)%50
				assert.NoError(t, putBytes(ctx, s, "w", seq, content(seq)))
			}
			assert.NoError(t, s.DropSnapshots(ctx, "w"))
		})
	}
	reads.Go(func() {
		for going := true; going; {
			select {
			case <-done:
				going = false // one last look
			default:
			}
			for snapshot, err := range snapshots(ctx, s, "w") {
				assert.NoError(t, err)
				assert.True(t, bytes.Equal(content(snapshot.Seq), snapshot.Data))
			}
		}
	})
	puts.Wait()
	close(done)
	reads.Wait()
}

func testWorkspaces(t *testing.T, s *Store) {
	ctx := t.Context()
	for _, name := range []string{"b", "a", "ab", "é"} {
		mustAppend(t, s, name, Record{Key: "k", Payload: []byte(name)})
	}
	require.NoError(t, s.Create(ctx, "empty"))
	require.NoError(t, s.Table("a").Put(ctx, "row", nil))
	names, err := s.Workspaces(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "ab", "b", "empty", "é"}, names)
	for i := range 3 {
		require.NoError(t, s.Delete(ctx, "a"))
		require.ErrorIs(t, s.Delete(ctx, "a"), ErrNotFound)
		exists := s.Exists("a")
		require.False(t, exists)
		require.Empty(t, collect(t, s.Read(ctx, "a", 0)))
		_, _, err = s.Table("a").Get(ctx, "row")
		require.ErrorIs(t, err, ErrNotFound)
		assert.Equal(t, []Receipt{{Seq: 1, Status: Stored}}, mustAppend(t, s, "a", Record{Key: "k", Payload: []byte("new")}))
		assert.Empty(t, collect(t, s.Table("a").List(ctx, "")))
		require.NoError(t, s.Table("a").Put(ctx, "row", []byte{byte(i)}))
		assert.Error(t, firstError(s.Table(fmt.Sprint("a~", i+1)).List(ctx, "")), "the space of another workspace")
	}
	assert.Len(t, collect(t, s.Read(ctx, "ab", 0)), 1)

	long := make([]Change, maxRecords)
	for n := range 4 { // names of all lengths are deleted
		for i := range long {
			long[i] = Change{Key: fmt.Sprintf("%0*d", maxRowKey, n*maxRecords+i), Value: []byte{1}}
		}
		require.NoError(t, s.Table(strings.Repeat("l", maxWorkspace)).Apply(ctx, long...))
	}
	require.NoError(t, s.Delete(ctx, strings.Repeat("l", maxWorkspace)))
	require.NoError(t, s.Writable())
	require.NoError(t, s.engine.View(ctx, func(r Reader) error {
		for p, err := range r.Scan(tableRows, strings.Repeat("l", maxWorkspace), "", "") {
			require.NoError(t, err)
			t.Errorf("%q is still to be deleted", p.Name)
		}
		return nil
	}))
}

func testLimits(t *testing.T, s *Store) {
	ctx := t.Context()
	for _, name := range []string{strings.Repeat("x", maxWorkspace+1), "a\x00b", "\xff", "a~1"} {
		assert.Error(t, s.Create(ctx, name), "%q", name)
		assert.Error(t, firstError(s.Read(ctx, name, 0)), "%q", name)
		assert.Error(t, firstError(snapshots(ctx, s, name)), "%q", name)
		assert.Error(t, s.DropSnapshots(ctx, name), "%q", name)
		assert.Error(t, s.Delete(ctx, name), "%q", name)
	}
	_, err := s.Append(ctx, "", Batch{Records: []Record{{}}})
	assert.Error(t, err)
	long := strings.Repeat("w", maxWorkspace)
	_, err = s.Append(ctx, long, Batch{Records: []Record{{Payload: make([]byte, MaxPayload+1)}}})
	assert.ErrorContains(t, err, "at most")
	records := make([]Record, 20) // 5 MiB, several transactions
	for i := range records {
		records[i] = Record{Key: strings.Repeat("k", 10_000) + fmt.Sprint(i), Payload: bytes.Repeat([]byte{byte(i)}, MaxPayload)}
	}
	mustAppend(t, s, long, records...)
	for i, e := range collect(t, s.Read(ctx, long, 0)) {
		require.True(t, bytes.Equal(records[i].Payload, e.Payload))
	}
	full := make([]Record, maxRecords) // as much as one transaction may hold
	for i := range full {
		full[i] = Record{Key: fmt.Sprint("full", i), Payload: make([]byte, maxBytes/maxRecords-600-4*maxWorkspace)}
	}
	assert.EqualValues(t, 1020, mustAppend(t, s, long, full...)[999].Seq)
	sys := s.System()
	assert.ErrorContains(t, sys.Put(ctx, strings.Repeat("r", maxRowKey+1), nil), "at most")
	assert.Error(t, sys.Put(ctx, "", nil))
	assert.NoError(t, sys.Put(ctx, strings.Repeat("r", maxRowKey), make([]byte, MaxPayload)))
	assert.ErrorContains(t, sys.Put(ctx, "r", make([]byte, MaxPayload+1)), "at most")
	large := make([]Change, 9)
	for i := range large {
		large[i] = Change{Key: fmt.Sprint(i), Value: make([]byte, MaxPayload)}
	}
	require.ErrorContains(t, sys.Apply(ctx, large...), "than one transaction holds")
	_, err = s.Append(ctx, long, Batch{Changes: large[:7], Records: records[:9], Erase: make([]uint64, 500)})
	require.NoError(t, err)
	_, err = s.Append(ctx, long, Batch{Erase: make([]uint64, 10_000)})
	require.ErrorContains(t, err, "than one transaction holds")
	require.NoError(t, s.Writable())
}

func testChanges(t *testing.T, s *Store) {
	n, more := s.Changes("w")
	require.Zero(t, n)
	mustAppend(t, s, "other", Record{})
	select {
	case <-more:
		t.Fatal("another workspace changed")
	default:
	}
	require.NoError(t, s.Table("w").Put(t.Context(), "row", nil))
	<-more
	n, more = s.Changes("w")
	require.EqualValues(t, 1, n)
	require.NoError(t, s.Table("w").Delete(t.Context(), "none"))
	require.NoError(t, s.Delete(t.Context(), "w"))
	<-more
	n, _ = s.Changes("w")
	require.EqualValues(t, 2, n)
}

func testClosed(t *testing.T, s *Store) {
	ctx := context.Background()
	mustAppend(t, s, "w", Record{})
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, appending := s.Append(ctx, "w", Batch{Records: []Record{{}}})
	_, _, getting := s.Table("w").Get(ctx, "a")
	_, listing := s.Workspaces(ctx)
	_, copying := s.Backup(ctx, io.Discard)
	for _, err := range []error{
		appending, getting, listing, copying, firstError(s.Read(ctx, "w", 0)), firstError(snapshots(ctx, s, "w")),
		putBytes(ctx, s, "w", 1, nil), s.DropSnapshots(ctx, "w"), s.System().Put(ctx, "a", nil), s.Delete(ctx, "w"), s.Writable(),
	} {
		assert.ErrorIs(t, err, ErrClosed)
	}
}

func testCancelled(t *testing.T, s *Store) {
	mustAppend(t, s, "w", Record{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Append(ctx, "w", Batch{Records: []Record{{}}})
	assert.ErrorIs(t, err, context.Canceled)
	assert.EqualValues(t, 1, s.Head("w").Seq)
	assert.ErrorIs(t, firstError(s.Read(ctx, "w", 0)), context.Canceled)
	_, err = s.Backup(ctx, io.Discard)
	assert.ErrorIs(t, err, context.Canceled)
	require.NoError(t, s.Writable())
}

func testLinearizable(t *testing.T, s *Store) { linearizable(t, s) }

// linearizable has several clients read the log and a row of stores that share them, and change the row or both in one
// batch, each at the end and the version that it knows, which may be old ones. Porcupine looks for one order of the calls, which
// agrees with their moments, in which a single list and a single value would have answered the same.
func linearizable(t *testing.T, stores ...*Store) {
	type state struct {
		head    Head
		version uint64
		value   string
	}
	type call struct {
		kind          string // log, row, set or batch
		before, after state
	}
	type answer struct {
		state
		refused error
	}
	model := porcupine.Model{
		Init: func() any { return state{} },
		Step: func(now, input, output any) (bool, any) {
			is, c, a := now.(state), input.(call), output.(answer)
			switch {
			case c.kind == "log":
				return a.head == is.head, is
			case c.kind == "row":
				return a.version == is.version && a.value == is.value, is
			case errors.Is(a.refused, ErrBehind):
				return is.head != c.before.head, is
			case errors.Is(a.refused, ErrConflict):
				return is.version != c.before.version, is
			case c.kind == "set":
				return is.version == c.before.version, state{is.head, c.after.version, c.after.value}
			}
			return is.head == c.before.head && is.version == c.before.version, c.after
		},
	}
	began := time.Now()
	var mu sync.Mutex
	var history []porcupine.Operation
	changed := 0
	var wg sync.WaitGroup
	for client := range 6 {
		wg.Go(func() {
			s, ctx := stores[client%len(stores)], context.Background()
			var known state
			for i := range 60 {
				at := time.Since(began)
				c, a := call{}, answer{}
				switch i % 5 {
				case 0:
					c.kind = "log"
					for e, err := range s.Read(ctx, "w", 0) {
						assert.NoError(t, err)
						a.head = Head{e.Seq, e.Chain}
					}
					known.head = a.head
				case 1:
					c.kind = "row"
					value, version, err := s.Table("w").Get(ctx, "row")
					if !errors.Is(err, ErrNotFound) {
						assert.NoError(t, err)
					}
					a.version, a.value = version, string(value)
					known.version = a.version
				default:
					payload := fmt.Append(nil, client, " ", i)
					c = call{"set", known, state{known.head, known.version + 1, string(payload)}}
					b := Batch{Changes: []Change{{"row", payload, &known.version}}}
					if i%5 > 2 {
						c.kind, c.after.head = "batch", known.head.next(sha256.Sum256(payload))
						b.At, b.Records = &known.head, []Record{{Payload: payload}}
					}
					if _, a.refused = s.Append(ctx, "w", b); a.refused == nil {
						known = c.after
					} else if !errors.Is(a.refused, ErrBehind) {
						assert.ErrorIs(t, a.refused, ErrConflict)
					}
				}
				mu.Lock()
				if c.after != (state{}) && a.refused == nil {
					changed++
				}
				history = append(history, porcupine.Operation{ClientId: client, Input: c, Call: int64(at), Output: a, Return: int64(time.Since(began))})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Positive(t, changed)
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model, history, time.Minute))
	t.Logf("%d calls, of which %d changed something", len(history), changed)
}

func fillForBackup(t testing.TB, s *Store) {
	t.Helper()
	ctx := context.Background()
	var records []Record
	for i := range 40 {
		records = append(records, Record{Key: fmt.Sprint("key ", i), Payload: fmt.Append(nil, "payload ", i)})
	}
	mustAppend(t, s, "default", records...)
	for range 2 {
		mustAppend(t, s, "b", Record{Payload: []byte("x")})
		require.NoError(t, s.Delete(ctx, "b"))
	}
	mustAppend(t, s, "b", Record{Payload: []byte("x")})
	_, err := s.Append(ctx, "default", Batch{Erase: []uint64{5}})
	require.NoError(t, err)
	require.NoError(t, putBytes(ctx, s, "b", 1, []byte("snapshot")))
	require.NoError(t, s.System().Put(ctx, "key/1\xff", []byte("v")))
	require.NoError(t, s.Table("default").Put(ctx, "job/1", nil))
}

// One content has one backup, whatever the engine, and each engine takes that of the other.
func TestBackup(t *testing.T) {
	ctx := t.Context()
	server := startPostgres(t)
	stores := []*Store{NewMemory(), openTest(t, t.TempDir(), Options{}), openPostgresTest(t, newDatabase(t, server, 1))}
	var first []byte
	for i, s := range stores {
		fillForBackup(t, s)
		var out bytes.Buffer
		sum, err := s.Backup(ctx, &out)
		require.NoError(t, err)
		assert.Equal(t, BackupSummary{2, 41, 2, int64(out.Len()), sum.SHA256}, sum)
		if i == 0 {
			first = out.Bytes()
		}
		assert.True(t, bytes.Equal(first, out.Bytes()), "engine %d", i)
	}
	dir := filepath.Join(t.TempDir(), "deep", "new")
	sum, err := Restore(ctx, bytes.NewReader(first), dir, Options{Logger: quiet})
	require.NoError(t, err)
	address := newDatabase(t, server, 2)
	other, err := Restore(ctx, bytes.NewReader(first), address, Options{Logger: quiet})
	require.NoError(t, err)
	require.Equal(t, sum, other)
	for _, s := range []*Store{openTest(t, dir, Options{}), openPostgresTest(t, address)} {
		var out bytes.Buffer
		again, err := s.Backup(ctx, &out)
		require.NoError(t, err)
		assert.Equal(t, sum, again)
		assert.True(t, bytes.Equal(first, out.Bytes()))
		assert.Equal(t, []Receipt{{Seq: 3, Status: Duplicate}}, mustAppend(t, s, "default", Record{Key: "key 2", Payload: []byte("payload 2")}))
		assert.Equal(t, stores[0].Head("default"), s.Head("default"))
	}
	_, err = Restore(ctx, bytes.NewReader(first), dir, Options{Logger: quiet})
	assert.ErrorContains(t, err, "not empty")
	_, err = Restore(ctx, bytes.NewReader(first), address, Options{Logger: quiet})
	assert.ErrorContains(t, err, "not empty")
}

// Two stores on one database: leases, fences, and what the other one writes.
func TestShared(t *testing.T) {
	ctx := t.Context()
	server := startPostgres(t)
	a, b := openPostgresTest(t, server.Address), openPostgresTest(t, server.Address)
	_, more := b.Changes("w")
	mustAppend(t, a, "w", Record{Payload: []byte("x")})
	require.NoError(t, a.Table("w").Put(ctx, "row", []byte("v")))
	written := time.Now()
	<-more
	require.Eventually(t, func() bool { n, _ := b.Changes("w"); return n == 2 }, 30*time.Second, time.Millisecond)
	require.Less(t, time.Since(written), time.Second)
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
	again, err := a.System().Lease(ctx, "fold", time.Hour)
	require.NoError(t, err)
	require.Equal(t, first, again)
	_, err = b.System().Lease(ctx, "fold", time.Hour)
	require.ErrorIs(t, err, ErrHeld)
	require.NoError(t, b.System().Release(ctx, "fold"))
	_, err = b.System().Lease(ctx, "fold", time.Hour)
	require.ErrorIs(t, err, ErrHeld, "only the holder can end it")
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
	require.NoError(t, b.System().Release(ctx, "fold"))
	third, err := a.System().Lease(ctx, "fold", time.Hour)
	require.NoError(t, err)
	require.Greater(t, third, second)

	require.NoError(t, a.Delete(ctx, "w"))
	require.Equal(t, []Receipt{{Seq: 1, Status: Stored}}, mustAppend(t, b, "w", Record{Payload: []byte("new")}), "b had not seen that it was deleted")
	fence, err := NewMemory().System().Lease(ctx, "fold", time.Hour)
	require.NoError(t, err)
	require.Zero(t, fence)
}

// A deletion that was cut short after its first write is finished at the next start.
func TestInterruptedDelete(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, Options{})
	mustAppend(t, s, "w", Record{Payload: []byte("gone")})
	mustAppend(t, s, "other", Record{})
	require.NoError(t, s.engine.Update(t.Context(), nil, func(r Reader) ([]Pair, error) {
		h, err := readHeader(r, "w")
		h.Head, h.Deleted, h.Generation, h.Changes = Head{}, true, 1, h.Changes+1
		return []Pair{{headKey("w"), h.encode()}}, err
	}))
	require.NoError(t, s.Close())
	s = openTest(t, dir, Options{})
	names, err := s.Workspaces(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"other"}, names)
	require.NoError(t, s.engine.View(t.Context(), func(r Reader) error {
		values, err := r.Get(Key{tableEvents, "w", name(1)})
		require.Nil(t, values[0])
		return err
	}))
}

// What is erased, or deleted, is in no file after the store was closed.
func TestErasedBytesAreGone(t *testing.T) {
	dir := t.TempDir()
	secrets := []string{"first secret", "second secret", "third secret"}
	s := openTest(t, dir, Options{})
	mustAppend(t, s, "w", Record{Payload: []byte(secrets[0])}, Record{Payload: []byte("kept payload")})
	require.NoError(t, s.Close()) // it is in a table
	s = openTest(t, dir, Options{})
	mustAppend(t, s, "w", Record{Payload: []byte(secrets[1])})
	mustAppend(t, s, "x", Record{Payload: []byte(secrets[2])})
	erase(t, s, 1, 3)
	require.NoError(t, s.Delete(t.Context(), "x"))
	require.NoError(t, s.Close())
	all := ""
	for _, name := range filesOf(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		all += string(b)
	}
	require.Contains(t, all, "kept payload")
	for _, secret := range secrets {
		require.NotContains(t, all, secret)
	}
}
