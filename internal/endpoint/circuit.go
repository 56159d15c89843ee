package endpoint

import (
	"errors"
	"sync"
	"time"
)

// ErrUnavailable is the error of calls while the circuit is open.
var ErrUnavailable = errors.New("endpoint is failing and left alone for now")

// A Circuit lets calls through until Trip of them in a row have failed. Then it is open: calls fail
// at once. After CoolDown one call is let through on trial; if it succeeds the circuit is closed again, if it
// fails another CoolDown begins (M. Nygard, Release It!, "Circuit Breaker").
type Circuit struct {
	Trip     int
	CoolDown time.Duration
	Now      func() time.Time

	mu     sync.Mutex
	row    int       // failures in a row
	until  time.Time // open until then
	trying bool      // the call on trial is under way
}

// Enter asks to make a call. A caller that is let through reports the end of the call: Succeeded, Failed or Left.
func (c *Circuit) Enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.row < c.Trip {
		return nil
	}
	if c.trying || c.Now().Before(c.until) {
		return ErrUnavailable
	}
	c.trying = true
	return nil
}

// late reports whether a call that ends now began before the circuit opened: its result is out of date.
func (c *Circuit) late() bool { return c.row >= c.Trip && !c.trying }

// Succeeded ends a call that was answered.
func (c *Circuit) Succeeded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.late() {
		c.row, c.trying = 0, false
	}
}

// Failed ends a call that was not answered and reports whether that opened the circuit.
func (c *Circuit) Failed() (opened bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.late() {
		return false
	}
	c.row++
	c.trying = false
	c.until = c.Now().Add(c.CoolDown)
	return c.row >= c.Trip
}

// Left ends a call that says nothing about the other side.
func (c *Circuit) Left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trying = false
}

// State names the state: closed, open, or half-open where a call on trial is under way or may begin.
func (c *Circuit) State() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.row < c.Trip:
		return "closed"
	case c.trying || !c.Now().Before(c.until):
		return "half-open"
	}
	return "open"
}
