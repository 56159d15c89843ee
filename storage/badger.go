package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// Options of [Open]. The zero value is right for a service.
type Options struct {
	// Logger receives what badger and the store have to say; nil is slog.Default().
	Logger *slog.Logger

	// AcceptDamage opens a damaged database all the same. Of every log the readable prefix is served;
	// entries after it, and rows that cannot be read, are copied to a file aside-N in the directory
	// and then taken out of the database. Health reports the damage until the store is opened again.
	// A database that badger itself cannot open is refused even so: restore a backup.
	AcceptDamage bool

	free   func(dir string) (uint64, error) // instead of statfs, in tests
	commit func(*badger.Txn) error          // instead of Txn.Commit, in tests
	rest   time.Duration                    // instead of markDelay, in tests
}

// Badger keeps all workspaces in one badger database. A directory looks like this:
//
//	lock         held while a process has the directory
//	highwater    how far every log had come
//	owner.json   the owner's note, see [WriteOwner]
//	db/          badger's files
//	snapshots/   a folder for each workspace, a file for each snapshot
//	damaged-…/   what db/ held before badger repaired it away, kept only if something is missing
//	aside-N      entries taken out under Options.AcceptDamage
type Badger struct {
	dir    string
	db     *badger.DB
	opts   Options
	log    *slog.Logger
	unlock func() error

	life    sync.RWMutex  // held for reading by everyone inside the database
	closing chan struct{} // closed first of all by Close
	stopped chan struct{} // closed when the committer has ended
	marker  markerState
	once    sync.Once
	ended   error // what Close returned

	system *space     // stands for no workspace
	mu     sync.Mutex // guards spaces
	spaces map[string]*space
	create sync.Mutex // one workspace is created or marked for deletion at a time

	committer committerState

	failed  atomic.Pointer[error] // the first failed commit: nothing is written any more
	suspect atomic.Pointer[error] // first reason to doubt the data
}

// committerState is what the goroutine that commits shares.
type committerState struct {
	queue   chan *request
	guard   spaceGuard
	buffers buffers       // of the committer
	commits atomic.Uint64 // durable commits of this database since it was made
}

// markerState is what the goroutine that writes high-water marks shares.
type markerState struct {
	marked    chan struct{} // closed when the marker has ended
	markMu    sync.Mutex
	dirty     chan struct{}         // something was committed since the last mark
	due       chan struct{}         // enough was committed not to wait for the clock
	uncovered atomic.Int64          // events since the last mark
	unwritten atomic.Pointer[error] // why the last mark waits for disk space
}

// space is a workspace as the committer knows it.
type space struct {
	name     string
	head     atomic.Pointer[Head] // last durable event
	gone     atomic.Bool          // deletion has begun
	clearing bool                 // of the log alone; of a store that is being opened
	keys     *keyIndex            // of the events, used by the committer
	snap     sync.Mutex           // one snapshot is written at a time

	files sync.RWMutex // held for writing while files of snapshots are renamed or removed
}

func newSpace(name string, head Head) *space {
	w := &space{name: name, keys: newKeyIndex()}
	w.head.Store(&head)
	return w
}

// Open opens or creates the store in dir. It reads every log once and compares it with its
// checksums, digests, chain and the high-water file before anything is served; what is missing or
// changed is an error that wraps [ErrDamaged] and names workspace and seq.
func Open(dir string, opts Options) (_ *Badger, err error) {
	b := &Badger{
		dir: dir, opts: opts, log: cmp.Or(opts.Logger, slog.Default()),
		closing: make(chan struct{}), stopped: make(chan struct{}),
		system: newSpace("", Head{}), spaces: make(map[string]*space),
		committer: committerState{queue: make(chan *request, maxRecords)},
		marker:    markerState{dirty: make(chan struct{}, 1), due: make(chan struct{}, 1), marked: make(chan struct{})},
	}
	if b.opts.free == nil {
		b.opts.free = freeSpace
		if !spaceKnown {
			b.log.Warn("free disk space is not known on this system; the guard against a full disk is off")
		}
	}
	if b.opts.rest == 0 {
		b.opts.rest = markDelay
	}
	if b.opts.commit == nil {
		b.opts.commit = (*badger.Txn).Commit
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening storage: %w", err)
	}
	if b.unlock, err = lockDir(filepath.Join(dir, "lock")); err != nil {
		return nil, fmt.Errorf("opening storage in %s: %w", dir, err)
	}
	defer func() {
		if err != nil {
			if b.db != nil {
				err = errors.Join(err, b.db.Close())
			}
			b.unlock()
			err = fmt.Errorf("opening storage in %s: %w", dir, err)
		}
	}()
	if err := os.MkdirAll(b.path(), 0o700); err != nil {
		return nil, err
	}
	b.committer.guard = spaceGuard{dir: b.path(), free: b.opts.free}
	if err := b.committer.guard.look(); err != nil {
		return nil, err
	}
	if err := b.load(); err != nil {
		return nil, err
	}
	b.keepPrivate()
	if err := b.sweepSnapshots(); err != nil {
		return nil, fmt.Errorf("sweeping snapshots: %w", err)
	}
	go b.commitLoop()
	go b.markLoop()
	if err := b.resumeDeletes(); err != nil {
		b.stop()
		return nil, err
	}
	return b, nil
}

func (b *Badger) path() string { return filepath.Join(b.dir, "db") }

// syncWrites is off in a test only, which must then lose events.
var syncWrites = true

// tuning is the one place where badger is configured. Its defaults would lose acknowledged events
// in a power cut (SyncWrites is off). Checksums of tables are verified by [inspect], where a panic can be
// caught. The value log is never used: all values stay below ValueThreshold, since it reports failed syncs
// as success.
func tuning(path string, logger badger.Logger) badger.Options {
	return badger.DefaultOptions(path).
		WithSyncWrites(syncWrites).
		WithMemTableSize(memTable).
		WithNumMemtables(3).
		WithBlockCacheSize(32 << 20).
		WithValueLogFileSize(16 << 20). // never filled; the default makes empty databases look 2 GB large
		WithChecksumVerificationMode(options.NoVerification).
		WithDetectConflicts(false). // there is one writer
		WithMetricsEnabled(false).  // its expvars are global and would mix databases
		WithNumCompactors(2).
		WithLogger(logger)
}

// openDB opens the badger database. Its panics, where it opens on our goroutine, become errors.
func openDB(path string, logger badger.Logger) (db *badger.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("%w: badger panicked while opening: %.200v", ErrDamaged, p)
		}
	}()
	db, err = badger.Open(tuning(path, logger))
	switch {
	case err == nil:
		return db, nil
	case strings.Contains(err.Error(), "Another process is using this Badger database"):
		return nil, ErrInUse
	case errors.Is(err, os.ErrPermission):
		return nil, err
	}
	return nil, fmt.Errorf("%w: badger cannot open it: %w", ErrDamaged, err)
}

// slogger hands badger's log lines on. An ERROR line is the only sign of some of its failures.
type slogger struct{ b *Badger }

func (l slogger) line(level slog.Level, format string, args []any) string {
	s := strings.TrimSpace(fmt.Sprintf(format, args...))
	l.b.log.Log(context.Background(), level, s, "from", "badger")
	return s
}

func (l slogger) Errorf(format string, args ...any) {
	l.b.doubt(fmt.Errorf("badger reports: %s", l.line(slog.LevelError, format, args)))
}
func (l slogger) Warningf(format string, args ...any) { l.line(slog.LevelWarn, format, args) }
func (l slogger) Infof(format string, args ...any)    { l.line(slog.LevelDebug, format, args) }
func (l slogger) Debugf(string, ...any)               {} // several lines a commit

func (b *Badger) doubt(err error) { b.suspect.CompareAndSwap(nil, &err) }

// Health is nil, or wraps [ErrReadOnly] after a failed write, [ErrDamaged] where damage was
// accepted, or reports the first error that badger logged.
func (b *Badger) Health() error {
	if err := b.failed.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrReadOnly, *err)
	}
	if err := b.suspect.Load(); err != nil {
		return *err
	}
	return nil
}

// Writable implements [Store]. It looks at the disk as a write would, which refuses while there is too little space.
func (b *Badger) Writable() error {
	if err := b.refused(); err != nil {
		return err
	}
	return b.alive((&spaceGuard{dir: b.path(), free: b.opts.free}).look)
}

// alive runs fn unless the store is closed, and keeps Close waiting meanwhile. fn must not call alive.
func (b *Badger) alive(fn func() error) error {
	b.life.RLock()
	defer b.life.RUnlock()
	if b.closed() {
		return ErrClosed
	}
	return fn()
}

// view runs fn in a read transaction; see alive.
func (b *Badger) view(fn func(*badger.Txn) error) error {
	return b.alive(func() error { return b.db.View(fn) })
}

func (b *Badger) closed() bool {
	select {
	case <-b.closing:
		return true
	default:
		return false
	}
}

// Close refuses what is queued, waits for what is being committed or read, and closes the database. Where
// there is too little room for that, badger is left as it is: the directory opens like one of a killed
// process, but not in this process again.
func (b *Badger) Close() error {
	b.once.Do(func() {
		b.stop()
		b.life.Lock()
		defer b.life.Unlock()
		b.ended = b.writeMark()
		if (&spaceGuard{dir: b.path(), free: b.opts.free}).closes() {
			b.ended = errors.Join(b.ended, b.db.Close())
			b.keepPrivate() // closing writes tables
		} else { // which ends the process on a full disk
			b.log.Warn("too little disk space to close the database in order; it is left as by a kill, and nothing is lost")
		}
		b.ended = errors.Join(b.ended, b.unlock())
	})
	return b.ended
}

func (b *Badger) stop() {
	close(b.closing)
	<-b.stopped
	<-b.marker.marked
}

// Log opens the log of a workspace and creates the workspace if it is new.
func (b *Badger) Log(workspace string) (Log, error) {
	w, err := b.space(workspace)
	if err != nil {
		return nil, fmt.Errorf("log of workspace %q: %w", workspace, err)
	}
	return &badgerLog{b, w}, nil
}

// Table opens the table of a workspace and creates the workspace if it is new.
func (b *Badger) Table(workspace string) (Table, error) {
	w, err := b.space(workspace)
	if err != nil {
		return nil, fmt.Errorf("table of workspace %q: %w", workspace, err)
	}
	return &badgerTable{b, w}, nil
}

// System is the table of no workspace.
func (b *Badger) System() Table { return &badgerTable{b, b.system} }

func (b *Badger) known(name string) (*space, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.spaces[name]
	if w == nil {
		return nil, ErrNotFound
	}
	if w.gone.Load() {
		return w, fmt.Errorf("%w: it is being deleted", ErrNotFound)
	}
	return w, nil
}

func (b *Badger) space(name string) (*space, error) {
	if err := checkWorkspace(name); err != nil {
		return nil, err
	}
	if b.closed() {
		return nil, ErrClosed
	}
	if w, err := b.known(name); w != nil {
		return w, err
	}
	b.create.Lock()
	defer b.create.Unlock()
	if w, err := b.known(name); w != nil {
		return w, err
	}
	err := b.submit(context.Background(), &request{records: 1, size: 256, apply: func(t *tx) error {
		return t.set(registryKey(name), encodeWorkspace(0))
	}})
	if err != nil {
		return nil, err
	}
	w := newSpace(name, Head{})
	b.mu.Lock()
	b.spaces[name] = w
	b.mu.Unlock()
	return w, nil
}

// Workspaces lists the names, sorted.
func (b *Badger) Workspaces(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if b.closed() {
		return nil, ErrClosed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	names := make([]string, 0, len(b.spaces))
	for name, w := range b.spaces {
		if !w.gone.Load() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
