package live

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/storage"
)

// A log of many batches with an event in the middle that cannot be read.
func TestDecodedInOrder(t *testing.T) {
	store := memory(t)
	log := logOf(store, "default")
	newWorld(200).write(t, log, 2000, 3) // 200 tools, 20 capabilities, 2,000 episodes, a build
	all := func(ctx context.Context, after, upTo uint64) (seqs []uint64, nothing int, failed error) {
		for e, err := range decoded(ctx, log.Read, after, upTo, func(seq uint64) bool { return seq == 5 }) {
			if err != nil {
				return seqs, nothing, err
			}
			seqs = append(seqs, e.seq)
			if e.value == nil {
				nothing++
			}
		}
		return seqs, nothing, nil
	}
	span := func(from, to uint64) (seqs []uint64) {
		for s := from; s <= to; s++ {
			seqs = append(seqs, s)
		}
		return seqs
	}
	seqs, nothing, err := all(ctx, 0, math.MaxUint64)
	require.NoError(t, err)
	assert.Equal(t, span(1, 2221), seqs)
	assert.Equal(t, 1, nothing, "the skipped event has no value")
	seqs, _, err = all(ctx, 300, 1500)
	require.NoError(t, err)
	assert.Equal(t, span(301, 1500), seqs)

	for e, err := range decoded(ctx, log.Read, 0, math.MaxUint64, nil) { // whoever stops leaves no goroutine
		require.NoError(t, err)
		if e.seq == 700 {
			break
		}
	}
	canceled, cancel := context.WithCancel(ctx)
	n := 0
	for _, err := range decoded(canceled, log.Read, 0, math.MaxUint64, nil) {
		if err != nil {
			assert.ErrorIs(t, err, context.Canceled)
			break
		}
		if n++; n == 600 {
			cancel()
		}
	}
	cancel()
	assert.Less(t, n, 600+batchEvents, "canceled within a batch")

	_, err = log.Append(ctx, []storage.Record{{Payload: []byte("E{broken")}, {Payload: []byte(`E{"id":"after"}`)}})
	require.NoError(t, err)
	seqs, _, err = all(ctx, 0, math.MaxUint64)
	assert.ErrorIs(t, err, storage.ErrDamaged)
	assert.ErrorContains(t, err, "event 2222")
	assert.Equal(t, span(1, 2221), seqs, "everything before the event that cannot be read")
}
