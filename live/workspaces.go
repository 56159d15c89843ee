package live

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"sync"
	"time"

	"waymark/internal/pause"
	"waymark/storage"
	"waymark/suggest"
)

// Workspaces opens engines over one store, each on first use.
type Workspaces struct {
	store *storage.Store
	opts  Options

	mu     sync.Mutex
	open   map[string]*opening
	closed bool

	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	behind sync.WaitGroup // what goes on until the stop, and engines being unloaded; nothing begins in it once closed
}

// opening is an engine, or one being opened: everybody who asks waits for the same.
type opening struct {
	ready  chan struct{}
	engine *Engine
	err    error
	used   time.Time // when somebody last asked for it
}

// errUnloaded is the error of an opening whose engine was closed for want of use: whoever waits opens another.
var errUnloaded = errors.New("workspace was unloaded")

// NewWorkspaces returns the workspaces of a store. The store stays the caller's to close.
func NewWorkspaces(store *storage.Store, opts Options) *Workspaces {
	ctx, stop := context.WithCancel(context.Background())
	w := &Workspaces{store: store, opts: opts.filled(), open: map[string]*opening{}, ctx: ctx, stop: stop}
	w.opts.slots, w.opts.lead = make(chan struct{}, runtime.GOMAXPROCS(0)), &lead{store: store}
	w.opts.gone = func(e *Engine) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.closed {
			w.behind.Go(func() {
				w.unload("another process deleted it", func(_ string, o *opening) bool { return o.engine == e })
			})
		}
	}
	if store.Shared() {
		w.behind.Go(func() { w.opts.lead.seek(ctx, w.opts.Logger) })
		w.behind.Go(func() { w.tend(ctx) })
	}
	if opts.Idle > 0 {
		w.behind.Go(func() {
			for pause.For(ctx, opts.Idle/4); ctx.Err() == nil; pause.For(ctx, opts.Idle/4) {
				w.UnloadIdle(w.opts.Now().Add(-opts.Idle))
			}
		})
	}
	return w
}

// DefaultWorkspace always exists; others are created by whoever first writes into them, or by [Workspaces.Create].
const DefaultWorkspace = "default"

// ErrNoWorkspace answers a question to a workspace that does not exist.
var ErrNoWorkspace = errors.New("there is no such workspace")

var workspaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// CheckName refuses what cannot be the name of a workspace.
func CheckName(name string) error {
	if workspaceName.MatchString(name) {
		return nil
	}
	return &suggest.RequestError{Kind: suggest.Invalid, Field: "workspace",
		Detail: fmt.Sprintf("%q must be 1 to 64 of a-z 0-9 . _ -, and begin with a letter or digit", name)}
}

// Exists reports whether there is a workspace of this name.
func (w *Workspaces) Exists(name string) bool {
	w.mu.Lock()
	o := w.open[name]
	w.mu.Unlock()
	if o != nil {
		select {
		case <-o.ready:
			if o.engine != nil && o.engine.ends.Load().Seq > 0 { // one that another process deleted is closed first
				return true
			}
		default:
		}
	}
	return name == DefaultWorkspace || w.store.Exists(name)
}

// Create makes a workspace, if it does not exist, so that it can be asked before anything is recorded in it.
func (w *Workspaces) Create(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return w.store.Create(ctx, name)
}

// Get returns the engine of a workspace for questions, which create none: [ErrNoWorkspace] if there is no such.
func (w *Workspaces) Get(ctx context.Context, name string) (*Engine, error) {
	return w.get(ctx, name, false)
}

// Open returns the engine of a workspace, which is created if it does not exist.
func (w *Workspaces) Open(ctx context.Context, name string) (*Engine, error) {
	return w.get(ctx, name, true)
}

func (w *Workspaces) get(ctx context.Context, name string, create bool) (*Engine, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if !create && !w.Exists(name) {
		return nil, fmt.Errorf("workspace %q: %w", name, ErrNoWorkspace)
	}
	for {
		e, err := w.opened(ctx, name)
		if !errors.Is(err, errUnloaded) {
			return e, err
		}
	}
}

// opened waits for the engine that is open or being opened, closed or deleted, or opens one.
func (w *Workspaces) opened(ctx context.Context, name string) (*Engine, error) {
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
	o.used = w.opts.Now()
	w.mu.Unlock()
	if !ok { // whoever gives up waiting leaves the opening to the others
		go func() {
			o.engine, o.err = open(w.ctx, w.store, name, w.opts)
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

// UnloadIdle closes the engines that nobody asked for since a time and that have nothing under way, except that of the
// default workspace. The next use opens them again.
func (w *Workspaces) UnloadIdle(since time.Time) {
	w.unload("nobody used it", func(name string, o *opening) bool {
		return name != DefaultWorkspace && o.used.Before(since) && !o.engine.busy()
	})
}

// unload closes the engines that which selects. Their next use opens them again.
func (w *Workspaces) unload(reason string, which func(name string, o *opening) bool) {
	gone := map[string]func(context.Context) error{}
	w.mu.Lock()
	for name, o := range w.open {
		select {
		case <-o.ready:
			if o.engine != nil && which(name, o) {
				gone[name] = w.closing(name, errUnloaded, nil)
			}
		default:
		}
	}
	w.mu.Unlock()
	for name, end := range gone {
		_ = end(context.Background()) // fails only when its context ends
		w.opts.Logger.Info("workspace unloaded: "+reason, "workspace", name)
	}
	if len(gone) > 0 {
		returnMemory()
	}
}

// closing puts an opening in the place of that of a workspace, which those who ask meanwhile wait for, and returns why;
// end closes the engine, if it is open, calls then, unless it is nil, and lets them go on. w.mu is held.
func (w *Workspaces) closing(name string, why error, then func() error) (end func(context.Context) error) {
	was, gone := w.open[name], &opening{ready: make(chan struct{}), err: why}
	w.open[name] = gone
	return func(ctx context.Context) (err error) {
		if was != nil {
			<-was.ready
			if was.engine != nil {
				err = was.engine.Close(ctx)
			}
		}
		if err == nil && then != nil {
			err = then()
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.open[name] == gone {
			delete(w.open, name)
		}
		close(gone.ready)
		return err
	}
}

// List names the workspaces, in order.
func (w *Workspaces) List(ctx context.Context) ([]string, error) { return w.store.Workspaces(ctx) }

// Delete removes a workspace and everything in it. Whoever asks for it meanwhile is told so. The default one is
// empty afterwards.
func (w *Workspaces) Delete(ctx context.Context, name string) error {
	w.mu.Lock()
	exists := w.open[name] != nil || name == DefaultWorkspace
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	end := w.closing(name, fmt.Errorf("workspace %q is being deleted: %w", name, ErrClosed), func() error {
		err := w.store.Delete(ctx, name)
		if exists && errors.Is(err, storage.ErrNotFound) { // nobody wrote into it yet
			return nil
		}
		return err
	})
	w.mu.Unlock()
	return end(ctx)
}

// Close closes every engine.
func (w *Workspaces) Close(ctx context.Context) error {
	w.stop()
	w.mu.Lock()
	w.closed = true
	open := w.open
	w.open = map[string]*opening{}
	w.mu.Unlock()
	w.behind.Wait()
	errs, n := make([]error, len(open)), 0
	var all sync.WaitGroup
	for _, o := range open { // side by side: each ends its builds first
		i := n
		n++
		all.Go(func() {
			<-o.ready
			if o.engine != nil {
				errs[i] = o.engine.Close(ctx)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
