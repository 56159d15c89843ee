package storage

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

// repair makes an accepted database consistent again: of each log the readable prefix stays, and
// what is taken out is first written to a file of its own. That file has frames as in a backup, each
// with a key and a value of the database.
func (b *Badger) repair(a *audit) error {
	var out [][]byte
	for _, name := range slices.Sorted(maps.Keys(a.logs)) {
		s := a.logs[name]
		if s.deleting {
			continue
		}
		if s.cut {
			if err := b.keepPrefix(name, s.head.Seq); err != nil {
				return fmt.Errorf("workspace %q: %w", name, err)
			}
			out = append(out, b.keysFrom(prefix(kindEvent, name), eventKey(name, s.head.Seq+1))...)
		}
	}
	out = append(out, a.badRows...)
	if err := b.setAside(out); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.logs)) {
		s := a.logs[name]
		if !s.registered {
			if err := b.put(pair{registryKey(name), encodeWorkspace(0)}); err != nil {
				return err
			}
		}
	}
	a.commits = max(a.commits, a.marked) + 1
	return b.put(pair{metaKey(metaCommits), encodeRow(a.commits, nil)})
}

type pair struct{ key, value []byte }

// put and its like write without the committer, which does not run yet.
func (b *Badger) put(pairs ...pair) error {
	wb := b.db.NewWriteBatch()
	defer wb.Cancel()
	for _, p := range pairs {
		if p.value == nil {
			if err := wb.Delete(p.key); err != nil {
				return err
			}
		} else if err := wb.Set(p.key, p.value); err != nil {
			return err
		}
	}
	return wb.Flush()
}

func (b *Badger) keysFrom(prefix, from []byte) (keys [][]byte) {
	b.db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: prefix})
		defer it.Close()
		for it.Seek(from); it.Valid(); it.Next() {
			keys = append(keys, it.Item().KeyCopy(nil))
		}
		return nil
	})
	return keys
}

// setAside copies entries to a new file aside-N, syncs it, and deletes them.
func (b *Badger) setAside(keys [][]byte) error {
	if len(keys) == 0 {
		return nil
	}
	f, err := openFile(freeName(b.dir, asidePrefix), os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	err = b.db.View(func(txn *badger.Txn) error {
		for _, k := range keys {
			item, err := txn.Get(k)
			if err != nil {
				return err
			}
			body := binary.BigEndian.AppendUint16(nil, uint16(len(k)))
			body = append(body, k...)
			err = item.Value(func(v []byte) error {
				_, err := w.Write(appendFrame(nil, frameRaw, append(body, v...)))
				return err
			})
			if err != nil {
				return err
			}
		}
		return w.Flush()
	})
	if err == nil {
		err = syncFile(f)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = syncDir(b.dir)
	}
	if err != nil {
		return fmt.Errorf("setting %d entries aside: %w", len(keys), err)
	}
	gone := make([]pair, len(keys))
	for i, k := range keys {
		gone[i].key = k
	}
	return b.put(gone...)
}

// keepPrefix stores the events up to head that share an entry with the one after it in an entry of
// their own, before that entry is taken out.
func (b *Badger) keepPrefix(name string, head uint64) error {
	var r run
	err := b.db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: prefix(kindEvent, name)})
		defer it.Close()
		if it.Seek(eventKey(name, head+1)); !it.Valid() {
			return nil
		}
		_, last, err := splitSeq(it.Item().Key())
		if err != nil {
			return err
		}
		return it.Item().Value(func(v []byte) error {
			first, stored, err := records(nil, last, v)
			if err != nil {
				return nil // not one of them was read
			}
			for seq := first; seq <= head; seq++ {
				e, err := decodeEvent(seq, stored[seq-first])
				if err != nil {
					return err
				}
				r.add(&e)
			}
			return nil
		})
	})
	if err != nil || r.n == 0 {
		return err
	}
	return b.put(pair{eventKey(name, head), r.value()})
}
