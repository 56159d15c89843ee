package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"waymark/storage"
)

// bookRow is the row of a workspace's table with its account.
const bookRow = "token-ledger"

// saveEvery bounds how much of the account the end of the process without Close can lose: looking for tools is a
// read, and a write for each would make it slower.
const saveEvery = time.Minute

// Books are the accounts of the workspaces.
type Books struct {
	// Table is the table of a workspace, nil where there is no such workspace. Without it nothing is stored.
	Table func(workspace string) (storage.Table, error)
	// Warn is told what could not be read or stored. The account goes on in memory.
	Warn func(error)

	mu          sync.Mutex
	byWorkspace map[string]*Book
}

// Of is the book of a workspace.
func (b *Books) Of(workspace string) *Book {
	b.mu.Lock()
	defer b.mu.Unlock()
	book := b.byWorkspace[workspace]
	if book != nil {
		return book
	}
	book = &Book{warn: b.Warn}
	if b.Table != nil {
		table, err := b.Table(workspace)
		if err == nil && table == nil {
			return book // the workspace may be made later
		}
		if err == nil {
			err = book.open(table)
		}
		if err != nil {
			b.Warn(fmt.Errorf("token ledger of workspace %q: %w", workspace, err))
		}
	}
	if b.byWorkspace == nil {
		b.byWorkspace = map[string]*Book{}
	}
	b.byWorkspace[workspace] = book
	return book
}

// Drop forgets the book of a workspace.
func (b *Books) Drop(workspace string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.byWorkspace, workspace)
}

// Close stores what was counted since the last time.
func (b *Books) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, book := range b.byWorkspace {
		book.mu.Lock()
		book.save()
		book.mu.Unlock()
	}
}

// stored is a book as it is kept in a table.
type stored struct {
	Begun int             `json:"begun"`
	Total Balance         `json:"total"`
	Alive map[string]kept `json:"alive,omitempty"` // by keyOf the name
}

// keyOf stands for the name of a conversation, which may say who asked.
func keyOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// open reads the account that the process before left. One that is damaged is neither counted nor overwritten.
func (b *Book) open(table storage.Table) error {
	value, _, err := table.Get(context.Background(), bookRow)
	if errors.Is(err, storage.ErrNotFound) {
		b.table = table
		return nil
	}
	var s stored
	if err == nil {
		err = json.Unmarshal(value, &s)
	}
	if err != nil {
		return err
	}
	b.table, b.begun, b.total, b.alive = table, s.Begun, s.Total, map[string]*kept{}
	for key, c := range s.Alive {
		b.alive[key] = &c
	}
	return nil
}

// save stores the account, with the conversations that did not rest. b.mu is held.
func (b *Book) save() {
	if b.table == nil || !b.changed {
		return
	}
	s := stored{b.begun, b.total, map[string]kept{}}
	for key, c := range b.alive {
		if b.latest.Sub(c.Last) <= idle {
			s.Alive[key] = *c
		}
	}
	value, err := json.Marshal(s)
	if err == nil {
		_, err = b.table.Put(context.Background(), bookRow, value)
	}
	if err != nil {
		b.warn(fmt.Errorf("store the token ledger: %w", err))
		return
	}
	b.changed = false
}
