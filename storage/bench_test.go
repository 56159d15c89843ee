package storage

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// BenchmarkAppend has 64 writers of single events, and one of batches of 1,000. Payloads have 200 bytes, as an encoded
// event; every commit is synced.
func BenchmarkAppend(b *testing.B) {
	payload := make([]byte, 200)
	for i := range payload {
		payload[i] = byte(i * i * 7)
	}
	for _, engine := range []string{"badger", "postgres"} {
		for _, shape := range []struct{ writers, batch int }{{64, 1}, {1, 1000}} {
			b.Run(fmt.Sprintf("%s/writers=%d/batch=%d", engine, shape.writers, shape.batch), func(b *testing.B) {
				place := b.TempDir()
				if engine == "postgres" {
					place = emptySchema(b)
				}
				s := openTest(b, place, Options{})
				var key, left atomic.Int64
				left.Store(int64(b.N))
				b.ResetTimer()
				var wg sync.WaitGroup
				for range shape.writers {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							records := make([]Record, shape.batch)
							for i := range records {
								records[i] = Record{Key: fmt.Sprint(key.Add(1)), Payload: payload}
							}
							if _, err := s.Append(context.Background(), "w", Batch{Records: records}); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N*shape.batch)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}
