// Package bounded reads files, pipes and terminals with content from others, up to a limit. It ends each read and each
// wait when a context ends.
package bounded

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// Limits in bytes: of an input that is read whole, of one that is read a line at a time, and of one that passes through
// to a reader with limits of its own.
const (
	Document = 64 << 20
	Stream   = 1 << 30
	Transfer = 1 << 40
)

// LimitError is the error of an input that is longer than its limit.
type LimitError struct {
	Name  string
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s is larger than %d MiB", e.Name, e.Limit>>20)
}

// Open opens a file. For a named pipe, it waits until somebody writes to it or the context ends.
func Open(ctx context.Context, path string, limit int64) (io.ReadCloser, error) {
	f, err := until(ctx, func() (*os.File, error) { return os.Open(path) })
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{New(ctx, f, path, limit), f}, nil
}

// New returns a reader of in. It fails with a [LimitError] beyond the limit, and as soon as the context ends, even
// while in blocks.
func New(ctx context.Context, in io.Reader, name string, limit int64) io.Reader {
	return &reader{ctx: ctx, in: in, name: name, limit: limit, buf: make([]byte, 64<<10)}
}

// ReadAll reads an input whole.
func ReadAll(ctx context.Context, in io.Reader, name string, limit int64) ([]byte, error) {
	return io.ReadAll(New(ctx, in, name, limit))
}

// ReadFile reads a file whole.
func ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	f, err := Open(ctx, path, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

type reader struct {
	ctx         context.Context
	in          io.Reader
	name        string
	limit, read int64
	buf         []byte // belongs to the read in progress, which may outlive the context
}

func (r *reader) Read(p []byte) (n int, err error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	// Nothing is read ahead: the next reader of a terminal gets the next line.
	buf := r.buf[:min(len(p), len(r.buf))]
	n, err = until(r.ctx, func() (int, error) { return r.in.Read(buf) })
	copy(p, buf[:n])
	if r.read += int64(n); r.read > r.limit {
		return 0, &LimitError{r.name, r.limit}
	}
	return n, err
}

// until calls a function that may block, and returns without waiting for it when the context ends.
func until[T any](ctx context.Context, call func() (T, error)) (none T, err error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := call()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// Wait waits for d. It returns false, without further delay, when the context ends.
func Wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
