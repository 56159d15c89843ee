package live

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"waymark/storage"
	"waymark/suggest"
)

// Workspaces opens engines over one store, each on first use.
type Workspaces struct {
	store storage.Store
	opts  Options

	mu     sync.Mutex
	open   map[string]*opening
	closed bool
}

// opening is an engine, or one being opened: everybody who asks waits for the same.
type opening struct {
	ready  chan struct{}
	engine *Engine
	err    error
}

// NewWorkspaces returns the workspaces of a store. The store stays the caller's to close.
func NewWorkspaces(store storage.Store, opts Options) *Workspaces {
	return &Workspaces{store: store, opts: opts, open: map[string]*opening{}}
}

var workspaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Get returns the engine of a workspace for questions; the workspace is created if it does not exist. A
// build that a stop or crash cut short is waited for as [Options.Patience] says.
func (w *Workspaces) Get(ctx context.Context, name string) (*Engine, error) {
	e, err := w.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return e, e.settled(ctx)
}

// Open returns the engine of a workspace as soon as it can record: it waits for no build. The workspace is
// created if it does not exist.
func (w *Workspaces) Open(ctx context.Context, name string) (*Engine, error) {
	if !workspaceName.MatchString(name) {
		return nil, &suggest.RequestError{Kind: suggest.Invalid, Field: "workspace",
			Detail: fmt.Sprintf("%q must be 1 to 64 of a-z 0-9 . _ -, and begin with a letter or digit", name)}
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, ErrClosed
	}
	o, ok := w.open[name]
	if !ok {
		o = &opening{ready: make(chan struct{})}
		w.open[name] = o
	}
	w.mu.Unlock()
	if !ok { // whoever gives up waiting leaves the opening to the others
		go func() {
			o.engine, o.err = w.load(context.WithoutCancel(ctx), name)
			if o.err != nil { // the next caller tries again
				w.mu.Lock()
				if w.open[name] == o {
					delete(w.open, name)
				}
				w.mu.Unlock()
			}
			close(o.ready)
		}()
	}
	select {
	case <-o.ready:
		return o.engine, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *Workspaces) load(ctx context.Context, name string) (*Engine, error) {
	log, err := w.store.Log(name)
	if err != nil {
		return nil, fmt.Errorf("open workspace %q: %w", name, err)
	}
	table, err := w.store.Table(name)
	if err != nil {
		return nil, fmt.Errorf("open workspace %q: %w", name, err)
	}
	return open(ctx, name, log, table, w.opts)
}

// List names the workspaces, in order.
func (w *Workspaces) List(ctx context.Context) ([]string, error) { return w.store.Workspaces(ctx) }

// Delete removes a workspace and everything in it. Whoever asks for it meanwhile is told so.
func (w *Workspaces) Delete(ctx context.Context, name string) error {
	gone := &opening{ready: make(chan struct{}), err: fmt.Errorf("workspace %q is being deleted: %w", name, ErrClosed)}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	o := w.open[name]
	w.open[name] = gone
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.open, name)
		w.mu.Unlock()
		close(gone.ready)
	}()
	if o != nil {
		<-o.ready
		if o.engine != nil {
			if err := o.engine.Close(ctx); err != nil {
				return err
			}
		}
	}
	return w.store.Delete(ctx, name)
}

// Close closes every engine.
func (w *Workspaces) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	open := w.open
	w.open = map[string]*opening{}
	w.mu.Unlock()
	var errs []error
	for _, o := range open {
		<-o.ready
		if o.engine != nil {
			errs = append(errs, o.engine.Close(ctx))
		}
	}
	return errors.Join(errs...)
}
