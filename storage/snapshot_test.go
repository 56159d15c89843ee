package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

func putBytes(ctx context.Context, s *Store, workspace string, seq uint64, data []byte) error {
	return s.PutSnapshot(ctx, workspace, seq, "", 0, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
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
