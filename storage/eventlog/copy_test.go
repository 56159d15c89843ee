package eventlog

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/storage"
)

// history is a store with n events, every third without a key and every fifth erased.
func history(t *testing.T, n int) (storage.Store, *Local) {
	store := storage.NewMemory()
	log, err := store.Log("w")
	require.NoError(t, err)
	var erased []uint64
	for i := range n {
		r := storage.Record{Key: string(rune('a'+i%26)) + string(rune('0'+i/26)), Payload: []byte{byte(i), byte(i >> 8)}}
		if i%3 == 0 {
			r.Key = ""
		}
		_, err := log.Append(t.Context(), []storage.Record{r})
		require.NoError(t, err)
		if i%5 == 0 {
			erased = append(erased, uint64(i)+1)
		}
	}
	require.NoError(t, log.Erase(t.Context(), erased))
	return store, NewLocal(store)
}

// interrupted fails an append, once before it is stored and once after.
type interrupted struct {
	Log
	fail map[int]bool // append by append: whether the failed one is stored
	n    int
}

var errCut = errors.New("connection lost")

func (i *interrupted) Append(ctx context.Context, workspace string, events []storage.Sealed) error {
	i.n++
	stored, fails := i.fail[i.n]
	if !fails || stored {
		if err := i.Log.Append(ctx, workspace, events); err != nil {
			return err
		}
	}
	if fails {
		return errCut
	}
	return nil
}

func TestCopyThereAndBackOverEveryEngine(t *testing.T) {
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			source, from := history(t, 2500)
			to := &interrupted{Log: e.open(t)(t), fail: map[int]bool{2: false, 4: true}}
			for range 2 {
				require.ErrorIs(t, Copy(t.Context(), from, to, "w"), errCut)
			}
			before, err := to.Head(t.Context(), "w")
			require.NoError(t, err)
			require.Positive(t, before.Seq)
			require.NoError(t, Copy(t.Context(), from, to, "w"))

			back := storage.NewMemory()
			require.NoError(t, Copy(t.Context(), to, NewLocal(back), "w"))
			require.Equal(t, stored(t, source), stored(t, back))

			log, err := back.Log("w") // keys came along
			require.NoError(t, err)
			receipts, err := log.Append(t.Context(), []storage.Record{{Key: "b0", Payload: []byte{1, 0}}, {Key: "b0", Payload: []byte("x")}})
			require.NoError(t, err)
			require.Equal(t, []storage.Receipt{{Seq: 2, Status: storage.Duplicate}, {Seq: 2, Status: storage.Conflict}}, receipts)
		})
	}
}

// stored is what a store keeps of the events, in its encoding.
func stored(t *testing.T, s storage.Store) (all [][]byte) {
	for e, err := range NewLocal(s).Read(t.Context(), "w", 0, false) {
		require.NoError(t, err)
		all = append(all, e.Bytes())
	}
	return all
}

func TestCopyTellsWhereHistoriesPart(t *testing.T) {
	_, from := history(t, 40)
	other, to := history(t, 17)
	log, err := other.Log("w")
	require.NoError(t, err)
	for i := range 5 {
		_, err = log.Append(t.Context(), []storage.Record{{Payload: []byte{200, byte(i)}}})
		require.NoError(t, err)
	}
	err = Copy(t.Context(), from, to, "w")
	require.ErrorIs(t, err, ErrDiverged)
	require.ErrorContains(t, err, "differ from event 18 on")
	err = Copy(t.Context(), to, from, "w")
	require.ErrorContains(t, err, "the target has 40 events and the source 22")
}

// flipped is a log of which one bit of one event changed.
type flipped struct {
	Log
	seq uint64
	how func(b []byte)
}

func (f flipped) Read(ctx context.Context, workspace string, after uint64, follow bool) iter.Seq2[storage.Sealed, error] {
	return func(yield func(storage.Sealed, error) bool) {
		for e, err := range f.Log.Read(ctx, workspace, after, follow) {
			if err == nil && e.Seq == f.seq {
				b := e.Bytes()
				f.how(b)
				e, err = storage.OpenSealed(e.Seq, b)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func TestCopyFindsAFlippedBit(t *testing.T) {
	_, from := history(t, 40)
	bad := flipped{from, 12, func(b []byte) { b[len(b)-1] ^= 1 }}
	err := Copy(t.Context(), bad, NewLocal(storage.NewMemory()), "w")
	require.ErrorIs(t, err, storage.ErrDamaged)
	require.ErrorContains(t, err, "event 12")
	to := flipped{NewLocal(storage.NewMemory()), 33, bad.how}
	err = Copy(t.Context(), from, to, "w")
	require.ErrorIs(t, err, storage.ErrDamaged)
	require.ErrorContains(t, err, "event 33")
}
