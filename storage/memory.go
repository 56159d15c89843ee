package storage

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// NewSharedMemory returns stores in one memory, as processes have them that share a database. It is for tests.
func NewSharedMemory(n int) []*Store {
	var left atomic.Int32
	left.Store(int32(n))
	first := NewMemory()
	stores := make([]*Store, n)
	for i := range stores {
		var err error
		if stores[i], err = New(context.Background(), sharedMemory{first.engine, &left}, Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
			panic("storage: " + err.Error())
		}
	}
	first.stop()
	return stores
}

type sharedMemory struct {
	Engine
	left *atomic.Int32 // stores that are open
}

func (sharedMemory) Shared() bool { return true }

func (sharedMemory) Wait(ctx context.Context, most time.Duration) {
	select {
	case <-time.After(most / 10):
	case <-ctx.Done():
	}
}

func (m sharedMemory) Close() error {
	if m.left.Add(-1) > 0 {
		return nil
	}
	return m.Engine.Close()
}
