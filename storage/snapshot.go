package storage

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	mathrand "math/rand/v2"
	"slices"
)

// A snapshot is data derived from the log up to an event. It is stored in parts, and becomes visible when it is added
// to the list of the workspace. The list contains the two newest snapshots, oldest first, each in 64 bytes:
//
//	seq fence random     the name, which is the prefix of the names of the parts
//	size SHA-256         of the parts together

const listed = 3*8 + 8 + sha256.Size

func snapshotsKey(space string) Key { return Key{tableSnapshots, space, ""} }

// Snapshot is a stored snapshot of the log up to an event.
type Snapshot struct {
	Seq   uint64
	store *Store
	list  Key
	entry []byte
}

const (
	partBytes     = 512 << 10 // below the size at which badger moves values to its value log
	keptSnapshots = 2
	maxSnapshot   = 4 << 30
)

// PutSnapshot stores the data that write writes, derived from the log up to seq. fence is the fencing number with
// which this process holds lease; lease "" means no lease. If another process has taken over the lease, PutSnapshot
// returns [ErrHeld]. It also fails if something was erased while the log ended at seq or later. An error of write, or
// the end of ctx, leaves the stored snapshots unchanged. A process writes one snapshot at a time.
func (s *Store) PutSnapshot(ctx context.Context, workspace string, seq uint64, lease string, fence uint64, write func(io.Writer) error) error {
	s.snapshots.Lock()
	defer s.snapshots.Unlock()
	h := s.seen(workspace)
	p := &partWriter{ctx: ctx, store: s, workspace: workspace, space: h.space(workspace), prefix: name(seq, fence, mathrand.Uint64()), sum: sha256.New()}
	err := p.checkLease(lease, fence) // otherwise it would delete the parts of the holder
	if err == nil {
		err = p.clean()
	}
	if err == nil {
		buffer := bufio.NewWriterSize(p, partBytes)
		err = write(buffer)
		if err = cmp.Or(err, buffer.Flush()); err == nil {
			err = s.submit(ctx, []string{"", workspace}, func(c *commit) error { return p.finish(c, seq, lease, fence) })
		}
		if err != nil {
			s.sweep(context.WithoutCancel(ctx), p.space, p.prefix, after(p.prefix))
		}
	}
	if err != nil {
		return fmt.Errorf("snapshot of workspace %q: %w", workspace, err)
	}
	return nil
}

// partWriter stores each chunk that is written to it as a part.
type partWriter struct {
	ctx              context.Context
	store            *Store
	workspace, space string
	prefix           string // prefix of the names of the parts
	parts            uint64
	size             uint64
	sum              hash.Hash
}

func (p *partWriter) Write(b []byte) (n int, err error) {
	for chunk := range slices.Chunk(b, partBytes) {
		if p.size += uint64(len(chunk)); p.size > maxSnapshot {
			return n, fmt.Errorf("a snapshot of more than %d bytes", maxSnapshot)
		}
		p.sum.Write(chunk)
		part := Pair{Key{tableParts, p.space, p.prefix + name(p.parts)}, bytes.Clone(chunk)}
		err := p.store.submit(p.ctx, nil, func(c *commit) error { c.put(part); return nil })
		if err != nil {
			return n, err
		}
		p.parts, n = p.parts+1, n+len(chunk)
	}
	return n, nil
}

// checkLease returns [ErrHeld] if another process has taken over the lease since.
func (p *partWriter) checkLease(lease string, fence uint64) error {
	return p.store.view(p.ctx, "", func(r Reader, _ header) error {
		values, err := r.Get(Key{tableLeases, "", lease})
		if err == nil && decodeLease(values[0]).fence > fence {
			err = ErrHeld
		}
		return err
	})
}

// clean deletes the parts of snapshots that were not finished or are no longer in the list.
func (p *partWriter) clean() error {
	kept, err := p.store.Snapshots(p.ctx, p.workspace)
	if err != nil {
		return err
	}
	from := ""
	for _, s := range slices.Backward(kept) {
		p.store.sweep(p.ctx, p.space, from, s.prefix())
		from = after(s.prefix())
	}
	p.store.sweep(p.ctx, p.space, from, "")
	return nil
}

// finish adds the snapshot to the list and removes the third newest from it.
func (p *partWriter) finish(c *commit, seq uint64, lease string, fence uint64) error {
	h := c.headers[p.workspace]
	switch {
	case h.space(p.workspace) != p.space || !h.exists():
		return ErrNotFound
	case seq > h.Head.Seq:
		return fmt.Errorf("event %d is not in the log", seq)
	case h.ErasedAt > 0 && seq <= h.ErasedAt:
		return errors.New("something that it counts was erased meanwhile")
	}
	if decodeLease(c.get(Key{tableLeases, "", lease})).fence > fence {
		return ErrHeld
	}
	if p.parts > 0 && c.get(Key{tableParts, p.space, p.prefix + name(0)}) == nil {
		return errors.New("another process deleted its parts")
	}
	entry := append(binary.BigEndian.AppendUint64([]byte(p.prefix), p.size), p.sum.Sum(nil)...)
	list := slices.DeleteFunc(slices.Collect(slices.Chunk(c.get(snapshotsKey(p.space)), listed)), func(e []byte) bool {
		return number(string(e)) == seq // one snapshot per event
	})
	list = append(list, entry)
	slices.SortFunc(list, bytes.Compare)
	c.put(Pair{snapshotsKey(p.space), bytes.Join(list[max(0, len(list)-keptSnapshots):], nil)})
	c.change(p.workspace, h)
	return nil
}

// Snapshots returns the stored snapshots, newest first.
func (s *Store) Snapshots(ctx context.Context, workspace string) (kept []Snapshot, err error) {
	err = s.view(ctx, workspace, func(r Reader, h header) error {
		list := snapshotsKey(h.space(workspace))
		values, err := r.Get(list)
		if err == nil && len(values[0])%listed != 0 {
			err = damaged("the list has an unknown form")
		}
		if err == nil {
			for entry := range slices.Chunk(values[0], listed) {
				kept = append(kept, Snapshot{number(string(entry)), s, list, entry})
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("snapshots of workspace %q: %w", workspace, err)
	}
	slices.Reverse(kept)
	return kept, nil
}

func (s Snapshot) prefix() string { return string(s.entry[:24]) }

// Data returns the content of a snapshot, or [ErrNotFound] if the snapshot was removed meanwhile.
func (s Snapshot) Data(ctx context.Context) (data []byte, err error) {
	size := binary.BigEndian.Uint64(s.entry[24:])
	err = s.store.view(ctx, "", func(r Reader, _ header) error {
		values, err := r.Get(s.list)
		switch {
		case err != nil:
			return err
		case !bytes.Contains(values[0], s.entry):
			return ErrNotFound
		case size > maxSnapshot:
			return damaged("its entry has an unknown form")
		}
		data = make([]byte, 0, size)
		for p, err := range r.Scan(tableParts, s.list.Space, s.prefix(), after(s.prefix())) {
			if err != nil {
				return err
			}
			if data = append(data, p.Value...); uint64(len(data)) > size {
				break
			}
		}
		return nil
	})
	if sum := sha256.Sum256(data); err == nil && (uint64(len(data)) != size || !bytes.Equal(sum[:], s.entry[32:])) {
		err = damaged("its content does not match its SHA-256")
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot at event %d: %w", s.Seq, err)
	}
	return data, nil
}

// DropSnapshots removes all snapshots of a workspace.
func (s *Store) DropSnapshots(ctx context.Context, workspace string) error {
	h, err := s.header(ctx, workspace)
	if err == nil {
		err = s.engine.Drop(ctx, tableSnapshots, h.space(workspace), "", "")
	}
	return err
}

// sweep deletes parts of snapshots. The next snapshot deletes the parts that sweep fails to delete.
func (s *Store) sweep(ctx context.Context, space, from, to string) {
	if err := s.engine.Drop(ctx, tableParts, space, from, to); err != nil && ctx.Err() == nil {
		s.log.Warn("parts of old snapshots could not be deleted; the next snapshot tries again", "error", err)
	}
}
