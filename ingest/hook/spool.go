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

// Spool is a directory of events that are not processed yet, one file per event.
type Spool string

const (
	ending  = ".json"
	keys    = "keys"
	full    = "full"    // marker file: no process reads the events
	most    = 50_000    // maximum number of events; with more, the spool is marked full
	largest = 256 << 10 // maximum size of an event in bytes
)

// writeFile writes v as JSON to a file, which gets its name only when it is complete. It creates the folder if
// necessary.
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

// Leave writes an event to the spool.
func (s Spool) Leave(e Event) error {
	if _, err := os.Lstat(filepath.Join(string(s), full)); err == nil {
		return errors.New("no process reads the spooled events")
	}
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	if err := writeFile(string(s), fmt.Sprintf("%020d-%x%s", e.Time.UnixNano(), random, ending), e); err != nil {
		return err
	}
	if random[0] == 0 { // checked once in 256 events on average
		if list, err := os.ReadDir(string(s)); err == nil && len(list) > most {
			return os.WriteFile(filepath.Join(string(s), full), nil, 0o600)
		}
	}
	return nil
}

// List returns the names of the events before a moment, in chronological order. It removes the full marker and
// old partial files.
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
			os.Remove(filepath.Join(string(s), full)) // a process reads the events now
		case name[0] == '.': // partially written; if it is old, the hook was killed
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

// Take reads an event. The error for a damaged event is not a [fs.PathError].
func (s Spool) Take(name string) (e Event, err error) {
	path := filepath.Join(string(s), name)
	info, err := os.Lstat(path)
	if err != nil {
		return e, err
	}
	if !info.Mode().IsRegular() || info.Size() > largest {
		return e, fmt.Errorf("spooled event %s is not a file of at most %d bytes", name, largest)
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

// Remove removes an event; a missing event is not an error.
func (s Spool) Remove(name string) error {
	err := os.Remove(filepath.Join(string(s), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Key returns the digest key of a workspace, nil if no store has left one.
func (s Spool) Key(workspace string) *episodic.DigestKey {
	text, err := os.ReadFile(s.keyFile(workspace))
	if err != nil || len(text) != len(episodic.DigestKey{}) {
		return nil
	}
	key := episodic.DigestKey(text)
	return &key
}

// KeepKey stores the digest key of a workspace for the hooks.
func (s Spool) KeepKey(workspace string, key episodic.DigestKey) error {
	if has := s.Key(workspace); has != nil && *has == key {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(string(s), keys), 0o700); err != nil {
		return err
	}
	return os.WriteFile(s.keyFile(workspace), key[:], 0o600)
}

// DropKeys removes all keys: events spooled from now on have no digests.
func (s Spool) DropKeys() error { return os.RemoveAll(filepath.Join(string(s), keys)) }

func (s Spool) keyFile(workspace string) string {
	return filepath.Join(string(s), keys, fmt.Sprintf("%x", workspace)) // any name gives a valid file name
}
