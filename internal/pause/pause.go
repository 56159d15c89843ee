// Package pause waits for a time or the end of a context.
package pause

import (
	"context"
	"time"
)

// For waits for d. It returns false, and at once, when ctx ends.
func For(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
