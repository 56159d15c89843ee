package endpoint

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sashabaranov/go-openai"
)

const (
	batch       = 32          // texts in a request
	maxText     = 24_000      // bytes of a text that are sent: about 8,000 tokens
	keptVectors = 1000        // cached vectors of recent texts, mostly intents that occur again
	embedding   = time.Minute // maximum duration of a call of Embed, including waits
)

// An Embedder turns texts into vectors with any server that offers POST {base}/embeddings. It is safe for concurrent
// use.
//
//	texts ─▶ cache ─▶ batches ─▶ circuit ─▶ retries ─▶ one request
//
// Answers are checked: every text has exactly one vector, placed by its index (answers may be out of order). Length and
// dimension are checked where vectors are compared. A program must work without an endpoint; while it is known to be
// down, [ErrUnavailable] is returned at once.
type Embedder struct {
	*API
	cache *lru.Cache[string, []float32] // by text
}

// NewEmbedder returns an embedder, which waits 10 s for an answer by default. It does not call the endpoint.
func NewEmbedder(o Options) (*Embedder, error) {
	o.Timeout, o.RepeatTimeouts = cmp.Or(o.Timeout, 10*time.Second), true
	api, err := NewAPI(o)
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	cache, err := lru.New[string, []float32](keptVectors)
	return &Embedder{api, cache}, err
}

// Embed returns the vector of every text, in order. A blank text has none, and a long text is cut. It returns all
// vectors or an error. Batches that succeeded before an error stay in the cache, so that a second call continues after
// them.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, embedding)
	defer cancel()
	vectors := make([][]float32, len(texts))
	var missing []string
	var places []int // of these
	for i, text := range texts {
		text = Cut(strings.ToValidUTF8(text, " "), maxText)
		if v, ok := e.cache.Get(text); ok {
			vectors[i] = v
		} else if strings.TrimSpace(text) != "" {
			missing, places = append(missing, text), append(places, i)
		}
	}
	for len(missing) > 0 {
		n := min(batch, len(missing))
		answer, err := e.embed(ctx, missing[:n])
		if err != nil {
			return nil, fmt.Errorf("embed %d texts with %q: %w", len(texts), e.Model(), err)
		}
		for i, v := range answer {
			e.cache.Add(missing[i], v)
			vectors[places[i]] = v
		}
		missing, places = missing[n:], places[n:]
	}
	return vectors, nil
}

// embed requests one batch. It does not retry an answer that is complete and wrong.
func (e *Embedder) embed(ctx context.Context, texts []string) ([][]float32, error) {
	return Call(ctx, e.API, func(ctx context.Context) ([][]float32, http.Header, error) {
		r, err := e.CreateEmbeddings(ctx, openai.EmbeddingRequest{Input: texts, Model: openai.EmbeddingModel(e.Model())})
		if err != nil {
			return nil, r.Header(), err
		}
		vectors, err := place(r.Data, len(texts))
		if err != nil {
			err = backoff.Permanent(err)
		}
		return vectors, nil, err
	})
}

// place puts the vectors of an answer in the order of the texts.
func place(data []openai.Embedding, texts int) ([][]float32, error) {
	vectors := make([][]float32, texts)
	for _, d := range data {
		if d.Index >= 0 && d.Index < texts && vectors[d.Index] == nil {
			vectors[d.Index] = d.Embedding
		}
	}
	if len(data) != texts || slices.ContainsFunc(vectors, func(v []float32) bool { return len(v) == 0 }) {
		return nil, fmt.Errorf("the answer has no vector for each of %d texts", texts)
	}
	return vectors, nil
}
