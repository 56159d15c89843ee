package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"waymark/internal/bounded"
	"waymark/storage"
	"waymark/suggest"
)

// Workspaces opens engines over one store, each on first use.
type Workspaces struct {
	store   *storage.Store
	opts    Options
	opening singleflight.Group // by name: everybody who asks waits for the same

	mu     sync.Mutex
	rooms  map[string]*room
	closed bool

	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	behind sync.WaitGroup // what goes on until the stop, and engines being unloaded; nothing begins in it once closed
}

// room is where the engine of a workspace is, if it is open.
type room struct {
	changing sync.Mutex // held while the engine is opened or closed
	engine   *Engine    // nil: not open; read and written with the mutex of [Workspaces]
	used     time.Time  // when somebody last asked for it
}

// NewWorkspaces returns the workspaces of a store. The store stays the caller's to close.
func NewWorkspaces(store *storage.Store, opts Options) *Workspaces {
	ctx, stop := context.WithCancel(context.Background())
	w := &Workspaces{store: store, opts: opts.filled(), rooms: map[string]*room{}, ctx: ctx, stop: stop}
	w.opts.slots, w.opts.lead = make(chan struct{}, runtime.GOMAXPROCS(0)), &lead{store: store}
	w.opts.gone = func(e *Engine) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.closed {
			w.behind.Go(func() {
				w.unload("another process deleted it", func(_ string, r *room) bool { return r.engine == e })
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
	r := w.rooms[name]
	open := r != nil && r.engine != nil && r.engine.Counted() > 0 // one that another process deleted is closed first
	w.mu.Unlock()
	return open || name == DefaultWorkspace || w.store.Exists(name)
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
	exists := func() error {
		if !create && !w.Exists(name) {
			return fmt.Errorf("workspace %q: %w", name, ErrNoWorkspace)
		}
		return nil
	}
	if err := exists(); err != nil {
		return nil, err
	}
	r, e := w.room(name)
	if r == nil {
		return nil, ErrClosed
	} else if e != nil {
		return e, nil
	}
	opened := w.opening.DoChan(fmt.Sprint(name, " ", create), func() (any, error) {
		r.changing.Lock()
		defer r.changing.Unlock()
		err := exists() // it may have been deleted meanwhile
		now, e := w.room(name)
		if now == nil {
			err = ErrClosed
		}
		if e != nil || err != nil {
			return e, err
		}
		e, err = open(w.ctx, w.store, name, w.opts)
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			r.engine = e
		}
		return e, err
	})
	select { // whoever gives up waiting leaves the opening to the others
	case o := <-opened:
		return o.Val.(*Engine), o.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// room returns the room of a workspace and its engine, if it is open, which is noted as used; nil once closed.
func (w *Workspaces) room(name string) (*room, *Engine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil
	}
	r := w.rooms[name]
	if r == nil {
		r = &room{}
		w.rooms[name] = r
	}
	r.used = w.opts.Now()
	return r, r.engine
}

// UnloadIdle closes the engines that nobody asked for since a time and that have nothing under way, except that of the
// default workspace. The next use opens them again.
func (w *Workspaces) UnloadIdle(since time.Time) {
	w.unload("nobody used it", func(name string, r *room) bool {
		return name != DefaultWorkspace && r.used.Before(since) && !r.engine.busy()
	})
}

// unload closes the engines that which selects. Their next use opens them again.
func (w *Workspaces) unload(reason string, which func(name string, r *room) bool) {
	w.mu.Lock()
	rooms := maps.Clone(w.rooms)
	maps.DeleteFunc(rooms, func(name string, r *room) bool { return r.engine == nil || !which(name, r) }) // one that is being opened is not waited for
	w.mu.Unlock()
	gone := false
	for name, r := range rooms {
		_ = w.empty(context.Background(), r, func() bool { // fails only when its context ends
			chosen := r.engine != nil && which(name, r)
			if chosen {
				gone = true
				w.opts.Logger.Info("workspace unloaded: "+reason, "workspace", name)
			}
			return chosen
		}, func() error { return nil })
	}
	if gone {
		returnMemory()
	}
}

// empty closes the engine of a room, if it is open, and calls then before anybody opens it again, where sure, which is
// called with the mutex held, agrees.
func (w *Workspaces) empty(ctx context.Context, r *room, sure func() bool, then func() error) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	w.mu.Lock()
	e := r.engine
	if !sure() {
		w.mu.Unlock()
		return nil
	}
	r.engine = nil
	w.mu.Unlock()
	if e != nil {
		if err := e.Close(ctx); err != nil {
			return err
		}
	}
	return then()
}

// List names the workspaces, in order.
func (w *Workspaces) List(ctx context.Context) ([]string, error) { return w.store.Workspaces(ctx) }

// Delete removes a workspace and everything in it. Whoever asks for it meanwhile waits. The default one is empty
// afterwards.
func (w *Workspaces) Delete(ctx context.Context, name string) error {
	r, e := w.room(name)
	if r == nil {
		return ErrClosed
	}
	return w.empty(ctx, r, func() bool { return true }, func() error {
		err := w.store.Delete(ctx, name)
		if errors.Is(err, storage.ErrNotFound) && (e != nil || name == DefaultWorkspace) { // nobody wrote into it yet
			return nil
		}
		return err
	})
}

// Close closes every engine.
func (w *Workspaces) Close(ctx context.Context) error {
	w.stop()
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.behind.Wait()
	var mu sync.Mutex
	var all sync.WaitGroup
	var errs []error
	for _, r := range w.rooms { // side by side: each ends its builds first
		all.Go(func() {
			err := w.empty(ctx, r, func() bool { return true }, func() error { return nil })
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
