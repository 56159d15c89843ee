package judge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sashabaranov/go-openai"

	"waymark/internal/endpoint"
)

// Key is an API key. It never prints.
type Key = endpoint.Key

// Options of a [Client]. BaseURL and Model are required; a zero value elsewhere means the default.
type Options struct {
	BaseURL string // with the version: http://127.0.0.1:11434/v1
	Model   string
	APIKey  Key
	// AllowPrivate permits loopback and private addresses, where local endpoints live.
	AllowPrivate bool

	MaxTokens  int           // of one reply, default 2048
	MaxAnswer  int64         // bytes of an HTTP answer, default 8 MiB
	Concurrent int           // questions under way at once, default 4
	Attempts   int           // requests for one question where the endpoint fails, default 4
	Repairs    int           // times a reply that does not fit is sent back with what is wrong; default 1, negative: never
	Timeout    time.Duration // of one request, default 30 s; an endpoint that is silent for so long is not asked again
	Patience   time.Duration // with one question, waiting included; default 3 min
	FirstDelay time.Duration // before the second attempt, then doubling up to 10 s; default 500 ms

	Cache     Cache // default: in memory
	CacheSize int   // answers that the default cache holds, default 10,000

	Trip     int              // failed questions in a row that open the circuit, default 5
	CoolDown time.Duration    // before it is tried again, default 30 s
	Now      func() time.Time // default time.Now
}

func (o *Options) fill() error {
	if err := endpoint.CheckBaseURL(o.BaseURL); err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	if o.Model == "" {
		return errors.New("judge: no model named")
	}
	endpoint.Standard(&o.MaxTokens, 2048)
	endpoint.Standard(&o.MaxAnswer, 8<<20)
	endpoint.Standard(&o.Concurrent, 4)
	endpoint.Standard(&o.Attempts, 4)
	endpoint.Standard(&o.Timeout, 30*time.Second)
	endpoint.Standard(&o.Patience, max(3*time.Minute, o.Timeout))
	endpoint.Standard(&o.FirstDelay, 500*time.Millisecond)
	endpoint.Standard(&o.CacheSize, 10_000)
	endpoint.Standard(&o.Trip, 5)
	endpoint.Standard(&o.CoolDown, 30*time.Second)
	if o.Repairs == 0 {
		o.Repairs = 1
	}
	if o.Cache == nil {
		o.Cache = endpoint.NewMemory[string, string](o.CacheSize)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// Client asks one model at an OpenAI-compatible endpoint.
type Client struct {
	options Options
	api     *openai.Client
	circuit endpoint.Circuit
	places  chan struct{} // one for each question under way
	form    atomic.Int32  // the fullest form of a request that the endpoint takes, a place in forms

	mu    sync.Mutex
	asked map[string]chan struct{} // questions under way by key; closed at their end
}

// New returns a client. It does not call the endpoint.
func New(o Options) (*Client, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	config := openai.DefaultConfig(string(o.APIKey))
	config.BaseURL = strings.TrimRight(o.BaseURL, "/")
	config.HTTPClient = endpoint.HTTPClient(o.Timeout, o.MaxAnswer, o.AllowPrivate)
	return &Client{
		options: o,
		api:     openai.NewClientWithConfig(config),
		circuit: endpoint.Circuit{Trip: o.Trip, CoolDown: o.CoolDown, Now: o.Now},
		places:  make(chan struct{}, o.Concurrent),
		asked:   map[string]chan struct{}{},
	}, nil
}

// String names the endpoint and the model, and keeps a client printed whole from showing the key.
func (c *Client) String() string   { return c.options.Model + " at " + c.options.BaseURL }
func (c *Client) GoString() string { return c.String() }

// Model is the name of the model.
func (c *Client) Model() string { return c.options.Model }

// Ask asks without a budget.
func (c *Client) Ask(ctx context.Context, q Question) Answer {
	return c.Within(Budget{}, nil).Ask(ctx, q)
}

// A Budget bounds what a number of questions may cost together. 0 is no bound.
type Budget struct {
	Requests int // made to the endpoint
	Tokens   int // as the endpoint counts them; what is over is found out after it was spent
}

// Within returns an asker that ends with OverBudget once the budget is used up. Replies that the client's own cache
// does not have are looked up in kept, and new ones put there too; nil: there is no such cache.
func (c *Client) Within(b Budget, kept Cache) Asker { return &purse{client: c, budget: b, kept: kept} }

// purse is the budget of one run.
type purse struct {
	client *Client
	budget Budget
	kept   Cache // may be nil

	mu               sync.Mutex
	requests, tokens int
}

// take reports whether one more request may be made, and counts it.
func (p *purse) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.budget.Requests > 0 && p.requests >= p.budget.Requests || p.budget.Tokens > 0 && p.tokens >= p.budget.Tokens {
		return false
	}
	p.requests++
	return true
}

func (p *purse) spend(tokens int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokens += tokens
}

// Ask looks into the cache, waits for anybody who asks the same, and asks.
func (p *purse) Ask(ctx context.Context, q Question) Answer {
	a := p.once(ctx, q)
	a.Model = p.client.options.Model
	return a
}

func (p *purse) once(ctx context.Context, q Question) Answer {
	c := p.client
	key := c.key(q)
	for {
		reply, ok := c.options.Cache.Get(key)
		if !ok && p.kept != nil {
			reply, ok = p.kept.Get(key)
		}
		if ok {
			if a := Read(reply, q); a.Outcome == Answered {
				a.Cached = true
				return a
			}
		}
		c.mu.Lock()
		other, busy := c.asked[key]
		if !busy {
			done := make(chan struct{})
			c.asked[key] = done
			c.mu.Unlock()
			defer func() {
				c.mu.Lock()
				delete(c.asked, key)
				c.mu.Unlock()
				close(done)
			}()
			a := p.inPlace(ctx, q)
			if a.Outcome == Answered {
				c.options.Cache.Put(key, a.Reply)
				if p.kept != nil {
					p.kept.Put(key, a.Reply)
				}
			}
			return a
		}
		c.mu.Unlock()
		select { // then the cache has it, or it failed and is tried again
		case <-other:
		case <-ctx.Done():
			return c.given(ctx)
		}
	}
}

// inPlace waits for a free place, and only then begins to lose patience: the last of many questions has as
// much time as the first.
func (p *purse) inPlace(ctx context.Context, q Question) Answer {
	c := p.client
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	case <-ctx.Done():
		return c.given(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Patience)
	defer cancel()
	return p.ask(ctx, q)
}

// given is the answer where the time ended or the caller gave up.
func (c *Client) given(ctx context.Context) Answer {
	if errors.Is(ctx.Err(), context.Canceled) {
		return Answer{Outcome: Cancelled, Detail: "the caller gave up"}
	}
	return Answer{Outcome: TimedOut, Detail: "no time left"}
}

// key identifies a question to this model.
func (c *Client) key(q Question) string {
	q.System = c.options.Model + "\n" + c.options.BaseURL + "\n" + q.System
	return q.Key()
}

// ask goes on until there is an answer, attempts or repairs run out, or the budget does.
func (p *purse) ask(ctx context.Context, q Question) Answer {
	c := p.client
	if err := c.circuit.Enter(); err != nil {
		return Answer{Outcome: Unavailable, Detail: err.Error()}
	}
	talk := conversation(q)
	a := Answer{}
	for repair := 0; ; repair++ {
		turn := p.send(ctx, q, talk, &a)
		a.Outcome, a.JSON, a.Detail = turn.Outcome, turn.JSON, turn.Detail
		if turn.Reply != "" {
			a.Reply = turn.Reply
		}
		if turn.Outcome != Unparsable || repair >= c.options.Repairs {
			break
		}
		talk = append(talk,
			openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: endpoint.Cut(turn.Reply, maxFenced)},
			openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: "That is not in the form asked for: " + turn.Detail +
				". Answer again with the JSON object alone."})
	}
	switch a.Outcome {
	case Unavailable, TimedOut:
		c.circuit.Failed()
	case Cancelled, OverBudget:
		c.circuit.Left()
	default:
		c.circuit.Succeeded()
	}
	return a
}

// conversation is what the model is shown first.
func conversation(q Question) []openai.ChatCompletionMessage {
	return []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: q.systemPrompt()},
		{Role: openai.ChatMessageRoleUser, Content: q.User},
	}
}
