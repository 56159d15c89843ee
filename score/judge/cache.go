package judge

import (
	"container/list"
	"sync"
)

// A Cache keeps replies that fitted, by the hash of model and question. It may forget any of them at any
// time and must be safe for concurrent use. What it gives is validated again.
type Cache interface {
	Get(key string) (reply string, ok bool)
	Put(key, reply string)
}

// Memory is a [Cache] of bounded size that forgets what was used least recently.
type Memory struct {
	mu    sync.Mutex
	size  int
	order *list.List // of *kept, the most recent in front
	at    map[string]*list.Element
}

type kept struct{ key, reply string }

// NewMemory returns a cache of at most size replies.
func NewMemory(size int) *Memory {
	return &Memory{size: size, order: list.New(), at: map[string]*list.Element{}}
}

func (m *Memory) Get(key string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.at[key]
	if !ok {
		return "", false
	}
	m.order.MoveToFront(e)
	return e.Value.(*kept).reply, true
}

func (m *Memory) Put(key, reply string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.at[key]; ok {
		e.Value.(*kept).reply = reply
		m.order.MoveToFront(e)
		return
	}
	m.at[key] = m.order.PushFront(&kept{key, reply})
	for m.order.Len() > m.size {
		oldest := m.order.Back()
		delete(m.at, oldest.Value.(*kept).key)
		m.order.Remove(oldest)
	}
}
