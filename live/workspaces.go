package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
	sweep  *time.Timer // of [Options.Idle]
	stop   func()      // of what follows the shared log

	logged atomic.Pointer[[]string] // the logs of workspaces in the shared log, when it was last looked at
	pace   *atomic.Int64            // the time between two looks at the shared log

	removed atomic.Pointer[func(name string)] // of OnRemoved

	retaining sync.Mutex // of Retain: two at once would forget the same twice
}

// opening is an engine, or one being opened: everybody who asks waits for the same.
type opening struct {
	ready  chan struct{}
	engine *Engine
	err    error
	used   time.Time // when somebody last asked for it
	asked  int       // how often
}

// errUnloaded is the error of an opening whose engine was closed for want of use: whoever waits opens another.
var errUnloaded = errors.New("workspace was unloaded")

// NewWorkspaces returns the workspaces of a store. The store stays the caller's to close.
func NewWorkspaces(store storage.Store, opts Options) *Workspaces {
	w := &Workspaces{store: store, opts: opts.filled(), open: map[string]*opening{}, stop: func() {}, pace: new(atomic.Int64)}
	w.logged.Store(new([]string))
	w.pace.Store(int64(sharedLook))
	w.opts.pace, w.opts.slots = w.pace, make(chan struct{}, runtime.GOMAXPROCS(0))
	switch {
	case opts.Shared != nil: // its workspaces are followed, so they stay
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			var both sync.WaitGroup
			both.Go(func() { w.followDeletions(ctx) })
			w.openShared(ctx)
			both.Wait()
		}()
		w.stop = func() { cancel(); <-done }
	case opts.Idle > 0:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sweep = time.AfterFunc(opts.Idle/4, func() {
			w.UnloadIdle(w.opts.Now().Add(-opts.Idle))
			w.mu.Lock()
			defer w.mu.Unlock()
			if !w.closed {
				w.sweep.Reset(opts.Idle / 4)
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

// Exists reports whether there is a workspace of this name, here or in the shared log.
func (w *Workspaces) Exists(ctx context.Context, name string) (bool, error) {
	w.mu.Lock()
	ok, err := w.exists(ctx, name)
	w.mu.Unlock()
	if ok || err != nil || w.opts.Shared == nil {
		return ok, err
	}
	log, err := w.logName(ctx, name)
	if err != nil || slices.Contains(*w.logged.Load(), log) {
		return err == nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	head, err := w.opts.Shared.Head(ctx, log) // it may be new
	return err == nil && head.Seq > 0, nil    // while the log does not answer, there is what is here
}

func (w *Workspaces) exists(ctx context.Context, name string) (bool, error) {
	if name == DefaultWorkspace || w.open[name] != nil { // one that is being deleted tells so whoever asks for it
		return true, nil
	}
	names, err := w.store.Workspaces(ctx)
	return slices.Contains(names, name), err
}

// Create makes a workspace, if it does not exist, so that it can be asked before anything is recorded in it.
func (w *Workspaces) Create(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if ok, err := w.Exists(ctx, name); ok || err != nil {
		return err
	}
	table, err := w.store.Table(name)
	if err == nil && w.opts.Shared != nil { // the others make it when they see the row
		_, err = table.Put(ctx, workspaceRow, []byte(name))
	}
	return err
}

// workspaceRow is the row of a workspace that was made before anything was recorded in it.
const workspaceRow = "workspace"

// Get returns the engine of a workspace for questions, which create none: [ErrNoWorkspace] if there is no such.
// A build that a stop or crash cut short is waited for as [Options.Patience] says.
func (w *Workspaces) Get(ctx context.Context, name string) (*Engine, error) {
	e, err := w.get(ctx, name, false)
	if err != nil {
		return nil, err
	}
	return e, e.settled(ctx)
}

// Open returns the engine of a workspace as soon as it can record: it waits for no build. The workspace is
// created if it does not exist.
func (w *Workspaces) Open(ctx context.Context, name string) (*Engine, error) {
	return w.get(ctx, name, true)
}

func (w *Workspaces) get(ctx context.Context, name string, create bool) (*Engine, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if !create && w.opts.Shared != nil {
		there, err := w.Exists(ctx, name)
		if err != nil {
			return nil, err
		}
		create = there // its copy may not have begun
	}
	for {
		e, err := w.opened(ctx, name, create)
		if !errors.Is(err, errUnloaded) {
			return e, err
		}
	}
}

// opened waits for the engine that is open or being opened, closed or deleted, or opens one.
func (w *Workspaces) opened(ctx context.Context, name string, create bool) (*Engine, error) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, ErrClosed
	}
	o, ok := w.open[name]
	if !ok {
		if there, err := w.exists(ctx, name); err != nil || !there && !create {
			w.mu.Unlock()
			return nil, cmp.Or(err, fmt.Errorf("workspace %q: %w", name, ErrNoWorkspace))
		}
		o = &opening{ready: make(chan struct{})}
		w.open[name] = o
	}
	o.used = w.opts.Now()
	o.asked++
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
	shared, log, table, err := w.copyOf(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("open workspace %q: %w", name, err)
	}
	return open(ctx, name, shared, log, table, w.opts)
}

// UnloadIdle closes the engines that nobody asked for since a time and that have nothing under way, except that of the
// default workspace. The next use opens them again.
func (w *Workspaces) UnloadIdle(since time.Time) {
	type unloading struct {
		name      string
		was, gone *opening
	}
	var idle []unloading
	w.mu.Lock()
	for name, o := range w.open {
		select {
		case <-o.ready:
		default:
			continue
		}
		if name != DefaultWorkspace && o.engine != nil && o.used.Before(since) && !o.engine.busy() {
			gone := &opening{ready: make(chan struct{}), err: errUnloaded}
			idle, w.open[name] = append(idle, unloading{name, o, gone}), gone
		}
	}
	w.mu.Unlock()
	for _, u := range idle {
		_ = u.was.engine.Close(context.Background()) // fails only when its context ends
		w.opts.Logger.Info("workspace unloaded: nobody used it", "workspace", u.name, "since", u.was.used)
		w.mu.Lock()
		if w.open[u.name] == u.gone { // else it is being deleted
			delete(w.open, u.name)
		}
		w.mu.Unlock()
		close(u.gone.ready)
	}
	if len(idle) > 0 {
		returnMemory()
	}
}

// List names the workspaces, in order, also those that are in the shared log alone.
func (w *Workspaces) List(ctx context.Context) ([]string, error) {
	names, err := w.store.Workspaces(ctx)
	if err == nil {
		var shared []string
		shared, err = w.sharedNames(ctx)
		names = append(names, shared...)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// Delete removes a workspace and everything in it. Whoever asks for it meanwhile is told so. The default one is
// empty afterwards. Where processes share a log they all remove it; the shared log keeps the events.
func (w *Workspaces) Delete(ctx context.Context, name string) error {
	if w.opts.Shared == nil {
		return w.remove(ctx, name, w.store.Delete)
	}
	d, ok := w.store.(deletions)
	if !ok {
		return fmt.Errorf("delete workspace %q: %w", name, ErrShared)
	}
	if err := d.Retire(ctx, name); err != nil {
		return err
	}
	return w.remove(ctx, name, w.wipe)
}

// remove closes the engine of a workspace and then deletes.
func (w *Workspaces) remove(ctx context.Context, name string, deletes func(ctx context.Context, name string) error) error {
	return w.shut(ctx, name, fmt.Errorf("workspace %q is being deleted: %w", name, ErrClosed), false, func() error {
		err := deletes(ctx, name)
		if name == DefaultWorkspace && errors.Is(err, storage.ErrNotFound) { // nobody wrote into it yet
			return nil
		}
		return err
	})
}

// Abandon removes a workspace if nothing is stored in it and only one caller had it, as after a request that would have
// created it and was refused. Of a shared log none is removed: another process may be about to write.
func (w *Workspaces) Abandon(ctx context.Context, name string) error {
	if empty, err := w.empty(ctx, name); !empty || err != nil || name == DefaultWorkspace || w.opts.Shared != nil {
		return err
	}
	return w.shut(ctx, name, errUnloaded, true, func() error {
		empty, err := w.empty(ctx, name) // nobody writes any more
		if empty && err == nil {
			err = w.store.Delete(ctx, name)
		}
		return err
	})
}

// empty reports whether there is a workspace in which nothing is stored.
func (w *Workspaces) empty(ctx context.Context, name string) (bool, error) {
	names, err := w.store.Workspaces(ctx)
	if err != nil || !slices.Contains(names, name) {
		return false, err
	}
	log, err := w.store.Log(name)
	if err != nil || log.Head().Seq > 0 {
		return false, err
	}
	table, err := w.store.Table(name)
	if err != nil {
		return false, err
	}
	for _, err := range table.List(ctx, "") {
		return false, err
	}
	return true, nil
}

// shut closes the engine of a workspace, if it is open, and runs f. Calls that open it meanwhile wait and return why.
// With alone it does nothing where more than one caller had the engine: the other may be about to write.
func (w *Workspaces) shut(ctx context.Context, name string, why error, alone bool, f func() error) error {
	gone := &opening{ready: make(chan struct{}), err: why}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	o := w.open[name]
	if alone && o != nil && o.asked > 1 {
		w.mu.Unlock()
		return nil
	}
	w.open[name] = gone
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		if w.open[name] == gone {
			delete(w.open, name)
		}
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
	return f()
}

// Close closes every engine.
func (w *Workspaces) Close(ctx context.Context) error {
	w.stop()
	w.mu.Lock()
	w.closed = true
	if w.sweep != nil {
		w.sweep.Stop()
	}
	open := w.open
	w.open = map[string]*opening{}
	w.mu.Unlock()
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
