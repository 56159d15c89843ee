package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"waymark/internal/bounded"
	"waymark/storage"
	"waymark/suggest"
)

// Workspaces opens engines over one store, each on first use.
type Workspaces struct {
	store *storage.Store
	opts  Options

	mu     sync.Mutex
	slots  map[string]*slot
	closed bool

	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	behind sync.WaitGroup // background goroutines, and engines being opened or unloaded; none starts after Close
}

// slot is a workspace that is open, being opened or being closed. A caller waits until the slot is ready. If
// it then has neither an engine nor an error, the caller looks up the slot again. Its fields are changed with
// the mutex of [Workspaces] held.
type slot struct {
	ready  chan struct{}
	engine *Engine
	err    error     // of the opening
	used   time.Time // time of the last use
}

// NewWorkspaces returns the workspaces of a store. The caller closes the store.
func NewWorkspaces(store *storage.Store, opts Options) *Workspaces {
	ctx, stop := context.WithCancel(context.Background())
	w := &Workspaces{store: store, opts: opts.filled(), slots: map[string]*slot{}, ctx: ctx, stop: stop}
	w.opts.slots, w.opts.lead = make(chan struct{}, runtime.GOMAXPROCS(0)), &lead{store: store}
	w.opts.gone = func(e *Engine) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.closed {
			w.behind.Go(func() {
				w.unload("another process deleted it", func(_ string, s *slot) bool { return s.engine == e })
			})
		}
	}
	if store.Shared() {
		w.behind.Go(func() { w.opts.lead.seek(ctx, w.opts.Logger) })
		w.behind.Go(func() { w.tend(ctx) })
	}
	if opts.Idle > 0 {
		w.behind.Go(func() {
			for bounded.Wait(ctx, opts.Idle/4); ctx.Err() == nil; bounded.Wait(ctx, opts.Idle/4) {
				w.UnloadIdle(w.opts.Now().Add(-opts.Idle))
			}
		})
	}
	return w
}

// DefaultWorkspace always exists; others are created by the first write into them or by [Workspaces.Create].
const DefaultWorkspace = "default"

// ErrNoWorkspace is the error of a request to a workspace that does not exist.
var ErrNoWorkspace = errors.New("there is no such workspace")

var workspaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// CheckName returns an error if a name cannot be the name of a workspace.
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
	defer w.mu.Unlock()
	return w.exists(name)
}

// exists is [Workspaces.Exists] with the mutex held. A workspace that another process deleted
// exists until it is closed here.
func (w *Workspaces) exists(name string) bool {
	s := w.slots[name]
	open := s != nil && s.engine != nil && s.engine.Counted() > 0
	return open || name == DefaultWorkspace || w.store.Exists(name)
}

// Create makes a workspace, if it does not exist, so that requests to it work before anything is recorded in it.
func (w *Workspaces) Create(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return w.store.Create(ctx, name)
}

// Get returns the engine of a workspace for requests that must not create it: [ErrNoWorkspace] if it does not exist.
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
	for {
		s, err := w.slot(name, create)
		if err != nil {
			return nil, err
		}
		select { // if a caller stops waiting, the opening continues for the others
		case <-s.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if s.engine != nil || s.err != nil {
			return s.engine, s.err
		}
	}
}

// slot returns the slot of a workspace and notes its use. If there is none, it starts opening the workspace.
func (w *Workspaces) slot(name string, create bool) (*slot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return nil, ErrClosed
	case !create && !w.exists(name):
		return nil, fmt.Errorf("workspace %q: %w", name, ErrNoWorkspace)
	}
	s := w.slots[name]
	if s == nil {
		s = &slot{ready: make(chan struct{})}
		w.slots[name] = s
		w.behind.Go(func() {
			e, err := open(w.ctx, w.store, name, w.opts)
			w.mu.Lock()
			defer w.mu.Unlock()
			if s.engine, s.err = e, err; err != nil {
				delete(w.slots, name)
			}
			close(s.ready)
		})
	}
	s.used = w.opts.Now()
	return s, nil
}

// UnloadIdle closes the engines that were not used since a time and have no import or job running, except that of the
// default workspace. The next use opens them again.
func (w *Workspaces) UnloadIdle(since time.Time) {
	w.unload("nobody used it", func(name string, s *slot) bool {
		return name != DefaultWorkspace && s.used.Before(since) && !s.engine.busy()
	})
}

// unload closes the engines that which selects. Their next use opens them again.
func (w *Workspaces) unload(reason string, which func(name string, s *slot) bool) {
	var all sync.WaitGroup
	w.mu.Lock()
	for name, s := range w.slots {
		if s.engine == nil || !which(name, s) {
			continue
		}
		free := w.leave(name)
		all.Go(func() {
			defer free()
			w.opts.Logger.Info("workspace unloaded: "+reason, "workspace", name)
			_ = s.engine.Close(context.Background()) // fails only when its context ends
		})
	}
	w.mu.Unlock()
	all.Wait()
	returnMemory()
}

// leave replaces the slot of a workspace with one that is not ready, until free is called; then the workspace can be
// opened again. The caller holds the mutex.
func (w *Workspaces) leave(name string) (free func()) {
	closing := &slot{ready: make(chan struct{})}
	w.slots[name] = closing
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.slots, name)
		close(closing.ready)
	}
}

// List names the workspaces, in order.
func (w *Workspaces) List(ctx context.Context) ([]string, error) { return w.store.Workspaces(ctx) }

// Delete removes a workspace and everything in it. Callers that use it meanwhile wait. The default
// workspace is empty afterwards.
func (w *Workspaces) Delete(ctx context.Context, name string) error {
	w.mu.Lock()
	was := w.slots[name]
	for ; was != nil && was.engine == nil; was = w.slots[name] { // somebody opens or closes it
		w.mu.Unlock()
		<-was.ready
		w.mu.Lock()
	}
	free := w.leave(name)
	w.mu.Unlock()
	defer free()
	if was != nil {
		if err := was.engine.Close(ctx); err != nil {
			return err
		}
	}
	err := w.store.Delete(ctx, name)
	if errors.Is(err, storage.ErrNotFound) && (was != nil || name == DefaultWorkspace) { // nobody wrote into it yet
		return nil
	}
	return err
}

// Close closes every engine.
func (w *Workspaces) Close(ctx context.Context) error {
	w.stop()
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.behind.Wait()
	w.mu.Lock()
	slots := slices.Collect(maps.Values(w.slots))
	w.mu.Unlock()
	errs := make([]error, len(slots))
	var all sync.WaitGroup
	for i, s := range slots { // concurrently, because each ends its builds first
		all.Go(func() {
			if <-s.ready; s.engine != nil {
				errs[i] = s.engine.Close(ctx)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
