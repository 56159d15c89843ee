package storage

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

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

// engines are the kinds of stores, and where an empty one is opened.
var engines = []struct {
	name  string
	place func(t testing.TB) string
}{{"badger", func(t testing.TB) string { return t.TempDir() }}, {"postgres", emptySchema}}

// TestStore is the one suite that all engines pass.
func TestStore(t *testing.T) {
	cases := []struct {
		name string
		test func(t *testing.T, s *Store)
	}{
		{"append", testAppend}, {"chain", testChain}, {"at", testAt}, {"rows", testRows}, {"batch", testBatch},
		{"read", testRead}, {"erase", testErase}, {"snapshots", testSnapshots}, {"snapshot errors", testSnapshotErrors},
		{"snapshots together", testSnapshotsTogether}, {"workspaces", testWorkspaces}, {"limits", testLimits},
		{"changes", testChanges}, {"closed", testClosed}, {"cancelled", testCancelled}, {"linearizable", func(t *testing.T, s *Store) { linearizable(t, s) }},
	}
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) { c.test(t, openTest(t, engine.place(t), Options{})) })
			}
		})
	}
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
	require.False(t, s.Exists("w"))
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

// calls are the errors of the calls that end with their context, whatever the engine.
func calls(ctx context.Context, s *Store) []error {
	_, appending := s.Append(ctx, "w", Batch{Records: []Record{{}}})
	_, listing := s.Workspaces(ctx)
	_, copying := s.Backup(ctx, io.Discard)
	return []error{
		appending, listing, copying, firstError(s.Read(ctx, "w", 0)),
		putBytes(ctx, s, "w", 1, nil), s.DropSnapshots(ctx, "w"), s.System().Put(ctx, "a", nil), s.Delete(ctx, "w"),
	}
}

func testClosed(t *testing.T, s *Store) {
	mustAppend(t, s, "w", Record{})
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, _, getting := s.Table("w").Get(t.Context(), "a")
	for i, err := range append(calls(t.Context(), s), s.Writable(), getting, firstError(snapshots(t.Context(), s, "w"))) {
		assert.ErrorIs(t, err, ErrClosed, "call %d", i)
	}
}

func testCancelled(t *testing.T, s *Store) {
	mustAppend(t, s, "w", Record{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i, err := range calls(ctx, s) {
		assert.ErrorIs(t, err, context.Canceled, "call %d", i)
	}
	assert.EqualValues(t, 1, s.Head("w").Seq)
	require.NoError(t, s.Writable())
}
