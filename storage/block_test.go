package storage

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// entries counts how a log is stored: events by the last event of their entry.
func entries(t *testing.T, b *Badger, workspace string) map[uint64]int {
	t.Helper()
	got := make(map[uint64]int)
	require.NoError(t, b.view(func(txn *badger.Txn) error {
		return each(txn, kindEvent, func(k, v []byte) {
			name, last, err := splitSeq(k)
			require.NoError(t, err)
			if name == workspace {
				first, stored, err := records(nil, last, v)
				require.NoError(t, err)
				require.EqualValues(t, last-first+1, len(stored))
				got[last] = len(stored)
			}
		})
	}))
	return got
}

// One event alone is stored as it is; several share entries up to blockBytes; one that
// is larger has an entry of its own.
func TestEntries(t *testing.T) {
	b := openTest(t, t.TempDir(), Options{})
	l := mustLog(t, b, "default")
	mustAppend(t, l, Record{Payload: []byte("alone")})
	mustAppend(t, l, Record{Key: "a"}, Record{Key: "b", Payload: make([]byte, MaxPayload)}, Record{}, Record{Key: "c"})
	mustAppend(t, l, make([]Record, 500)...)
	full := blockBytes / (4 + eventHead) // empty events without keys
	want := map[uint64]int{1: 1, 2: 1, 3: 1, 5: 2}
	for n := 0; n < 500; n += full {
		last := min(n+full, 500)
		want[uint64(5+last)] = last - n
	}
	assert.Equal(t, want, entries(t, b, "default"))
	for after := range uint64(505) { // pages may begin inside an entry
		got := collect(t, l.Read(t.Context(), after))
		require.Len(t, got, int(505-after))
		require.Equal(t, after+1, got[0].Seq)
	}
}

func FuzzRecords(f *testing.F) {
	var r run
	for seq := uint64(5); seq <= 7; seq++ {
		e := newEvent(Record{Key: fmt.Sprint(seq), Payload: bytes.Repeat([]byte("x"), int(seq))})
		e.Seq = seq
		r.add(&e)
		f.Add(seq, bytes.Clone(r.value()))
	}
	f.Add(uint64(1), []byte{blockFormat, 0, 0, 0, 0})
	f.Add(uint64(2), []byte{blockFormat, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, last uint64, b []byte) {
		first, stored, err := records(nil, last, b)
		if err != nil {
			return
		}
		again := []byte{blockFormat}
		for _, e := range stored {
			again = append(append(again, 0, 0, byte(len(e)>>8), byte(len(e))), e...)
			if len(e) > 1<<16 {
				return
			}
		}
		if len(stored) == 1 {
			again = stored[0]
		}
		if last-first+1 != uint64(len(stored)) || !bytes.Equal(again, b) {
			t.Fatalf("%x is taken apart to %d events from %d to %d", b, len(stored), first, last)
		}
	})
}

// Keys whose hashes meet in the index are told apart by the events.
func TestKeysThatMeet(t *testing.T) {
	dir := t.TempDir()
	b := openTest(t, dir, Options{})
	l := mustLog(t, b, "default")
	b.spaces["default"].keys.bits = 1
	same := []Record{{Key: "a", Payload: []byte("1")}, {Key: "b"}, {Key: "c"}, {Key: "d"}}
	want := []Receipt{{1, Duplicate}, {2, Duplicate}, {3, Duplicate}, {4, Duplicate}}
	got := mustAppend(t, l, append(same, same...)...) // twice in one commit
	assert.Equal(t, want, got[4:])
	assert.Equal(t, want, mustAppend(t, l, same...))
	assert.Equal(t, []Receipt{{5, Stored}, {1, Conflict}}, mustAppend(t, l, Record{Key: "e"}, Record{Key: "a"}))
	require.NoError(t, b.Close())
	b = openTest(t, dir, Options{})
	assert.Equal(t, want, mustAppend(t, mustLog(t, b, "default"), same...), "after a restart")
}

// What is erased is gone from its entry, durable or of the same group, and its neighbours stay.
func TestEraseInsideEntry(t *testing.T) {
	dir := t.TempDir()
	b := openTest(t, dir, Options{})
	l := mustLog(t, b, "default").(*badgerLog)
	var records []Record
	for i := range 20 {
		records = append(records, Record{Key: fmt.Sprint(i), Payload: fmt.Append(nil, i)})
	}
	mustAppend(t, l, records...)
	require.NoError(t, l.Erase(t.Context(), []uint64{20, 3, 7, 4711, 3}))
	pending := newEvent(Record{Key: "pending", Payload: []byte("secret")})
	require.NoError(t, b.submit(t.Context(), &request{records: 2, size: 1 << 10, apply: func(x *tx) error {
		for range 2 {
			pending.Seq = x.head(l.w).Seq + 1
			pending.Chain = chainNext(x.head(l.w).Chain, pending.Seq, pending.Digest)
			if err := x.put(l.w, &pending); err != nil {
				return err
			}
			x.heads[l.w] = Head{pending.Seq, pending.Chain}
		}
		return errors.Join(l.erase(x, []uint64{5, 21}), l.erase(x, []uint64{6, 22}))
	}}))
	check := func(b *Badger) {
		for _, e := range collect(t, mustLog(t, b, "default").Read(t.Context(), 0)) {
			switch e.Seq {
			case 3, 5, 6, 7, 20, 21, 22:
				assert.True(t, e.Erased, e.Seq)
				assert.Empty(t, e.Payload)
			default:
				assert.Equal(t, fmt.Sprint(e.Seq-1), string(e.Payload))
			}
		}
		assert.Equal(t, map[uint64]int{20: 20, 22: 2}, entries(t, b, "default"))
	}
	check(b)
	require.NoError(t, b.Close())
	b = openTest(t, dir, Options{})
	check(b)
	assert.Equal(t, []Receipt{{7, Duplicate}}, mustAppend(t, mustLog(t, b, "default"), records[6]), "the key stays known")
}

// A database of another format is refused, and not changed.
func TestOtherFormat(t *testing.T) {
	dir := fillForFindings(t)
	for _, format := range []uint64{1, 2, 4} {
		direct(t, dir, func(txn *badger.Txn) error { return txn.Set(metaKey(metaFormat), encodeRow(format, nil)) })
		_, err := Open(dir, Options{})
		require.ErrorContains(t, err, fmt.Sprintf("the database has format %d, this program knows 3", format))
		require.ErrorContains(t, err, "waymark export")
	}
	direct(t, dir, func(txn *badger.Txn) error { return txn.Set(metaKey(metaFormat), encodeRow(databaseFormat, nil)) })
	b := openTest(t, dir, Options{})
	require.NoError(t, b.Health())
	require.EqualValues(t, 30, mustLog(t, b, "default").Head().Seq)
}

// Of an entry that is damaged in its middle the events before are kept.
func TestDamageInsideEntry(t *testing.T) {
	entry := eventKey("other", 30)
	rows := []struct {
		name, want string
		harm       func(v []byte) []byte
		events     int
	}{
		{"byte", `workspace "other": event 19: checksum does not match`, func(v []byte) []byte {
			_, stored, err := records(nil, 30, v)
			require.NoError(t, err)
			stored[18][len(stored[18])-1] ^= 1
			return v
		}, 18},
		{"length", `workspace "other": event 1: record is cut short`, func(v []byte) []byte {
			v[2] ^= 1
			return v
		}, 0},
		{"cut", `workspace "other": 1 events missing after seq 0`, func(v []byte) []byte {
			_, stored, err := records(nil, 30, v)
			require.NoError(t, err)
			return v[:len(v)-4-len(stored[29])]
		}, 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := fillForFindings(t)
			direct(t, dir, func(txn *badger.Txn) error {
				item, err := txn.Get(entry)
				require.NoError(t, err)
				v, err := item.ValueCopy(nil)
				require.NoError(t, err)
				return txn.Set(entry, row.harm(v))
			})
			_, err := Open(dir, Options{Logger: quiet})
			require.ErrorIs(t, err, ErrDamaged)
			require.ErrorContains(t, err, row.want)
			b := openTest(t, dir, Options{AcceptDamage: true})
			l := mustLog(t, b, "other")
			require.Len(t, collect(t, l.Read(t.Context(), 0)), row.events)
			require.Equal(t, []Receipt{{uint64(row.events + 1), Stored}}, mustAppend(t, l, Record{Key: "29"}))
			require.NoError(t, b.Close())
			b = openTest(t, dir, Options{})
			require.NoError(t, b.Health())
			require.Len(t, collect(t, mustLog(t, b, "other").Read(t.Context(), 0)), row.events+1)
		})
	}
}
