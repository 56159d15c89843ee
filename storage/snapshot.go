package storage

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	mathrand "math/rand/v2"
	"slices"
)

// A snapshot is derived data, valid for the log up to an event. It is stored in parts; the entry in tableSnapshots,
// written last, makes it visible. The two newest are kept.

// Snapshot is what was stored.
type Snapshot struct {
	Seq  uint64
	Data []byte
}

const (
	partBytes     = 512 << 10 // below badger's threshold for values of their own file
	keptSnapshots = 2
	maxSnapshot   = 4 << 30
)

// PutSnapshot keeps what write writes, data derived from the log up to seq. It is refused with [ErrHeld] if somebody
// took over the lease with that fencing number since ("" for no lease), and if something was erased while the log ended
// at seq or later. An error of write, or the end of ctx, leaves things as they were. Snapshots are written one after
// another.
func (s *Store) PutSnapshot(ctx context.Context, workspace string, seq uint64, lease string, fence uint64, write func(io.Writer) error) error {
	s.snapshots.Lock()
	defer s.snapshots.Unlock()
	h := s.seen(workspace)
	p := &partWriter{ctx: ctx, store: s, workspace: workspace, space: h.space(workspace), prefix: name(seq, fence, mathrand.Uint64()), sum: sha256.New()}
	err := checkWorkspace(workspace)
	if err == nil {
		err = p.keep(ctx)
	}
	if err != nil {
		return fmt.Errorf("snapshot of workspace %q: %w", workspace, err)
	}
	err = write(p)
	if err == nil {
		err = p.flush()
	}
	if err == nil {
		err = s.submit(ctx, &op{workspaces: []string{"", workspace}, size: 1024, apply: func(c *commit) error { return p.finish(c, seq, lease, fence) }})
	}
	if err != nil {
		s.sweep(context.WithoutCancel(ctx), p.space, p.prefix, after(p.prefix))
		return fmt.Errorf("snapshot of workspace %q: %w", workspace, err)
	}
	return nil
}

// partWriter stores what is written to it in parts.
type partWriter struct {
	ctx              context.Context
	store            *Store
	workspace, space string
	prefix           string // of the names of the parts
	parts            uint64
	size             uint64
	sum              hash.Hash
	buf              []byte
}

func (p *partWriter) Write(b []byte) (n int, err error) {
	p.sum.Write(b)
	p.size += uint64(len(b))
	if p.size > maxSnapshot {
		return 0, fmt.Errorf("a snapshot of more than %d bytes", maxSnapshot)
	}
	for n = len(b); len(b) > 0 && err == nil; {
		m := min(partBytes-len(p.buf), len(b))
		p.buf, b = append(p.buf, b[:m]...), b[m:]
		if len(p.buf) == partBytes {
			err = p.flush()
		}
	}
	return n, err
}

func (p *partWriter) flush() error {
	if len(p.buf) == 0 {
		return nil
	}
	k, value := Key{tableParts, p.space, p.prefix + name(p.parts)}, bytes.Clone(p.buf)
	p.parts, p.buf = p.parts+1, p.buf[:0]
	return p.store.submit(p.ctx, &op{size: len(value) + 256, apply: func(c *commit) error { c.put(k, value); return nil }})
}

// keep deletes the parts of snapshots that were not finished or are not kept.
func (p *partWriter) keep(ctx context.Context) error {
	var kept []string
	err := p.store.view(ctx, func(r Reader) error {
		for e, err := range r.Scan(tableSnapshots, p.space, "", "") {
			if err != nil {
				return err
			}
			kept = append(kept, e.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	from := ""
	for _, k := range append(kept, "") {
		p.store.sweep(ctx, p.space, from, k)
		from = after(k)
	}
	return ctx.Err()
}

// finish makes the snapshot visible and takes the third newest away.
func (p *partWriter) finish(c *commit, seq uint64, lease string, fence uint64) error {
	h := c.headers[p.workspace]
	switch {
	case h.space(p.workspace) != p.space || !h.exists():
		return ErrNotFound
	case seq > h.head.Seq:
		return fmt.Errorf("event %d is not in the log", seq)
	case h.erasedAt > 0 && seq <= h.erasedAt:
		return errors.New("something that it counts was erased meanwhile")
	}
	if lease != "" {
		if now, _, _ := decodeLease(c.get(Key{tableLeases, "", lease})); now > fence {
			return ErrHeld
		}
	}
	c.put(Key{tableSnapshots, p.space, p.prefix}, p.sum.Sum(binary.BigEndian.AppendUint64(nil, p.size)))
	names, err := c.names(tableSnapshots, p.space)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		old := number(n) == seq && n != p.prefix // of one event the last snapshot is kept
		if old {
			c.put(Key{tableSnapshots, p.space, n}, nil)
		}
		return old
	})
	for _, old := range names[:max(0, len(names)-keptSnapshots)] {
		c.put(Key{tableSnapshots, p.space, old}, nil)
	}
	c.change(p.workspace, h)
	return nil
}

// Snapshots yields those that are kept, newest first. A damaged one yields its seq with an error that wraps
// [ErrDamaged]; the caller goes on to the next.
func (s *Store) Snapshots(ctx context.Context, workspace string) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		var kept []Pair
		err := s.view(ctx, func(r Reader) error {
			h, err := readHeader(r, workspace)
			if err != nil {
				return err
			}
			for e, err := range r.Scan(tableSnapshots, h.space(workspace), "", "") {
				if err != nil {
					return err
				}
				kept = append(kept, Pair{e.Key, bytes.Clone(e.Value)})
			}
			return nil
		})
		for _, e := range slices.Backward(kept) {
			data, err := s.snapshot(ctx, e)
			if errors.Is(err, ErrNotFound) {
				continue // it was removed meanwhile
			}
			if err != nil {
				err = fmt.Errorf("snapshot of workspace %q at event %d: %w", workspace, number(e.Name), err)
			}
			if !yield(Snapshot{number(e.Name), data}, err) {
				return
			}
		}
		if err != nil {
			yield(Snapshot{}, fmt.Errorf("snapshots of workspace %q: %w", workspace, err))
		}
	}
}

// snapshot reads the parts of one.
func (s *Store) snapshot(ctx context.Context, e Pair) (data []byte, err error) {
	if len(e.Value) != 8+sha256.Size || binary.BigEndian.Uint64(e.Value) > maxSnapshot {
		return nil, damaged("its entry has an unknown form")
	}
	size := binary.BigEndian.Uint64(e.Value)
	err = s.view(ctx, func(r Reader) error {
		data = nil
		if values, err := r.Get(e.Key); err != nil || values[0] == nil {
			return cmp.Or(err, ErrNotFound)
		}
		for p, err := range r.Scan(tableParts, e.Space, e.Name, after(e.Name)) {
			if err != nil {
				return err
			}
			if uint64(len(data)+len(p.Value)) > size {
				break
			}
			if data == nil {
				data = make([]byte, 0, size)
			}
			data = append(data, p.Value...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); uint64(len(data)) != size || !bytes.Equal(sum[:], e.Value[8:]) {
		return nil, damaged("its content does not match its SHA-256")
	}
	return data, nil
}

// DropSnapshots removes all snapshots of a workspace.
func (s *Store) DropSnapshots(ctx context.Context, workspace string) error {
	space := ""
	var names []string
	err := s.submit(ctx, &op{workspaces: []string{workspace}, size: 1024, apply: func(c *commit) (err error) {
		space = c.headers[workspace].space(workspace)
		names, err = c.names(tableSnapshots, space)
		for _, n := range names {
			c.put(Key{tableSnapshots, space, n}, nil)
		}
		return err
	}})
	if err != nil {
		return fmt.Errorf("snapshots of workspace %q: %w", workspace, err)
	}
	for _, n := range names { // not the parts of one that is being written
		s.sweep(ctx, space, n, after(n))
	}
	return nil
}

// sweep deletes parts of snapshots. What it fails to delete the next snapshot does.
func (s *Store) sweep(ctx context.Context, space, from, to string) {
	if err := s.engine.Drop(ctx, tableParts, space, from, to); err != nil && ctx.Err() == nil {
		s.log.Warn("parts of old snapshots could not be deleted; the next snapshot tries again", "error", err)
	}
}

// Snapshot reads the one of an event; [ErrNotFound] if there is none.
func (s *Store) Snapshot(ctx context.Context, workspace string, seq uint64) (data []byte, err error) {
	var kept *Pair
	err = s.view(ctx, func(r Reader) error {
		h, err := readHeader(r, workspace)
		for e, failed := range r.Scan(tableSnapshots, h.space(workspace), name(seq), name(seq+1)) {
			if err = failed; err != nil {
				break
			}
			kept = &Pair{e.Key, bytes.Clone(e.Value)}
		}
		return err
	})
	switch {
	case err == nil && kept == nil:
		err = ErrNotFound
	case err == nil:
		data, err = s.snapshot(ctx, *kept)
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot of workspace %q at event %d: %w", workspace, seq, err)
	}
	return data, nil
}
