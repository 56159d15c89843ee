package storage

import (
	"context"
	"iter"
	"time"
)

// Engine is an ordered map with transactions. It knows nothing of logs and rows.
type Engine interface {
	// Update runs f in one transaction and makes the writes that it returns durable, all or none. While f runs,
	// no other transaction, of any process, writes what belongs to the given workspaces. After an error of f
	// nothing is written. f may run again where the transaction has to be repeated. After any other error it is
	// unknown whether the writes are durable.
	Update(ctx context.Context, workspaces []string, f func(Reader) ([]Pair, error)) error
	// View runs f on one consistent state.
	View(ctx context.Context, f func(Reader) error) error
	// Drop deletes the entries of a table and space with names in [from, to), to "" for the last; not atomically.
	Drop(ctx context.Context, t kind, space, from, to string) error
	// Shared reports whether other processes may write.
	Shared() bool
	// Writable is nil, or says why writes are refused now.
	Writable() error
	Close() error
}

// Reader reads in a transaction.
type Reader interface {
	// Get returns the values of keys, in order; nil for a key that does not exist.
	Get(keys ...Key) ([][]byte, error)
	// Scan yields the entries of a table and space with names in [from, to), in the order of their names; to ""
	// for the last. A value lasts until the next one.
	Scan(t kind, space, from, to string) iter.Seq2[Pair, error]
	// Now is the clock that all processes share.
	Now() (time.Time, error)
}

// Key is the place of an entry.
type Key struct {
	Table kind
	Space string // a workspace and how often it was deleted, see [header.space]; "" for what belongs to none
	Name  string
}

// Pair is an entry; as a write without a value it deletes.
type Pair struct {
	Key
	Value []byte
}

// kind says what an entry is.
type kind byte

// In the order in which a backup has them. Numbers in names are big-endian, so the order of names is theirs.
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

// engineTimeout is how long one transaction that writes, or one statement of another, may take in a shared engine.
const engineTimeout = 10 * time.Second
