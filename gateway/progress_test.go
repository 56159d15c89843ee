package gateway

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/run"
)

func TestProgressIsPassedOn(t *testing.T) {
	t.Setenv("WEB_TOKEN", "t0ken")
	web := overHTTP(t, mcp.StreamableHTTPOptions{}, nil)
	over := open(t, quick(t))
	connect(t, over, web)
	ready(t, over, "web")
	for id, g := range map[string]*Gateway{"good": connected(t, quick(t), "good"), "web": over} {
		t.Run(id, func(t *testing.T) {
			var reported []float64
			ended := false
			r, err := g.Call(t.Context(), run.Call{Tool: id + ":count", Arguments: json.RawMessage(`{"to":20}`), Progress: func(done, total float64, message string) {
				assert.False(t, ended, "reported after the call was over")
				assert.EqualValues(t, 20, total)
				assert.NotEmpty(t, message)
				reported = append(reported, done)
			}})
			ended = true
			require.NoError(t, err)
			require.Empty(t, r.Failure, r.Message)
			require.NotEmpty(t, reported)
			assert.IsIncreasing(t, reported)
			assert.EqualValues(t, 20, reported[len(reported)-1], "the report just before the answer")
			assert.Empty(t, g.up(id).link.progress.open)
		})
	}
}

// Whoever is slow to listen holds up neither the call nor the server's other calls.
func TestASlowListenerHoldsUpNobody(t *testing.T) {
	g := connected(t, quick(t), "good")
	free, slow := make(chan struct{}), make(chan run.Result, 1)
	entered := make(chan struct{}, 100)
	go func() {
		r, _ := g.Call(t.Context(), run.Call{Tool: "good:count", Arguments: json.RawMessage(`{"to":20}`), Progress: func(float64, float64, string) {
			entered <- struct{}{}
			<-free
		}})
		slow <- r
	}()
	<-entered
	assert.Empty(t, call(t, g, "good:echo", `{"text":"x"}`).Failure)
	close(free)
	assert.Empty(t, (<-slow).Failure)
}
