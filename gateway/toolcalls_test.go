package gateway

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/run"
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
			var c toolTallies
			for i := range tt.n {
				c.count("a:x", i%4 == 0, time.Duration(i+1)*time.Millisecond)
			}
			assert.Equal(t, []ToolCalls{{"a:x", int64(tt.n), int64(tt.n+3) / 4, tt.timed, tt.p50, tt.p95}}, c.all())
		})
	}
	var c toolTallies
	for _, ms := range []time.Duration{9, 2, 0, 7} {
		c.count("a:x", false, ms*time.Millisecond)
	}
	c.count("a:w", true, 1234567)
	assert.Equal(t, []ToolCalls{{"a:w", 1, 1, 1, 1.235, 1.235}, {"a:x", 4, 0, 3, 7, 9}}, c.all())
}

// A server that keeps offering other tools does not grow the counters: the longest unused tool makes room.
func TestToolCallsAreBounded(t *testing.T) {
	var c toolTallies
	for i := range mostCounted {
		c.count("a:"+strconv.Itoa(i), false, time.Millisecond)
	}
	c.count("a:0", false, time.Millisecond)
	c.count("a:more", false, time.Millisecond)
	assert.Len(t, c.by, mostCounted)
	assert.Contains(t, c.by, "a:0")
	assert.Contains(t, c.by, "a:more")
	assert.NotContains(t, c.by, "a:1")
}

func TestToolCallsOfServer(t *testing.T) {
	g := connected(t, quick(t), "good")
	assert.Equal(t, []ToolCalls{}, server(g, "good").ByTool)
	for range 3 {
		require.Empty(t, call(t, g, "good:echo", `{"text":"hello"}`).Failure)
	}
	require.Equal(t, run.FailedTool, call(t, g, "good:fail", `{"text":"disk on fire"}`).Failure)
	require.Equal(t, run.FailedPolicy, call(t, g, "good:delete", `{}`).Failure, "refused before the server is asked: no call")
	got := server(g, "good").ByTool
	for i := range got {
		assert.Positive(t, got[i].P50)
		assert.GreaterOrEqual(t, got[i].P95, got[i].P50)
		got[i].P50, got[i].P95 = 0, 0
	}
	assert.Equal(t, []ToolCalls{{"good:echo", 3, 0, 3, 0, 0}, {"good:fail", 1, 1, 1, 0, 0}}, got)
}
