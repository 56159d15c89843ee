package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
)

// Backup writes the store as it is at one moment; appends go on meanwhile.
func (b *Badger) Backup(ctx context.Context, w io.Writer) (s BackupSummary, err error) {
	names, err := b.Workspaces(ctx)
	if err == nil {
		err = b.view(func(txn *badger.Txn) error {
			bw, err := newBackupWriter(w)
			for _, name := range append([]string{""}, names...) {
				if err == nil {
					err = b.backupSection(ctx, txn, bw, name)
				}
			}
			if err != nil {
				return err
			}
			s, err = bw.finish()
			return err
		})
	}
	if err != nil {
		return BackupSummary{}, fmt.Errorf("backup: %w", err)
	}
	return s, nil
}

func (b *Badger) backupSection(ctx context.Context, txn *badger.Txn, bw *backupWriter, name string) error {
	if name != "" {
		// A workspace made after the view began is not in it, one deleted meanwhile may be in parts.
		item, err := txn.Get(registryKey(name))
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		v, err := item.ValueCopy(nil)
		if err != nil {
			return err
		}
		if flags, _, err := unseal(v); err != nil || flags != 0 {
			return err
		}
	}
	if err := bw.section(name); err != nil {
		return err
	}
	var head Head
	walk := func(kind byte, fn func(rest string, k, v []byte) error) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: prefix(kind, name)})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if b.closed() {
				return ErrClosed
			}
			k := it.Item().Key()
			if err := it.Item().Value(func(v []byte) error { return fn(string(k[2+len(name):]), k, v) }); err != nil {
				return err
			}
		}
		return nil
	}
	err := walk(kindRow, func(row string, _, v []byte) error {
		version, value, err := decodeRow(v)
		if err != nil {
			return damaged("workspace %q: table row %q: %v", name, row, err)
		}
		return bw.row(row, version, value)
	})
	if err == nil && name != "" {
		var stored [][]byte
		err = walk(kindEvent, func(_ string, k, v []byte) error {
			_, last, err := splitSeq(k)
			if err != nil {
				return err
			}
			seq := last
			if seq, stored, err = records(stored[:0], last, v); err != nil {
				return damaged("workspace %q: event %d: %v", name, last, err)
			}
			for _, one := range stored {
				e, err := decodeEvent(seq, one)
				if err == nil && seq != head.Seq+1 {
					err = fmt.Errorf("it follows event %d", head.Seq)
				}
				if err == nil {
					err = e.check(head)
				}
				if err != nil {
					return damaged("workspace %q: event %d: %v", name, seq, err)
				}
				head = Head{Seq: seq, Chain: e.Chain}
				if err := bw.event(seq, one); err != nil {
					return err
				}
				seq++
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	return bw.end(head)
}

// Restore makes a store in dir from a backup. dir must be empty or not exist. The store is built
// beside it and takes its name only after the last byte of the backup has been verified and all is
// on disk; after an error nothing is left. Seqs, chains, keys and versions are those of the backup.
func Restore(ctx context.Context, r io.Reader, dir string, opts Options) (BackupSummary, error) {
	s, err := restore(ctx, r, dir, opts)
	if err != nil {
		return BackupSummary{}, fmt.Errorf("restore into %s: %w", dir, err)
	}
	return s, nil
}

func restore(ctx context.Context, r io.Reader, dir string, opts Options) (s BackupSummary, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return s, err
	}
	switch entries, err := os.ReadDir(dir); {
	case err == nil && len(entries) > 0:
		return s, errors.New("the directory is not empty")
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return s, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return s, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".restore-")
	if err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	opts.AcceptDamage = false
	b, err := Open(temp, opts)
	if err != nil {
		return s, err
	}
	sink := &restorer{ctx: ctx, b: b}
	s, err = readBackup(r, sink)
	if err == nil {
		err = sink.flush()
	}
	if e := b.Close(); err == nil {
		err = e
	}
	if err != nil {
		return s, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return s, err
	}
	if err := rename(temp, dir); err != nil {
		return s, err
	}
	return s, syncDir(filepath.Dir(dir))
}

// restorer writes what a backup holds through the committer.
type restorer struct {
	ctx  context.Context
	b    *Badger
	w    *space
	rows []pair
	log  []storedEvent
	size int
}

func (r *restorer) section(name string) (err error) {
	r.w = r.b.system
	if name != "" {
		r.w, err = r.b.space(name)
	}
	return err
}

func (r *restorer) row(key string, version uint64, value []byte) error {
	k := rowKey(r.w.name, key)
	if err := r.room(len(k) + len(value) + 100); err != nil {
		return err
	}
	r.rows = append(r.rows, pair{k, encodeRow(version, value)})
	return nil
}

func (r *restorer) event(e storedEvent) error {
	if err := r.room(recordSize(r.w.name, Record{Payload: e.Payload})); err != nil {
		return err
	}
	r.log = append(r.log, e)
	return nil
}

// end makes the head of the section current: the mark written at Close needs it.
func (r *restorer) end(h Head) error {
	if err := r.flush(); err != nil {
		return err
	}
	if r.w != r.b.system {
		r.w.head.Store(&h)
	}
	return nil
}

// room commits what there is if a further entry of this size does not fit with it.
func (r *restorer) room(size int) error {
	if r.size+size > maxBytes || len(r.rows)+len(r.log) == maxRecords {
		if err := r.flush(); err != nil {
			return err
		}
	}
	r.size += size
	return nil
}

func (r *restorer) flush() error {
	rows, log, w := r.rows, r.log, r.w
	err := r.b.submit(r.ctx, &request{records: len(rows) + len(log), size: r.size, apply: func(t *tx) error {
		for _, p := range rows {
			if err := t.set(p.key, p.value); err != nil {
				return err
			}
		}
		for i := range log {
			if err := t.put(w, &log[i]); err != nil {
				return err
			}
			if log[i].keyed {
				w.keys.add(&log[i].keyHash, log[i].Seq)
			}
		}
		return nil
	}})
	r.rows, r.log, r.size = nil, nil, 0
	return err
}
