package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// resealed is a backup with the SHA-256 that its other bytes have.
func resealed(b []byte) []byte {
	n := max(len(b)-sha256.Size, 0)
	sum := sha256.Sum256(b[:n])
	return append(bytes.Clone(b[:n]), sum[:]...)
}

// A backup that was damaged on its way is refused, and nothing is left behind; also one whose log was forged with a right
// SHA-256.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	fillForBackup(t, m)
	var out bytes.Buffer
	_, err := m.Backup(t.Context(), &out)
	require.NoError(t, err)
	good := out.Bytes()
	event := bytes.Index(good, []byte("payload 7"))
	backups := map[string][]byte{
		"empty": nil, "header only": good[:9], "no magic": append([]byte("x"), good[1:]...),
		"cut before the end": good[:len(good)-33], "cut in the end": good[:len(good)-1], "cut in an event": good[:event],
		"bytes after the end": append(bytes.Clone(good), 0), "twice": append(bytes.Clone(good), good...),
		"forged":           resealed(bytes.Replace(good, []byte("payload 7"), []byte("payload 8"), 1)),
		"events swapped":   resealed(bytes.Replace(bytes.Replace(good, []byte("payload 7"), []byte("payload X"), 1), []byte("payload 8"), []byte("payload 7"), 1)),
		"an event removed": resealed(append(bytes.Clone(good[:event-eventHead-8-len("default")-13]), good[event+9:]...)),
	}
	r := rand.New(rand.NewPCG(7, 7))
	for range 20 {
		at, b := r.IntN(len(good)), bytes.Clone(good)
		b[at] ^= 1 << r.IntN(8)
		backups[fmt.Sprint("flip at ", at)] = b
	}
	refuse := func(ctx context.Context, in *bytes.Reader, want error) {
		t.Helper()
		parent := t.TempDir()
		_, err := Restore(ctx, in, filepath.Join(parent, "new"), Options{Logger: quiet})
		require.ErrorIs(t, err, want)
		left, err := os.ReadDir(parent)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	for name, b := range backups {
		t.Run(name, func(t *testing.T) { refuse(t.Context(), bytes.NewReader(b), ErrDamaged) })
	}
	file, empty := filepath.Join(t.TempDir(), "file"), t.TempDir() // which were there before, and stay
	require.NoError(t, os.WriteFile(file, []byte("a backup"), 0o600))
	for _, where := range []string{file, empty} {
		_, err := Restore(t.Context(), bytes.NewReader(nil), where, Options{Logger: quiet})
		require.Error(t, err)
	}
	require.FileExists(t, file)
	left, err := os.ReadDir(empty)
	require.NoError(t, err)
	require.Empty(t, left)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	refuse(ctx, bytes.NewReader(good), context.Canceled)
	broken := errors.New("connection reset")
	_, err = Restore(t.Context(), iotest.ErrReader(broken), filepath.Join(t.TempDir(), "new"), Options{Logger: quiet})
	require.ErrorIs(t, err, broken)
	require.NotErrorIs(t, err, ErrDamaged)
}

// A backup taken under load is one moment: a whole prefix, which restores and verifies.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				mustAppend(t, s, "w", Record{Key: fmt.Sprint(i), Payload: make([]byte, 2000)})
			}
		}
	}()
	for range 3 {
		var out bytes.Buffer
		sum, err := s.Backup(t.Context(), &out)
		require.NoError(t, err)
		dir := filepath.Join(t.TempDir(), "new")
		got, err := Restore(t.Context(), &out, dir, Options{Logger: quiet})
		require.NoError(t, err)
		require.Equal(t, sum, got)
		require.Equal(t, sum.Events, openTest(t, dir, Options{}).Head("w").Seq)
	}
	close(stop)
	<-done
}

func FuzzEvent(f *testing.F) {
	f.Add(encodeEvent([32]byte{1}, [32]byte{2}, false, []byte("payload")))
	f.Add(encodeEvent([32]byte{1}, [32]byte{2}, true, nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEvent(7, b)
		if err == nil && !bytes.Equal(encodeEvent(e.Chain, e.Digest, e.Erased, e.Payload), b) {
			t.Fatalf("%x has two spellings", b)
		}
		_ = e.follows(Head{Seq: 6})
		if row, err := decodeRow("key", b); err == nil && b != nil && !bytes.Equal(encodeRow(row.Version, row.Value), b) {
			t.Fatalf("%x has two spellings as a row", b)
		}
	})
}

func FuzzHeader(f *testing.F) {
	f.Add(header{}.encode())
	f.Add(header{Head{Seq: 4711, Chain: [32]byte{1}}, 7, 2, true, 9}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := decodeHeader(b); err == nil && len(b) > 0 && !bytes.Equal(h.encode(), b) {
			t.Fatalf("%x has two spellings", b)
		}
		if l := decodeLease(b); len(b) >= 16 && !bytes.Equal(l.encode(), b) {
			t.Fatalf("%x has two spellings as a lease", b)
		}
	})
}

// What is restored gives the same backup again.
func FuzzRestore(f *testing.F) {
	m := NewMemory()
	fillForBackup(f, m)
	var out bytes.Buffer
	_, err := m.Backup(f.Context(), &out)
	require.NoError(f, err)
	f.Add(out.Bytes())
	f.Add(out.Bytes()[:200])
	f.Add(resealed(append([]byte(backupMagic), encodeEntry(Pair{Key{tableRows, "", "a"}, encodeRow(1, nil)})...)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, resealed(b)} {
			e := NewMemory().engine
			_, err := load(t.Context(), bytes.NewReader(b), e)
			s, opening := New(t.Context(), e, Options{Logger: quiet})
			if opening != nil {
				continue
			}
			if err == nil {
				_, err = s.Backup(t.Context(), &bytes.Buffer{})
				require.NoError(t, err)
			}
			require.NoError(t, s.Close())
		}
	})
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
	stores := []*Store{NewMemory(), openTest(t, t.TempDir(), Options{}), openTest(t, emptySchema(t), Options{})}
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
	address := emptySchema(t)
	_, err = Restore(ctx, bytes.NewReader(first[:len(first)-1]), address, Options{})
	require.ErrorIs(t, err, ErrDamaged)
	e := openTestPostgres(t, address)
	put(t, e, Pair{restoring, []byte{1}}) // as after a kill
	_, err = Open(address, Options{})
	require.ErrorContains(t, err, "restore again")
	_, err = Restore(ctx, bytes.NewReader(first), address, Options{})
	require.ErrorContains(t, err, "restore again")
	put(t, e, Pair{Key: restoring})
	other, err := Restore(ctx, bytes.NewReader(first), address, Options{Logger: quiet})
	require.NoError(t, err)
	require.Equal(t, sum, other)
	for _, s := range []*Store{openTest(t, dir, Options{}), openTest(t, address, Options{})} {
		var out bytes.Buffer
		again, err := s.Backup(ctx, &out)
		require.NoError(t, err)
		assert.Equal(t, sum, again)
		assert.True(t, bytes.Equal(first, out.Bytes()))
		assert.Equal(t, []Receipt{{Seq: 3, Status: Duplicate}}, mustAppend(t, s, "default", Record{Key: "key 2", Payload: []byte("payload 2")}))
		assert.Equal(t, stores[0].Head("default"), s.Head("default"))
	}
	for _, where := range []string{dir, address} {
		_, err = Restore(ctx, bytes.NewReader(first), where, Options{Logger: quiet})
		assert.ErrorContains(t, err, "not empty")
	}
}
