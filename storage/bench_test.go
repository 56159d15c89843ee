package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"
)

// Payloads are 200 random bytes, as an encoded event has them; every commit is synced. raw is badger
// with the same settings, one key and value an event: what the store costs is the difference.
func benchPayload() []byte {
	r := rand.New(rand.NewPCG(1, 1))
	p := make([]byte, 200)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

func openRaw(b *testing.B) *badger.DB {
	db, err := openDB(filepath.Join(b.TempDir(), "raw"), nil)
	require.NoError(b, err)
	b.Cleanup(func() { db.Close() })
	return db
}

func putRaw(db *badger.DB, from uint64, n int, payload []byte) error {
	return db.Update(func(txn *badger.Txn) error {
		for i := range uint64(n) {
			if err := txn.Set(binary.BigEndian.AppendUint64(nil, from+i), payload); err != nil {
				return err
			}
		}
		return nil
	})
}

// The two stores take turns within one run, a few commits each, so that what else the machine does
// falls on both. x/raw is how many times as many events a second the store keeps as raw badger with
// commits of the same size; x/single, as raw badger with as many writers that commit one event each.
func BenchmarkAppend(b *testing.B) {
	payload := benchPayload()
	for _, shape := range []struct{ writers, batch, raw int }{
		{1, 1, 1}, {1, 100, 100}, {1, 1000, 1000}, {64, 1, 64}, {64, 1, 1}, {64, 100, 1000},
	} {
		unit := "x/raw"
		if shape.raw == 1 && shape.writers > 1 {
			unit = "x/single"
		}
		b.Run(fmt.Sprintf("writers=%d/batch=%d/raw=%d", shape.writers, shape.batch, shape.raw), func(b *testing.B) {
			db := openRaw(b)
			l := mustLog(b, openTest(b, b.TempDir(), Options{}), "default")
			var rawSeq, seq atomic.Uint64
			turn := max(64, 4*shape.raw) // events
			rawWriters := 1
			if shape.raw == 1 {
				rawWriters = shape.writers
			}
			var raw, ours time.Duration
			events := 0
			for b.Loop() {
				raw += spread(b, rawWriters, turn/shape.raw, func() error {
					return putRaw(db, rawSeq.Add(uint64(shape.raw)), shape.raw, payload)
				})
				each := turn / shape.batch
				if shape.writers > 1 {
					each *= 8 // several groups, since the first of a turn holds one record alone
				}
				ours += spread(b, shape.writers, each, func() error {
					records := make([]Record, shape.batch)
					for i := range records {
						records[i] = Record{Key: fmt.Sprint(seq.Add(1)), Payload: payload}
					}
					_, err := l.Append(context.Background(), records)
					return err
				}) * time.Duration(turn) / time.Duration(each*shape.batch)
				events += turn
			}
			b.ReportMetric(float64(events)/ours.Seconds(), "events/s")
			b.ReportMetric(float64(events)/raw.Seconds(), "raw-events/s")
			b.ReportMetric(raw.Seconds()/ours.Seconds(), unit)
		})
	}
}

// spread shares n commits among the writers and returns how long they took.
func spread(b *testing.B, writers, n int, commit func() error) time.Duration {
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	begin := time.Now()
	for range writers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := commit(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begin)
}

const benchEvents = 100_000

func BenchmarkRead(b *testing.B) {
	payload := benchPayload()
	b.Run("store=raw", func(b *testing.B) {
		db := openRaw(b)
		for i := 0; i < benchEvents; i += 1000 {
			require.NoError(b, putRaw(db, uint64(i), 1000, payload))
		}
		for b.Loop() {
			err := db.View(func(txn *badger.Txn) error {
				it := txn.NewIterator(badger.IteratorOptions{})
				defer it.Close()
				for it.Rewind(); it.Valid(); it.Next() {
					if _, err := it.Item().ValueCopy(nil); err != nil {
						return err
					}
				}
				return nil
			})
			require.NoError(b, err)
		}
		b.ReportMetric(float64(b.N*benchEvents)/b.Elapsed().Seconds(), "events/s")
	})
	dir := b.TempDir()
	s := openTest(b, dir, Options{})
	l := mustLog(b, s, "default")
	records := make([]Record, benchEvents)
	for i := range records {
		records[i] = Record{Key: fmt.Sprint(i), Payload: payload}
	}
	mustAppend(b, l, records...)
	b.Run("store=waymark", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for _, err := range l.Read(context.Background(), 0) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			require.Equal(b, benchEvents, n)
		}
		b.ReportMetric(float64(b.N*benchEvents)/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("open", func(b *testing.B) { // reads and verifies the whole log
		for b.Loop() {
			require.NoError(b, s.Close())
			var err error
			s, err = Open(dir, Options{Logger: quiet})
			require.NoError(b, err)
		}
		b.ReportMetric(float64(b.N*benchEvents)/b.Elapsed().Seconds(), "events/s")
	})
	require.NoError(b, s.Close())
}
