package storage

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/dgraph-io/badger/v4"
)

// A snapshot is written chunks first, header last: it exists from the moment its header is durable,
// and a crash before leaves chunks that nobody refers to, swept by the next snapshot. Every snapshot
// has chunks of its own under a new generation, so rewriting one never harms the one it replaces.
const (
	chunkSize     = 128 << 10
	snapshotsKept = 2
)

func checkSnapshot(seq uint64, head Head) error {
	if seq > head.Seq {
		return fmt.Errorf("snapshot at seq %d is newer than the log, which ends at %d", seq, head.Seq)
	}
	return nil
}

func (l *badgerLog) PutSnapshot(ctx context.Context, seq uint64, data []byte) error {
	if err := l.putSnapshot(ctx, seq, data); err != nil {
		return fmt.Errorf("snapshot of %q: %w", l.w.name, err)
	}
	return nil
}

func (l *badgerLog) putSnapshot(ctx context.Context, seq uint64, data []byte) error {
	if err := checkSnapshot(seq, l.Head()); err != nil {
		return err
	}
	l.w.snap.Lock()
	defer l.w.snap.Unlock()
	l.w.gen++
	gen := l.w.gen
	for i := 0; i*chunkSize < len(data); i++ {
		chunk := data[i*chunkSize : min((i+1)*chunkSize, len(data))]
		err := l.b.submit(ctx, l.request(len(chunk), func(t *tx) error {
			return t.set(chunkKey(l.w.name, gen, uint32(i)), encodeRow(0, chunk))
		}))
		if err != nil {
			return err
		}
	}
	h := snapshotHead{gen: gen, length: uint64(len(data)), sum: sha256.Sum256(data)}
	err := l.b.submit(ctx, l.request(0, func(t *tx) error {
		return t.set(snapshotKey(l.w.name, seq), encodeSnapshotHead(h))
	}))
	if err != nil {
		return err
	}
	return l.sweepSnapshots(ctx, snapshotsKept)
}

// request is one for this workspace that sets a value of n bytes.
func (l *badgerLog) request(n int, apply func(*tx) error) *request {
	return &request{records: 1, size: recordSize(l.w.name, Record{}) + n, apply: func(t *tx) error {
		if l.w.gone.Load() {
			return ErrNotFound
		}
		return apply(t)
	}}
}

// sweepSnapshots deletes all but the newest snapshots and every chunk without a header.
func (l *badgerLog) sweepSnapshots(ctx context.Context, keep int) error {
	var old [][]byte
	err := l.b.view(func(txn *badger.Txn) error {
		kept := make(map[uint64]bool)
		it := txn.NewIterator(badger.IteratorOptions{Prefix: prefix(kindSnapshot, l.w.name), Reverse: true})
		defer it.Close()
		for it.Seek(snapshotKey(l.w.name, ^uint64(0))); it.Valid(); it.Next() {
			if keep == 0 {
				old = append(old, it.Item().KeyCopy(nil))
				continue
			}
			keep--
			it.Item().Value(func(v []byte) error {
				if h, err := decodeSnapshotHead(v); err == nil {
					kept[h.gen] = true
				}
				return nil
			})
		}
		chunks := txn.NewIterator(badger.IteratorOptions{Prefix: prefix(kindChunk, l.w.name)})
		defer chunks.Close()
		for chunks.Rewind(); chunks.Valid(); chunks.Next() {
			_, rest, err := splitKey(chunks.Item().Key())
			if err != nil || len(rest) != 12 || !kept[binary.BigEndian.Uint64(rest)] {
				old = append(old, chunks.Item().KeyCopy(nil))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.b.deleteKeys(ctx, old) // headers come first in old: no header ever lacks its chunks
}

func (l *badgerLog) DropSnapshots(ctx context.Context) error {
	l.w.snap.Lock()
	defer l.w.snap.Unlock()
	if err := l.sweepSnapshots(ctx, 0); err != nil {
		return fmt.Errorf("dropping snapshots of %q: %w", l.w.name, err)
	}
	return nil
}

func (l *badgerLog) Snapshots(ctx context.Context) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		seqs, err := l.snapshotSeqs()
		if err != nil {
			yield(Snapshot{}, fmt.Errorf("snapshots of %q: %w", l.w.name, err))
			return
		}
		for _, seq := range seqs {
			if err := ctx.Err(); err != nil {
				yield(Snapshot{}, err)
				return
			}
			data, err := l.snapshot(seq)
			if errors.Is(err, ErrNotFound) {
				continue // replaced or dropped meanwhile
			}
			if err != nil {
				err = fmt.Errorf("snapshot of %q at seq %d: %w", l.w.name, seq, err)
			}
			if !yield(Snapshot{Seq: seq, Data: data}, err) {
				return
			}
		}
	}
}

func (l *badgerLog) snapshotSeqs() (seqs []uint64, err error) {
	err = l.b.view(func(txn *badger.Txn) error {
		if l.w.gone.Load() {
			return ErrNotFound
		}
		it := txn.NewIterator(badger.IteratorOptions{Prefix: prefix(kindSnapshot, l.w.name), Reverse: true})
		defer it.Close()
		for it.Seek(snapshotKey(l.w.name, ^uint64(0))); it.Valid(); it.Next() {
			if _, seq, err := splitSeq(it.Item().Key()); err == nil {
				seqs = append(seqs, seq)
			}
		}
		return nil
	})
	return seqs[:min(len(seqs), snapshotsKept)], err
}

// snapshot reads one whole snapshot in one transaction, so that a sweep cannot take its chunks away.
func (l *badgerLog) snapshot(seq uint64) (data []byte, err error) {
	if err := checkSnapshot(seq, l.Head()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	err = l.b.view(func(txn *badger.Txn) error {
		item, err := txn.Get(snapshotKey(l.w.name, seq))
		if errors.Is(err, badger.ErrKeyNotFound) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		var h snapshotHead
		err = item.Value(func(v []byte) (err error) {
			h, err = decodeSnapshotHead(v)
			return err
		})
		if err != nil {
			return fmt.Errorf("%w: header: %w", ErrDamaged, err)
		}
		it := txn.NewIterator(badger.IteratorOptions{Prefix: chunkKey(l.w.name, h.gen, 0)[:2+len(l.w.name)+8]})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			err := it.Item().Value(func(v []byte) error {
				_, chunk, err := decodeRow(v)
				data = append(data, chunk...)
				return err
			})
			if err != nil {
				return fmt.Errorf("%w: %w", ErrDamaged, err)
			}
		}
		if uint64(len(data)) != h.length || sha256.Sum256(data) != h.sum {
			return fmt.Errorf("%w: %d bytes do not match the header", ErrDamaged, len(data))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}
