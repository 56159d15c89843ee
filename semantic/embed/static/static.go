// Package static embeds texts with a table of word or token vectors from a local file: no network, no model to run.
// It reads the text format of GloVe and word2vec, and the folders of model2vec.
//
// The vector of a text is the weighted mean of the vectors of its parts, of length one.
package static

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// Embeddings are immutable and safe for concurrent use.
type Embeddings struct {
	path, format, sum string
	dimension         int
	rows              []float32
	weight            []float32 // by row; nil: all 1
	split             splitter
}

// splitter lists the rows of the parts of a text. Parts without a row are left out.
type splitter interface {
	rows(text string) []int
}

// maxText is how many bytes of a text are read.
const maxText = 24_000

// Load reads embeddings from a file: GloVe or word2vec text, which may be compressed with gzip, or a .safetensors file of
// model2vec, which needs its tokenizer.json beside it. A folder stands for its model.safetensors.
func Load(path string) (*Embeddings, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("embeddings: %w", err)
	}
	if info.IsDir() {
		path = filepath.Join(path, "model.safetensors")
	}
	load := loadText
	if strings.HasSuffix(path, ".safetensors") {
		load = loadModel2Vec
	}
	e, err := load(path)
	if err != nil {
		return nil, fmt.Errorf("embeddings %s: %w", path, err)
	}
	e.path = path
	return e, nil
}

// method is the version of the text embedding algorithm. Increment it when the algorithm changes, so that vectors that were
// stored before are not compared with new ones.
const method = 1

// Model names the format, the method and the content: equal files have equal names, wherever they are.
func (e *Embeddings) Model() string {
	return fmt.Sprintf("%s %d sha256:%s", e.format, method, e.sum[:16])
}

// Dimension is the length of a vector.
func (e *Embeddings) Dimension() int { return e.dimension }

// Len is the number of words or tokens.
func (e *Embeddings) Len() int { return len(e.rows) / e.dimension }

// String describes the embeddings.
func (e *Embeddings) String() string {
	return fmt.Sprintf("%s, %s, %d words of dimension %d, sha256 %s", e.path, e.format, e.Len(), e.dimension, e.sum[:16])
}

// Known returns how many of the words have a vector.
func (e *Embeddings) Known(words []string) (n int) {
	for _, w := range words {
		if len(e.split.rows(w)) > 0 {
			n++
		}
	}
	return n
}

// Embed returns a unit vector for each text, nil for a text of which nothing is known.
func (e *Embeddings) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	sum := make([]float64, e.dimension)
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		clear(sum)
		for _, r := range e.split.rows(text[:min(len(text), maxText)]) {
			weight := 1.0
			if e.weight != nil {
				weight = float64(e.weight[r])
			}
			for k, x := range e.rows[r*e.dimension : (r+1)*e.dimension] {
				sum[k] += float64(weight * float64(x))
			}
		}
		norm := 0.0
		for _, x := range sum {
			norm += float64(x * x)
		}
		if norm == 0 {
			continue
		}
		norm = math.Sqrt(norm)
		vectors[i] = make([]float32, e.dimension)
		for k, x := range sum {
			vectors[i][k] = float32(x / norm)
		}
	}
	return vectors, nil
}

func sumOf(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// finite reports whether all numbers are.
func finite(x []float32) bool {
	for _, y := range x {
		if math.IsNaN(float64(y)) || math.IsInf(float64(y), 0) {
			return false
		}
	}
	return true
}
