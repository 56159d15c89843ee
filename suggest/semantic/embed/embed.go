// Package embed turns texts into vectors through an OpenAI-compatible endpoint.
//
// Any server with POST {base}/embeddings will do: Ollama, llama.cpp, vLLM, TEI, a hosted one. The
// network is slow, fails, and answers what it likes, so a call goes through four layers,
//
//	texts ─▶ cache ─▶ batches ─▶ circuit ─▶ retries ─▶ one request
//
// and what comes back is checked before anyone sees it: every text has exactly one vector, placed by
// its index (answers may be out of order). Their length and dimension are checked where they are compared
// ([semantic.NewVectors]).
//
// Nothing here decides anything: a program must work without an endpoint, and an [endpoint.ErrUnavailable]
// comes at once while the endpoint is known to be down. The key is sent to the endpoint and written
// nowhere else.
package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sashabaranov/go-openai"

	"waymark/internal/endpoint"
)

// Options of a [Client]. A zero value means the default.
type Options struct {
	endpoint.Options // of one request; Timeout default 10 s

	Budget time.Duration // of one call of Embed, waiting included, default 60 s
}

const (
	batch      = 32     // texts in a request
	maxText    = 24_000 // bytes of a text that are sent: about 8,000 tokens
	keptValues = 1000   // vectors of the last texts, most of them intents that are asked about again
)

// Client embeds texts. It is safe for concurrent use.
type Client struct {
	*endpoint.API
	budget time.Duration
	cache  *lru.Cache[string, []float32] // by text
}

// New returns a client. It does not call the endpoint.
func New(o Options) (*Client, error) {
	o.Timeout, o.Budget = cmp.Or(o.Timeout, 10*time.Second), cmp.Or(o.Budget, time.Minute)
	o.RepeatTimeouts = true
	api, err := endpoint.NewAPI(o.Options)
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	cache, err := lru.New[string, []float32](keptValues)
	return &Client{api, o.Budget, cache}, err
}

// Embed returns the vector of every text, in order. A blank text has none, and a long text is cut. Either all vectors
// come or an error; batches that succeeded before it stay in the cache, so that a second call goes on where the first
// stopped.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, c.budget)
	defer cancel()
	vectors := make([][]float32, len(texts))
	var missing []string
	var places []int // of these
	for i, text := range texts {
		text = endpoint.Cut(strings.ToValidUTF8(text, " "), maxText)
		if v, ok := c.cache.Get(text); ok {
			vectors[i] = v
		} else if strings.TrimSpace(text) != "" {
			missing, places = append(missing, text), append(places, i)
		}
	}
	for len(missing) > 0 {
		n := min(batch, len(missing))
		answer, err := c.embed(ctx, missing[:n])
		if err != nil {
			return nil, fmt.Errorf("embed %d texts with %q: %w", len(texts), c.Model(), err)
		}
		for i, v := range answer {
			c.cache.Add(missing[i], v)
			vectors[places[i]] = v
		}
		missing, places = missing[n:], places[n:]
	}
	return vectors, nil
}

// embed asks for one batch, through the circuit.
func (c *Client) embed(ctx context.Context, batch []string) ([][]float32, error) {
	if err := c.Circuit.Enter(); err != nil {
		return nil, err
	}
	v, err := c.request(ctx, batch)
	var refusal *endpoint.Error
	switch {
	case err == nil:
		c.Circuit.Succeeded()
	case errors.Is(err, context.Canceled), errors.As(err, &refusal) && refusal.AboutInput(): // says nothing of its health
	default:
		c.Circuit.Failed()
	}
	return v, err
}

// request makes requests until one is answered. An answer that is complete and wrong is not worth another one.
func (c *Client) request(ctx context.Context, batch []string) ([][]float32, error) {
	attempts := 0
	answer, err := endpoint.Call(ctx, c.API, func(ctx context.Context) (openai.EmbeddingResponse, http.Header, error) {
		attempts++
		r, err := c.CreateEmbeddings(ctx, openai.EmbeddingRequest{
			Input: batch, Model: openai.EmbeddingModel(c.Model()),
		})
		return r, r.Header(), err
	})
	if err != nil && attempts > 1 && !errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("%d attempts: %w", attempts, err)
	}
	if err != nil {
		return nil, err
	}
	return place(answer.Data, len(batch))
}

// place puts the vectors of an answer in the order of the texts.
func place(data []openai.Embedding, texts int) ([][]float32, error) {
	vectors := make([][]float32, texts)
	for _, d := range data {
		switch {
		case d.Index < 0 || d.Index >= texts:
			return nil, fmt.Errorf("vector %d answers none of %d texts", d.Index, texts)
		case vectors[d.Index] != nil:
			return nil, fmt.Errorf("vector %d comes twice", d.Index)
		case len(d.Embedding) == 0:
			return nil, fmt.Errorf("vector %d is empty", d.Index)
		}
		vectors[d.Index] = d.Embedding
	}
	if i := slices.IndexFunc(vectors, func(v []float32) bool { return v == nil }); i >= 0 {
		return nil, fmt.Errorf("vector %d of %d is missing", i, texts)
	}
	return vectors, nil
}
