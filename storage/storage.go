// Package storage keeps bytes, durably.
//
// A workspace is one append-only log and one small table. The log is the truth:
//
//	seq    1        2        3                    dense, from 1
//	chain  c1 ───▶  c2 ───▶  c3                   c(n) = SHA-256(c(n-1) ‖ seq ‖ digest(payload n))
//
// Everything else in the program is computed from it. Append returns only after the events are on
// disk; a payload may later be erased ([Log.Erase]), its digest stays, so the chain never breaks.
// The table holds what is not history: access keys, idempotent answers, jobs.
//
// [Open] keeps all workspaces in one badger directory, [NewMemory] in maps. Both pass one test suite.
package storage

import (
	"context"
	"errors"
	"io"
	"iter"
)

// The errors a caller may meet, by the moment they occur.
var (
	// While opening: another process has the directory.
	ErrInUse = errors.New("data directory is in use")
	// While opening or reading: acknowledged data is missing or changed.
	ErrDamaged = errors.New("data is damaged")
	// While writing: the disk has too little room left; reads go on.
	ErrNoSpace = errors.New("too little disk space")
	// While writing: an earlier commit failed, so nothing more is accepted until a restart.
	ErrReadOnly = errors.New("storage stopped accepting writes")
	// In a table: the version given is not the current one.
	ErrConflict = errors.New("version conflict")
	// In a table, or a workspace that does not exist.
	ErrNotFound = errors.New("not found")
	// Any call after Close.
	ErrClosed = errors.New("storage is closed")
)

// MaxPayload is the largest payload of one event or table value, in bytes.
const MaxPayload = 256 << 10

// Record is what a caller appends. Key, where not empty, names the thing recorded (an episode id):
// a second record with the same key is a duplicate if its payload is the same and a conflict if not.
type Record struct {
	Key     string
	Payload []byte
}

// Receipt answers one record, in order.
type Receipt struct {
	Seq    uint64 // of the event stored, or of the earlier one with this key
	Status Status
}

// Status of a record after an append.
type Status uint8

const (
	Stored    Status = iota // new, durable
	Duplicate               // the key is known with the same payload; nothing was written
	Conflict                // the key is known with another payload; nothing was written
)

// Event is one entry of the log.
type Event struct {
	Seq     uint64
	Chain   [32]byte
	Digest  [32]byte // SHA-256 of the payload as it was appended
	Erased  bool     // the payload was erased and is empty
	Payload []byte
}

// Head is the end of a log. The zero Head is an empty log.
type Head struct {
	Seq   uint64
	Chain [32]byte
}

// Log is the history of one workspace. All methods may be called concurrently.
type Log interface {
	// Append stores the records in order, in one atomic and durable commit where they fit one
	// (at most 1,000 records and 2 MiB a commit; more are split, each part atomic). An error comes
	// with the receipts of the parts before it; of the rest it is unknown whether they are stored.
	// Appending them again with the same keys is safe. While it waits its turn, ctx may end it.
	Append(ctx context.Context, records []Record) ([]Receipt, error)
	// Read yields the events with seq > after, in order. It stops at the head it saw at the start.
	Read(ctx context.Context, after uint64) iter.Seq2[Event, error]
	// Head is the last durable event.
	Head() Head
	// Erase removes payloads for good; erased or unknown seqs are no error. Keys stay known, and so
	// do digests: who can guess a payload can still confirm the guess.
	Erase(ctx context.Context, seqs []uint64) error
	// PutSnapshot keeps what write writes, data derived from the log up to seq; the two newest are
	// kept. A seq beyond the head is refused. An error of write, or the end of ctx, leaves things as
	// they were. Appends go on meanwhile; one snapshot of a workspace is written at a time, and
	// DropSnapshots and Delete wait for it, so write may read the store but not change it.
	PutSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error
	// Snapshots yields the snapshots kept, newest first. A damaged one yields its seq with an error
	// that wraps ErrDamaged; the caller goes on to the next.
	Snapshots(ctx context.Context) iter.Seq2[Snapshot, error]
	// DropSnapshots removes all snapshots, durably, also one that is being written.
	DropSnapshots(ctx context.Context) error
}

// Snapshot is derived data, valid for the log up to Seq.
type Snapshot struct {
	Seq  uint64
	Data []byte
}

// Table is a small durable map of one workspace. Versions start at 1; 0 stands for absent. A row that
// was deleted and put again starts at 1 again.
type Table interface {
	Get(ctx context.Context, key string) (value []byte, version uint64, err error) // ErrNotFound
	Put(ctx context.Context, key string, value []byte) (version uint64, err error)
	// CAS stores value if the current version is the given one (0: only if absent), else ErrConflict.
	CAS(ctx context.Context, key string, version uint64, value []byte) (uint64, error)
	Delete(ctx context.Context, key string) error
	// List yields keys with the prefix and their values, in key order.
	List(ctx context.Context, prefix string) iter.Seq2[Entry, error]
}

// Entry is one row of a table.
type Entry struct {
	Key     string
	Value   []byte
	Version uint64
}

// Store holds the workspaces.
type Store interface {
	// Log opens (and creates) the log of a workspace; Table its table. System is the table that
	// belongs to no workspace.
	Log(workspace string) (Log, error)
	Table(workspace string) (Table, error)
	System() Table
	Workspaces(ctx context.Context) ([]string, error)
	// Delete removes a workspace and everything in it.
	Delete(ctx context.Context, workspace string) error
	// Clear removes the log of a workspace, with its snapshots, and keeps the table. Handles opened before answer
	// ErrNotFound from then on.
	Clear(ctx context.Context, workspace string) error
	Maintenance
	Close() error
}

// Maintenance is what an operator does with a whole store.
type Maintenance interface {
	// Backup writes every workspace and table in one consistent state, ending in a count and a SHA-256.
	Backup(ctx context.Context, w io.Writer) (BackupSummary, error)
	// Health is nil, or says why writes are refused or data is suspect.
	Health() error
	// Writable is nil, or says why writes are refused now: [ErrReadOnly], [ErrNoSpace], [ErrClosed].
	Writable() error
}

// BackupSummary says what a backup holds. SHA256 covers all bytes before the trailer, which repeats
// it; Bytes is the length with the trailer. The system table is no workspace, but its rows count.
type BackupSummary struct {
	Workspaces int    `json:"workspaces"`
	Events     uint64 `json:"events"`
	Rows       uint64 `json:"rows"`
	Bytes      int64  `json:"bytes"`
	SHA256     string `json:"sha256"`
}
