package score

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sashabaranov/go-openai"

	"waymark/internal/endpoint"
)

const (
	maxReply     = 2048            // tokens of one reply
	concurrent   = 4               // questions in progress at once
	minTimeLimit = 3 * time.Minute // minimum time limit of one question
)

// A Client asks one model at an OpenAI-compatible endpoint.
//
//	question ─▶ cache ─▶ budget ─▶ circuit ─▶ attempts ─▶ endpoint ─▶ reply ─▶ accepted, else one more question
type Client struct {
	*endpoint.API
	slots chan struct{} // one for each question in progress
	plain atomic.Bool   // the endpoint rejects the full form of a request
}

// NewClient returns a client. It does not call the endpoint.
func NewClient(o endpoint.Options) (*Client, error) {
	api, err := endpoint.NewAPI(o)
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	return &Client{API: api, slots: make(chan struct{}, concurrent)}, nil
}

// Ask implements [Asker] without a budget or a cache.
func (c *Client) Ask(ctx context.Context, q Question) Judgement {
	return c.WithBudget(Budget{}, nil).Ask(ctx, q)
}

// A Budget limits the total cost of several questions. 0 is unlimited.
type Budget struct {
	Requests int // made to the endpoint
	Tokens   int // as counted by the endpoint, checked before each request
}

// A Cache stores accepted replies under a hash of endpoint, model and question. It is safe for concurrent use and may
// lose entries. Replies from the cache are validated again.
type Cache interface {
	Get(key string) (reply string, ok bool)
	Put(key, reply string)
}

// WithBudget returns an asker with a budget and a cache, which may be nil.
func (c *Client) WithBudget(b Budget, cache Cache) Asker {
	return &limited{Client: c, budget: b, cache: cache}
}

// limited is a client with the budget of one run.
type limited struct {
	*Client
	budget Budget
	cache  Cache

	requests, tokens atomic.Int64
}

// take reports whether the budget permits one more request, and counts it.
func (l *limited) take() bool {
	tokens, requests := int64(l.budget.Tokens), int64(l.budget.Requests)
	return (tokens <= 0 || l.tokens.Load() < tokens) && (l.requests.Add(1) <= requests || requests <= 0)
}

// Ask returns the cached reply, or asks the endpoint when a slot is free. The time limit starts when the slot is
// acquired, so that the last of many questions has as much time as the first.
func (l *limited) Ask(ctx context.Context, q Question) Judgement {
	asked := []string{l.Model(), l.Options.BaseURL, q.System, q.User, q.Name, string(q.Schema)}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", asked))
	key := hex.EncodeToString(sum[:])
	j := Judgement{}
	if l.cache != nil {
		if reply, ok := l.cache.Get(key); ok {
			j = q.Read(reply)
			j.Cached = j.Outcome == Answered
		}
	}
	if !j.Cached {
		j = l.inSlot(ctx, q)
		if l.cache != nil && j.Outcome == Answered {
			l.cache.Put(key, j.Reply)
		}
	}
	j.ID, j.Model = q.ID, l.Model()
	return j
}

func (l *limited) inSlot(ctx context.Context, q Question) Judgement {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return failed(ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, max(minTimeLimit, l.Options.Timeout))
	defer cancel()
	return l.converse(ctx, q)
}

// errOverBudget ends the attempts of one question.
var errOverBudget = errors.New("the budget is used up")

// failed returns the judgement for an error.
func failed(err error) Judgement {
	j := Judgement{Outcome: Unavailable, Detail: err.Error()}
	switch {
	case errors.Is(err, context.Canceled):
		j = Judgement{Outcome: Cancelled, Detail: "the caller gave up"}
	case errors.Is(err, errOverBudget):
		j.Outcome = OverBudget
	case errors.Is(err, context.DeadlineExceeded):
		j.Outcome = TimedOut
	}
	return j
}

// schemaRule introduces the schema in the instructions.
const schemaRule = "\n\nAnswer with one JSON object and nothing else. It has to satisfy this JSON Schema:\n"

// converse asks the question. If the reply is unparsable, it asks once more and includes the fault. The instructions
// repeat the schema, because many endpoints do not pass the schema of a request to their model.
func (l *limited) converse(ctx context.Context, q Question) Judgement {
	messages := []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: q.System + schemaRule + string(q.Schema)},
		{Role: openai.ChatMessageRoleUser, Content: q.User},
	}
	first := l.send(ctx, q, messages)
	if first.Outcome != Unparsable {
		return first
	}
	second := l.send(ctx, q, append(messages,
		openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: Cut(first.Reply, maxFenced)},
		openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser,
			Content: "That is not in the form asked for: " + first.Detail + ". Answer again with the JSON object alone."}))
	second.Attempts += first.Attempts
	second.Tokens += first.Tokens
	second.Reply = cmp.Or(second.Reply, first.Reply)
	return second
}

// send makes requests until one is answered. If the endpoint rejects the full form as malformed, send tries the plain
// form. If that succeeds, later requests use the plain form at once.
func (l *limited) send(ctx context.Context, q Question, messages []openai.ChatCompletionMessage) Judgement {
	made := 0
	var response openai.ChatCompletionResponse
	var err error
	plain := l.plain.Load()
	for ; ; plain = true {
		request := l.request(q, messages, plain)
		response, err = endpoint.Call(ctx, l.API, func(ctx context.Context) (openai.ChatCompletionResponse, http.Header, error) {
			if !l.take() {
				return response, nil, backoff.Permanent(errOverBudget)
			}
			made++
			r, err := l.CreateChatCompletion(ctx, request)
			return r, r.Header(), err
		})
		var refusal *endpoint.Error
		if plain || !errors.As(err, &refusal) || !refusal.AboutInput() {
			break
		}
	}
	var j Judgement
	if err != nil {
		j = failed(err)
	} else {
		l.plain.Store(plain)
		l.tokens.Add(int64(response.Usage.TotalTokens))
		j = understand(response, q)
	}
	j.Attempts, j.Tokens = made, response.Usage.TotalTokens
	return j
}

// request builds a request with a JSON schema and the lowest temperature. The plain form has neither: older local
// servers do not support a schema, and reasoning models do not accept a temperature and require the newer name of the
// token limit.
func (l *limited) request(
	q Question, messages []openai.ChatCompletionMessage, plain bool) openai.ChatCompletionRequest {
	r := openai.ChatCompletionRequest{Model: l.Model(), Messages: messages}
	if plain {
		r.MaxCompletionTokens = maxReply
		return r
	}
	r.MaxTokens = maxReply                      //lint:ignore SA1019 the name in local servers
	r.Temperature = math.SmallestNonzeroFloat32 // the library omits a 0
	r.ResponseFormat = &openai.ChatCompletionResponseFormat{
		Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: q.Name, Schema: q.Schema, Strict: true},
	}
	return r
}

// understand reads the response of an endpoint. A refusal appears as a field of its own, as the finish reason, or as
// prose.
func understand(r openai.ChatCompletionResponse, q Question) Judgement {
	if len(r.Choices) == 0 {
		return Judgement{Outcome: Unparsable, Detail: "the endpoint answered without a reply"}
	}
	choice := r.Choices[0]
	switch {
	case choice.Message.Refusal != "":
		return Judgement{Outcome: Refused, Reply: choice.Message.Refusal, Detail: "the model refused"}
	case choice.FinishReason == openai.FinishReasonContentFilter:
		return Judgement{Outcome: Refused, Reply: choice.Message.Content, Detail: "a content filter ended the reply"}
	}
	j := q.Read(choice.Message.Content)
	if j.Outcome == Unparsable && choice.FinishReason == openai.FinishReasonLength {
		j.Detail = "the reply was cut off at its longest: " + j.Detail
	}
	return j
}
