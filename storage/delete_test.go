package storage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
		require.False(t, s.Exists("a"))
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
