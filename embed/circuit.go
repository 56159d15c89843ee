package embed

import (
	"sync"
	"time"
)

// A circuit lets calls through until trip of them in a row have failed. Then it is open: calls fail
// at once. After coolDown one call is let through; if it succeeds the circuit is closed again, if it
// fails another coolDown begins (M. Nygard, Release It!, "Circuit Breaker").
type circuit struct {
	trip     int
	coolDown time.Duration
	now      func() time.Time

	mu     sync.Mutex
	row    int       // failures in a row
	until  time.Time // open until then
	trying bool      // the one call is under way
}

func (c *circuit) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.row < c.trip {
		return nil
	}
	if c.trying || c.now().Before(c.until) {
		return ErrUnavailable
	}
	c.trying = true
	return nil
}

func (c *circuit) succeeded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.row, c.trying = 0, false
}

func (c *circuit) failed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.row++
	c.trying = false
	c.until = c.now().Add(c.coolDown)
}

// left ends a call that nothing was learnt from.
func (c *circuit) left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trying = false
}
