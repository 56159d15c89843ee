package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Owner says which process has a data directory and how to talk to it. It is a note for people and
// for other commands, not the lock: the lock is held by [Open] and vanishes with the process, while
// the note may outlive a crash.
type Owner struct {
	PID     int    `json:"pid"`
	Addr    string `json:"addr,omitempty"` // where it answers; empty if it does not
	Token   string `json:"token,omitempty"`
	Started string `json:"started,omitempty"`
	Command string `json:"command,omitempty"`
	// GivesWay says that it leaves the directory to a server that starts.
	GivesWay bool `json:"gives_way,omitempty"`
}

const ownerName = "owner.json"

// WriteOwner leaves the note in dir, readable by its user alone. The directory is created if needed.
func WriteOwner(dir string, o Owner) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("owner note: %w", err)
	}
	b, err := json.Marshal(o)
	if err == nil {
		err = ReplaceFile(filepath.Join(dir, ownerName), append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("owner note: %w", err)
	}
	return nil
}

// ReadOwner returns the note, or [ErrNotFound].
func ReadOwner(dir string) (Owner, error) {
	var o Owner
	b, err := os.ReadFile(filepath.Join(dir, ownerName))
	if errors.Is(err, fs.ErrNotExist) {
		return o, fmt.Errorf("owner note in %s: %w", dir, ErrNotFound)
	}
	if err == nil {
		err = json.Unmarshal(b, &o)
	}
	if err != nil {
		return Owner{}, fmt.Errorf("owner note: %w", err)
	}
	return o, nil
}

// RemoveOwner takes the note away; none is no error.
func RemoveOwner(dir string) error {
	err := os.Remove(filepath.Join(dir, ownerName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("owner note: %w", err)
	}
	return nil
}
