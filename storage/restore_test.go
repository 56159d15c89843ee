package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// Ten ways a backup is damaged on its way, and ten random flips. Badger's own stream has neither
// checksum nor end: of 20 flips it loaded 19 (reliability report, section 2.2).
func TestDamagedBackup(t *testing.T) {
	m := NewMemory()
	fillForBackup(t, m)
	var out bytes.Buffer
	_, err := m.Backup(t.Context(), &out)
	require.NoError(t, err)
	good := out.Bytes()
	trailer := len(good) - frameHeader - 24 - 32
	firstEvent := bytes.Index(good, []byte("payload 0"))
	other := NewMemory()
	mustAppend(t, mustLog(t, other, "b"), Record{Payload: []byte("y")})
	var otherOut bytes.Buffer
	_, err = other.Backup(t.Context(), &otherOut)
	require.NoError(t, err)
	otherTrailer := otherOut.Bytes()[otherOut.Len()-frameHeader-24-32:]

	type row struct {
		name string
		make func() []byte
	}
	rows := []row{
		{"empty", func() []byte { return nil }},
		{"header only", func() []byte { return good[:9] }},
		{"no magic", func() []byte { return append([]byte("x"), good[1:]...) }},
		{"cut before the trailer", func() []byte { return good[:trailer] }},
		{"cut in the trailer", func() []byte { return good[:len(good)-1] }},
		{"cut in an event", func() []byte { return good[:firstEvent] }},
		{"bytes after the end", func() []byte { return append(bytes.Clone(good), 0) }},
		{"trailer of another", func() []byte { return append(bytes.Clone(good[:trailer]), otherTrailer...) }},
		{"an event left out", func() []byte {
			size := frameHeader + 8 + eventHead + 32 + len("payload 0")
			start := firstEvent + len("payload 0") - size
			return append(bytes.Clone(good[:start]), good[start+size:]...)
		}},
		{"twice", func() []byte { return append(bytes.Clone(good), good...) }},
	}
	r := rand.New(rand.NewPCG(7, 7))
	for range 10 {
		at, bit := r.IntN(len(good)-9)+9, byte(1)<<r.IntN(8)
		rows = append(rows, row{fmt.Sprintf("flip %d of byte %d", bit, at), func() []byte {
			b := bytes.Clone(good)
			b[at] ^= bit
			return b
		}})
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			refuseRestore(t, row.make(), ErrDamaged)
		})
	}
	t.Run("newer format", func(t *testing.T) {
		b := bytes.Clone(good)
		b[8] = 99
		parent := t.TempDir()
		_, err := Restore(t.Context(), bytes.NewReader(b), filepath.Join(parent, "new"), Options{Logger: quiet})
		require.ErrorContains(t, err, "format 99")
		requireEmpty(t, parent)
	})
	t.Run("read error", func(t *testing.T) {
		parent := t.TempDir()
		broken := errors.New("connection reset")
		_, err := Restore(t.Context(), iotest.TimeoutReader(bytes.NewReader(good)), filepath.Join(parent, "new"), Options{Logger: quiet})
		require.Error(t, err)
		_, err = Restore(t.Context(), iotest.ErrReader(broken), filepath.Join(parent, "new"), Options{Logger: quiet})
		require.ErrorIs(t, err, broken)
		require.NotErrorIs(t, err, ErrDamaged)
		requireEmpty(t, parent)
	})
	t.Run("cancelled", func(t *testing.T) {
		parent := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := Restore(ctx, bytes.NewReader(good), filepath.Join(parent, "new"), Options{Logger: quiet})
		require.ErrorIs(t, err, context.Canceled)
		requireEmpty(t, parent)
	})
}

func refuseRestore(t *testing.T, backup []byte, want error) {
	t.Helper()
	parent := t.TempDir()
	_, err := Restore(t.Context(), bytes.NewReader(backup), filepath.Join(parent, "new"), Options{Logger: quiet})
	require.ErrorIs(t, err, want)
	requireEmpty(t, parent)
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "nothing may be left behind")
}

// A backup taken under load is one moment: a whole prefix, which restores and verifies.
func TestBackupUnderLoad(t *testing.T) {
	b := openTest(t, t.TempDir(), Options{})
	l := mustLog(t, b, "default")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := l.Append(context.Background(), []Record{{Key: fmt.Sprint(i), Payload: make([]byte, 2000)}}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	require.Eventually(t, func() bool { return l.Head().Seq > 50 }, 5e9, 1e6)
	for range 3 {
		var out bytes.Buffer
		s, err := b.Backup(t.Context(), &out)
		require.NoError(t, err)
		dir := filepath.Join(t.TempDir(), "deep", "new")
		got, err := Restore(t.Context(), &out, dir, Options{Logger: quiet})
		require.NoError(t, err)
		require.Equal(t, s, got)
		restored := openTest(t, dir, Options{})
		require.EqualValues(t, s.Events, mustLog(t, restored, "default").Head().Seq)
		require.NoError(t, restored.Close())
	}
	close(stop)
	<-done
}
