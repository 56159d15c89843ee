package hook

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"waymark/episodic"
)

// Spool is a directory of events that were not taken in yet, one a file.
type Spool string

const (
	ending  = ".json"
	keys    = "keys"
	full    = "full"    // a file that says that nobody takes anything in
	most    = 50_000    // events; more wait for nobody
	largest = 256 << 10 // bytes of an event
)

// writeFile writes a file of JSON, which has its name only when it is whole, into a folder that it may have to make.
func writeFile(folder, name string, v any) error {
	hidden, err := os.CreateTemp(folder, "."+name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(folder, 0o700); err == nil {
			hidden, err = os.CreateTemp(folder, "."+name)
		}
	}
	if err != nil {
		return err
	}
	err = errors.Join(json.NewEncoder(hidden).Encode(v), hidden.Close())
	if err == nil {
		err = os.Rename(hidden.Name(), filepath.Join(folder, name))
	}
	if err != nil {
		os.Remove(hidden.Name())
	}
	return err
}

// Leave writes an event.
func (s Spool) Leave(e Event) error {
	if _, err := os.Lstat(filepath.Join(string(s), full)); err == nil {
		return errors.New("nobody takes in what is spooled")
	}
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	if err := writeFile(string(s), fmt.Sprintf("%020d-%x%s", e.Time.UnixNano(), random, ending), e); err != nil {
		return err
	}
	if random[0] == 0 { // looked at now and then
		if list, err := os.ReadDir(string(s)); err == nil && len(list) > most {
			return os.WriteFile(filepath.Join(string(s), full), nil, 0o600)
		}
	}
	return nil
}

// List names the events in the order in which they happened, as far as they happened before a moment.
func (s Spool) List(before time.Time) ([]string, error) {
	list, err := os.ReadDir(string(s)) // sorted by name
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, f := range list {
		name := f.Name()
		digits, _, _ := strings.Cut(name, "-")
		at, numbered := strconv.ParseInt(digits, 10, 64)
		switch {
		case name == full:
			os.Remove(filepath.Join(string(s), full)) // somebody does now
		case name[0] == '.': // half written, by a hook that was killed if it is old
			if info, err := f.Info(); err == nil && before.Sub(info.ModTime()) > 24*time.Hour {
				os.Remove(filepath.Join(string(s), name))
			}
		case !strings.HasSuffix(name, ending):
		case numbered != nil || time.Unix(0, at).Before(before):
			names = append(names, name)
		}
	}
	return names, err
}

// Take reads an event. One that cannot be read is an error that is no [fs.PathError].
func (s Spool) Take(name string) (e Event, err error) {
	path := filepath.Join(string(s), name)
	info, err := os.Lstat(path)
	if err != nil {
		return e, err
	}
	if !info.Mode().IsRegular() || info.Size() > largest {
		return e, fmt.Errorf("spooled event %s is no file of at most %d bytes", name, largest)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("spooled event %s: %w", name, errors.New(strings.TrimPrefix(err.Error(), "json: ")))
	}
	if e.Session == "" || e.Host == "" || e.Time.IsZero() {
		return e, fmt.Errorf("spooled event %s lacks its session, host or time", name)
	}
	return e, nil
}

// Remove takes an event out; none is no error.
func (s Spool) Remove(name string) error {
	err := os.Remove(filepath.Join(string(s), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Key is the key of a workspace's digests, nil if no store left it.
func (s Spool) Key(workspace string) *episodic.DigestKey {
	text, err := os.ReadFile(s.keyFile(workspace))
	if err != nil || len(text) != len(episodic.DigestKey{}) {
		return nil
	}
	key := episodic.DigestKey(text)
	return &key
}

// KeepKey leaves the key of a workspace's digests for hooks.
func (s Spool) KeepKey(workspace string, key episodic.DigestKey) error {
	if has := s.Key(workspace); has != nil && *has == key {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(string(s), keys), 0o700); err != nil {
		return err
	}
	return os.WriteFile(s.keyFile(workspace), key[:], 0o600)
}

// DropKeys takes all keys away: what is spooled from now on has no digests.
func (s Spool) DropKeys() error { return os.RemoveAll(filepath.Join(string(s), keys)) }

func (s Spool) keyFile(workspace string) string {
	return filepath.Join(string(s), keys, fmt.Sprintf("%x", workspace)) // any name makes a file name
}
