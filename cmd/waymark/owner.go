package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"waymark/storage"
)

// ownerNote names the process that has a data directory and its address. It is a note for people and for other
// commands, not the lock: the lock is held by [storage.Open] and vanishes with the process, while the note may outlive
// a crash.
type ownerNote struct {
	PID     int    `json:"pid"`
	Addr    string `json:"addr,omitempty"` // where it answers; empty if it does not
	Token   string `json:"token,omitempty"`
	Command string `json:"command,omitempty"`
	// GivesWay is set if the process leaves the directory to a server that starts.
	GivesWay bool `json:"gives_way,omitempty"`
}

// String names the process, as far as it is known.
func (o ownerNote) String() string {
	switch {
	case o.PID == 0:
		return "another process"
	case o.Addr == "":
		return fmt.Sprintf("process %d (%s)", o.PID, o.Command)
	}
	return fmt.Sprintf("process %d (%s) at %s", o.PID, o.Command, o.Addr)
}

const ownerName = "owner.json"

// writeOwner writes the note to dir, readable by its user alone.
func writeOwner(dir string, o ownerNote) error {
	b, err := json.Marshal(o)
	return errors.Join(err, storage.ReplaceFile(filepath.Join(dir, ownerName), append(b, '\n')))
}

// readOwner returns the note.
func readOwner(dir string) (o ownerNote, err error) {
	b, err := os.ReadFile(filepath.Join(dir, ownerName))
	if err == nil {
		err = json.Unmarshal(b, &o)
	}
	if err != nil {
		return ownerNote{}, fmt.Errorf("owner note: %w", err)
	}
	return o, nil
}
