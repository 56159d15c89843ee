package storage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// holding lists the files below dir that hold text, as they are on the disk.
func holding(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			name, _ := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(name))
		}
		return err
	}))
	return files
}

func quietly(string, float64) {}

// The planted text is random, so that the compression of tables leaves it readable for the scan. Parts of the log are
// in tables, parts in the write-ahead log; a row was overwritten; a workspace was deleted; a repair has left a copy.
func TestPurge(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(7, 7))
	planted := fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64())
	for half := range 2 {
		b := openTest(t, dir, Options{})
		l := mustLog(t, b, "default")
		for i := range 300 {
			mustAppend(t, l, Record{Key: fmt.Sprint(half, i), Payload: fmt.Appendf(nil, "%d %s", i, planted)},
				Record{Payload: fmt.Appendf(nil, "kept %d %d", half, i)})
			_, err := b.System().Put(t.Context(), "row", []byte(planted))
			require.NoError(t, err)
		}
		mustAppend(t, mustLog(t, b, fmt.Sprint("other", half)), Record{Payload: []byte(planted)})
		if half == 0 {
			require.NoError(t, b.Close())
			require.NoError(t, os.Mkdir(filepath.Join(dir, damagedPrefix+"1234"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, damagedPrefix+"1234", "000001.sst"), []byte(planted), 0o600))
			continue
		}
		var seqs []uint64
		for e := range l.Read(t.Context(), 0) {
			if bytes.Contains(e.Payload, []byte(planted)) {
				seqs = append(seqs, e.Seq)
			}
		}
		require.Len(t, seqs, 600)
		require.NoError(t, l.Erase(t.Context(), seqs))
		_, err := b.System().Put(t.Context(), "row", []byte("other"))
		require.NoError(t, err)
		require.NoError(t, b.Delete(t.Context(), "other0"))
		require.NoError(t, b.Delete(t.Context(), "other1"))
		require.NotEmpty(t, holding(t, dir, planted), "else the test shows nothing")

		phases := map[string]bool{}
		report, err := b.Purge(t.Context(), []string{planted, "short"}, func(phase string, _ float64) { phases[phase] = true })
		require.NoError(t, err)
		assert.Empty(t, holding(t, dir, planted))
		assert.Empty(t, report.Found)
		assert.EqualValues(t, 600, report.Blank)
		assert.Equal(t, 1, report.Texts, "a short text is found everywhere and is not looked for")
		assert.Equal(t, []string{damagedPrefix + "1234"}, report.Removed)
		assert.Positive(t, report.Files)
		assert.True(t, phases["copy"] || phases["verify"])

		mustAppend(t, l, Record{Payload: []byte("after")})
		require.Len(t, collect(t, l.Read(t.Context(), 0)), 1201)
		require.NoError(t, b.Health())
		require.NoError(t, b.Close())
	}
	b := openTest(t, dir, Options{})
	require.Len(t, collect(t, mustLog(t, b, "default").Read(t.Context(), 0)), 1201)
}

// What a purge cannot reach it names: texts of events that were not erased, and files it does not know.
func TestPurgeNamesWhatIsLeft(t *testing.T) {
	dir := t.TempDir()
	b := openTest(t, dir, Options{})
	mustAppend(t, mustLog(t, b, "default"), Record{Payload: []byte("kept in an event")})
	_, err := b.System().Put(t.Context(), "row", []byte("kept in an event too"))
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "spool"), 0o700))
	filler := bytes.Repeat([]byte{'x'}, 1<<20-5) // the text lies across two chunks
	require.NoError(t, os.WriteFile(filepath.Join(dir, "spool", "1.json"), append(filler, "kept in an event"...), 0o600))
	report, err := b.Purge(t.Context(), []string{"kept in an event"}, quietly)
	require.NoError(t, err)
	var where []string
	for _, f := range report.Found {
		where = append(where, f.Where)
	}
	assert.Subset(t, where, []string{"workspace default, event 1", "workspace , row row", "spool/1.json"})
}

// The search sees into compressed snapshots: a text that the compression leaves in pieces, at a border of chunks, in the
// newest and the one before, and in one that is being written.
func TestPurgeSearchesSnapshots(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	const planted = "abcdefgh abcdefgh abcdefgh"
	dir := t.TempDir()
	b := openTest(t, dir, Options{})
	l := mustLog(t, b, "default")
	mustAppend(t, l, Record{Payload: []byte("x")})
	content := append(bytes.Repeat([]byte("abcdefgi "), 3<<20/9), planted...)
	require.NoError(t, putBytes(t.Context(), l, 0, content))
	require.NoError(t, putBytes(t.Context(), l, 1, content[10:]))
	where := func() (all []string) {
		report, err := b.Purge(t.Context(), []string{planted, "abcdefgj"}, quietly)
		require.NoError(t, err)
		for _, f := range report.Found {
			require.Equal(t, 1, f.Texts)
			all = append(all, f.Where)
		}
		return all
	}
	folder := "snapshots/w-default/"
	kept := []string{folder + snapshotName(0), folder + snapshotName(1)}
	require.Empty(t, holding(t, dir, planted), "else the test shows nothing")
	require.Equal(t, kept, where())
	require.NoError(t, l.PutSnapshot(t.Context(), 1, func(w io.Writer) error {
		noise := make([]byte, 1<<20)
		rand.NewChaCha8([32]byte{1}).Read(noise)
		for range 16 { // so that what is before has left the compressor
			_, err := w.Write(append(content, noise...))
			require.NoError(t, err)
		}
		require.Len(t, where(), 3)
		return nil
	}))
	require.NoError(t, l.DropSnapshots(t.Context()))
	require.Empty(t, where())
}

// Writers wait for a purge and lose nothing; readers go on.
func TestPurgeBesideWriters(t *testing.T) {
	dir := t.TempDir()
	b := openTest(t, dir, Options{})
	l := mustLog(t, b, "default")
	done := make(chan int)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		n := 0
		for ctx.Err() == nil {
			if _, err := l.Append(context.Background(), []Record{{Payload: fmt.Append(nil, n)}}); err != nil {
				break
			}
			n++
		}
		done <- n
	}()
	for range 3 {
		_, err := b.Purge(t.Context(), nil, quietly)
		require.NoError(t, err)
		collect(t, l.Read(t.Context(), 0))
	}
	stop()
	n := <-done
	require.Len(t, collect(t, l.Read(t.Context(), 0)), n)
	require.NoError(t, b.Close())
	require.Len(t, collect(t, mustLog(t, openTest(t, dir, Options{}), "default").Read(t.Context(), 0)), n)
}

// A crash at any step of the exchange leaves a directory that opens with everything in it, and no old file.
func TestPurgeThatWasCutShort(t *testing.T) {
	steps := map[string]func(t *testing.T, dir string){
		"while copying": func(t *testing.T, dir string) {
			require.NoError(t, os.Mkdir(filepath.Join(dir, rewrittenDB), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, rewrittenDB, "MANIFEST"), []byte("half"), 0o600))
		},
		"between the renames": func(t *testing.T, dir string) {
			require.NoError(t, os.CopyFS(filepath.Join(dir, rewrittenDB), os.DirFS(filepath.Join(dir, "db"))))
			require.NoError(t, os.Rename(filepath.Join(dir, "db"), filepath.Join(dir, replacedDB)))
		},
		"before the new one is there": func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(filepath.Join(dir, "db"), filepath.Join(dir, replacedDB)))
		},
		"while removing": func(t *testing.T, dir string) {
			require.NoError(t, os.CopyFS(filepath.Join(dir, replacedDB), os.DirFS(filepath.Join(dir, "db"))))
		},
	}
	for name, cut := range steps {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := openTest(t, dir, Options{})
			mustAppend(t, mustLog(t, b, "default"), Record{Payload: []byte("one")})
			require.NoError(t, b.Close())
			cut(t, dir)
			b = openTest(t, dir, Options{})
			require.Len(t, collect(t, mustLog(t, b, "default").Read(t.Context(), 0)), 1)
			require.NoDirExists(t, filepath.Join(dir, rewrittenDB))
			require.NoDirExists(t, filepath.Join(dir, replacedDB))
		})
	}
}
