package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

// Badger writes through mapped files; on a full disk that is a SIGBUS, which ends the process and
// every later start. So the store refuses to write while there is still room for what badger must do
// on its own (flush its memtables, compact):
//
//	free ≥ 4·memtable + database/2 + 16 MiB
//
// The formula is measured: with it 1.3 million writes on small tmpfs and ext4 images ended without
// a SIGBUS, and the database opened again afterwards. Others may fill the disk between two looks: the
// write-ahead logs, the only files that a refused or unfinished commit touches, have their room reserved.
const (
	memTable      = 16 << 20
	spaceReserve  = 4*memTable + 16<<20
	spaceInterval = 64       // commits between two looks at the disk
	spaceBytes    = 16 << 20 // or bytes, since 64 large commits are more than the reserve
	spaceAge      = time.Second
)

// diskSpace is disk space in bytes. Free is very large where it is not known.
type diskSpace struct {
	Used    uint64 // by the files of the database
	Free    uint64
	Reserve uint64 // must stay free
}

// spaceGuard is used by one goroutine. spare is what must stay free above the formula: a snapshot
// leaves room for the events that are written beside it.
type spaceGuard struct {
	dir     string
	spare   uint64
	free    func(dir string) (uint64, error)
	commits int
	bytes   int // committed since the last look
	looked  time.Time
	low     bool
}

// check is asked before each commit. While space is low it looks every time.
func (g *spaceGuard) check() error {
	g.commits++
	if !g.low && g.commits < spaceInterval && g.bytes < spaceBytes && time.Since(g.looked) < spaceAge {
		return nil
	}
	return g.look()
}

func (g *spaceGuard) look() error {
	g.commits, g.bytes, g.looked = 0, 0, time.Now()
	s, err := g.space()
	if err != nil {
		return err
	}
	g.low = s.Free < s.Reserve
	if g.low {
		return fmt.Errorf("%w: %d MiB are free, %d MiB must stay free for a database of %d MiB",
			ErrNoSpace, s.Free>>20, s.Reserve>>20, s.Used>>20)
	}
	logs, err := filepath.Glob(filepath.Join(g.dir, "*.mem"))
	for _, path := range logs {
		if e := reserve(path); e != nil && !errors.Is(e, fs.ErrNotExist) { // it may have been flushed meanwhile
			g.low, err = true, fmt.Errorf("%w: room for the write-ahead log: %w", ErrNoSpace, e)
		}
	}
	return err
}

func (g *spaceGuard) space() (s diskSpace, err error) {
	if s.Free, err = g.free(g.dir); err != nil {
		return s, fmt.Errorf("asking for free space: %w", err)
	}
	if s.Used, err = allocated(g.dir); err != nil {
		return s, fmt.Errorf("asking for the size of the database: %w", err)
	}
	s.Reserve = spaceReserve + s.Used/2 + g.spare
	return s, nil
}

// closes reports whether there is room for what closing the database writes: its memtables as tables.
func (g *spaceGuard) closes() bool {
	free, err := g.free(g.dir)
	return err != nil || free >= spaceReserve/2
}
