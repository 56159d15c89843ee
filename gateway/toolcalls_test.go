package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The percentiles are nearest ranks of the newest durations, whatever the order in which they came.
func TestToolCallDurations(t *testing.T) {
	for _, tt := range []struct {
		name     string
		n        int // durations of 1 ms, 2 ms …
		timed    int
		p50, p95 float64
	}{
		{"one", 1, 1, 1, 1}, {"two", 2, 2, 1, 2}, {"twenty", 20, 20, 10, 19}, {"hundred", 100, 100, 50, 95},
		{"full", 256, 256, 128, 244}, {"the oldest are gone", 356, 256, 228, 344}, {"twice around", 600, 256, 472, 588},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c tally
			for i := range tt.n {
				c.count("a:x", i%4 == 0, true, time.Duration(i+1)*time.Millisecond)
			}
			var s Server
			c.into(&s)
			assert.Equal(t, []ToolCalls{{"a:x", int64(tt.n), int64(tt.n+3) / 4, tt.timed, tt.p50, tt.p95}}, s.ByTool)
			assert.Equal(t, []any{int64(tt.n), int64(tt.n+3) / 4, float64(tt.n+1) / 2}, []any{s.Calls, s.Failures, s.MeanMS})
		})
	}
	var c tally
	c.count("a:x", false, false, 0)
	c.count("a:w", true, true, 1234567)
	var s Server
	c.into(&s)
	assert.Equal(t, []ToolCalls{{"a:w", 1, 1, 1, 1.235, 1.235}, {ID: "a:x", Calls: 1}}, s.ByTool, "by name, untimed calls apart")
}
