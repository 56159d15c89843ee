package live

import (
	"context"
	"io"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/storage"
)

// testLog is the log of a workspace.
type testLog struct {
	store     *storage.Store
	workspace string
}

func logOf(store *storage.Store, workspace string) testLog { return testLog{store, workspace} }

func (l testLog) Append(ctx context.Context, records []storage.Record) ([]storage.Receipt, error) {
	done, err := l.store.Append(ctx, l.workspace, storage.Batch{Records: records})
	return done.Receipts, err
}

func (l testLog) Read(ctx context.Context, after uint64) iter.Seq2[storage.Event, error] {
	return l.store.Read(ctx, l.workspace, after)
}

func (l testLog) Head() storage.Head { return l.store.Head(l.workspace) }

func (l testLog) Snapshots(ctx context.Context) iter.Seq2[storage.Snapshot, error] {
	return l.store.Snapshots(ctx, l.workspace)
}

func (l testLog) PutSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error {
	return l.store.PutSnapshot(ctx, l.workspace, seq, "", 0, write)
}

func (l testLog) Erase(ctx context.Context, seqs []uint64) error {
	_, err := l.store.Append(ctx, l.workspace, storage.Batch{Erase: seqs})
	return err
}

func (l testLog) DropSnapshots(ctx context.Context) error {
	return l.store.DropSnapshots(ctx, l.workspace)
}

// memory is a store that is closed after the test and what it left open.
func memory(t testing.TB) *storage.Store {
	store := storage.NewMemory()
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}
