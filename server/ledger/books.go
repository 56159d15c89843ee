package ledger

import "sync"

// Books are the accounts of the workspaces since the program was started. They are not stored: what a conversation
// would have cost without this server is of no use once it is over.
type Books struct {
	mu          sync.Mutex
	byWorkspace map[string]*Book
}

// Of is the book of a workspace.
func (b *Books) Of(workspace string) *Book {
	b.mu.Lock()
	defer b.mu.Unlock()
	book := b.byWorkspace[workspace]
	if book == nil {
		if b.byWorkspace == nil {
			b.byWorkspace = map[string]*Book{}
		}
		book = new(Book)
		b.byWorkspace[workspace] = book
	}
	return book
}

// Drop forgets the book of a workspace.
func (b *Books) Drop(workspace string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.byWorkspace, workspace)
}
