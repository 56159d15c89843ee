package eventlog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"waymark/storage"
)

// later is a log that did not answer when it was opened. It is opened as soon as it answers; until then every call fails.
type later struct {
	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex
	log    Log
	failed error
}

// laterLook is how long to wait between two attempts to open a log.
const laterLook = time.Second

// OpenLater is [Open], but a log that does not answer is opened later: until then its calls fail with [ErrUnavailable].
// A log that answers and is refused, as for its settings or for the password, is an error here, and one of every call later.
func OpenLater(ctx context.Context, address string, opts Options) (Log, error) {
	log, err := Open(ctx, address, opts)
	if err == nil || !unreachable(err) {
		return log, err
	}
	background, stop := context.WithCancel(context.Background())
	l := &later{stop: stop, done: make(chan struct{}), failed: err}
	go func() {
		defer close(l.done)
		for pauseFor(background, laterLook) == nil {
			log, err := Open(background, address, opts)
			l.mu.Lock()
			l.log, l.failed = log, err
			l.mu.Unlock()
			if err == nil {
				return
			}
		}
	}()
	return l, nil
}

// unreachable reports whether an engine did not answer, in contrast to one that refuses or is refused.
func unreachable(err error) bool {
	if code := sqlState(err); code != "" {
		return strings.HasPrefix(code, "57P") // it starts or stops
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network)
}

func (l *later) get() (Log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, l.failed)
	}
	return l.log, nil
}

// Append implements [Log].
func (l *later) Append(ctx context.Context, workspace string, events []storage.Sealed) error {
	log, err := l.get()
	if err != nil {
		return err
	}
	return log.Append(ctx, workspace, events)
}

// Read implements [Log].
func (l *later) Read(ctx context.Context, workspace string, after uint64, follow bool) iter.Seq2[storage.Sealed, error] {
	log, err := l.get()
	if err != nil {
		return func(yield func(storage.Sealed, error) bool) { yield(storage.Sealed{}, err) }
	}
	return log.Read(ctx, workspace, after, follow)
}

// Head implements [Log].
func (l *later) Head(ctx context.Context, workspace string) (storage.Head, error) {
	log, err := l.get()
	if err != nil {
		return storage.Head{}, err
	}
	return log.Head(ctx, workspace)
}

// Workspaces implements [Log].
func (l *later) Workspaces(ctx context.Context) ([]string, error) {
	log, err := l.get()
	if err != nil {
		return nil, err
	}
	return log.Workspaces(ctx)
}

// Lease implements [Log].
func (l *later) Lease(ctx context.Context, name string, ttl time.Duration) (uint64, error) {
	log, err := l.get()
	if err != nil {
		return 0, err
	}
	return log.Lease(ctx, name, ttl)
}

// Close implements [Log].
func (l *later) Close() error {
	l.stop()
	<-l.done
	if log, err := l.get(); err == nil {
		return log.Close()
	}
	return nil
}
