package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"waymark/internal/bounded"
)

// Badger cuts its write-ahead log at the first bad byte and opens without the rest, so nothing in the database shows
// that its end is missing. Therefore every commit increments a count in the database, and a file beside it stores the
// count with a delay of at most markDelay. If the database has fewer commits than the file says, it is not opened.

const (
	markName  = "highwater"
	markDelay = time.Second
)

var commitsKey = Key{tableMarks, "", "commits"}

// readCommits returns the count in the database.
func (e *badgerEngine) readCommits() (n uint64, err error) {
	err = e.View(context.Background(), func(r Reader) error {
		values, err := r.Get(commitsKey)
		if err == nil {
			n = number(string(values[0]))
		}
		return err
	})
	return n, err
}

// keepMark updates the file until ctx ends. If that fails for some seconds, it stops all writes to the store, except
// on a full disk, where the guard of disk space already rejects writes.
func (e *badgerEngine) keepMark(ctx context.Context) {
	for written, failures := uint64(0), 0; ctx.Err() == nil; {
		bounded.Wait(ctx, markDelay)
		n := e.commits.Load()
		if n == written {
			continue
		}
		err := writeMark(e.dir, n)
		if err == nil {
			written, failures = n, 0
		} else if failures++; failures > 3 && !errors.Is(err, syscall.ENOSPC) {
			e.fail(err)
			return
		}
	}
}

func writeMark(dir string, commits uint64) error {
	return ReplaceFile(filepath.Join(dir, markName), []byte(strconv.FormatUint(commits, 10)+"\n"))
}

// readMark returns the count in the file; 0 without a file.
func readMark(dir string) (commits uint64, err error) {
	b, err := os.ReadFile(filepath.Join(dir, markName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	text, complete := strings.CutSuffix(string(b), "\n")
	if commits, err = strconv.ParseUint(text, 10, 64); err != nil || !complete {
		return 0, damaged("the file %s has an unknown form", markName)
	}
	return commits, nil
}

// ReplaceFile replaces the content of a file. After a crash the file has either the old or the complete new content:
// temporary file, fsync, rename, fsync of the directory.
func ReplaceFile(path string, content []byte) error {
	return WriteFile(path, func(w io.Writer) error { _, err := w.Write(content); return err })
}

// WriteFile is [ReplaceFile] with the content that write produces.
func WriteFile(path string, write func(io.Writer) error) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Unwrap(err)) // callers do not know the temporary file
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(tmp))
	}
	return syncDir(filepath.Dir(path))
}
