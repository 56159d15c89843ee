package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"
)

// Badger repairs a database while opening it, and a repair removes data: without a MANIFEST it deletes all tables. A
// truncated table makes it panic in a goroutine of its own, and so do some changed bytes. Therefore every table that
// the MANIFEST names is opened and read here first, and the checksums of all its blocks are verified.

// inspect returns an error for files of a closed database that badger would delete or panic on. commits is the number
// of commits that it must have; only a database with 0 commits may have no files.
func inspect(path string, commits uint64) error {
	tables, _ := filepath.Glob(filepath.Join(path, "*.sst"))
	logs, err := filepath.Glob(filepath.Join(path, "*.mem"))
	if err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(path, badger.ManifestFilename))
	if errors.Is(err, os.ErrNotExist) && len(tables)+len(logs) == 0 && commits == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: the MANIFEST of badger: %w", ErrDamaged, err)
	}
	defer f.Close()
	manifest, _, err := badger.ReplayManifestFile(f, 0, tuning(path, nil))
	if err != nil {
		return fmt.Errorf("%w: the MANIFEST of badger: %w", ErrDamaged, err)
	}
	for id := range manifest.Tables {
		if err := inspectTable(filepath.Join(path, table.IDToFilename(id))); err != nil {
			return fmt.Errorf("%w: table %s: %w", ErrDamaged, table.IDToFilename(id), err)
		}
	}
	return nil
}

func inspectTable(path string) (err error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return err
	}
	f, err := z.OpenMmapFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be opened: %.100v", p)
		}
		_ = f.Close(-1)
	}()
	_, err = table.OpenTable(f, table.Options{BlockSize: 4 << 10, Compression: options.Snappy, ChkMode: options.OnTableRead})
	return err
}

// dropEmpty removes empty log files. A kill leaves one while badger creates a new log, and badger refuses to open it.
// If a log lost its bytes in another way, the count of commits reveals it.
func dropEmpty(path string) error {
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		info, failed := e.Info()
		ext := filepath.Ext(e.Name())
		if err = errors.Join(err, failed); err == nil && (ext == ".mem" || ext == ".vlog") && info.Size() == 0 {
			err = os.Remove(filepath.Join(path, e.Name()))
		}
	}
	return err
}
