package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Every key of the database starts with its kind, then the workspace with its length before it, so
// that no name is a prefix of another:
//
//	w len name               workspace: alive or being deleted
//	e len name seq           events up to seq, big-endian: key order is log order
//	t len name row           table row; the system table has the empty name
//	m name                   facts about the whole database
//
// Record keys come from clients and enter only as hashes, inside the events. Row names are chosen by the program and
// must stay readable for List, so they stand at the end, limited to MaxRowKey bytes.
const (
	kindWorkspace = 'w'
	kindEvent     = 'e'
	kindRow       = 't'
	kindMeta      = 'm'
)

// maxRowKey is the longest key of a table, MaxWorkspace the longest name of a workspace, in bytes.
const (
	maxRowKey    = 512
	maxWorkspace = 128
)

func prefix(kind byte, workspace string) []byte {
	k := make([]byte, 0, 2+len(workspace)+48)
	k = append(k, kind, byte(len(workspace)))
	return append(k, workspace...)
}

func eventKey(workspace string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(prefix(kindEvent, workspace), seq)
}

func rowKey(workspace, row string) []byte { return append(prefix(kindRow, workspace), row...) }

func metaKey(name string) []byte { return append([]byte{kindMeta}, name...) }

var errKey = errors.New("key of unknown shape")

// splitKey takes a key of any kind but meta apart.
func splitKey(key []byte) (workspace string, rest []byte, err error) {
	if len(key) < 2 || len(key) < 2+int(key[1]) {
		return "", nil, errKey
	}
	n := 2 + int(key[1])
	return string(key[2:n]), key[n:], nil
}

func splitSeq(key []byte) (workspace string, seq uint64, err error) {
	workspace, rest, err := splitKey(key)
	if err == nil && len(rest) != 8 {
		err = errKey
	}
	if err != nil {
		return "", 0, err
	}
	return workspace, binary.BigEndian.Uint64(rest), nil
}

func checkWorkspace(name string) error {
	switch {
	case name == "":
		return errors.New("a workspace needs a name")
	case len(name) > maxWorkspace:
		return fmt.Errorf("workspace name of %d bytes; at most %d are allowed", len(name), maxWorkspace)
	case !utf8.ValidString(name):
		return fmt.Errorf("workspace name %q is not UTF-8", name)
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return fmt.Errorf("workspace name %q has a control character", name)
		}
	}
	return nil
}

func checkRow(key string, value []byte) error {
	switch {
	case key == "":
		return errors.New("a table row needs a key")
	case len(key) > maxRowKey:
		return fmt.Errorf("table key of %d bytes; at most %d are allowed", len(key), maxRowKey)
	case len(value) > MaxPayload:
		return fmt.Errorf("table value of %d bytes; at most %d are allowed", len(value), MaxPayload)
	}
	return nil
}

func checkRecords(records []Record) error {
	for i, r := range records {
		if len(r.Payload) > MaxPayload {
			return fmt.Errorf("record %d has a payload of %d bytes; at most %d are allowed", i, len(r.Payload), MaxPayload)
		}
	}
	return nil
}
