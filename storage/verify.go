package storage

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

// Facts about the whole database, under kindMeta.
const (
	metaFormat  = "format"
	metaCommits = "commits"

	databaseFormat = 3

	otherProgram = "another version of the program wrote it: export with that one (waymark export) and import here (waymark import)"
)

// load opens the database, verifies it and fills in what is served from memory.
func (b *Badger) load() error {
	m, marked, damage := readMark(b.dir)
	if damage != nil && !errors.Is(damage, ErrDamaged) {
		return damage
	}
	if err := inspect(b.path(), m); err != nil {
		return err
	}
	kept, err := keepBefore(b.dir, b.path())
	if err != nil {
		return err
	}
	defer os.RemoveAll(kept) // unless keepDamaged has renamed it
	b.db, err = openDB(b.path(), slogger{b})
	if errors.Is(err, ErrDamaged) {
		_, e := keepDamaged(b.dir, kept, err)
		return errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	a, err := b.verify(m)
	if err != nil {
		return err
	}
	if damage != nil {
		a.findings = append(a.findings, damage)
	} else if !marked && a.commits > 0 {
		a.fault("the high-water file is missing, while the database counts %d commits", a.commits)
	}
	if left, err := readDir(b.snapshotRoot()); err != nil {
		return err
	} else if a.commits == 0 && len(left) > 0 {
		a.fault("the database is empty, while there are snapshots of %d workspaces", len(left))
	}
	if len(a.findings) > 0 {
		if err := b.judge(a, kept); err != nil {
			return err
		}
	}
	for name, s := range a.logs {
		w := newSpace(name, s.head)
		w.gone.Store(s.deleting)
		w.clearing = s.clearing
		w.keys = s.keys
		b.spaces[name] = w
	}
	if a.format == 0 { // it was damaged
		if err := b.put(pair{metaKey(metaFormat), encodeRow(databaseFormat, nil)}); err != nil {
			return err
		}
	}
	b.committer.commits.Store(a.commits)
	return b.writeMark()
}

// judge refuses a damaged database, or accepts it where the operator has said so.
func (b *Badger) judge(a *audit, kept string) error {
	findings := errors.Join(a.findings[:min(len(a.findings), 5)]...)
	if more := len(a.findings) - 5; more > 0 {
		findings = fmt.Errorf("%w\n(and %d more)", findings, more)
	}
	name, err := keepDamaged(b.dir, kept, findings)
	if err != nil {
		return errors.Join(findings, err)
	}
	if !b.opts.AcceptDamage {
		return fmt.Errorf("%w\n(the files as they were are in %s)", findings, name)
	}
	b.log.Error("damage accepted", "findings", findings, "kept", name)
	b.doubt(fmt.Errorf("accepted when the store was opened: %w", findings))
	return b.repair(a)
}

// An audit is what one walk over the database has found.
type audit struct {
	logs     map[string]*logAudit
	badRows  [][]byte
	format   uint64
	commits  uint64 // of the database
	marked   uint64 // of the high-water file
	findings []error

	stored [][]byte // scratch
}

// logAudit is the state of one workspace.
type logAudit struct {
	registered, deleting, clearing bool
	head                           Head // end of the readable prefix
	cut                            bool // the prefix ends before the log does
	keys                           *keyIndex
}

func (a *audit) log(name string) *logAudit {
	s := a.logs[name]
	if s == nil {
		s = &logAudit{keys: newKeyIndex()}
		a.logs[name] = s
	}
	return s
}

func (a *audit) fault(format string, args ...any) {
	a.findings = append(a.findings, damaged(format, args...))
}

// verify walks over the database once. Its error means that it could not, findings are in the audit.
func (b *Badger) verify(m mark) (*audit, error) {
	a := &audit{logs: make(map[string]*logAudit), marked: m.commits}
	err := b.db.View(func(txn *badger.Txn) error {
		fresh, err := a.meta(txn)
		if err != nil || fresh {
			return err
		}
		return errors.Join(
			each(txn, kindWorkspace, a.workspace),
			each(txn, kindEvent, func(k, v []byte) { a.entry(k, v, m) }),
			each(txn, kindRow, a.row))
	})
	if err != nil {
		return nil, err
	}
	if a.commits == 0 && len(a.logs) == 0 {
		err = b.db.Update(func(txn *badger.Txn) error {
			return txn.Set(metaKey(metaFormat), encodeRow(databaseFormat, nil))
		})
		if err != nil {
			return nil, err
		}
		a.format = databaseFormat
	}
	a.compare(m)
	return a, nil
}

// each hands all entries of a kind to fn, in key order. A key that cannot be split is given too.
func each(txn *badger.Txn, kind byte, fn func(key, value []byte)) error {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte{kind}})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		err := it.Item().Value(func(v []byte) error {
			fn(it.Item().Key(), v)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *audit) meta(txn *badger.Txn) (fresh bool, err error) {
	read := func(name string) (uint64, error) {
		item, err := txn.Get(metaKey(name))
		if errors.Is(err, badger.ErrKeyNotFound) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		var n uint64
		err = item.Value(func(v []byte) (err error) {
			n, _, err = decodeRow(v)
			return err
		})
		if err != nil {
			a.fault("entry %q of the database: %v", name, err)
		}
		return n, nil
	}
	format, err := read(metaFormat)
	if err != nil {
		return false, err
	}
	if format != databaseFormat && format != 0 {
		return false, fmt.Errorf("the database has format %d, this program knows %d; %s", format, databaseFormat, otherProgram)
	}
	a.format = format
	a.commits, err = read(metaCommits)
	return format == 0 && a.commits == 0, err
}

func (a *audit) workspace(k, v []byte) {
	flags, _, err := unseal(v)
	if err != nil {
		a.fault("workspace %q: %v", k[2:], err)
	}
	s := a.log(string(k[2:]))
	s.registered, s.deleting, s.clearing = true, flags != 0, flags&flagClearing != 0
}

// entry checks the events of one entry.
func (a *audit) entry(k, v []byte, m mark) {
	name, last, err := splitSeq(k)
	if err != nil {
		a.fault("event key %x: %v", k, err)
		return
	}
	s := a.log(name)
	if s.cut || s.deleting {
		return
	}
	first, stored, err := records(a.stored[:0], last, v)
	a.stored = stored
	next := s.head.Seq + 1
	if err == nil && first > next {
		s.cut = true
		a.fault("workspace %q: %d events missing after seq %d", name, first-next, s.head.Seq)
		return
	}
	if err == nil && first < next {
		err = errors.New("it is stored twice")
	}
	for i := range stored {
		if err == nil {
			err = a.event(name, s, next+uint64(i), stored[i], m)
		}
	}
	if err != nil {
		s.cut = true
		a.fault("workspace %q: event %d: %v", name, s.head.Seq+1, err)
	}
}

func (a *audit) event(name string, s *logAudit, seq uint64, stored []byte, m mark) error {
	e, err := decodeEvent(seq, stored)
	if err == nil {
		err = e.check(s.head)
	}
	if err != nil {
		return err
	}
	if h := m.heads[name]; h.Seq == seq && h.Chain != e.Chain {
		a.fault("workspace %q: event %d is not the one the high-water file knows", name, seq)
	}
	s.head = Head{Seq: seq, Chain: e.Chain}
	if e.keyed {
		s.keys.add(&e.keyHash, seq)
	}
	return nil
}

func (a *audit) row(k, v []byte) {
	name, row, err := splitKey(k)
	if err == nil {
		_, _, err = decodeRow(v)
	}
	if err != nil {
		a.badRows = append(a.badRows, slices.Clone(k))
		a.fault("workspace %q: table row %q: %v", name, row, err)
	}
}

// compare holds the logs against the high-water file.
func (a *audit) compare(m mark) {
	for _, name := range slices.Sorted(maps.Keys(m.heads)) {
		s := a.log(name)
		if h := m.heads[name]; !s.deleting && !s.cut && s.head.Seq < h.Seq {
			s.cut = true
			a.fault("workspace %q: %d events missing after seq %d", name, h.Seq-s.head.Seq, s.head.Seq)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.logs)) {
		s := a.logs[name]
		if !s.registered {
			a.fault("workspace %q is missing from the list of workspaces", name)
		}
	}
	if a.commits < m.commits {
		a.fault("%d commits missing after commit %d", m.commits-a.commits, a.commits)
	}
}
