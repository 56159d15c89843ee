package main

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/sample"
)

// BenchmarkServedNext asks the real server over loopback for the next tool, open loop: a request is
// due every 2 ms whether or not the ones before are answered, and its latency counts from when it was
// due. Run it with -benchtime 5000x or more; the percentiles are the result, not ns/op.
func BenchmarkServedNext(b *testing.B) {
	s := startServer(b, filepath.Join(b.TempDir(), "data"), "--sample")
	episodes, err := sample.Episodes()
	require.NoError(b, err)
	bodies := make([]string, 256)
	for i := range bodies {
		e := episodes[i*7%len(episodes)]
		bodies[i] = fmt.Sprintf(`{"context":[%q],"limit":5}`, e.Steps[0].Tool)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	ask := func(i int) error {
		r, err := client.Post(s.URLs.API+"/next", "application/json", strings.NewReader(bodies[i%len(bodies)]))
		if err != nil {
			return err
		}
		defer r.Body.Close()
		_, err = io.Copy(io.Discard, r.Body)
		if err == nil && r.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %s", r.Status)
		}
		return err
	}
	require.NoError(b, ask(0))
	const every = 2 * time.Millisecond
	took := make([]time.Duration, 0, 1<<16)
	var mu sync.Mutex
	var wg sync.WaitGroup
	began := time.Now()
	n := 0
	for b.Loop() {
		due := began.Add(time.Duration(n) * every)
		time.Sleep(time.Until(due))
		i := n
		n++
		wg.Go(func() {
			err := ask(i)
			late := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				b.Error(err)
			}
			took = append(took, late)
		})
	}
	wg.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "req/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
