package live

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"

	"waymark/storage"
)

// vectorBatch is how many texts go to the embeddings endpoint at once.
const vectorBatch = 64

// vectorKey names the vector of a text under a model.
func vectorKey(model, text string) string {
	h := sha256.Sum256([]byte(model + "\x00" + text))
	return "vector/" + hex.EncodeToString(h[:])
}

// fetchVectors asks the endpoint for the texts whose vectors are not in the table and keeps them
// there. Measures read only the table, so that they can be computed again without the endpoint.
func fetchVectors(ctx context.Context, table storage.Table, e Embedder, texts []string) error {
	var missing []string
	for _, t := range texts {
		if _, _, err := table.Get(ctx, vectorKey(e.Model(), t)); errors.Is(err, storage.ErrNotFound) {
			missing = append(missing, t)
		} else if err != nil {
			return err
		}
	}
	for len(missing) > 0 {
		n := min(vectorBatch, len(missing))
		vectors, err := e.Embed(ctx, missing[:n])
		if err != nil {
			return err
		}
		for i, v := range vectors {
			b := make([]byte, 0, 4*len(v))
			for _, x := range v {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
			}
			if _, err := table.Put(ctx, vectorKey(e.Model(), missing[i]), b); err != nil {
				return err
			}
		}
		missing = missing[n:]
	}
	return nil
}

// storedVectors reads vectors back; a text without one has an empty vector.
func storedVectors(ctx context.Context, table storage.Table, model string, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, t := range texts {
		b, _, err := table.Get(ctx, vectorKey(model, t))
		if errors.Is(err, storage.ErrNotFound) {
			continue
		} else if err != nil {
			return nil, err
		}
		vectors[i] = make([]float32, len(b)/4)
		for j := range vectors[i] {
			vectors[i][j] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*j:]))
		}
	}
	return vectors, nil
}
