// Package storage stores the histories of workspaces durably.
//
// A workspace is one append-only log and one small map of rows. The log is the source of truth:
//
//	seq    1        2        3                    dense, from 1
//	chain  c1 ───▶  c2 ───▶  c3                   c(n) = SHA-256(c(n-1) ‖ seq ‖ digest(payload n))
//
// Everything else in the program is computed from it. The rows hold the state that is not history: keys, runs,
// proposals. One transaction appends events and changes rows:
//
//	store, err := storage.Open(dir, storage.Options{})
//	done, err := store.Append(ctx, "default", storage.Batch{Records: []storage.Record{{Key: "episode/1", Payload: b}}})
//
// [Store] implements the rules of logs, rows, snapshots, leases, erasures and backups. It runs on an [Engine], an
// ordered map with transactions: badger in one directory, or PostgreSQL, which several processes share.
package storage

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"waymark/internal/bounded"
)

// The errors of a store, grouped by when they occur.
var (
	// While opening: another process holds the directory.
	ErrInUse = errors.New("data directory is in use")
	// While opening or reading: acknowledged data is missing or changed.
	ErrDamaged = errors.New("data is damaged")
	// While writing: the disk has too little room left; reads go on.
	ErrNoSpace = errors.New("too little disk space")
	// While writing: an earlier commit failed, so nothing more is accepted until a restart.
	ErrReadOnly = errors.New("storage stopped accepting writes")
	// While reading or writing: the database does not answer. It is unknown whether a write was stored.
	ErrUnavailable = errors.New("the database does not answer")
	// In an append: the log does not end at Batch.At. Nothing of the batch is stored.
	ErrBehind = errors.New("another process appended first")
	// In a batch: a row does not have the version that the batch requires. Nothing of the batch is stored.
	ErrConflict = errors.New("version conflict")
	// A row or a workspace that does not exist.
	ErrNotFound = errors.New("not found")
	// Another process holds the lease, or has taken it over.
	ErrHeld = errors.New("another process holds the lease")
	// Any call after Close.
	ErrClosed = errors.New("storage is closed")
)

// The maximum size in bytes of the payload of one event or row, of the key of a row, and of the name of a workspace.
const (
	MaxPayload   = 256 << 10
	maxRowKey    = 512
	maxWorkspace = 128
)

// Record is an event to be appended. A non-empty key identifies the recorded object (for example an episode id): a
// second record with the same key is a duplicate if its payload is equal, and a conflict otherwise.
type Record struct {
	Key     string
	Payload []byte
	Changes []Change // take effect in the same transaction
}

// Change sets a row or, if Value is nil, deletes it. Version, if not nil, is the version that the row must have; 0
// means that the row must not exist. If the row has another version, the batch is rejected with [ErrConflict].
type Change struct {
	Key     string
	Value   []byte // nil: delete
	Version *uint64
}

// Batch is one transaction in a workspace. A batch without records and changes creates the workspace.
type Batch struct {
	At      *Head    // required end of the log, else [ErrBehind]; nil: no requirement
	Records []Record // stored in order; split into several atomic transactions if they do not fit in one
	Changes []Change // take effect with the first transaction
	Erase   []uint64 // events whose payloads are erased with the first transaction; unknown events are no error
}

// Done is the result of a batch. After a failed append it contains the receipts of the
// transactions before the failure.
type Done struct {
	Receipts []Receipt // of the records, in order
	Head     Head      // the end of the log after the batch
}

// Receipt is the result of one record.
type Receipt struct {
	Seq    uint64 // of the event stored, or of the earlier one with this key
	Status Status
	Chain  [32]byte // of the event stored
}

// Status of a record after an append.
type Status uint8

const (
	Stored    Status = iota // new, durable
	Duplicate               // the key is known with the same payload; nothing was written
	Conflict                // the key is known with another payload; nothing was written
)

// Options of a store.
type Options struct {
	// Logger receives the log messages of the store and of badger; nil is slog.Default().
	Logger *slog.Logger

	free   func(dir string) (uint64, error) // replaces statfs in tests
	commit func(fn func() error) error      // wraps each commit in tests
}

// Store holds the workspaces. All methods may be called concurrently. The workspace "" always exists; it has no log,
// only the rows that belong to no workspace.
type Store struct {
	engine Engine
	log    *slog.Logger
	holder string // random id of this store as a holder of leases

	turn    chan struct{} // semaphore of size 1, held by the running write transaction
	running sync.WaitGroup
	life    context.Context
	end     context.CancelFunc

	snapshots sync.Mutex // serializes PutSnapshot, which first deletes orphaned parts

	mu      sync.Mutex
	closed  bool
	spaces  map[string]*space
	lost    error     // error of the last poll if the engine did not answer; nil: it answered
	contact time.Time // time of the last answer of the engine
}

// space is the last known state of a workspace.
type space struct {
	header
	moved chan struct{} // closed when the header changes

	cached map[string]cachedRow // see [Table.Cached]
}

// New returns a store on an engine; [Store.Close] closes the engine. New reads the headers of all workspaces and, if
// no other process writes, reads and verifies every log.
func New(ctx context.Context, engine Engine, opts Options) (*Store, error) {
	s := newStore(engine, opts)
	err := s.look(ctx)
	if err == nil {
		err = s.view(ctx, "", func(r Reader, _ header) error {
			values, err := r.Get(restoring)
			if err == nil && values[0] != nil {
				err = errRestoring
			}
			return err
		})
	}
	if err == nil && !engine.Shared() {
		err = s.verify(ctx)
	}
	if err == nil {
		err = s.collectAll(ctx)
	}
	s.running.Go(s.follow)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newStore(engine Engine, opts Options) *Store {
	s := &Store{engine: engine, log: cmp.Or(opts.Logger, slog.Default()), holder: rand.Text(), turn: make(chan struct{}, 1), spaces: map[string]*space{}}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Close waits for the running write transaction, rejects all other calls, and closes the engine.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.running.Wait()
	s.turn <- struct{}{} // never released
	return s.engine.Close()
}

// view runs f on one consistent state and passes it the header of a workspace.
func (s *Store) view(ctx context.Context, workspace string, f func(Reader, header) error) error {
	if s.life.Err() != nil {
		return ErrClosed
	}
	if err := s.unavailable(); err != nil {
		return err
	}
	return s.engine.View(ctx, func(r Reader) error {
		h, err := readHeader(r, workspace)
		if err != nil {
			return err
		}
		return f(r, h)
	})
}

// Shared reports whether other processes write, too.
func (s *Store) Shared() bool { return s.engine.Shared() }

// Writable returns nil, or the error with which writes are now rejected: [ErrReadOnly], [ErrNoSpace],
// [ErrUnavailable], [ErrClosed].
func (s *Store) Writable() error {
	if s.life.Err() != nil {
		return ErrClosed
	}
	return cmp.Or(s.unavailable(), s.engine.Writable())
}

// unavailable returns the error with which all calls are now rejected, or nil. In a closed store that is [ErrClosed],
// because a poll that Close interrupts is not an outage.
func (s *Store) unavailable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	return s.lost
}

// look reads the headers of all workspaces.
func (s *Store) look(ctx context.Context) error {
	seen := map[string]header{}
	err := s.engine.View(ctx, func(r Reader) error {
		for p, err := range r.Scan(tableHeads, "", "", "") {
			if err != nil {
				return err
			}
			h, err := decodeHeader(p.Value)
			if err != nil {
				return damaged("workspace %q: %v", p.Name, err)
			}
			seen[p.Name] = h
		}
		return nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = nil
	if errors.Is(err, ErrUnavailable) {
		s.lost = err
	}
	if err == nil {
		s.contact = time.Now()
		for name, h := range seen {
			s.saw(name, h)
		}
	}
	return err
}

// saw stores the header of a workspace, unless a newer one is already stored. The caller holds s.mu.
func (s *Store) saw(name string, h header) {
	if w := s.space(name); w.Changes < h.Changes {
		w.header = h
		close(w.moved)
		w.moved = make(chan struct{})
	}
}

// space returns the in-memory entry of a workspace and creates it if it is missing. The caller holds s.mu.
func (s *Store) space(name string) *space {
	w := s.spaces[name]
	if w == nil {
		w = &space{moved: make(chan struct{}), cached: map[string]cachedRow{}}
		s.spaces[name] = w
	}
	return w
}

// seen returns the last known header of a workspace, or the zero header.
func (s *Store) seen(workspace string) (h header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.spaces[workspace]; w != nil {
		h = w.header
	}
	return h
}

// pollInterval is the interval at which a shared engine is polled for writes of other processes. Rows and events of
// one process take effect in all others within a second.
const pollInterval = 250 * time.Millisecond

// follow polls a shared engine for the writes of other processes until the store closes.
func (s *Store) follow() {
	for s.engine.Shared() && bounded.Wait(s.life, pollInterval) {
		before := s.unavailable()
		ctx, cancel := context.WithTimeout(s.life, engineTimeout)
		err := s.look(ctx)
		cancel()
		switch {
		case s.life.Err() != nil:
		case err != nil && before == nil:
			s.log.Error("the database does not answer; writes are refused until it does", "error", err)
		case err == nil && before != nil:
			s.log.Info("the database answers again")
		}
	}
}

// Head returns the end of the log of a workspace as last seen, without asking the engine.
func (s *Store) Head(workspace string) Head { return s.seen(workspace).Head }

// Changes returns the number of transactions that changed a workspace, as last seen without asking the engine, and a
// channel that is closed at the next change. A caller that keeps rows in memory then reads them again.
func (s *Store) Changes(workspace string) (n uint64, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.space(workspace)
	return w.Changes, w.moved
}

// Exists reports whether a workspace exists. A workspace that another process creates is visible within a second.
func (s *Store) Exists(workspace string) bool { return s.seen(workspace).exists() }

// Workspaces lists the names, sorted.
func (s *Store) Workspaces(ctx context.Context) ([]string, error) {
	if s.life.Err() != nil {
		return nil, ErrClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.spaces)), func(name string) bool { return name == "" || !s.spaces[name].exists() })
	return names, ctx.Err()
}

// Create makes a workspace, if it does not exist.
func (s *Store) Create(ctx context.Context, workspace string) error {
	_, err := s.Append(ctx, workspace, Batch{})
	return err
}

func checkWorkspace(name string) error {
	switch {
	case len(name) > maxWorkspace:
		return fmt.Errorf("workspace name of %d bytes; at most %d are allowed", len(name), maxWorkspace)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.Contains(name, "~"):
		return fmt.Errorf("workspace name %q is not UTF-8 or has a control character or ~", name)
	}
	return nil
}

func (b *Batch) check(workspace string) error {
	if workspace == "" && (len(b.Records) > 0 || len(b.Erase) > 0) {
		return errors.New("a log needs a workspace")
	}
	all := slices.Clip(b.Changes)
	for i, r := range b.Records {
		if len(r.Payload) > MaxPayload {
			return fmt.Errorf("record %d has a payload of %d bytes; at most %d are allowed", i, len(r.Payload), MaxPayload)
		}
		all = append(all, r.Changes...)
	}
	for _, c := range all {
		if err := c.check(); err != nil {
			return err
		}
	}
	rest := Batch{Changes: b.Changes, Erase: b.Erase}
	if _, size := rest.fits(); size > maxBytes || len(b.Changes) > maxRecords {
		return fmt.Errorf("%d rows and %d erasures of %d bytes are more than one transaction holds", len(b.Changes), len(b.Erase), size)
	}
	return nil
}

func (c *Change) check() error {
	switch {
	case c.Key == "":
		return errors.New("a row needs a key")
	case len(c.Key) > maxRowKey:
		return fmt.Errorf("row key of %d bytes; at most %d are allowed", len(c.Key), maxRowKey)
	case len(c.Value) > MaxPayload:
		return fmt.Errorf("row value of %d bytes; at most %d are allowed", len(c.Value), MaxPayload)
	}
	return nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
