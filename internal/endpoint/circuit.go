package endpoint

import (
	"errors"
	"sync"
	"time"
)

// ErrUnavailable is the error of calls while the circuit is open.
var ErrUnavailable = errors.New("endpoint is failing and left alone for now")

// A Circuit is a circuit breaker (M. Nygard, Release It!, "Circuit Breaker"). It lets calls through until Trip of them
// in a row have failed. Then it is open: calls fail at once, except one trial call after each CoolDown. A call that
// succeeds closes it.
type Circuit struct {
	Trip     int
	CoolDown time.Duration
	Now      func() time.Time

	mu    sync.Mutex
	row   int       // failures in a row
	until time.Time // open until then
}

// Enter requests permission for a call, and returns [ErrUnavailable] if it is refused. A permitted caller calls
// Succeeded or Failed afterwards, or neither if the outcome says nothing about the other side.
func (c *Circuit) Enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	if c.row >= c.Trip && now.Before(c.until) {
		return ErrUnavailable
	}
	c.until = now.Add(c.CoolDown)
	return nil
}

// Succeeded ends a call that was answered.
func (c *Circuit) Succeeded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.row = 0
}

// Failed ends a call that was not answered and reports whether that opened the circuit.
func (c *Circuit) Failed() (opened bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.row++
	c.until = c.Now().Add(c.CoolDown)
	return c.row == c.Trip
}

// State names the state: closed, open, or half-open when a trial call may begin.
func (c *Circuit) State() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.row < c.Trip:
		return "closed"
	case c.Now().Before(c.until):
		return "open"
	}
	return "half-open"
}
