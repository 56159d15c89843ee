package ledger

import (
	"sync"
	"time"
)

const (
	idle     = 30 * time.Minute // after which a conversation is another one
	maxAlive = 4096             // conversations remembered one by one
)

// Book keeps the conversations of one workspace since it was opened. It may be used by many at once.
type Book struct {
	mu    sync.Mutex
	begun int
	total Balance
	alive map[string]*kept
}

type kept struct {
	Conversation
	last time.Time
}

// Ask adds a turn to the conversation with a name, as things stand now, and returns its account. A
// conversation that rested for half an hour is another one: some hosts do not say which is which.
func (b *Book) Ask(name string, now time.Time, baseline, listed, asked, answered int) Balance {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.alive[name]
	if c == nil || now.Sub(c.last) > idle {
		if c == nil && len(b.alive) >= maxAlive {
			b.forget(now)
		}
		if b.alive == nil {
			b.alive = map[string]*kept{}
		}
		c = &kept{}
		b.alive[name] = c
		b.begun++
	}
	before := c.Balance()
	if c.Turns == 0 {
		before = Balance{}
	}
	c.last, c.Baseline, c.Listed = now, baseline, listed
	c.Ask(asked, answered)
	after := c.Balance()
	b.total = b.total.Minus(before).Plus(after)
	return after
}

// forget makes room: for what has rested, else for what has rested longest. The totals keep them.
func (b *Book) forget(now time.Time) {
	oldest := ""
	for name, c := range b.alive {
		if now.Sub(c.last) > idle {
			delete(b.alive, name)
		} else if oldest == "" || c.last.Before(b.alive[oldest].last) {
			oldest = name
		}
	}
	if len(b.alive) >= maxAlive {
		delete(b.alive, oldest)
	}
}

// Totals is the account of all conversations since the program was started.
type Totals struct {
	Conversations int `json:"conversations"` // in which a tool was looked for
	Balance
	Estimate bool `json:"estimate"`
}

// Totals of the book. Break-even is that of a conversation like the mean of all.
func (b *Book) Totals() Totals {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := Totals{b.begun, b.total, true}
	if t.BreakEven > 0 {
		t.BreakEven /= t.Conversations
	}
	return t
}
