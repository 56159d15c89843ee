package limit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"waymark/server/internal/problem"
)

// Overdue is the work of requests that have outlived their time limit and were answered without it.
type Overdue struct {
	count atomic.Int64 // of all
	late  atomic.Int64 // of those that did not end soon after their request
	Log   *slog.Logger
}

const (
	// maxOverdue bounds the work that continues without a request: repeated requests must not pile up behind one
	// slow computation.
	maxOverdue = 256
	// ownError is how long a computation that watches its context has to return an error of its own, or to end before it
	// counts against maxOverdue.
	ownError = 100 * time.Millisecond
	// AnswerGrace is what remains for writing an answer once the time limit of the request has passed.
	AnswerGrace = 5 * time.Second
)

// WaitForSeq is how long a request waits for the model to count an event.
const WaitForSeq = time.Second

// panicked is a panic in another goroutine than that of the request, with its stack.
type panicked struct {
	value any
	stack []byte
}

// PanicOf returns what recover returned, with the stack of the goroutine where the panic began.
func PanicOf(recovered any) (value any, stack []byte) {
	if p, ok := recovered.(*panicked); ok {
		return p.value, p.stack
	}
	return recovered, debug.Stack()
}

// Within calls f and returns its result, or an error once ctx ends. A computation that does not watch ctx continues
// in the background: what it leaves for other requests, such as a first fit or an open workspace, is not lost.
func Within[T any](ctx context.Context, o *Overdue, limit time.Duration, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
		panic *panicked
	}
	var none T
	if o.late.Load() >= maxOverdue {
		return none, problem.New(http.StatusServiceUnavailable, "too many requests that outlived their time limit are still being worked on; try again later")
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if v := recover(); v != nil {
				r.panic = &panicked{v, debug.Stack()}
			}
			done <- r
		}()
		r.value, r.err = f()
	}()
	finish := func(r result) (T, error) {
		if r.panic != nil {
			panic(r.panic)
		}
		if errors.Is(r.err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r.err = errors.Join(timeLimit(limit), r.err)
		}
		return r.value, r.err
	}
	select {
	case r := <-done:
		return finish(r)
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		select {
		case r := <-done:
			return finish(r)
		case <-time.After(ownError):
		}
	}
	o.count.Add(1)
	go func() {
		var r result
		select { // clients that leave together are no pile of work: most of it ends when it looks at ctx
		case r = <-done:
		case <-time.After(ownError):
			o.late.Add(1)
			r = <-done
			o.late.Add(-1)
		}
		o.count.Add(-1)
		if r.panic != nil {
			o.Log.Error("panic after the time limit of a request", "panic", fmt.Sprint(r.panic.value), "stack", string(r.panic.stack))
		}
	}()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return none, timeLimit(limit)
	}
	return none, ctx.Err()
}

// timeLimit is the answer to a request that outlived its time limit.
func timeLimit(limit time.Duration) error {
	return problem.New(http.StatusGatewayTimeout, fmt.Sprintf("there was no answer within the time limit of %v. "+
		"What was computed for other requests too, such as the first fit of the learned profile, continues in the background: "+
		"repeat the request in a few seconds. A write may still take effect: repeat it with the same ids", limit))
}

// Running is how much work continues without a request.
func (o *Overdue) Running() int { return int(o.count.Load()) }

// Wait waits for work that continues without a request, up to a limit.
func (o *Overdue) Wait(limit time.Duration) {
	for end := time.Now().Add(limit); o.Running() > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}
