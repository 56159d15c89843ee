package eventlog

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/storage"
)

// Control data (keys, workspaces, quarantine, proposals, answers to requests that may be repeated) are rows of tables.
// Where processes share a log, each change of such a row is an event of a log of its own, and the tables of each process
// are folded from it:
//
//	write   lock ─▶ condition on the row ─▶ append behind what is folded ─▶ row
//	        └──────── another process appended first: fold, and again ◀┘
//
// No model counts these events. Rows that describe this process alone (times of builds, vectors, spans) stay as they are.

// ControlLog is the name of the log; no workspace can have it.
const ControlLog = "_control"

// ErrUnavailable: nothing is written while the shared log does not answer; what is stored here can be read.
var ErrUnavailable = errors.New("the shared log does not answer")

// ErrKeysUnknown: the shared log has not answered for so long that a key may have been revoked.
var ErrKeysUnknown = fmt.Errorf("%w for so long that keys may have been revoked meanwhile", ErrUnavailable)

// controlled are the beginnings of the keys of rows that are shared, in the tables of workspaces and in that of none.
var controlled = map[bool][]string{
	true:  {"workspace", "quarantine/", "proposals/", "triangulations/", "evaluation", "digest-key", "runs/", "runs-open/", "runs-data/"},
	false: {keyPrefix, deletedPrefix},
}

// keyPrefix begins the rows of API keys.
const keyPrefix = "key/"

// Rows of the system table: the end of what is folded, that the rows that were here before are in the log, and when the
// log answered last, at most controlContact ago.
const (
	controlHeadRow    = "control-head"
	controlJoinedRow  = "control-joined"
	controlContactRow = "control-contact"

	controlContact = 30 * time.Second
)

// DefaultGrace is how long keys are accepted while the shared log does not answer.
const DefaultGrace = 15 * time.Minute

// How often the end of the log is looked at, so that what others did holds here within a second, and how long one call
// of the log may take.
const (
	controlLook    = 250 * time.Millisecond
	controlTimeout = 5 * time.Second
)

func isControlled(workspace, key string) bool {
	return slices.ContainsFunc(controlled[workspace != ""], func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// Shared is a store whose control rows are those of a shared log.
type Shared struct {
	storage.Store
	log  Log
	stop context.CancelFunc
	done chan struct{}

	mu       lock // held while something is written or folded
	grace    time.Duration
	head     storage.Head
	contact  time.Time                              // when the log answered last
	noted    time.Time                              // the contact that is stored
	failed   error                                  // the log does not answer
	broken   error                                  // the log is at odds with what was folded; nothing is answered any more
	watchers map[row]func(key string, value []byte) // by workspace and prefix
}

// A lock is held while the log is asked. It is a channel, since testing/synctest takes a goroutine that waits for a
// sync.Mutex for one that runs, and its time stands still.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

func newShared(store storage.Store, log Log) *Shared {
	return &Shared{Store: store, log: log, mu: make(lock, 1), done: make(chan struct{}), watchers: map[row]func(string, []byte){}, grace: DefaultGrace}
}

// Share joins a store to the control log: rows of the store that the log does not know are written into it. A store that
// joined before starts also while the log does not answer. The store stays the caller's to close, after [Shared.Leave].
func Share(ctx context.Context, store storage.Store, log Log) (*Shared, error) {
	background, stop := context.WithCancel(context.Background())
	s := newShared(store, log)
	s.stop = stop
	if err := s.join(ctx); err != nil {
		stop()
		return nil, fmt.Errorf("join the control log: %w", err)
	}
	go func() {
		defer close(s.done)
		for pauseFor(background, controlLook) == nil {
			_ = s.Sync(background) // what fails is asked again, and refuses writes until then
		}
	}()
	return s, nil
}

func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// SetGrace sets how long after the last answer of the log keys are read, before that is [ErrKeysUnknown]; 0: for ever.
func (s *Shared) SetGrace(grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grace = grace
}

// Leave ends following the log.
func (s *Shared) Leave() {
	s.stop()
	<-s.done
}

func (s *Shared) join(ctx context.Context) error {
	_, _, err := s.Store.System().Get(ctx, controlJoinedRow)
	if err == nil {
		return s.rejoin(ctx)
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	known, err := s.foldAll(ctx, func(c change) error { return s.put(ctx, c) })
	if err != nil {
		return err
	}
	for c, err := range controlRows(ctx, s.Store) {
		switch {
		case err != nil || known[c.row] != nil:
		case c.workspace != "" && known[row{key: deletedPrefix + c.workspace}] != nil: // it is of a workspace that was deleted
			c.value = nil
			err = s.put(ctx, c)
		default:
			err = s.write(ctx, c, func(uint64) error { return nil })
		}
		if err != nil {
			return err
		}
	}
	if err := s.keepHead(ctx); err != nil {
		return err
	}
	_ = s.outcome(nil)
	_, err = s.Store.System().Put(ctx, controlJoinedRow, nil)
	return err
}

func (s *Shared) keepHead(ctx context.Context) error {
	_, err := s.Store.System().Put(ctx, controlHeadRow, append(binary.BigEndian.AppendUint64(nil, s.head.Seq), s.head.Chain[:]...))
	return err
}

// rejoin goes on where this store left off.
func (s *Shared) rejoin(ctx context.Context) error {
	if row, _, err := s.Store.System().Get(ctx, controlContactRow); err == nil {
		if err := s.contact.UnmarshalBinary(row); err != nil {
			return fmt.Errorf("%w: row %s: %w", storage.ErrDamaged, controlContactRow, err)
		}
	} else if !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	row, _, err := s.Store.System().Get(ctx, controlHeadRow)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err == nil && len(row) != 40 {
		err = fmt.Errorf("%w: row %s has %d bytes", storage.ErrDamaged, controlHeadRow, len(row))
	}
	if err != nil {
		return err
	}
	s.head.Seq = binary.BigEndian.Uint64(row)
	copy(s.head.Chain[:], row[8:])
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	there := storage.Sealed{}
	if s.head.Seq > 0 {
		there, err = At(ctx, s.log, ControlLog, s.head.Seq)
	}
	switch {
	case err == nil && there.Head() != s.head:
		return fmt.Errorf("%w: event %d of %s", ErrDiverged, s.head.Seq, ControlLog)
	case errors.Is(err, storage.ErrNotFound):
		var head storage.Head
		if head, err = s.log.Head(ctx, ControlLog); err == nil {
			err = cmp.Or(Shorter(ControlLog, s.head.Seq, head.Seq), fmt.Errorf("event %d of %s cannot be read", s.head.Seq, ControlLog))
		}
		if errors.Is(err, ErrDiverged) {
			return err
		}
	case errors.Is(err, storage.ErrDamaged):
		return err
	case err == nil:
		err = s.pull(ctx)
	}
	if _ = s.outcome(err); errors.Is(s.broken, ErrNewer) {
		return s.broken
	}
	return nil // at odds otherwise, no row is answered
}

// Sync folds what the log has by now. Whoever has to know what another process wrote before calls it first.
func (s *Shared) Sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	head, err := s.log.Head(ctx, ControlLog)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	here := s.head.Seq
	if err == nil && head.Seq < here {
		head, err = s.log.Head(ctx, ControlLog) // something may have been written here between
	}
	if err == nil {
		err = Shorter(ControlLog, here, head.Seq)
	}
	if err == nil && head.Seq > here {
		err = s.pull(ctx)
	}
	return s.outcome(err)
}

// outcome keeps what a call of the log says about it, and what that means for the caller.
func (s *Shared) outcome(err error) error {
	switch {
	case err == nil:
		s.failed, s.contact = nil, time.Now()
		if s.contact.Sub(s.noted) >= controlContact {
			if row, err := s.contact.MarshalBinary(); err == nil {
				if _, err = s.Store.System().Put(context.Background(), controlContactRow, row); err == nil { // else it is older after a restart
					s.noted = s.contact
				}
			}
		}
		return nil
	case errors.Is(err, ErrDiverged), errors.Is(err, storage.ErrDamaged):
		s.broken = err
		return err
	case !errors.Is(err, context.Canceled):
		s.failed = err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// pull folds what the log has beyond what is folded.
func (s *Shared) pull(ctx context.Context) error {
	var batch []storage.Sealed
	head := s.head
	for e, err := range s.log.Read(ctx, ControlLog, head.Seq, false) {
		if err == nil {
			if err = e.Follows(head); err != nil {
				err = fmt.Errorf("%w: %w", ErrDiverged, err)
			}
		}
		if err != nil {
			return err
		}
		head, batch = e.Head(), append(batch, e)
		if len(batch) == MaxEvents {
			if err := s.apply(batch); err != nil {
				return err
			}
			batch = nil
		}
	}
	return s.apply(batch)
}

// apply brings the rows up to events. One that is cut short is done again: the end is written last.
func (s *Shared) apply(events []storage.Sealed) error {
	if len(events) == 0 {
		return nil
	}
	ctx := context.Background()
	last := map[row]int{}
	changes := make([]change, len(events))
	for i := range events {
		c, err := decodeChange(events[i].Payload)
		if err != nil {
			return fmt.Errorf("event %d of %s: %w", events[i].Seq, ControlLog, err)
		}
		changes[i], last[c.row] = c, i
	}
	for i, c := range changes {
		if last[c.row] == i {
			if err := s.put(ctx, c); err != nil {
				return err
			}
		}
		if workspace, ok := deletedIn(c); ok {
			if _, err := s.deleteRows(ctx, workspace, func(key string) bool { return isControlled(workspace, key) }); err != nil {
				return err
			}
		}
	}
	s.head = events[len(events)-1].Head()
	if err := s.keepHead(ctx); err != nil {
		return err
	}
	for i, c := range changes {
		if last[c.row] == i {
			for of, changed := range s.watchers {
				if of.workspace == c.workspace && strings.HasPrefix(c.key, of.key) {
					changed(c.key, c.value)
				}
			}
		}
	}
	return nil
}

func (s *Shared) table(workspace string) (storage.Table, error) {
	if workspace == "" {
		return s.Store.System(), nil
	}
	return s.Store.Table(workspace)
}

// put changes the row here.
func (s *Shared) put(ctx context.Context, c change) error {
	table, err := s.table(c.workspace)
	if err != nil {
		return err
	}
	if c.value == nil {
		if err = table.Delete(ctx, c.key); errors.Is(err, storage.ErrNotFound) {
			err = nil
		}
		return err
	}
	_, err = table.Put(ctx, c.key, c.value)
	return err
}

// write makes a change where the current version of its row allows it.
func (s *Shared) write(ctx context.Context, c change, may func(version uint64) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	payload := c.encode()
	if len(payload) > storage.MaxPayload {
		return fmt.Errorf("row %q has %d bytes with its key; the most is %d", c.key, len(payload), storage.MaxPayload)
	}
	table, err := s.table(c.workspace)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), controlTimeout)
	defer cancel()
	for {
		switch {
		case s.broken != nil:
			return s.broken
		case s.failed != nil:
			return fmt.Errorf("%w: %w", ErrUnavailable, s.failed)
		}
		_, version, err := table.Get(ctx, c.key)
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		if c.value == nil && version == 0 {
			return nil
		}
		if err := may(version); err != nil {
			return err
		}
		events, err := storage.Seal(s.head, []storage.Record{{Payload: payload}})
		if err != nil {
			return err
		}
		var conflict *ErrConflict
		err = s.log.Append(ctx, ControlLog, events)
		if err != nil && !errors.As(err, &conflict) { // of unknown outcome: repeated, it counts once
			err = s.log.Append(ctx, ControlLog, events)
		}
		if err == nil {
			return s.apply(events)
		}
		if !errors.As(err, &conflict) {
			return s.outcome(err)
		}
		before := s.head
		if err := s.outcome(s.pull(ctx)); err != nil {
			return err
		}
		if s.head == before { // what conflicts cannot be read, or the log ends early
			return s.outcome(cmp.Or(Shorter(ControlLog, before.Seq, conflict.At), error(conflict)))
		}
	}
}

// System implements [storage.Store].
func (s *Shared) System() storage.Table { return &sharedTable{s.Store.System(), s, ""} }

// Table implements [storage.Store].
func (s *Shared) Table(workspace string) (storage.Table, error) {
	table, err := s.Store.Table(workspace)
	if err != nil {
		return nil, err
	}
	return &sharedTable{table, s, workspace}, nil
}

// Health implements [storage.Maintenance].
func (s *Shared) Health() error {
	s.mu.Lock()
	broken := s.broken
	s.mu.Unlock()
	return errors.Join(broken, s.Store.Health())
}

// sharedTable is one table of a [Shared].
type sharedTable struct {
	storage.Table
	s         *Shared
	workspace string
}

// Get implements [storage.Table]. Once the log is at odds with what is here, no shared row is answered, and once it has
// not answered for long, no key: it may have been revoked.
func (t *sharedTable) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	if isControlled(t.workspace, key) {
		t.s.mu.Lock()
		broken, silent, grace := t.s.broken, time.Since(t.s.contact), t.s.grace
		t.s.mu.Unlock()
		if broken != nil {
			return nil, 0, broken
		}
		if grace > 0 && silent > grace && t.workspace == "" && strings.HasPrefix(key, keyPrefix) {
			return nil, 0, ErrKeysUnknown
		}
	}
	return t.Table.Get(ctx, key)
}

// Put implements [storage.Table].
func (t *sharedTable) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if !isControlled(t.workspace, key) {
		return t.Table.Put(ctx, key, value)
	}
	return t.write(ctx, key, value, func(uint64) error { return nil })
}

// CAS implements [storage.Table].
func (t *sharedTable) CAS(ctx context.Context, key string, version uint64, value []byte) (uint64, error) {
	if !isControlled(t.workspace, key) {
		return t.Table.CAS(ctx, key, version, value)
	}
	return t.write(ctx, key, value, ifVersion(version))
}

// Delete implements [storage.Table].
func (t *sharedTable) Delete(ctx context.Context, key string) error {
	if !isControlled(t.workspace, key) {
		return t.Table.Delete(ctx, key)
	}
	_, err := t.write(ctx, key, nil, func(uint64) error { return nil })
	return err
}

// DeleteVersion is Delete of a row that must have this version.
func (t *sharedTable) DeleteVersion(ctx context.Context, key string, version uint64) error {
	_, err := t.write(ctx, key, nil, ifVersion(version))
	return err
}

func ifVersion(want uint64) func(uint64) error {
	return func(version uint64) error {
		if version != want {
			return storage.ErrConflict
		}
		return nil
	}
}

func (t *sharedTable) write(ctx context.Context, key string, value []byte, may func(version uint64) error) (version uint64, err error) {
	if len(value) == 0 && value != nil {
		value = []byte{}
	}
	err = t.s.write(ctx, change{row{t.workspace, key}, value}, func(v uint64) error {
		version = v + 1
		return may(v)
	})
	if err != nil {
		return 0, fmt.Errorf("table row %q: %w", key, err)
	}
	return version, nil
}

// Sync is [Shared.Sync].
func (t *sharedTable) Sync(ctx context.Context) error { return t.s.Sync(ctx) }

// Watch calls changed for each row with the prefix, and from then on for each that changes here or elsewhere, in the
// order of the log; value is nil where it was deleted. It must not write. A second call for a prefix replaces the first.
func (t *sharedTable) Watch(ctx context.Context, prefix string, changed func(key string, value []byte)) error {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	for e, err := range t.Table.List(ctx, prefix) {
		if err != nil {
			return err
		}
		changed(e.Key, e.Value)
	}
	t.s.watchers[row{t.workspace, prefix}] = changed
	return nil
}
