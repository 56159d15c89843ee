package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const damageEvents = 600

// fillForDamage closes a store once, so that tables exist, then goes on writing and returns copies
// of the directory: stopped as by a crash (events in a write-ahead log) and closed (all in tables).
func fillForDamage(t *testing.T) (crashed, closed string) {
	dir := filepath.Join(t.TempDir(), "store")
	records := make([]Record, damageEvents/2)
	for half := range 2 {
		b := openTest(t, dir, Options{})
		for i := range records {
			records[i] = Record{Key: fmt.Sprint(half, " ", i), Payload: fmt.Appendf(nil, "%0200d", i)}
		}
		for i := 0; i < len(records); i += 50 { // several commits, so that a cut log keeps some
			mustAppend(t, mustLog(t, b, "default"), records[i:i+50]...)
		}
		if half == 1 {
			_, err := b.System().Put(t.Context(), "row", []byte("value"))
			require.NoError(t, err)
			require.NoError(t, b.writeMark())
			crashed = filepath.Join(t.TempDir(), "crashed")
			copyStore(t, dir, crashed)
		}
		require.NoError(t, b.Close())
	}
	return crashed, dir
}

func copyStore(t *testing.T, from, to string) {
	require.NoError(t, os.MkdirAll(filepath.Join(to, "db"), 0o700))
	for _, pattern := range []string{"db/*", highWaterName} {
		files, err := filepath.Glob(filepath.Join(from, pattern))
		require.NoError(t, err)
		for _, f := range files {
			rel, err := filepath.Rel(from, f)
			require.NoError(t, err)
			require.NoError(t, copySparse(f, filepath.Join(to, rel)))
		}
	}
}

// used is the length of a file up to its last byte that is not zero.
func used(b []byte) int {
	n := len(b)
	for n > 0 && b[n-1] == 0 {
		n--
	}
	return n
}

func flip(at float64) func([]byte) []byte {
	return func(b []byte) []byte {
		b[int(at*float64(used(b)-1))] ^= 0x10
		return b
	}
}

func cut(share float64) func([]byte) []byte {
	return func(b []byte) []byte { return b[:int(share*float64(used(b)))] }
}

// The rows are those of the trials that badger alone passes in silence or dies of (reliability
// report, section 2.2). The law: a store never opens without a word and with fewer events than were
// acknowledged.
func TestDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	crashed, closed := fillForDamage(t)
	remove := func([]byte) []byte { return nil }
	rows := []struct {
		name, from, file string
		change           func([]byte) []byte
		harmless         bool // it may open, with everything there
	}{
		{"wal flip 10%", crashed, "*.mem", flip(.1), false},
		{"wal flip 50%", crashed, "*.mem", flip(.5), false},
		{"wal flip 90%", crashed, "*.mem", flip(.9), false},
		{"wal header", crashed, "*.mem", flip(0), true},
		{"wal cut", crashed, "*.mem", cut(.5), false},
		{"wal deleted", crashed, "*.mem", remove, false},
		{"table flip 10%", closed, "*.sst", flip(.1), false},
		{"table flip 60%", closed, "*.sst", flip(.6), false},
		{"table footer", closed, "*.sst", flip(1), false},
		{"table cut", closed, "*.sst", cut(.5), false},
		{"table emptied", closed, "*.sst", cut(0), false},
		{"table deleted", closed, "*.sst", remove, false},
		{"manifest flip", closed, "MANIFEST", flip(.5), false},
		{"manifest magic", closed, "MANIFEST", flip(0), false},
		{"manifest last bytes", closed, "MANIFEST", func(b []byte) []byte { return b[:len(b)-3] }, false},
		{"manifest cut", closed, "MANIFEST", cut(.5), false},
		{"manifest emptied", closed, "MANIFEST", cut(0), false},
		{"manifest deleted", closed, "MANIFEST", remove, false},
		{"manifest deleted after crash", crashed, "MANIFEST", remove, false},
		{"high-water flip", closed, "../" + highWaterName, flip(.5), false},
		{"high-water cut", closed, "../" + highWaterName, cut(.5), false},
		{"high-water deleted", closed, "../" + highWaterName, remove, false},
		{"key registry deleted", closed, "KEYREGISTRY", remove, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			copyStore(t, row.from, dir)
			files, err := filepath.Glob(filepath.Join(dir, "db", row.file))
			require.NoError(t, err)
			require.NotEmpty(t, files)
			path := files[len(files)-1] // the newest
			if strings.HasSuffix(path, ".mem") {
				path = files[0]
			}
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			if changed := row.change(content); changed == nil {
				require.NoError(t, os.Remove(path))
			} else {
				require.NoError(t, os.WriteFile(path, changed, 0o600))
			}
			for range 2 { // a second start must not take a first refusal for a repair
				b, err := Open(dir, Options{Logger: quiet})
				if err != nil {
					require.ErrorIs(t, err, ErrDamaged)
					continue
				}
				events := collect(t, mustLog(t, b, "default").Read(t.Context(), 0))
				require.NoError(t, b.Close())
				require.True(t, row.harmless, "opened with %d events", len(events))
				require.Len(t, events, damageEvents)
			}
		})
	}
}

// Database and high-water file may both be gone: snapshots of a history that nobody has tell that there was one.
func TestNothingLeftButSnapshots(t *testing.T) {
	dir := t.TempDir()
	b := openTest(t, dir, Options{})
	l := mustLog(t, b, "default")
	mustAppend(t, l, Record{Payload: []byte("one")})
	require.NoError(t, putBytes(t.Context(), l, 1, []byte("derived")))
	require.NoError(t, b.Close())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "db")))
	require.NoError(t, os.Remove(filepath.Join(dir, highWaterName)))
	for range 2 {
		_, err := Open(dir, Options{Logger: quiet})
		require.ErrorIs(t, err, ErrDamaged)
		require.ErrorContains(t, err, "the database is empty, while there are snapshots of 1 workspaces")
	}
	b = openTest(t, dir, Options{AcceptDamage: true})
	require.ErrorIs(t, b.Health(), ErrDamaged)
}

func TestUndamagedCopiesOpen(t *testing.T) {
	crashed, closed := fillForDamage(t)
	for _, from := range []string{crashed, closed} {
		dir := filepath.Join(t.TempDir(), "store")
		copyStore(t, from, dir)
		b := openTest(t, dir, Options{})
		assert.Len(t, collect(t, mustLog(t, b, "default").Read(t.Context(), 0)), damageEvents)
		assert.NoError(t, b.Health())
		require.NoError(t, b.Close())
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		assert.Len(t, left, 3, "db, lock and highwater")
		hidden, err := filepath.Glob(filepath.Join(dir, beforePattern+"*"))
		require.NoError(t, err)
		assert.Empty(t, hidden)
	}
}

// direct changes the database of a closed store behind its back.
func direct(t *testing.T, dir string, fn func(*badger.Txn) error) {
	t.Helper()
	db, err := openDB(filepath.Join(dir, "db"), nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(fn))
	require.NoError(t, db.Close())
}

func fillForFindings(t *testing.T) string {
	dir := t.TempDir()
	b := openTest(t, dir, Options{})
	records := make([]Record, 30)
	for i := range records {
		records[i] = Record{Key: fmt.Sprint(i), Payload: fmt.Append(nil, i)}
	}
	for _, r := range records { // each in an entry of its own
		mustAppend(t, mustLog(t, b, "default"), r)
	}
	mustAppend(t, mustLog(t, b, "other"), records...) // all in one
	require.NoError(t, putBytes(t.Context(), mustLog(t, b, "default"), 10, []byte("early")))
	require.NoError(t, putBytes(t.Context(), mustLog(t, b, "default"), 25, []byte("late")))
	_, err := b.System().Put(t.Context(), "row", []byte("value"))
	require.NoError(t, err)
	require.NoError(t, b.Close())
	return dir
}

// What the walk at Open says, and what is left of the log "default" once the damage is accepted.
func TestFindings(t *testing.T) {
	key := func(seq uint64) []byte { return eventKey("default", seq) }
	rewrite := func(txn *badger.Txn, seq uint64, change func(e *storedEvent)) error {
		item, err := txn.Get(key(seq))
		if err != nil {
			return err
		}
		v, err := item.ValueCopy(nil)
		if err != nil {
			return err
		}
		e, err := decodeEvent(seq, v)
		if err != nil {
			return err
		}
		change(&e)
		return txn.Set(key(seq), encodeEvent(&e))
	}
	rows := []struct {
		name, want string
		harm       func(txn *badger.Txn) error
		events     int
	}{
		{"tail", `workspace "default": 2 events missing after seq 28`, func(txn *badger.Txn) error {
			return errors.Join(txn.Delete(key(29)), txn.Delete(key(30)))
		}, 28},
		{"gap", `workspace "default": 1 events missing after seq 19`, func(txn *badger.Txn) error {
			return txn.Delete(key(20))
		}, 19},
		{"all", `workspace "default": 30 events missing after seq 0`, func(txn *badger.Txn) error {
			for seq := range uint64(30) {
				if err := txn.Delete(key(seq + 1)); err != nil {
					return err
				}
			}
			return nil
		}, 0},
		{"byte", `workspace "default": event 20: checksum does not match`, func(txn *badger.Txn) error {
			item, err := txn.Get(key(20))
			if err != nil {
				return err
			}
			v, err := item.ValueCopy(nil)
			v[len(v)-1] ^= 1
			return errors.Join(err, txn.Set(key(20), v))
		}, 19},
		{"payload", `workspace "default": event 20: payload does not match its digest`, func(txn *badger.Txn) error {
			return rewrite(txn, 20, func(e *storedEvent) { e.Payload = []byte("forged") })
		}, 19},
		{"chain", `workspace "default": event 20: hash chain is broken`, func(txn *badger.Txn) error {
			return rewrite(txn, 20, func(e *storedEvent) { e.Chain[0] ^= 1 })
		}, 19},
		{"history rewritten", `workspace "default": event 30 is not the one the high-water file knows`, func(txn *badger.Txn) error {
			return rewrite(txn, 30, func(e *storedEvent) {
				e.Payload = []byte("forged")
				n := newEvent(Record{Payload: e.Payload})
				var before Event
				if err := rewrite(txn, 29, func(p *storedEvent) { before = p.Event }); err != nil {
					panic(err)
				}
				e.Digest, e.Chain = n.Digest, chainNext(before.Chain, 30, n.Digest)
			})
		}, 30},
		{"row", `workspace "": table row "row": checksum does not match`, func(txn *badger.Txn) error {
			return txn.Set(rowKey("", "row"), []byte("no row at all"))
		}, 30},
		{"registry", `workspace "default" is missing from the list of workspaces`, func(txn *badger.Txn) error {
			return txn.Delete(registryKey("default"))
		}, 30},
		{"commits", `commits missing after commit 1`, func(txn *badger.Txn) error {
			return txn.Set(metaKey(metaCommits), encodeRow(1, nil))
		}, 30},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := fillForFindings(t)
			direct(t, dir, row.harm)
			_, err := Open(dir, Options{Logger: quiet})
			require.ErrorIs(t, err, ErrDamaged)
			require.ErrorContains(t, err, row.want)
			_, again := Open(dir, Options{Logger: quiet})
			require.EqualError(t, again, err.Error(), "refusing changes nothing")

			b := openTest(t, dir, Options{AcceptDamage: true})
			require.ErrorIs(t, b.Health(), ErrDamaged)
			l := mustLog(t, b, "default")
			require.Len(t, collect(t, l.Read(t.Context(), 0)), row.events)
			for _, s := range collect(t, l.Snapshots(t.Context())) {
				require.LessOrEqual(t, s.Seq, uint64(row.events))
			}
			if row.name != "history rewritten" { // there "29" has another payload now
				receipts := mustAppend(t, l, Record{Key: "7", Payload: []byte("7")}, Record{Key: "29", Payload: []byte("29")})
				want := []Receipt{{8, Duplicate}, {30, Duplicate}}
				switch {
				case row.events == 0:
					want = []Receipt{{1, Stored}, {2, Stored}}
				case row.events < 30: // an event that was lost may be sent again
					want[1] = Receipt{uint64(row.events + 1), Stored}
				}
				require.Equal(t, want, receipts)
			}
			require.Len(t, collect(t, mustLog(t, b, "other").Read(t.Context(), 0)), 30)
			require.NoError(t, b.Close())
			b = openTest(t, dir, Options{})
			require.NoError(t, b.Health(), "accepted damage is gone at the next start")
			kept, err := filepath.Glob(filepath.Join(dir, "damaged-*"))
			require.NoError(t, err)
			require.Len(t, kept, 1)
			aside, err := filepath.Glob(filepath.Join(dir, "aside-*"))
			require.NoError(t, err)
			if row.name == "gap" || row.name == "row" {
				require.NotEmpty(t, aside)
			}
		})
	}
}
