package ledger

import (
	"sync"
	"time"

	"waymark/storage"
)

const (
	idle     = 30 * time.Minute // after which a conversation is another one
	maxAlive = 4096             // conversations remembered one by one
)

// Book keeps the conversations of one workspace. It may be used by many at once.
type Book struct {
	mu    sync.Mutex
	begun int
	total Balance
	alive map[string]*kept // by keyOf the name

	table         storage.Table // nil: nothing is stored
	warn          func(error)
	changed       bool
	latest, saved time.Time // of the last turn, and of the last turn that was stored at once
}

type kept struct {
	Conversation
	Last time.Time
}

// Ask adds a turn to the conversation with a name, as things stand now, and returns its account. A
// conversation that rested for half an hour is another one: some hosts do not say which is which.
func (b *Book) Ask(name string, now time.Time, baseline, listed, asked, answered int) Balance {
	b.mu.Lock()
	defer b.mu.Unlock()
	name = keyOf(name)
	c := b.alive[name]
	if c == nil || now.Sub(c.Last) > idle {
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
	c.Last, c.Baseline, c.Listed = now, baseline, listed
	c.Ask(asked, answered)
	after := c.Balance()
	b.total = b.total.Minus(before).Plus(after)
	b.latest, b.changed = now, true
	if now.Sub(b.saved) >= saveEvery {
		b.saved = now
		b.save()
	}
	return after
}

// forget makes room: for what has rested, else for what has rested longest. The totals keep them.
func (b *Book) forget(now time.Time) {
	oldest := ""
	for name, c := range b.alive {
		if now.Sub(c.Last) > idle {
			delete(b.alive, name)
		} else if oldest == "" || c.Last.Before(b.alive[oldest].Last) {
			oldest = name
		}
	}
	if len(b.alive) >= maxAlive {
		delete(b.alive, oldest)
	}
}

// Totals is the account of all conversations of the workspace.
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
