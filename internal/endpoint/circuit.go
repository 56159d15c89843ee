package endpoint

import (
	"errors"
	"sync"
	"time"
)

// ErrUnavailable is what calls fail with while the circuit is open.
var ErrUnavailable = errors.New("endpoint is failing and left alone for now")

// A Circuit lets calls through until Trip of them in a row have failed. Then it is open: calls fail
// at once. After CoolDown one call is let through; if it succeeds the circuit is closed again, if it
// fails another CoolDown begins (M. Nygard, Release It!, "Circuit Breaker").
type Circuit struct {
	Trip     int
	CoolDown time.Duration
	Now      func() time.Time

	mu     sync.Mutex
	row    int       // failures in a row
	until  time.Time // open until then
	trying bool      // the one call is under way
}

// Enter asks to make a call. Whoever may has to say how it ended: Succeeded, Failed or Left.
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

// Succeeded ends a call that was answered.
func (c *Circuit) Succeeded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.row, c.trying = 0, false
}

// Failed ends a call that was not.
func (c *Circuit) Failed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.row++
	c.trying = false
	c.until = c.Now().Add(c.CoolDown)
}

// Left ends a call that nothing was learnt from.
func (c *Circuit) Left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trying = false
}
