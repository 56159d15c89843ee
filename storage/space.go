package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Badger writes through mapped files. On a full disk such a write raises SIGBUS, which ends the process and every
// later start. So the store rejects writes while there is still room for the writes that badger does on its own
// (flushing its memtables, compaction):
//
//	free ≥ 4·memtable + database/2 + 16 MiB
//
// The formula comes from measurements: with it 1.3 million writes on small tmpfs and ext4 images ended without a
// SIGBUS, and the database opened again afterwards. Other programs may fill the disk between two checks. Therefore
// space is reserved for the write-ahead logs, the only files that a rejected or unfinished commit touches.
const (
	memTable     = 16 << 20
	spaceReserve = 4*memTable + 16<<20
	spaceBytes   = 8 << 20 // written between two checks of the disk
	spaceAge     = time.Second
)

// spaceGuard refuses writes while disk space is low.
type spaceGuard struct {
	dir  string
	free func(dir string) (uint64, error)

	mu     sync.Mutex
	bytes  int // written since the last check
	looked time.Time
	low    error
}

// check returns an error while disk space is low. It is called before each commit. While space is low
// it checks the disk every time.
func (g *spaceGuard) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.low != nil || g.bytes >= spaceBytes || time.Since(g.looked) >= spaceAge {
		g.bytes, g.looked, g.low = 0, time.Now(), g.look()
	}
	return g.low
}

func (g *spaceGuard) wrote(bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bytes += bytes
}

func (g *spaceGuard) look() error {
	free, err := g.free(g.dir)
	if err != nil {
		return fmt.Errorf("asking for free space: %w", err)
	}
	var used uint64
	tables, _ := filepath.Glob(filepath.Join(g.dir, "*.sst"))
	for _, path := range tables {
		if info, err := os.Stat(path); err == nil { // a compaction may have removed it meanwhile
			used += uint64(info.Size())
		}
	}
	if reserve := spaceReserve + used/2; free < reserve {
		return fmt.Errorf("%w: %d MiB are free, %d MiB must stay free for a database of %d MiB", ErrNoSpace, free>>20, reserve>>20, used>>20)
	}
	logs, err := filepath.Glob(filepath.Join(g.dir, "*.mem"))
	for _, path := range logs {
		if e := reserve(path); e != nil && !errors.Is(e, fs.ErrNotExist) { // it may have been flushed meanwhile
			err = fmt.Errorf("%w: room for the write-ahead log: %w", ErrNoSpace, e)
		}
	}
	return err
}

// closes reports whether there is room to close the database, which writes its memtables as tables.
func (g *spaceGuard) closes() bool {
	free, err := g.free(g.dir)
	return err != nil || free >= spaceReserve/2
}

// FreeSpace returns the bytes that an ordinary user may still write on the file system
// of dir; math.MaxUint64: unknown.
func FreeSpace(dir string) (uint64, error) { return freeSpace(dir) }
