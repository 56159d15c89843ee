package live

import (
	"context"
	"io"
	"iter"
	"log/slog"
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

type testSnapshot struct {
	Seq  uint64
	Data []byte
}

func (l testLog) Snapshots(ctx context.Context) iter.Seq2[testSnapshot, error] {
	return func(yield func(testSnapshot, error) bool) {
		kept, err := l.store.Snapshots(ctx, l.workspace)
		if err != nil {
			yield(testSnapshot{}, err)
		}
		for _, s := range kept {
			if data, err := s.Data(ctx); !yield(testSnapshot{s.Seq, data}, err) {
				return
			}
		}
	}
}

// sharedStores are stores in one memory, as processes have them that share a database.
func sharedStores(t testing.TB, n int) (stores []*storage.Store) {
	engine := sharedMemory{storage.MemoryEngine()}
	t.Cleanup(func() { require.NoError(t, engine.Engine.Close()) })
	for range n {
		store, err := storage.New(ctx, engine, storage.Options{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		stores = append(stores, store)
	}
	return stores
}

type sharedMemory struct{ storage.Engine }

func (sharedMemory) Shared() bool { return true }
func (sharedMemory) Close() error { return nil }

func (l testLog) PutSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error {
	return l.store.PutSnapshot(ctx, l.workspace, seq, "", 0, write)
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
