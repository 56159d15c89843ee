package mcpserver

//lint:file-ignore SA1019 sampling is deprecated and still what hosts have

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/score"
	"waymark/score/judge"
	"waymark/server/internal/jsonio"
)

// Sampling lets the host's own model be the judge, in turns: an answer that lacks judgements is a request
// for them, and the host calls again with the replies.
//
//	score ─▶ questions open ─▶ input required: the questions, and a state ─▶ host ─▶ score + replies + state ─▶ …
//
// The state carries the replies of earlier turns, since a call may ask again once it has them (the reviews
// of answers that were collected). It comes back from the client, so it is signed, and bound to arguments
// and workspace. The protocol deprecates sampling: it is off unless Config.Sampling, and used only where no
// judge is configured.
const maxSamples = 64 // questions in one call, all turns together

// sampledModel is what judgements name as their model.
const sampledModel = "host"

// A sampling is the host as a judge for one call; nil where it is none.
type sampling struct {
	relay   *judge.Relay
	replies map[string]string
	bound   []byte // what the state is bound to
	key     []byte
}

// scorer is the scorer of a call, and the host behind it if that judges.
func (c *mcpCall) scorer(ctx context.Context) (*score.Scorer, *sampling) {
	if len(c.cfg.Scoring.Judges.Names) > 0 || !c.cfg.Sampling {
		return c.cfg.Scoring.Scorer(ctx, c.access), nil
	}
	if caps := c.req.ClientCapabilities(); caps == nil || caps.Sampling == nil {
		return new(score.Scorer), nil
	}
	s := &sampling{key: c.stateKey, bound: fmt.Appendf(nil, "%s\n%s\n%s", c.access.Workspace, c.req.Params.Name, c.req.Params.Arguments)}
	s.replies = s.earlier(c.req.Params.RequestState)
	for key, r := range c.req.Params.InputResponses {
		if text, ok := sampledText(r); ok {
			s.replies[key] = text
		}
	}
	s.relay = judge.NewRelay(sampledModel, s.replies)
	return &score.Scorer{Judges: score.OneJudge(sampledModel, s.relay), Caller: c.cfg.Scoring.CallerFor(c.access)}, s
}

func sampledText(r mcp.InputResponse) (string, bool) {
	m, ok := r.(*mcp.CreateMessageWithToolsResult)
	if !ok {
		return "", false
	}
	var b strings.Builder
	for _, c := range m.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String(), true
}

// An inputRequired ends a call that the host has to go on with.
type inputRequired struct {
	requests mcp.InputRequestMap
	state    string
}

func (*inputRequired) Error() string { return "the host has to reply first" }

// missing asks the host for the replies that are still open.
func (s *sampling) missing() error {
	if s == nil {
		return nil
	}
	open := s.relay.Open()
	if len(open) == 0 {
		return nil
	}
	if len(open)+len(s.replies) > maxSamples {
		return jsonio.Wrong("input", fmt.Sprintf("needs more than %d judgements, which is too much for a host; configure a judge", maxSamples))
	}
	need := &inputRequired{requests: mcp.InputRequestMap{}}
	for _, q := range open {
		need.requests[q.Key()] = &mcp.CreateMessageParams{MaxTokens: 2048, SystemPrompt: q.SystemPrompt(),
			Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: q.User}}}}
	}
	state, err := json.Marshal(s.replies)
	if err != nil {
		return err
	}
	need.state = seal(s.key, s.bound, state)
	return need
}

// earlier is what a state of ours holds; a state that is not, or belongs to another call, holds nothing.
func (s *sampling) earlier(state string) map[string]string {
	replies := map[string]string{}
	var kept map[string]string
	if data, ok := unseal(s.key, s.bound, state); ok && json.Unmarshal(data, &kept) == nil {
		maps.Copy(replies, kept)
	}
	return replies
}

// asInputRequired turns the error into the result that asks the host.
func asInputRequired(err error) (*mcp.CallToolResult, bool) {
	var need *inputRequired
	if !errors.As(err, &need) {
		return nil, false
	}
	return &mcp.CallToolResult{InputRequests: need.requests, RequestState: need.state}, true
}
