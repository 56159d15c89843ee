package endpoint

import (
	"container/list"
	"sync"
)

// Memory is a cache of bounded size that forgets the least recently used entry. It is safe for concurrent use.
type Memory[K comparable, V any] struct {
	mu    sync.Mutex
	size  int
	order *list.List // of *entry[K, V], the most recent in front
	at    map[K]*list.Element
}

// entry repeats the key, by which the oldest one is removed from the map.
type entry[K comparable, V any] struct {
	key   K
	value V
}

// NewMemory returns a cache of at most size entries.
func NewMemory[K comparable, V any](size int) *Memory[K, V] {
	return &Memory[K, V]{size: size, order: list.New(), at: map[K]*list.Element{}}
}

// Get returns the value of a key.
func (m *Memory[K, V]) Get(key K) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.at[key]
	if !ok {
		return value, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put sets the value of a key.
func (m *Memory[K, V]) Put(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.at[key]; ok {
		e.Value.(*entry[K, V]).value = value
		m.order.MoveToFront(e)
		return
	}
	m.at[key] = m.order.PushFront(&entry[K, V]{key, value})
	for m.order.Len() > m.size {
		oldest := m.order.Back()
		delete(m.at, oldest.Value.(*entry[K, V]).key)
		m.order.Remove(oldest)
	}
}
