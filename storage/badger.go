package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/gofrs/flock"
)

// badgerEngine keeps everything in one badger database. A directory looks like this:
//
//	lock         held while a process has the directory
//	highwater    the number of commits, see keepMark
//	db/          badger's files
type badgerEngine struct {
	dir    string // empty: in memory
	db     *badger.DB
	log    *slog.Logger
	unlock func() error // nil: in memory
	commit func(func() error) error
	guard  *spaceGuard

	life    sync.RWMutex // held for reading by every call that uses the database
	closed  bool
	writing sync.Mutex // one transaction writes at a time
	commits atomic.Uint64
	marking sync.WaitGroup
	endMark context.CancelFunc

	failed atomic.Pointer[error] // the first lasting failure; if set, all writes are rejected
}

// Open opens or creates the store in a directory, or in the database of PostgreSQL at an address postgres://…. In a
// directory it first verifies all tables of the database and all logs; missing or changed data is an error that wraps
// [ErrDamaged].
func Open(where string, opts Options) (*Store, error) {
	ctx := context.Background()
	e, err := openEngine(ctx, where, opts)
	var s *Store
	if err == nil {
		s, err = New(ctx, e, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("opening storage in %s: %w", Name(where), err)
	}
	return s, nil
}

func openEngine(ctx context.Context, where string, opts Options) (Engine, error) {
	if strings.Contains(where, "://") {
		return openPostgres(ctx, where)
	}
	return openBadger(where, opts)
}

// MemoryEngine returns an empty in-memory engine, whose data is lost when the process ends.
// It is for tests and experiments.
func MemoryEngine() Engine {
	unlimited := func(string) (uint64, error) { return math.MaxUint64, nil }
	e := newBadger("", Options{Logger: slog.New(slog.DiscardHandler), free: unlimited})
	var err error
	if e.db, err = badger.Open(tuning("", e).WithInMemory(true).WithNumMemtables(2).WithNumCompactors(0).WithNumLevelZeroTablesStall(math.MaxInt).WithBlockCacheSize(1 << 20)); err != nil {
		panic("storage: " + err.Error()) // no file can fail
	}
	return e
}

// NewMemory returns a store of a [MemoryEngine].
func NewMemory() *Store {
	s, err := New(context.Background(), MemoryEngine(), Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic("storage: " + err.Error())
	}
	return s
}

func newBadger(dir string, opts Options) *badgerEngine {
	e := &badgerEngine{dir: dir, log: cmp.Or(opts.Logger, slog.Default()), commit: opts.commit, endMark: func() {}, guard: &spaceGuard{free: opts.free}}
	if e.commit == nil {
		e.commit = func(f func() error) error { return f() }
	}
	if e.guard.free == nil {
		e.guard.free = freeSpace
	}
	return e
}

func openBadger(dir string, opts Options) (_ *badgerEngine, err error) {
	e := newBadger(dir, opts)
	if e.unlock, err = Lock(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			if e.db != nil {
				err = errors.Join(err, e.db.Close())
			}
			_ = e.unlock()
		}
	}()
	if err = os.MkdirAll(e.path(), 0o700); err == nil {
		err = os.Chmod(e.path(), 0o700) // badger creates files with permissions that depend on the umask
	}
	if e.guard.dir = e.path(); !spaceKnown {
		e.log.Warn("free disk space is not known on this system; the guard against a full disk is off")
	}
	if err == nil {
		err = e.guard.check()
	}
	if err == nil {
		err = dropEmpty(e.path())
	}
	if err != nil {
		return nil, err
	}
	before, err := readMark(dir)
	if err == nil {
		err = inspect(e.path(), before)
	}
	if err == nil {
		e.db, err = openDB(e.path(), e)
	}
	if err != nil {
		return nil, err
	}
	e.guard.wrote(spaceBytes) // the first write checks the space again, and reserves space for the new write-ahead log
	commits, err := e.readCommits()
	if err == nil && commits < before {
		err = damaged("%d transactions were acknowledged and %d are left", before, commits)
	}
	if err != nil {
		return nil, err
	}
	e.commits.Store(commits)
	ctx, cancel := context.WithCancel(context.Background())
	e.endMark = cancel
	e.marking.Go(func() { e.keepMark(ctx) })
	return e, nil
}

// Lock locks a data directory for this process until unlock is called or the process ends. It creates the directory if
// needed, and returns [ErrInUse] if another process holds the lock.
func Lock(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	if held, err := lock.TryLock(); err != nil {
		return nil, err
	} else if !held {
		return nil, ErrInUse
	}
	return lock.Close, nil
}

func (e *badgerEngine) path() string { return filepath.Join(e.dir, "db") }

// syncWrites is off only in one test, which expects that events are then lost.
var syncWrites = true

// tuning is the one place where badger is configured. The defaults would lose acknowledged events in a power cut
// (SyncWrites is off). Checksums of tables are verified by [inspect], where a panic can be caught. The value log
// reports failed syncs as success, so it is never used: all values stay below ValueThreshold. Closing compacts level
// 0, so that erased bytes are gone from the files.
func tuning(path string, logger badger.Logger) badger.Options {
	return badger.DefaultOptions(path).
		WithSyncWrites(syncWrites).
		WithMemTableSize(memTable).
		WithNumMemtables(3).
		WithBlockCacheSize(32 << 20).
		WithValueLogFileSize(16 << 20). // never filled; the default makes empty databases look 2 GB large
		WithChecksumVerificationMode(options.NoVerification).
		WithCompactL0OnClose(true).
		WithDetectConflicts(false). // there is one writer
		WithMetricsEnabled(false).  // its expvars are global and would mix databases
		WithNumCompactors(2).
		WithLogger(logger)
}

// openDB opens the badger database. A panic of badger on this goroutine is returned as an error.
func openDB(path string, logger badger.Logger) (db *badger.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, damaged("badger panicked while opening: %.200v", p)
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

// Errorf receives badger's error messages and stops all writes. An ERROR line is the only
// sign of some of badger's failures.
func (e *badgerEngine) Errorf(format string, args ...any) {
	e.fail(fmt.Errorf("badger reports: "+strings.TrimSpace(format), args...))
}

// Warningf receives badger's warnings.
func (e *badgerEngine) Warningf(format string, args ...any) {
	e.log.Warn(strings.TrimSpace(fmt.Sprintf(format, args...)), "from", "badger")
}

// Infof receives badger's info messages.
func (e *badgerEngine) Infof(format string, args ...any) {
	e.log.Debug(strings.TrimSpace(fmt.Sprintf(format, args...)), "from", "badger")
}

// Debugf drops badger's debug messages, since there are several per commit.
func (e *badgerEngine) Debugf(string, ...any) {}

func (e *badgerEngine) fail(err error) {
	e.failed.CompareAndSwap(nil, &err)
	e.log.Error("storage accepts no more writes", "error", err)
}

func (e *badgerEngine) Shared() bool { return false }

func (e *badgerEngine) Writable() error { return e.alive(e.refused) }

// refused returns the error with which writes are now rejected, or nil. It also checks the free disk space.
func (e *badgerEngine) refused() error {
	if err := e.failed.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrReadOnly, *err)
	}
	return e.guard.check()
}

// alive runs f unless the engine is closed. Close waits until f returns.
func (e *badgerEngine) alive(f func() error) error {
	e.life.RLock()
	defer e.life.RUnlock()
	if e.closed {
		return ErrClosed
	}
	return f()
}

func (e *badgerEngine) View(_ context.Context, f func(Reader) error) error {
	return e.alive(func() error { return e.db.View(func(txn *badger.Txn) error { return f(badgerReader{txn}) }) })
}

func (e *badgerEngine) Update(_ context.Context, _ []string, f func(Reader) ([]Pair, error)) error {
	return e.alive(func() error {
		e.writing.Lock()
		defer e.writing.Unlock()
		return e.update(f)
	})
}

// update commits the writes that f returns. The caller holds e.writing. After any failure in a commit all further
// writes are rejected, because the state on disk is unknown.
func (e *badgerEngine) update(f func(Reader) ([]Pair, error)) (err error) {
	txn := e.db.NewTransaction(true)
	defer txn.Discard()
	writes, err := f(badgerReader{txn})
	if err != nil || len(writes) == 0 {
		return err
	}
	if err := e.refused(); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("badger panicked: %.200v", p)
		}
		if err != nil {
			e.fail(err)
			err = fmt.Errorf("%w: %w", ErrReadOnly, err)
		}
	}()
	n, size := e.commits.Load()+1, 0
	for _, w := range append(writes[:len(writes):len(writes)], Pair{commitsKey, []byte(name(n))}) {
		size += len(w.Value) + len(w.Name) + len(w.Space) + 100
		if w.Value == nil {
			err = txn.Delete(w.bytes())
		} else {
			err = txn.Set(w.bytes(), w.Value)
		}
		if err != nil {
			return err
		}
	}
	if err := e.commit(txn.Commit); err != nil {
		return err
	}
	e.commits.Store(n)
	e.guard.wrote(size)
	return nil
}

// dropAtOnce is the maximum number of entries that one commit deletes. With the longest names
// they stay below badger's limit.
const dropAtOnce = 2000

func (e *badgerEngine) Drop(ctx context.Context, t kind, space, from, to string) error {
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := e.Update(ctx, nil, func(r Reader) (writes []Pair, err error) {
			for k := range r.(badgerReader).items(t, space, from, to, false) {
				if writes = append(writes, Pair{Key: k}); len(writes) == dropAtOnce {
					return writes, nil
				}
			}
			more = false
			return writes, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Close closes the database. If there is too little disk space for that, badger is left open: the directory opens
// again like one of a killed process, but not in this process.
func (e *badgerEngine) Close() (err error) {
	e.life.Lock()
	defer e.life.Unlock()
	e.closed = true
	e.endMark()
	e.marking.Wait()
	if e.guard.closes() {
		err = e.db.Close()
	} else { // closing the database would end the process on a full disk
		e.log.Warn("too little disk space to close the database in order; it is left as by a kill, and nothing is lost")
	}
	if e.unlock != nil {
		err = errors.Join(err, e.unlock())
	}
	return err
}

// bytes returns the key in badger: the table, the length of the space, the space, and the name. The length ensures
// that no space is a prefix of another.
func (k Key) bytes() []byte {
	b := append(make([]byte, 0, 2+len(k.Space)+len(k.Name)), byte(k.Table), byte(len(k.Space)))
	return append(append(b, k.Space...), k.Name...)
}

// badgerReader reads in a transaction.
type badgerReader struct{ txn *badger.Txn }

func (r badgerReader) Now() (time.Time, error) { return time.Now(), nil }

func (r badgerReader) Get(keys ...Key) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, k := range keys {
		item, err := r.txn.Get(k.bytes())
		if errors.Is(err, badger.ErrKeyNotFound) {
			continue
		}
		if err == nil {
			values[i], err = item.ValueCopy([]byte{})
		}
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (r badgerReader) Scan(t kind, space, from, to string) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		for k, item := range r.items(t, space, from, to, true) {
			stop := false
			err := item.Value(func(v []byte) error { stop = !yield(Pair{k, v}, nil); return nil })
			if err != nil {
				yield(Pair{}, err)
				return
			}
			if stop {
				return
			}
		}
	}
}

func (r badgerReader) items(t kind, space, from, to string, values bool) iter.Seq2[Key, *badger.Item] {
	return func(yield func(Key, *badger.Item) bool) {
		prefix := Key{t, space, ""}.bytes()
		it := r.txn.NewIterator(badger.IteratorOptions{Prefix: prefix, PrefetchValues: values, PrefetchSize: 10})
		defer it.Close()
		for it.Seek(append(prefix[:len(prefix):len(prefix)], from...)); it.Valid(); it.Next() {
			k := Key{t, space, string(it.Item().Key()[len(prefix):])}
			if to != "" && k.Name >= to || !yield(k, it.Item()) {
				return
			}
		}
	}
}
