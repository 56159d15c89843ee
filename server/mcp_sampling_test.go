package server

//lint:file-ignore SA1019 sampling is deprecated and still what hosts have

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score"
	"waymark/score/judge"
)

// Where it is allowed and there is no judge, a host that samples judges, in both lives of the protocol.
func TestHostAsJudge(t *testing.T) {
	var asked atomic.Int64 // hosts answer side by side
	sampling := func() *mcp.ClientOptions {
		return &mcp.ClientOptions{CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			asked.Add(1)
			assert.Contains(t, r.Params.SystemPrompt, judge.DataRule)
			assert.Contains(t, r.Params.SystemPrompt, "JSON Schema")
			return &mcp.CreateMessageResult{Model: "host", Role: "assistant", Content: &mcp.TextContent{Text: fours}}, nil
		}}
	}
	input := map[string]any{"rubric": "hypothesis", "input": json.RawMessage(`{"hypotheses":[{"id":"h1","statement":"Ants route."},{"id":"h2","statement":"Bees vote."}],"judge":{}}`)}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			asked.Store(0)
			s := newOffice(t, func(c *Config) { c.Sampling = true })
			client, r := way.open(t, s, sampling()), (*mcp.CallToolResult)(nil)
			require.Eventually(t, func() bool { // a session's event stream, which carries the questions, opens beside the first calls
				var err error
				asked.Store(0)
				r, err = client.CallTool(t.Context(), &mcp.CallToolParams{Name: "score", Arguments: input})
				return err == nil
			}, 2*time.Minute, 20*time.Millisecond)
			a := answerOf[score.HypothesisAnswer](t, r)
			require.Len(t, a.Results, 2)
			assert.Equal(t, "host", a.Judgements[0].Model)
			assert.EqualValues(t, 2, asked.Load())

			asked.Store(0)
			r = call(t, way.open(t, newOffice(t), sampling()), "score", input)
			assert.True(t, r.IsError, "it is off by default")
			assert.Contains(t, textOf(t, r), "no judge is configured")
			assert.Zero(t, asked.Load())
			r = call(t, way.open(t, s, nil), "score", input)
			assert.True(t, r.IsError, "a host that does not sample")
		})
	}
}
