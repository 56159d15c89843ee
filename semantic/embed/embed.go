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
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"waymark/internal/endpoint"
)

// Key is an API key. It never prints.
type Key = endpoint.Key

// Error is a refusal by the endpoint.
type Error = endpoint.Error

// Options of a [Client]. BaseURL and Model are required; a zero value elsewhere means the default.
type Options struct {
	BaseURL string // with the version: http://127.0.0.1:11434/v1
	Model   string
	APIKey  Key

	// Dimensions, if not 0, is asked for and insisted on. Else the first answer decides.
	Dimensions int
	// AllowPrivate permits loopback and private addresses, where local endpoints live. Link-local,
	// shared, reserved and translated addresses, where clouds keep their credentials, never are.
	AllowPrivate bool

	Batch      int           // texts in a request, default 32
	MaxText    int           // bytes of a text that are sent, default 24,000 (about 8,000 tokens)
	MaxAnswer  int64         // bytes of an answer, default 8 MiB
	Attempts   int           // requests for one batch, default 4
	Timeout    time.Duration // of one request, default 10 s
	Budget     time.Duration // of one call of Embed, waiting included, default 60 s
	FirstDelay time.Duration // before the second attempt, then doubling up to 10 s; default 500 ms

	Cache     Cache // default: in memory
	CacheSize int   // vectors that the default cache holds, default 10,000

	Trip     int              // failed batches in a row that open the circuit, default 5
	CoolDown time.Duration    // before it is tried again, default 30 s
	Now      func() time.Time // default time.Now
}

func (o *Options) fill() error {
	if err := endpoint.CheckBaseURL(o.BaseURL); err != nil {
		return fmt.Errorf("embed: %w", err)
	}
	switch {
	case o.Model == "":
		return errors.New("embed: no model named")
	case o.Dimensions < 0:
		return fmt.Errorf("embed: %d dimensions", o.Dimensions)
	}
	endpoint.Standard(&o.Batch, 32)
	endpoint.Standard(&o.MaxText, 24_000)
	endpoint.Standard(&o.MaxAnswer, 8<<20)
	endpoint.Standard(&o.Attempts, 4)
	endpoint.Standard(&o.Timeout, 10*time.Second)
	endpoint.Standard(&o.Budget, time.Minute)
	endpoint.Standard(&o.FirstDelay, 500*time.Millisecond)
	endpoint.Standard(&o.CacheSize, 10_000)
	endpoint.Standard(&o.Trip, 5)
	endpoint.Standard(&o.CoolDown, 30*time.Second)
	if o.Cache == nil {
		o.Cache = NewMemory(o.CacheSize)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// Client embeds texts. It is safe for concurrent use.
type Client struct {
	options Options
	api     *openai.Client
	circuit endpoint.Circuit

	mu        sync.Mutex
	dimension int // 0: not known yet
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
		options:   o,
		api:       openai.NewClientWithConfig(config),
		circuit:   endpoint.Circuit{Trip: o.Trip, CoolDown: o.CoolDown, Now: o.Now},
		dimension: o.Dimensions,
	}, nil
}

// String names the endpoint and the model, and keeps a client printed whole from showing the key.
func (c *Client) String() string   { return c.options.Model + " at " + c.options.BaseURL }
func (c *Client) GoString() string { return c.String() }

// Model is the name of the model, to be stored beside the vectors.
func (c *Client) Model() string { return c.options.Model }

// Dimension is the number of dimensions of every vector, 0 before the first answer.
func (c *Client) Dimension() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dimension
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
		if v, ok := c.options.Cache.Get(c.key(text)); ok && sound(v) && c.agree(v) == nil {
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
			return nil, fmt.Errorf("embed %d texts with %q: %w", len(texts), c.options.Model, err)
		}
		for i, text := range batch {
			c.options.Cache.Put(c.key(text), answer[i])
			for _, place := range asked[text] {
				vectors[place] = slices.Clone(answer[i])
			}
		}
	}
	return vectors, nil
}

// embed asks for one batch, through the circuit.
func (c *Client) embed(ctx context.Context, batch []string) ([][]float32, error) {
	if err := c.circuit.Enter(); err != nil {
		return nil, err
	}
	v, err := c.retry(ctx, batch)
	var refusal *Error
	switch {
	case err == nil:
		c.circuit.Succeeded()
	case errors.Is(err, context.Canceled), errors.As(err, &refusal) && refusal.AboutInput():
		c.circuit.Left() // that says nothing of the endpoint's health
	default:
		c.circuit.Failed()
	}
	return v, err
}

// key is the SHA-256 of model, dimensions and text, each with its length.
func (c *Client) key(text string) [sha256.Size]byte {
	b := binary.AppendUvarint(nil, uint64(len(c.options.Model)))
	b = append(b, c.options.Model...)
	b = binary.AppendUvarint(b, uint64(c.options.Dimensions))
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

// sound reports whether a vector from a cache, which may be a file, is still of unit length.
func sound(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Abs(sum-1) < 1e-3
}
