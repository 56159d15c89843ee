package storage

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"
)

// Badger repairs while it opens, and repair means removal: it cuts a write-ahead log at the first
// bad byte, and deletes tables that its MANIFEST does not name. Therefore two things happen before.
// [inspect] refuses what would make badger delete everything or panic where nobody can recover, and
// [keepBefore] keeps the files as they are until the logs have been found whole.

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// inspect looks at the files of a database that is not open. A table cut short makes badger panic
// in a goroutine of its own, and so do some changed bytes, so every table the MANIFEST names is opened and
// read here first, with the checksums of all its blocks.
func inspect(path string, m mark) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	have := make(map[string]bool, len(entries))
	data := false
	for _, e := range entries {
		have[e.Name()] = true
		if ext := filepath.Ext(e.Name()); ext == ".sst" || ext == ".mem" {
			data = true
		}
	}
	if !have[badger.ManifestFilename] {
		switch {
		case m.commits > 0:
			return damaged("the MANIFEST of badger is missing, while %s", m)
		case data:
			return damaged("the MANIFEST of badger is missing, while there are tables or logs")
		}
		return nil
	}
	f, err := os.Open(filepath.Join(path, badger.ManifestFilename))
	if err != nil {
		return err
	}
	defer f.Close()
	manifest, _, err := badger.ReplayManifestFile(f, 0, tuning(path, nil))
	if err != nil {
		return fmt.Errorf("%w: the MANIFEST of badger: %w", ErrDamaged, err)
	}
	for id := range manifest.Tables {
		name := table.IDToFilename(id)
		if !have[name] {
			return damaged("table %s is missing", name)
		}
		if err := inspectTable(filepath.Join(path, name)); err != nil {
			return fmt.Errorf("%w: table %s: %w", ErrDamaged, name, err)
		}
	}
	return nil
}

func inspectTable(path string) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return errShort
	}
	f, err := z.OpenMmapFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be opened: %.100v", p)
		}
		f.Close(-1)
	}()
	_, err = table.OpenTable(f, table.Options{BlockSize: 4 << 10, Compression: options.Snappy, ChkMode: options.OnTableRead})
	return err
}

// String says what the high-water file knows, for a message.
func (m mark) String() string {
	var events uint64
	for _, h := range m.heads {
		events += h.Seq
	}
	return fmt.Sprintf("the high-water file counts %d events in %d workspaces", events, len(m.heads))
}

const (
	beforePattern = ".before-"
	damagedPrefix = "damaged-"
	asidePrefix   = "aside-"
)

// keepBefore returns a directory beside the database that has what badger may destroy: tables as
// links, which cost nothing, and copies of the short files it writes to.
func keepBefore(dir, path string) (kept string, err error) {
	if err := dropBefore(dir); err != nil {
		return "", err
	}
	kept, err = os.MkdirTemp(dir, beforePattern)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		from, to := filepath.Join(path, e.Name()), filepath.Join(kept, e.Name())
		switch ext := filepath.Ext(e.Name()); {
		case ext == ".sst" && os.Link(from, to) == nil:
		case ext == ".sst", ext == ".mem", e.Name() == badger.ManifestFilename:
			if err := copySparse(from, to); err != nil {
				return "", fmt.Errorf("keeping %s: %w", e.Name(), err)
			}
		}
	}
	return kept, nil
}

// dropBefore removes what an opening that crashed has left.
func dropBefore(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if err == nil && strings.HasPrefix(e.Name(), beforePattern) {
			err = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	return err
}

// keepDamaged gives the kept files a lasting name, the same for the same findings, so that a service
// which is started again and again does not fill the disk.
func keepDamaged(dir, kept string, findings error) (string, error) {
	sum := sha256.Sum256([]byte(findings.Error()))
	name := fmt.Sprintf("%s%x", damagedPrefix, sum[:4])
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		return name, os.RemoveAll(kept)
	}
	return name, rename(kept, path)
}

// copySparse copies a file and leaves its holes holes: a new write-ahead log is 32 MiB of them.
func copySparse(from, to string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := openFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	defer func() {
		if e := dst.Close(); err == nil {
			err = e
		}
	}()
	buf := make([]byte, 64<<10)
	for at := int64(0); ; {
		n, err := io.ReadFull(src, buf)
		if slices.ContainsFunc(buf[:n], func(c byte) bool { return c != 0 }) {
			if _, err := dst.WriteAt(buf[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return dst.Truncate(at)
		}
		if err != nil {
			return err
		}
	}
}

// freeName returns the first of prefix1, prefix2, … that dir does not have.
func freeName(dir, prefix string) string {
	for n := 1; ; n++ {
		path := filepath.Join(dir, fmt.Sprintf("%s%d", prefix, n))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path
		}
	}
}
