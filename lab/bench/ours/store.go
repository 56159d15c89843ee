package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"waymark/lab/bench"
	"waymark/storage"
)

// store appends events to a log as durably as a server does, in a new folder within the given one.
func store(r *bench.Result, o options) (err error) {
	if o.dir == "" {
		return errors.New("-dir names no folder to write in")
	}
	dir, err := os.MkdirTemp(o.dir, "log")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := storage.Open(dir, storage.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	records := make([]storage.Record, o.events)
	for i := range records {
		records[i] = storage.Record{Key: fmt.Sprint("event-", i), Payload: event(i)}
	}
	commits := make(chan []storage.Record, o.events/o.batch+1)
	for rest := records; len(rest) > 0; {
		n := min(o.batch, len(rest))
		commits <- rest[:n]
		rest = rest[n:]
	}
	close(commits)
	var writers sync.WaitGroup
	var failed atomic.Pointer[error]
	begin := time.Now()
	for range o.writers {
		writers.Go(func() {
			for c := range commits {
				if _, err := db.Append(context.Background(), "default", storage.Batch{Records: c}); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	writers.Wait()
	took := time.Since(begin)
	if err := failed.Load(); err != nil {
		return *err
	}
	r.N, r.Writers, r.Batch = o.events, o.writers, o.batch
	r.Least = took.Seconds()
	r.EventsPerSecond = math.Round(float64(o.events) / took.Seconds())
	return nil
}

// event is a step of about 200 bytes, as the other stores are given them.
func event(i int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(i)))
	return fmt.Appendf(nil, `{"seq":%d,"ts":"2025-01-02T03:04:05.%09dZ","type":"step","exec":"%016x%016x","tool":"server%d_read_item%d","prev":"server%d_list_item%d","ok":true,"dur_us":%d,"bytes":%d}`,
		i, i, r.Uint64(), r.Uint64(), r.IntN(600), r.IntN(12), r.IntN(600), r.IntN(12), r.IntN(1e6), r.IntN(1e5))
}
