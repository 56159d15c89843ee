package embed

import (
	"container/list"
	"crypto/sha256"
	"slices"
	"sync"
)

// A Cache keeps vectors by the SHA-256 of model and text. It may forget any of them at any time and
// must be safe for concurrent use.
type Cache interface {
	Get(key [sha256.Size]byte) ([]float32, bool)
	Put(key [sha256.Size]byte, vector []float32)
}

// Memory is a [Cache] of bounded size that forgets what was used least recently.
type Memory struct {
	mu    sync.Mutex
	size  int
	order *list.List // of *kept, the most recent in front
	at    map[[sha256.Size]byte]*list.Element
}

type kept struct {
	key    [sha256.Size]byte
	vector []float32
}

// NewMemory returns a cache of at most size vectors.
func NewMemory(size int) *Memory {
	return &Memory{size: size, order: list.New(), at: make(map[[sha256.Size]byte]*list.Element)}
}

func (m *Memory) Get(key [sha256.Size]byte) ([]float32, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.at[key]
	if !ok {
		return nil, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*kept).vector, true
}

func (m *Memory) Put(key [sha256.Size]byte, vector []float32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.at[key]; ok {
		e.Value.(*kept).vector = slices.Clone(vector)
		m.order.MoveToFront(e)
		return
	}
	m.at[key] = m.order.PushFront(&kept{key, slices.Clone(vector)})
	for m.order.Len() > m.size {
		oldest := m.order.Back()
		delete(m.at, oldest.Value.(*kept).key)
		m.order.Remove(oldest)
	}
}
