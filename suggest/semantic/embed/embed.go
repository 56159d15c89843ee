// Package embed turns texts into vectors through an OpenAI-compatible endpoint.
//
// Any server with POST {base}/embeddings will do: Ollama, llama.cpp, vLLM, TEI, a hosted one. The
// network is slow, fails, and answers what it likes, so a call goes through four layers,
//
//	texts ─▶ cache ─▶ batches ─▶ circuit ─▶ retries ─▶ one request
//
// and what comes back is checked before anyone sees it: every text has exactly one vector, placed by
// its index (answers may be out of order), all of one dimension, finite, and made unit length.
//
// Nothing here decides anything: a program must work without an endpoint, and an [endpoint.ErrUnavailable]
// comes at once while the endpoint is known to be down. The key is sent to the endpoint and written
// nowhere else.
package embed

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sashabaranov/go-openai"

	"waymark/internal/endpoint"
)

// Options of a [Client]. A zero value means the default.
type Options struct {
	endpoint.Options // of one request; Timeout default 10 s

	Batch   int           // texts in a request, default 32
	MaxText int           // bytes of a text that are sent, default 24,000 (about 8,000 tokens)
	Budget  time.Duration // of one call of Embed, waiting included, default 60 s

	CacheSize int // vectors that are kept, default 10,000
}

// Client embeds texts. It is safe for concurrent use.
type Client struct {
	*endpoint.API
	options Options
	cache   *lru.Cache[[sha256.Size]byte, []float32] // by model and text

	mu        sync.Mutex
	dimension int // 0: not known yet
}

// New returns a client. It does not call the endpoint.
func New(o Options) (*Client, error) {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Batch, o.MaxText, o.CacheSize = cmp.Or(o.Batch, 32), cmp.Or(o.MaxText, 24_000), cmp.Or(o.CacheSize, 10_000)
	o.Budget = cmp.Or(o.Budget, time.Minute)
	o.RepeatTimeouts = true
	api, err := endpoint.NewAPI(o.Options)
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	cache, err := lru.New[[sha256.Size]byte, []float32](o.CacheSize)
	return &Client{API: api, options: o, cache: cache}, err
}

// Embed returns the unit vector of every text, in order. A blank text has none, and a text longer
// than Options.MaxText is cut. Either all vectors come or an error; batches that succeeded before it
// stay in the cache, so that a second call goes on where the first stopped.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Budget)
	defer cancel()
	vectors := make([][]float32, len(texts))
	var missing []string
	asked := make(map[string][]int) // places of a text not in the cache
	for i, text := range texts {
		text = endpoint.Cut(strings.ToValidUTF8(text, " "), c.options.MaxText)
		if strings.TrimSpace(text) == "" {
			continue
		}
		if v, ok := c.cache.Get(c.key(text)); ok {
			vectors[i] = slices.Clone(v)
			continue
		}
		if asked[text] == nil {
			missing = append(missing, text)
		}
		asked[text] = append(asked[text], i)
	}
	for batch := range slices.Chunk(missing, c.options.Batch) {
		answer, err := c.embed(ctx, batch)
		if err != nil {
			return nil, fmt.Errorf("embed %d texts with %q: %w", len(texts), c.Model(), err)
		}
		for i, text := range batch {
			c.cache.Add(c.key(text), answer[i])
			for _, place := range asked[text] {
				vectors[place] = slices.Clone(answer[i])
			}
		}
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
	vectors, err := place(answer.Data, len(batch))
	if err != nil {
		return nil, err
	}
	return vectors, c.agree(vectors[0])
}

// key is the SHA-256 of model and text, the former with its length.
func (c *Client) key(text string) [sha256.Size]byte {
	b := binary.AppendUvarint(nil, uint64(len(c.Model())))
	b = append(b, c.Model()...)
	return sha256.Sum256(append(b, text...))
}

// agree checks the dimension of v against all vectors before it.
func (c *Client) agree(v []float32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dimension == 0 {
		c.dimension = len(v)
	}
	if len(v) != c.dimension {
		return fmt.Errorf("vector has %d dimensions, not %d", len(v), c.dimension)
	}
	return nil
}

// place puts the vectors of an answer in the order of the texts and makes them unit length.
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
		case len(d.Embedding) != len(data[0].Embedding):
			return nil, fmt.Errorf("vector %d has %d dimensions, another of the same answer %d", d.Index, len(d.Embedding), len(data[0].Embedding))
		}
		sum := 0.0
		for _, x := range d.Embedding {
			sum += float64(x) * float64(x)
		}
		n := math.Sqrt(sum)
		if !(n > 0) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("vector %d has the length %v", d.Index, n)
		}
		v := make([]float32, len(d.Embedding))
		for i, x := range d.Embedding {
			v[i] = float32(float64(x) / n)
		}
		vectors[d.Index] = v
	}
	if i := slices.IndexFunc(vectors, func(v []float32) bool { return v == nil }); i >= 0 {
		return nil, fmt.Errorf("vector %d of %d is missing", i, texts)
	}
	return vectors, nil
}
