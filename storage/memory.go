package storage

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
)

// memory is a [Store] in maps: the same receipts, chains, snapshots and backups as [Badger], gone
// with the process. It is for tests and for trying things out.
type memory struct {
	mu     sync.RWMutex
	closed bool
	spaces map[string]*memorySpace
	system *memorySpace
}

// memorySpace is one workspace. Payloads and values in it are never changed, only replaced.
type memorySpace struct {
	m      *memory
	name   string
	gone   bool
	events []storedEvent
	byKey  map[[32]byte]uint64
	rows   map[string]Entry
	snaps  []Snapshot // newest first
	snap   sync.Mutex // one snapshot is written at a time; taken before mu
}

// NewMemory returns an empty store.
func NewMemory() *memory {
	m := &memory{spaces: make(map[string]*memorySpace)}
	m.system = m.newSpace("")
	return m
}

func (m *memory) newSpace(name string) *memorySpace {
	return &memorySpace{m: m, name: name, byKey: make(map[[32]byte]uint64), rows: make(map[string]Entry)}
}

func (m *memory) space(name string) (*memorySpace, error) {
	if err := checkWorkspace(name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	if m.spaces[name] == nil {
		m.spaces[name] = m.newSpace(name)
	}
	return m.spaces[name], nil
}

// Log opens the log of a workspace and creates the workspace if it is new.
func (m *memory) Log(workspace string) (Log, error) {
	s, err := m.space(workspace)
	if err != nil {
		return nil, fmt.Errorf("log of workspace %q: %w", workspace, err)
	}
	return memoryLog{s}, nil
}

// Table opens the table of a workspace and creates the workspace if it is new.
func (m *memory) Table(workspace string) (Table, error) {
	s, err := m.space(workspace)
	if err != nil {
		return nil, fmt.Errorf("table of workspace %q: %w", workspace, err)
	}
	return memoryTable{s}, nil
}

// System is the table of no workspace.
func (m *memory) System() Table { return memoryTable{m.system} }

// Workspaces lists the names, sorted.
func (m *memory) Workspaces(ctx context.Context) ([]string, error) {
	defer m.mu.RUnlock()
	m.mu.RLock()
	if err := m.system.usable(ctx); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(m.spaces)), nil
}

// Delete removes a workspace; handles to it answer ErrNotFound from then on.
func (m *memory) Delete(ctx context.Context, workspace string) error {
	defer m.mu.Unlock()
	m.mu.Lock()
	if _, err := m.detach(ctx, workspace); err != nil {
		return fmt.Errorf("deleting workspace %q: %w", workspace, err)
	}
	return nil
}

// detach takes a workspace out of the store. The caller holds the lock.
func (m *memory) detach(ctx context.Context, workspace string) (*memorySpace, error) {
	s := m.spaces[workspace]
	err := m.system.usable(ctx)
	if err == nil && s == nil {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	s.gone = true
	delete(m.spaces, workspace)
	return s, nil
}

// Clear removes the log of a workspace; handles to it answer ErrNotFound from then on.
func (m *memory) Clear(ctx context.Context, workspace string) error {
	defer m.mu.Unlock()
	m.mu.Lock()
	s, err := m.detach(ctx, workspace)
	if err != nil {
		return fmt.Errorf("clearing the log of workspace %q: %w", workspace, err)
	}
	next := m.newSpace(workspace)
	next.rows = s.rows
	m.spaces[workspace] = next
	return nil
}

// Backup writes the store as it is at one moment.
func (m *memory) Backup(ctx context.Context, w io.Writer) (BackupSummary, error) {
	s, err := m.backup(ctx, w)
	if err != nil {
		return BackupSummary{}, fmt.Errorf("backup: %w", err)
	}
	return s, nil
}

func (m *memory) backup(ctx context.Context, w io.Writer) (s BackupSummary, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.system.usable(ctx); err != nil {
		return s, err
	}
	bw, err := newBackupWriter(w)
	if err != nil {
		return s, err
	}
	if err := m.system.backup(ctx, bw); err != nil {
		return s, err
	}
	for _, name := range slices.Sorted(maps.Keys(m.spaces)) {
		if err := m.spaces[name].backup(ctx, bw); err != nil {
			return s, err
		}
	}
	return bw.finish()
}

func (s *memorySpace) backup(ctx context.Context, bw *backupWriter) error {
	if err := bw.section(s.name); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(s.rows)) {
		if err := bw.row(key, s.rows[key].Version, s.rows[key].Value); err != nil {
			return err
		}
	}
	for i := range s.events {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := bw.event(s.events[i].Seq, encodeEvent(&s.events[i])); err != nil {
			return err
		}
	}
	return bw.end(s.head())
}

// Health is always nil.
func (m *memory) Health() error { return nil }

// Writable implements [Store].
func (m *memory) Writable() error { return nil }

// Close forgets nothing, but refuses everything from then on.
func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// usable is asked under the lock, before anything else.
func (s *memorySpace) usable(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.m.closed:
		return ErrClosed
	case s.gone:
		return ErrNotFound
	}
	return nil
}

func (s *memorySpace) head() Head {
	if len(s.events) == 0 {
		return Head{}
	}
	e := s.events[len(s.events)-1]
	return Head{Seq: e.Seq, Chain: e.Chain}
}

type memoryLog struct{ *memorySpace }

func (l memoryLog) Head() Head {
	l.m.mu.RLock()
	defer l.m.mu.RUnlock()
	return l.head()
}

func (l memoryLog) Append(ctx context.Context, records []Record) ([]Receipt, error) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	err := checkRecords(records)
	if err == nil {
		err = l.usable(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("append to %q: %w", l.name, err)
	}
	receipts := make([]Receipt, len(records))
	for i := range records {
		receipts[i] = l.append(newEvent(records[i]))
	}
	return receipts, nil
}

func (s *memorySpace) append(e storedEvent) Receipt {
	if seq, ok := s.byKey[e.keyHash]; e.keyed && ok {
		if s.events[seq-1].Digest == e.Digest {
			return Receipt{Seq: seq, Status: Duplicate}
		}
		return Receipt{Seq: seq, Status: Conflict}
	}
	h := s.head()
	e.Seq, e.Chain = h.Seq+1, chainNext(h.Chain, h.Seq+1, e.Digest)
	e.Payload = slices.Clone(e.Payload)
	s.events = append(s.events, e)
	if e.keyed {
		s.byKey[e.keyHash] = e.Seq
	}
	return Receipt{Seq: e.Seq, Status: Stored}
}

func (l memoryLog) Read(ctx context.Context, after uint64) iter.Seq2[Event, error] {
	return eventsOf(l.read(ctx, after))
}

func (l memoryLog) read(ctx context.Context, after uint64) iter.Seq2[storedEvent, error] {
	return func(yield func(storedEvent, error) bool) {
		end := l.Head().Seq
		for first := true; first || after < end; first = false {
			e, err := l.event(ctx, after, end)
			if err != nil {
				yield(storedEvent{}, fmt.Errorf("read %q: %w", l.name, err))
				return
			}
			if after >= end || !yield(e, nil) {
				return
			}
			after++
		}
	}
}

func (l memoryLog) event(ctx context.Context, after, end uint64) (storedEvent, error) {
	l.m.mu.RLock()
	defer l.m.mu.RUnlock()
	if err := l.usable(ctx); err != nil || after >= end {
		return storedEvent{}, err
	}
	e := l.events[after]
	e.Payload = slices.Clone(e.Payload)
	return e, nil
}

// Erase removes payloads; the digests stay.
func (l memoryLog) Erase(ctx context.Context, seqs []uint64) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if err := l.usable(ctx); err != nil {
		return fmt.Errorf("erase in %q: %w", l.name, err)
	}
	for _, seq := range seqs {
		if seq >= 1 && seq <= uint64(len(l.events)) {
			l.events[seq-1].Erased, l.events[seq-1].Payload = true, nil
		}
	}
	return nil
}

func (l memoryLog) PutSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error {
	if err := l.putSnapshot(ctx, seq, write); err != nil {
		return fmt.Errorf("snapshot of %q: %w", l.name, err)
	}
	return nil
}

func (l memoryLog) putSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error {
	l.snap.Lock()
	defer l.snap.Unlock()
	alive := func() error {
		l.m.mu.RLock()
		defer l.m.mu.RUnlock()
		return l.usable(ctx)
	}
	if err := checkSnapshot(seq, l.Head()); err != nil {
		return err
	}
	if err := alive(); err != nil {
		return err
	}
	data := []byte{}
	err := stream(write, func(chunk []byte) error {
		data = append(data, chunk...)
		return alive()
	})
	if err != nil {
		return err
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if err := l.usable(ctx); err != nil {
		return err
	}
	l.snaps = slices.DeleteFunc(l.snaps, func(s Snapshot) bool { return s.Seq == seq })
	l.snaps = append(l.snaps, Snapshot{Seq: seq, Data: data})
	slices.SortFunc(l.snaps, func(a, b Snapshot) int { return cmp.Compare(b.Seq, a.Seq) })
	l.snaps = l.snaps[:min(len(l.snaps), snapshotsKept)]
	return nil
}

func (l memoryLog) Snapshots(ctx context.Context) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		l.m.mu.RLock()
		err := l.usable(ctx)
		snaps := slices.Clone(l.snaps)
		l.m.mu.RUnlock()
		if err != nil {
			yield(Snapshot{}, fmt.Errorf("snapshots of %q: %w", l.name, err))
			return
		}
		for _, s := range snaps {
			s.Data = slices.Clone(s.Data)
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (l memoryLog) DropSnapshots(ctx context.Context) error {
	l.snap.Lock()
	defer l.snap.Unlock()
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if err := l.usable(ctx); err != nil {
		return fmt.Errorf("dropping snapshots of %q: %w", l.name, err)
	}
	l.snaps = nil
	return nil
}

type memoryTable struct{ *memorySpace }

func (t memoryTable) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	t.m.mu.RLock()
	defer t.m.mu.RUnlock()
	err := t.usable(ctx)
	e, ok := t.rows[key]
	if err == nil && !ok {
		err = ErrNotFound
	}
	if err != nil {
		return nil, 0, fmt.Errorf("table row %q: %w", key, err)
	}
	return slices.Clone(e.Value), e.Version, nil
}

func (t memoryTable) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	return t.write(ctx, key, value, func(uint64) bool { return true })
}

func (t memoryTable) CAS(ctx context.Context, key string, version uint64, value []byte) (uint64, error) {
	return t.write(ctx, key, value, func(current uint64) bool { return current == version })
}

func (t memoryTable) write(ctx context.Context, key string, value []byte, may func(version uint64) bool) (uint64, error) {
	if err := checkRow(key, value); err != nil {
		return 0, err
	}
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	err := t.usable(ctx)
	current := t.rows[key].Version
	if err == nil && !may(current) {
		err = ErrConflict
	}
	if err != nil {
		return 0, fmt.Errorf("table row %q: %w", key, err)
	}
	t.rows[key] = Entry{Key: key, Value: slices.Clone(value), Version: current + 1}
	return current + 1, nil
}

func (t memoryTable) Delete(ctx context.Context, key string) error {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	if err := t.usable(ctx); err != nil {
		return fmt.Errorf("table row %q: %w", key, err)
	}
	delete(t.rows, key)
	return nil
}

func (t memoryTable) List(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		t.m.mu.RLock()
		err := t.usable(ctx)
		var found []Entry
		for _, key := range slices.Sorted(maps.Keys(t.rows)) {
			if strings.HasPrefix(key, prefix) {
				found = append(found, t.rows[key])
			}
		}
		t.m.mu.RUnlock()
		if err != nil {
			yield(Entry{}, fmt.Errorf("table rows %q: %w", prefix, err))
			return
		}
		for _, e := range found {
			e.Value = slices.Clone(e.Value)
			if !yield(e, nil) {
				return
			}
		}
	}
}

var (
	_ Store = (*Badger)(nil)
	_ Store = (*memory)(nil)
)
