package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// PurgeReport says what a purge has rewritten, and what its last look at every file has found.
type PurgeReport struct {
	Entries int       `json:"entries" doc:"Entries of the database, all of which were copied into new files and read again."`
	Blank   uint64    `json:"blank" doc:"Events of all workspaces that are erased; none has a payload."`
	Files   int       `json:"files" doc:"Files of the data directory that were searched, each as it is on the disk."`
	Bytes   int64     `json:"bytes" doc:"Their bytes."`
	Texts   int       `json:"texts" doc:"Texts of what was erased that were looked for in all files and all entries."`
	Removed []string  `json:"removed,omitempty" doc:"What was left of an earlier repair and held old copies."`
	Found   []finding `json:"found,omitempty" doc:"Where a text still stands; empty is what is wanted."`
}

// finding is a file, or an entry of the database, that holds a text.
type finding struct {
	Where string `json:"where"`
	Texts int    `json:"texts" doc:"Different texts found in it."`
}

// maxFound is how many places a report lists.
const maxFound = 100

const (
	rewrittenDB = "db.new" // complete as soon as db/ is no longer there
	replacedDB  = "db.old"
)

// finishPurge undoes or completes what a crash has left of a purge, before the database is opened.
func finishPurge(dir string) error {
	db, rewritten, replaced := filepath.Join(dir, "db"), filepath.Join(dir, rewrittenDB), filepath.Join(dir, replacedDB)
	if !isDir(db) {
		for _, from := range []string{rewritten, replaced} {
			if isDir(replaced) && isDir(from) {
				if err := rename(from, db); err != nil {
					return err
				}
				break
			}
		}
	}
	return errors.Join(removeDir(rewritten), removeDir(replaced))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Purge implements [Store]. The database is copied entry by entry into new files, which are verified as at a start
// and then take the place of the old ones. Writers wait meanwhile; readers go on until the files change places.
func (b *Badger) Purge(ctx context.Context, texts []string, progress func(phase string, done float64)) (r PurgeReport, err error) {
	done := make(chan struct{})
	rewrite := func() {
		defer close(done)
		err = b.rewrite(ctx, progress)
	}
	select {
	case b.committer.exclusive <- rewrite:
		<-done
	case <-b.closing:
		err = ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		r.Removed, err = b.dropRemains()
	}
	if err == nil {
		err = b.search(ctx, newNeedles(texts), &r, progress)
	}
	if err != nil {
		return r, fmt.Errorf("purge: %w", err)
	}
	return r, nil
}

// rewrite runs on the committer, so nothing is written beside it.
func (b *Badger) rewrite(ctx context.Context, progress func(string, float64)) error {
	if err := b.failed.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrReadOnly, *err)
	}
	size, err := allocated(b.path())
	if err != nil {
		return err
	}
	if err := (&spaceGuard{dir: b.path(), free: b.opts.free, spare: size}).look(); err != nil {
		return err
	}
	fresh := filepath.Join(b.dir, rewrittenDB)
	if err := removeDir(fresh); err != nil {
		return err
	}
	if err := b.copyTo(ctx, fresh, progress); err != nil {
		return errors.Join(err, removeDir(fresh))
	}
	for !b.life.TryLock() { // a waiting Lock would stop new readers for as long as one backup takes
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), removeDir(fresh))
		case <-b.closing:
			return errors.Join(ErrClosed, removeDir(fresh))
		case <-time.After(time.Millisecond):
		}
	}
	defer b.life.Unlock()
	if err := b.swap(fresh); err != nil {
		b.failed.CompareAndSwap(nil, &err)
		return err
	}
	return nil
}

// copyTo makes a database of the current entries and verifies it.
func (b *Badger) copyTo(ctx context.Context, path string, progress func(string, float64)) (err error) {
	if err := makeDir(path); err != nil {
		return err
	}
	db, err := openDB(path, slogger{b})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	total := max(b.committer.commits.Load(), 1)
	for _, w := range b.all() {
		total += w.head.Load().Seq
	}
	wb := db.NewWriteBatch()
	defer wb.Cancel()
	n := 0
	err = b.view(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.DefaultIteratorOptions)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			if n++; n%maxRecords == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
				progress("copy", min(float64(n)/float64(total), 1))
			}
			v, err := it.Item().ValueCopy(nil)
			if err == nil {
				err = wb.Set(it.Item().KeyCopy(nil), v)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = wb.Flush()
	}
	if err != nil {
		return err
	}
	progress("verify", 0)
	a, err := (&Badger{db: db}).verify(b.mark())
	if err != nil {
		return err
	}
	return errors.Join(a.findings...)
}

func (b *Badger) all() []*space {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*space
	for _, w := range b.spaces {
		all = append(all, w)
	}
	return all
}

// swap puts the new files in place of the old ones. A crash on the way is completed by finishPurge.
func (b *Badger) swap(fresh string) error {
	replaced := filepath.Join(b.dir, replacedDB)
	err := b.db.Close()
	if err == nil {
		err = rename(b.path(), replaced)
	}
	if err == nil {
		err = errors.Join(rename(fresh, b.path()), syncDir(b.dir))
	}
	if err != nil {
		return err
	}
	if b.db, err = openDB(b.path(), slogger{b}); err != nil {
		return err
	}
	b.keepPrivate()
	return removeDir(replaced)
}

// dropRemains removes copies of the database that repairs have kept.
func (b *Badger) dropRemains() (removed []string, err error) {
	entries, err := os.ReadDir(b.dir)
	for _, e := range entries {
		if err == nil && (strings.HasPrefix(e.Name(), damagedPrefix) || strings.HasPrefix(e.Name(), asidePrefix)) {
			removed = append(removed, e.Name())
			err = removeAll(filepath.Join(b.dir, e.Name()))
		}
	}
	if len(removed) > 0 && err == nil {
		err = syncDir(b.dir)
	}
	return removed, err
}

// search looks through all entries as they are decompressed and all files as they are stored, snapshots decompressed as
// well.
func (b *Badger) search(ctx context.Context, texts *needles, r *PurgeReport, progress func(string, float64)) error {
	r.Texts = texts.len()
	progress("search entries", 0)
	err := b.view(func(txn *badger.Txn) error {
		opts := badger.DefaultIteratorOptions
		opts.AllVersions = true // a version that was overwritten is still in the files
		it := txn.NewIterator(opts)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.Entries++
			if err := it.Item().Value(func(v []byte) error { return searchEntry(it.Item().Key(), v, texts, r) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && d.Type().IsRegular() {
			progress("search files", 0)
			var n int
			var size int64
			if n, size, err = texts.searchFile(path); err == nil {
				name, _ := filepath.Rel(b.dir, path)
				r.Files, r.Bytes = r.Files+1, r.Bytes+size
				r.note(filepath.ToSlash(name), n)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a compaction or a new snapshot has removed it meanwhile
		}
		return err
	})
}

func (r *PurgeReport) note(where string, texts int) {
	if texts > 0 && len(r.Found) < maxFound {
		r.Found = append(r.Found, finding{Where: where, Texts: texts})
	}
}

// searchEntry counts the erased events of an entry and searches its key and value.
func searchEntry(k, v []byte, texts *needles, r *PurgeReport) error {
	where := "a fact about the database"
	if len(k) > 0 && k[0] == kindEvent {
		name, last, err := splitSeq(k)
		if err != nil {
			return err
		}
		where = fmt.Sprintf("workspace %s, event %d", name, last)
		first, stored, err := records(nil, last, v)
		for i := 0; err == nil && i < len(stored); i++ {
			var e storedEvent
			if e, err = decodeEvent(first+uint64(i), stored[i]); err == nil && e.Erased {
				if r.Blank++; len(e.Payload) > 0 {
					err = errors.New("it is erased and has a payload")
				}
			}
		}
		if err != nil {
			return damaged("%s: %v", where, err)
		}
	} else if name, row, err := splitKey(k); err == nil {
		where = fmt.Sprintf("workspace %s, row %s", name, row)
	}
	r.note(where, texts.count(slices.Concat(k, v)))
	return nil
}
