package embed

import (
	"crypto/sha256"

	"waymark/internal/endpoint"
)

// A Cache keeps vectors by the SHA-256 of model and text. It may forget any of them at any time and
// must be safe for concurrent use. Vectors are not modified after Put.
type Cache interface {
	Get(key [sha256.Size]byte) ([]float32, bool)
	Put(key [sha256.Size]byte, vector []float32)
}

// NewMemory returns a [Cache] of at most size vectors, which forgets the least recently used one.
func NewMemory(size int) Cache { return endpoint.NewMemory[[sha256.Size]byte, []float32](size) }
