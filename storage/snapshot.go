package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const snapshotsKept = 2

func checkSnapshot(seq uint64, head Head) error {
	if seq > head.Seq {
		return fmt.Errorf("snapshot at seq %d is newer than the log, which ends at %d", seq, head.Seq)
	}
	return nil
}

// snapshotRoot is made with the first snapshot.
func (b *Badger) snapshotRoot() string { return filepath.Join(b.dir, "snapshots") }

func (b *Badger) snapshotDir(w *space) string {
	return filepath.Join(b.snapshotRoot(), snapshotFolder(w.name))
}

// A snapshot is written beside the log, not through the committer, under a temporary name that it
// changes when all of it is durable: a crash before leaves a file that the next opening or the next
// snapshot sweeps away.
func (l *badgerLog) PutSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error {
	if err := l.putSnapshot(ctx, seq, write); err != nil {
		return fmt.Errorf("snapshot of %q: %w", l.w.name, err)
	}
	return nil
}

func (l *badgerLog) putSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error {
	if err := checkSnapshot(seq, l.Head()); err != nil {
		return err
	}
	chain, err := l.chain(ctx, seq)
	if err != nil {
		return err
	}
	l.w.snap.Lock()
	defer l.w.snap.Unlock()
	guard := spaceGuard{dir: l.b.path(), free: l.b.opts.free, spare: spaceBytes}
	f, err := l.createSnapshot(&guard)
	if err != nil {
		return err
	}
	defer func() {
		f.Close()
		l.alive(func() error { return os.Remove(f.Name()) }) // unless it has its name by now
	}()
	w, err := newSnapshotWriter(f)
	if err != nil {
		return err
	}
	unsynced := 0
	err = stream(write, func(chunk []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := l.alive(func() error {
			guard.bytes += len(chunk)
			if err := guard.check(); err != nil {
				return err
			}
			return w.add(chunk)
		})
		if unsynced += len(chunk); err == nil && unsynced >= snapshotStep {
			unsynced = 0
			err = rest(func() error { return l.alive(func() error { return syncFile(f) }) })
		}
		return err
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	var old []string
	err = l.alive(func() error {
		err := w.finish(Head{Seq: seq, Chain: chain})
		if e := f.Close(); err == nil {
			err = e
		}
		if err == nil {
			old, err = l.keepSnapshot(f.Name(), seq)
		}
		return err
	})
	for _, path := range old {
		l.removeSlowly(path) // whatever is left of it the next sweep takes
	}
	return err
}

// rest does a piece of work and then leaves the disk to the log for as long: a sync of the log waits
// for everything that is on its way to the disk before it, and for the blocks of a large file that is
// removed in one piece.
func rest(work func() error) error {
	begin := time.Now()
	err := work()
	time.Sleep(time.Since(begin))
	return err
}

// removeSlowly removes a large file step by step.
func (l *badgerLog) removeSlowly(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	for size := info.Size() - snapshotStep; size > 0 && err == nil; size -= snapshotStep {
		err = rest(func() error {
			return l.alive(func() error { return errors.Join(f.Truncate(size), f.Sync()) })
		})
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return l.alive(func() error { return os.Remove(path) })
}

// alive runs fn if the store is open and the workspace is there, and keeps Close waiting meanwhile. A
// caller's code never runs in it.
func (l *badgerLog) alive(fn func() error) error {
	return l.b.alive(func() error {
		if l.w.gone.Load() {
			return ErrNotFound
		}
		return fn()
	})
}

// chain is that of event seq.
func (l *badgerLog) chain(ctx context.Context, seq uint64) (chain [32]byte, err error) {
	page, err := l.page(ctx, max(seq, 1)-1, seq)
	if err != nil || len(page) == 0 { // there is no event 0
		return chain, err
	}
	return page[0].Chain, nil
}

// createSnapshot makes the temporary file.
func (l *badgerLog) createSnapshot(guard *spaceGuard) (f *os.File, err error) {
	err = l.alive(func() error {
		if err := l.b.failed.Load(); err != nil {
			return fmt.Errorf("%w: %w", ErrReadOnly, *err)
		}
		folder := l.b.snapshotDir(l.w)
		if err := sweepTemps(folder); err != nil {
			return err
		}
		if err := guard.look(); err != nil {
			return err
		}
		if err := makeDir(l.b.snapshotRoot()); err != nil {
			return err
		}
		if err := makeDir(folder); err != nil {
			return err
		}
		f, err = os.CreateTemp(folder, "*"+snapshotTemp)
		return err
	})
	return f, err
}

// keepSnapshot gives a snapshot its name and takes it from those that are too many now.
func (l *badgerLog) keepSnapshot(temp string, seq uint64) (old []string, err error) {
	folder := l.b.snapshotDir(l.w)
	l.w.files.Lock()
	defer l.w.files.Unlock()
	if err := rename(temp, filepath.Join(folder, snapshotName(seq))); err != nil {
		return nil, err
	}
	if err := syncDir(folder); err != nil {
		return nil, err
	}
	seqs, err := snapshotSeqs(folder)
	for _, seq := range seqs[min(len(seqs), snapshotsKept):] {
		path := filepath.Join(folder, snapshotName(seq))
		if err == nil {
			err = rename(path, path+snapshotTemp)
		}
		old = append(old, path+snapshotTemp)
	}
	return old, err
}

// sweepTemps removes what a crash has left of a snapshot.
func sweepTemps(folder string) error {
	entries, err := readDir(folder)
	for _, e := range entries {
		if err == nil && strings.HasSuffix(e.Name(), snapshotTemp) {
			err = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
	return err
}

func (l *badgerLog) DropSnapshots(ctx context.Context) error {
	err := l.alive(ctx.Err)
	if err == nil {
		err = l.b.dropSnapshots(l.w)
	}
	if err != nil {
		return fmt.Errorf("dropping snapshots of %q: %w", l.w.name, err)
	}
	return nil
}

// dropSnapshots waits for a snapshot that is being written: it is one of those to be dropped.
func (b *Badger) dropSnapshots(w *space) error {
	w.snap.Lock()
	defer w.snap.Unlock()
	return b.alive(func() error {
		w.files.Lock()
		defer w.files.Unlock()
		return removeDir(b.snapshotDir(w))
	})
}

func (l *badgerLog) Snapshots(ctx context.Context) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		var seqs []uint64
		err := l.alive(func() (err error) {
			seqs, err = snapshotSeqs(l.b.snapshotDir(l.w))
			return err
		})
		if err != nil {
			yield(Snapshot{}, fmt.Errorf("snapshots of %q: %w", l.w.name, err))
			return
		}
		for _, seq := range seqs[:min(len(seqs), snapshotsKept)] {
			data, err := l.snapshot(ctx, seq)
			if errors.Is(err, fs.ErrNotExist) {
				continue // replaced or dropped meanwhile
			}
			if err != nil {
				err = fmt.Errorf("snapshot of %q at seq %d: %w", l.w.name, seq, err)
			}
			if !yield(Snapshot{Seq: seq, Data: data}, err) || err != nil && !errors.Is(err, ErrDamaged) {
				return
			}
		}
	}
}

// snapshot reads one snapshot and compares it with the log.
func (l *badgerLog) snapshot(ctx context.Context, seq uint64) (data []byte, err error) {
	var h Head
	err = l.alive(func() error {
		h, data, err = l.readFile(ctx, seq)
		return err
	})
	if err == nil {
		err = checkSnapshot(seq, l.Head())
		if err == nil && h.Seq != seq {
			err = fmt.Errorf("it is marked as one at seq %d", h.Seq)
		}
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	if err != nil {
		return nil, err
	}
	chain, err := l.chain(ctx, seq)
	if err != nil {
		return nil, err
	}
	if chain != h.Chain {
		return nil, damaged("it belongs to another history")
	}
	return data, nil
}

// readFile calls anything that keeps a file from being read damage, so that the next one is tried.
func (l *badgerLog) readFile(ctx context.Context, seq uint64) (h Head, data []byte, err error) {
	l.w.files.RLock() // not every system lets an open file be replaced
	defer l.w.files.RUnlock()
	f, err := os.Open(filepath.Join(l.b.snapshotDir(l.w), snapshotName(seq)))
	if err == nil {
		defer f.Close()
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil {
			h, data, err = readSnapshot(ctx, f, info.Size())
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return h, data, err
}

// sweepSnapshots removes at open what is of no use: files of a crash, snapshots beyond the end of a
// log that was cut or older than the two kept, and folders of workspaces that are gone.
func (b *Badger) sweepSnapshots() error {
	folders := make(map[string]*space)
	for _, w := range b.spaces {
		folders[snapshotFolder(w.name)] = w
	}
	entries, err := readDir(b.snapshotRoot())
	if err != nil {
		return err
	}
	for _, e := range entries {
		folder := filepath.Join(b.snapshotRoot(), e.Name())
		w := folders[e.Name()]
		if w == nil {
			if !isSnapshotFolder(e) {
				continue
			}
			if err := removeDir(folder); err != nil {
				return err
			}
			continue
		}
		if err := sweepTemps(folder); err != nil {
			return err
		}
		seqs, err := snapshotSeqs(folder)
		if err != nil {
			return err
		}
		kept := 0
		for _, seq := range seqs {
			if seq <= w.head.Load().Seq && kept < snapshotsKept {
				kept++
				continue
			}
			if err := os.Remove(filepath.Join(folder, snapshotName(seq))); err != nil {
				return err
			}
		}
	}
	return nil
}
