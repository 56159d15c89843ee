package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Badger cuts its write-ahead log at the first bad byte and opens without the rest, so nothing within the database can
// tell that its end is missing. A mark beside it counts the commits; it is at most markDelay behind, and what is lost
// before it is found at the start. Every commit raises the count in the database in the same transaction.

const (
	markName  = "highwater"
	markDelay = time.Second
)

type mark struct {
	dir     string
	fail    func(error) // when the mark cannot be written
	commits atomic.Uint64

	mu     sync.Mutex
	timer  *time.Timer // nil: the mark is as new as the last commit
	closed bool
}

func newMark(dir string, commits uint64, fail func(error)) *mark {
	m := &mark{dir: dir, fail: fail}
	m.commits.Store(commits)
	return m
}

// committed notes that a commit is durable.
func (m *mark) committed(n uint64) {
	m.commits.Store(n)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer == nil && !m.closed {
		m.timer = time.AfterFunc(markDelay, m.tick)
	}
}

// tick writes the mark. Without room for it writing goes on, and the next second tries again: the guard of disk space
// refuses writes soon.
func (m *mark) tick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer = nil
	if m.closed {
		return
	}
	if err := m.write(); errors.Is(err, syscall.ENOSPC) {
		m.timer = time.AfterFunc(markDelay, m.tick)
	} else if err != nil {
		m.fail(err)
	}
}

func (m *mark) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return m.write()
}

func (m *mark) write() error {
	text := strconv.FormatUint(m.commits.Load(), 10)
	return ReplaceFile(filepath.Join(m.dir, markName), []byte(text+" "+markSum(text)+"\n"))
}

func markSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// readMark returns the commits that there must be; 0 without a mark.
func readMark(dir string) (commits uint64, err error) {
	b, err := os.ReadFile(filepath.Join(dir, markName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	text, sum, _ := strings.Cut(strings.TrimSuffix(string(b), "\n"), " ")
	commits, err = strconv.ParseUint(text, 10, 64)
	if err != nil || sum != markSum(text) {
		return 0, damaged("the file %s has an unknown form", markName)
	}
	return commits, nil
}

// ReplaceFile puts new content in place of a file, so that after a crash one finds the old or the
// new content whole: temporary file, fsync, rename, fsync of the directory.
func ReplaceFile(path string, content []byte) (err error) {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
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
