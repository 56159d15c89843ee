// Package storage keeps the histories of workspaces, durably.
//
// A workspace is one append-only log and one small map of rows. The log is the truth:
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
// [Store] has the rules of logs, rows, snapshots, leases, erasures and backups. Below it an [Engine] is an
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

// The errors of a store, by the moment they occur.
var (
	// While opening: another process has the directory.
	ErrInUse = errors.New("data directory is in use")
	// While opening or reading: acknowledged data is missing or changed.
	ErrDamaged = errors.New("data is damaged")
	// While writing: the disk has too little room left; reads go on.
	ErrNoSpace = errors.New("too little disk space")
	// While writing: an earlier commit failed, so nothing more is accepted until a restart.
	ErrReadOnly = errors.New("storage stopped accepting writes")
	// While reading or writing: the database does not answer. Of a write it is unknown whether it is stored.
	ErrUnavailable = errors.New("the database does not answer")
	// In an append: the log does not end where the batch says. Nothing of it is stored.
	ErrBehind = errors.New("another process appended first")
	// In a batch: a row does not have the version that the batch says. Nothing of it is stored.
	ErrConflict = errors.New("version conflict")
	// A row or a workspace that does not exist.
	ErrNotFound = errors.New("not found")
	// Another process holds the lease, or took it over since.
	ErrHeld = errors.New("another process holds the lease")
	// Any call after Close.
	ErrClosed = errors.New("storage is closed")
)

// The most bytes of the payload of one event or row, of the key of a row, and of the name of a workspace.
const (
	MaxPayload   = 256 << 10
	maxRowKey    = 512
	maxWorkspace = 128
)

// Record is an event to be appended. A key that is not empty identifies the recorded thing (an episode id): a second
// record with the same key is a duplicate if its payload is the same, and a conflict if not.
type Record struct {
	Key     string
	Payload []byte
	Changes []Change // take effect in the same transaction
}

// Change sets a row or, without a value, deletes it. Version, where not nil, is the one that the row must
// have, 0 for a row that must not exist; if it has another one, the batch is refused with [ErrConflict].
type Change struct {
	Key     string
	Value   []byte // nil: delete
	Version *uint64
}

// Batch is one transaction in a workspace. A batch without records and changes creates the workspace.
type Batch struct {
	At      *Head    // where the log must end, else [ErrBehind]; nil: anywhere
	Records []Record // stored in order; more than one transaction holds are stored in several, each atomic
	Changes []Change // take effect with the first transaction
	Erase   []uint64 // events of which the payload is erased with the first transaction; unknown ones are no error
}

// Done is the result of a batch. After a failed append it has the receipts of the transactions before.
type Done struct {
	Receipts []Receipt // of the records, in order
	Head     Head      // the end of the log after the batch
}

// Receipt answers one record.
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
	// Logger receives the reports of the store and of badger; nil is slog.Default().
	Logger *slog.Logger

	free   func(dir string) (uint64, error) // replaces statfs in tests
	commit func(fn func() error) error      // wraps each commit in tests
}

// Store holds the workspaces. All methods may be called concurrently. The workspace "" always exists; it has
// rows alone, those that belong to no workspace.
type Store struct {
	engine Engine
	log    *slog.Logger
	holder string // of leases

	turn    chan struct{} // held by the transaction that writes
	running sync.WaitGroup
	life    context.Context
	end     context.CancelFunc

	snapshots sync.Mutex // serializes PutSnapshot, which first deletes orphaned parts

	mu      sync.Mutex
	closed  bool
	spaces  map[string]*space
	lost    error     // why the engine did not answer last; nil: it did
	contact time.Time // when it answered last
}

// space is a workspace as it was last seen.
type space struct {
	header
	moved chan struct{} // closed when the header changes

	cached map[string]cachedRow // see [Table.Cached]
}

// New makes a store of an engine, which it closes. It reads the headers of all workspaces and, where no other process
// writes, reads and verifies every log.
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

// Close waits for the transaction that writes, refuses everything else, and closes the engine.
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
	s.turn <- struct{}{} // for good
	return s.engine.Close()
}

// view runs f on one consistent state, with the header of a workspace.
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

// Writable is nil, or says why writes are refused now: [ErrReadOnly], [ErrNoSpace], [ErrUnavailable], [ErrClosed].
func (s *Store) Writable() error {
	if s.life.Err() != nil {
		return ErrClosed
	}
	return cmp.Or(s.unavailable(), s.engine.Writable())
}

// unavailable is why nothing can be asked now. A poll that Close ends is no outage.
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

// saw keeps the header of a workspace, unless a newer one is known. s.mu is held.
func (s *Store) saw(name string, h header) {
	if w := s.space(name); w.Changes < h.Changes {
		w.header = h
		close(w.moved)
		w.moved = make(chan struct{})
	}
}

// space is what is kept of a workspace. s.mu is held.
func (s *Store) space(name string) *space {
	w := s.spaces[name]
	if w == nil {
		w = &space{moved: make(chan struct{}), cached: map[string]cachedRow{}}
		s.spaces[name] = w
	}
	return w
}

// seen is the header of a workspace as it was last seen.
func (s *Store) seen(workspace string) (h header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.spaces[workspace]; w != nil {
		h = w.header
	}
	return h
}

// pollInterval is how often a shared engine is asked what others wrote: rows and events of one process hold in all
// others within a second.
const pollInterval = 250 * time.Millisecond

// follow reads what other processes write.
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

// Head is the end of the log of a workspace, as far as it is known without asking the engine.
func (s *Store) Head(workspace string) Head { return s.seen(workspace).Head }

// Changes counts the transactions that changed a workspace, as far as is known without asking the engine, and
// returns a channel that is closed when there are more: whoever keeps rows in memory then reads them again.
func (s *Store) Changes(workspace string) (n uint64, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.space(workspace)
	return w.Changes, w.moved
}

// Exists reports whether there is a workspace. One that another process creates is known within a second.
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
