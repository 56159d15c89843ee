package storage

import (
	"context"
	"iter"
	"time"
)

// Engine is an ordered map with transactions. It does not interpret logs and rows.
type Engine interface {
	// Update runs f in one transaction and makes the writes that it returns durable, all or none. While f runs,
	// no other transaction of any process writes entries of the given workspaces. If f returns an error, nothing
	// is written. If the transaction has to be repeated, f runs again. After any other error it is unknown
	// whether the writes are durable.
	Update(ctx context.Context, workspaces []string, f func(Reader) ([]Pair, error)) error
	// View runs f on one consistent state.
	View(ctx context.Context, f func(Reader) error) error
	// Drop deletes the entries of a table and space with names in [from, to), not atomically. to "" means no upper bound.
	Drop(ctx context.Context, t kind, space, from, to string) error
	// Shared reports whether other processes may write.
	Shared() bool
	// Writable returns nil, or the error with which writes are now rejected.
	Writable() error
	Close() error
}

// Reader reads in a transaction.
type Reader interface {
	// Get returns the values of keys, in order; nil for a key that does not exist.
	Get(keys ...Key) ([][]byte, error)
	// Scan yields the entries of a table and space with names in [from, to), in the order of their names. to "" means no
	// upper bound. A value is valid until the next iteration.
	Scan(t kind, space, from, to string) iter.Seq2[Pair, error]
	// Now returns the time of the clock that all processes share.
	Now() (time.Time, error)
}

// Key identifies an entry.
type Key struct {
	Table kind
	Space string // a workspace and its number of deletions, see [header.space]; "" for entries of no workspace
	Name  string
}

// Pair is an entry. As a write, a pair without a value deletes the entry.
type Pair struct {
	Key
	Value []byte
}

// kind is the table of an entry.
type kind byte

// The tables in the order in which a backup contains them, each with the name and the value of its entries. Numbers in
// names are big-endian, so names sort like their numbers.
const (
	tableHeads     kind = 'h' // workspace: its header
	tableEvents    kind = 'e' // seq: an event
	tableKeys      kind = 'k' // SHA-256 of the key of a record: its seq and digest
	tableRows      kind = 'r' // key of a row: version and value
	tableLeases    kind = 'l' // name: holder, fencing number and end
	tableSnapshots kind = 's' // "": the list of snapshots
	tableParts     kind = 'p' // the name of a snapshot and a number: a part of a snapshot
	tableMarks     kind = 'm' // "restoring": a restore has not finished; badger's count of commits
)

func (t kind) String() string { return string(rune(t)) }

// engineTimeout is the maximum duration of one write transaction, or of one statement of a read
// transaction, in a shared engine.
const engineTimeout = 10 * time.Second
