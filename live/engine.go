package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/history"
	"waymark/suggest/semantic"
)

// The errors of an engine.
var (
	ErrNotYet  = errors.New("the model does not count that event yet")
	ErrClosed  = errors.New("workspace is closed")
	ErrNoModel = errors.New("no such model")
)

// Embedder computes vectors of equal length for texts, at an endpoint that may be unavailable or slow.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Model() string // name of the embeddings model
}

// Options of a workspace.
type Options struct {
	Logger      *slog.Logger
	Now         func() time.Time    // time.Now unless set
	Embedder    Embedder            // nil: search by text alone
	Thesaurus   *semantic.Thesaurus // of searches; nil: the built-in one
	DropIntents bool                // intents are never stored
	KeepSecrets bool                // intents and errors are stored with the secrets that they contain
	DropDigests bool                // digests of values are never stored
	Mine        bool                // capabilities are mined after each rebuild, for people to approve
	// Serves is set in a long-running process. The engine then prepares data that later requests need,
	// evaluates the first build of a history that is long enough, and without a usable snapshot answers
	// before profile learned is fitted.
	Serves bool
	// Withheld returns the ids that no answer of a workspace may suggest at the moment; what was learned about them
	// stays. They are not in the log, so they have to be set again after a start. nil: nothing is withheld.
	Withheld func(workspace string) *suggest.Exclusions
	// Connected returns the servers of a workspace that offer their tools themselves. Entries that others put under the
	// names of these servers are quarantined. nil: none.
	Connected func(workspace string) []string

	Idle time.Duration // time without use after which a workspace other than the default one is unloaded; 0: never

	slots chan struct{} // limits the builds that are measured at a time, over all workspaces
	lead  *lead         // the lease that decides which process starts builds
	gone  func(*Engine) // called when another process deleted the workspace

	// Measure holds the options for measuring models. They are part of every build event.
	Measure suggest.MeasureOptions

	measure func(context.Context, *history.Counts, suggest.MeasureOptions) (*suggest.Measures, error) // suggest.Measure; slower in tests
}

func (o Options) filled() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.measure == nil {
		o.measure = suggest.Measure
	}
	return o
}

// Engine is one open workspace. All methods may be called concurrently.
type Engine struct {
	name  string
	store *storage.Store
	table storage.Table
	opts  Options

	current atomic.Pointer[edition]
	status  atomic.Pointer[view]

	ops        chan *op
	life       lifecycle
	quarantine *quarantine
	warming    atomic.Bool  // the fit of profile learned is being prepared after the start
	held       atomic.Int32 // running imports and rebuilds: while there are any, no build starts by itself
	jobs       jobs
	proposing  sync.Mutex // guards the rows of proposals
	answers    *lru.Cache[string, served]
	forgets    atomic.Uint64 // forget requests so far
}

// A lifecycle ends the goroutines that run beside the writer.
type lifecycle struct {
	ctx        context.Context // ends when the engine closes; this also ends background builds
	stop       context.CancelFunc
	closed     chan struct{}   // closed when the writer has ended
	background sync.WaitGroup  // jobs, fetches of vectors, writes of snapshots, preparation of profile learned
	keeping    context.Context // for snapshot writes; it outlasts ctx: Close waits for a write until its own context ends
	giveUp     context.CancelFunc
}

// edition is a published model and a channel that is closed when the next model is published.
type edition struct {
	model      *suggest.Model
	built      uint64 // the event of its build
	embeddings string // embeddings model of the vectors in that build; empty: none
	next       chan struct{}
}

// open restores a workspace from its newest readable snapshot and its log, and starts its writer.
func open(ctx context.Context, store *storage.Store, name string, opts Options) (_ *Engine, err error) {
	background, stop := context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			stop()
			err = fmt.Errorf("open workspace %q: %w", name, err)
		}
	}()
	e := &Engine{
		name: name, store: store, table: store.Table(name), opts: opts.filled(), ops: make(chan *op, 256),
		life: lifecycle{ctx: background, stop: stop, closed: make(chan struct{})},
	}
	if e.answers, err = lru.New[string, served](servedLimit); err != nil {
		return nil, err
	}
	e.quarantine = &quarantine{table: e.table}
	if err := e.quarantine.load(ctx); err != nil {
		return nil, err
	}
	e.life.keeping, e.life.giveUp = context.WithCancel(context.Background())
	began := e.opts.Now()
	var from *replayedLog
	for from = range e.snapshots(ctx) {
		break
	}
	kept := uint64(0)
	if from != nil {
		kept = from.head.Seq
		if e.opts.Serves {
			from.measures.PrepareSearch()
		}
	}
	h, o, err := replay(ctx, e.read, from, 0, lastBuild, func(ctx context.Context, c *history.Counts, b build, at uint64) (*suggest.Measures, error) {
		b.Options.Provisional = e.opts.Serves // a fit may take long, and requests wait for it
		return e.measure(ctx, c, b, at)
	}, nil)
	if err != nil {
		return nil, err
	}
	if h.builtAt.IsZero() && h.built.seq > 0 {
		h.builtAt = e.opts.Now().UTC().Round(0)
	}
	h.shot.builtAt = h.builtAt
	w := &writer{Engine: e, replayedLog: h, vectors: h.how.Vectors}
	w.publishStatus()
	if err := w.publish(); err != nil {
		return nil, err
	}
	e.opts.Logger.Info("workspace opened", "workspace", name, "events", o.head, "model", e.Model().Info().Version,
		"replayed", o.head-kept, "took", e.opts.Now().Sub(began))
	shot := h.shot
	h.shot = snapshot{}
	switch {
	case h.measures.Provisional():
		shot.image = nil // the snapshot is written after the fit
		_, _ = w.measureBuild(&unfinished{snapshot: shot}, "profile learned is fitted to the history")
	case w.ahead != nil:
		if w.startsBuilds() { // otherwise the snapshot of the process that does is used
			w.measureAhead()
		}
	case shot.image != nil:
		e.keepBehind(shot, h.measures)
	case e.opts.Serves:
		e.warmBehind(h.measures)
	}
	w.fetchVectors()
	w.publishStatus()
	starting := w.building
	go w.run()
	if store.Shared() {
		e.life.background.Go(e.follow)
	}
	if starting != nil { // requests would be answered without its result
		select {
		case <-starting.done:
		case <-time.After(openPatience):
		case <-ctx.Done():
		}
	}
	return e, nil
}

// Model is the current model.
func (e *Engine) Model() *suggest.Model { return e.current.Load().model }

// openPatience is how long open waits for a build that it starts; the build then continues in the background.
const openPatience = time.Second

// Warming reports whether requests with profile learned would have to wait, because the fit from before the
// start is still being prepared.
func (e *Engine) Warming() bool { return e.warming.Load() }

// busy reports whether an import or a job is under way.
func (e *Engine) busy() bool {
	return e.held.Load() > 0 || slices.ContainsFunc(e.Jobs(), func(j Job) bool { return j.State == JobRunning })
}

// Counted returns the last durable event that a model counts; the build event of the model may come after it.
func (e *Engine) Counted() uint64 { return e.status.Load().counted }

// Head returns the last durable event.
func (e *Engine) Head() storage.Head { return e.store.Head(e.name) }

// read is the [reader] of the workspace.
func (e *Engine) read(ctx context.Context, after uint64) iter.Seq2[storage.Event, error] {
	return e.store.Read(ctx, e.name, after)
}

// Vector returns the embedding of a query for the current model. It returns nil without an embedder, if the embedder
// does not answer in time, and while the vectors of the current model come from another embeddings model, because
// these are not comparable. Search then works without it.
func (e *Engine) Vector(ctx context.Context, text string) []float32 {
	if e.opts.Embedder == nil || text == "" || e.current.Load().embeddings != e.opts.Embedder.Model() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, vectorWait)
	defer cancel()
	v, err := e.opts.Embedder.Embed(ctx, []string{text})
	if err != nil || len(v) != 1 {
		return nil
	}
	return v[0]
}

// Embeddings describes the source of the vectors; empty if there is none.
func (e *Engine) Embeddings() string {
	if s, ok := e.opts.Embedder.(fmt.Stringer); ok {
		return s.String()
	}
	return ""
}

// Thesaurus returns the thesaurus that searches use.
func (e *Engine) Thesaurus() *semantic.Thesaurus {
	return cmp.Or(e.opts.Thesaurus, semantic.DefaultThesaurus())
}

// vectorWait is how long a query waits for its vector.
const vectorWait = 300 * time.Millisecond

// Wait returns when the published model counts event seq.
func (e *Engine) Wait(ctx context.Context, seq uint64) error {
	for {
		c := e.current.Load()
		if c.model.Info().Seq >= seq {
			return nil
		}
		select {
		case <-c.next:
		case <-ctx.Done():
			return fmt.Errorf("event %d of workspace %q: %w", seq, e.name, ErrNotYet)
		case <-e.life.closed:
			return ErrClosed
		}
	}
}

// Hold prevents builds from starting by themselves until release is called. An import uses it, because it builds once
// at its end, and so does a rebuild.
func (e *Engine) Hold() (release func()) {
	e.held.Add(1)
	return sync.OnceFunc(func() {
		if e.held.Add(-1) == 0 && e.opts.Serves {
			go func() { _ = e.do(e.life.ctx, func(*writer) {}) }() // the writer checks whether a build is due
		}
	})
}

// Build builds a model of everything acknowledged so far and returns when it is published. seq is the event of the
// active build. A build that has to be evaluated first and would lose is not published, which is no error. While a
// refused rebuild stands, Build does nothing; see [Engine.Judgement].
func (e *Engine) Build(ctx context.Context) (seq uint64, err error) {
	var j *job
	judged := false
	err = e.alone(ctx, func(w *writer) (err error) {
		if seq = w.built.seq; w.since() == 0 || w.refused != nil {
			return nil
		}
		if judged = w.needsEvaluation(); !judged {
			j, err = w.startBuild(requested, w.newBuild())
		}
		return err
	})
	switch {
	case err != nil || !judged && j == nil:
		return seq, err
	case judged:
		err = e.rebuildAndWait(ctx, false)
	default:
		select {
		case <-j.done:
			err = j.err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	if err != nil {
		return 0, fmt.Errorf("build the model of workspace %q: %w", e.name, err)
	}
	return e.current.Load().built, nil
}

// Close stops the writer. Acknowledged events are durable. A running build is left to the next start. Until ctx ends,
// Close waits for a snapshot that is being written.
func (e *Engine) Close(ctx context.Context) error {
	e.jobs.mu.Lock() // no job starts from here on
	e.life.stop()
	e.jobs.mu.Unlock()
	defer context.AfterFunc(ctx, e.life.giveUp)()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-e.life.closed
		e.life.background.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close workspace %q: %w", e.name, ctx.Err())
	}
}

// measure computes the measures of a build event. Vectors come from the table, and only those that were stored before
// the event, so that a later replay uses the same vectors.
func (e *Engine) measure(ctx context.Context, c *history.Counts, b build, at uint64) (*suggest.Measures, error) {
	return e.measured(ctx, c, b, at, true)
}

// measured is like measure; learn decides whether profile learned is fitted now or at the first request for it.
func (e *Engine) measured(ctx context.Context, c *history.Counts, b build, at uint64, learn bool) (*suggest.Measures, error) {
	if b.Vectors != "" {
		b.Options.Vectors = func(ctx context.Context, texts []string) ([][]float32, error) {
			return storedVectors(ctx, e.table, b.Model, texts, at)
		}
	}
	b.Options.Learn, b.Options.Thesaurus = learn, e.opts.Thesaurus
	select { // each uses all processors; hundreds at once would only use more memory
	case e.opts.slots <- struct{}{}:
		defer func() { <-e.opts.slots }()
		return e.opts.measure(ctx, c, b.Options)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
