package eventlog

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/storage"
)

// Events of 228 bytes that one writer appends, 1 and [MaxEvents] at a time, and that one reader reads and checks.
func TestRates(t *testing.T) {
	if os.Getenv("WAYMARK_RATES") == "" {
		t.Skip("a measurement: WAYMARK_RATES=1 runs it")
	}
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			l := e.open(t)(t)
			var head storage.Head
			rate := func(each, times int) float64 {
				began := time.Now()
				for range times {
					records := make([]storage.Record, each)
					for i := range records {
						records[i].Payload = make([]byte, 228)
					}
					events, err := storage.Seal(head, records)
					require.NoError(t, err)
					require.NoError(t, l.Append(t.Context(), "rates", events))
					head = events[each-1].Head()
				}
				return float64(each*times) / time.Since(began).Seconds()
			}
			one, many := rate(1, 200), rate(MaxEvents, 50)
			began, n := time.Now(), 0
			var before storage.Head
			for ev, err := range l.Read(t.Context(), "rates", 0, false) {
				require.NoError(t, err)
				require.NoError(t, ev.Follows(before))
				before = ev.Head()
				n++
			}
			t.Logf("%s: %.0f/s one at a time, %.0f/s by %d, read and checked %.0f/s", e.name, one, many, MaxEvents, float64(n)/time.Since(began).Seconds())
		})
	}
}
