package storage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// The limits of one transaction. Badger's own limit is 2.4 MB with its memtables of 16 MiB.
const (
	maxRecords = 1000
	maxBytes   = 2 << 20
)

// commit is a transaction with the entries that it has read and set.
type commit struct {
	reader  Reader
	values  map[Key]value
	set     []Key // in the order in which they were set first
	headers map[string]header
	failed  error // the first error of the engine or of apply, or damage; if set, nothing is written
}

type value struct {
	bytes []byte // nil: the entry does not exist
	set   bool
}

// submit runs apply in a transaction that writes entries of the given workspaces. The workspaces are sorted, and the
// commit contains their headers. apply sets entries or returns an error. A store runs one write transaction at a time;
// once it runs, it continues even if ctx ends.
func (s *Store) submit(ctx context.Context, workspaces []string, apply func(c *commit) error) error {
	err := cmp.Or(ctx.Err(), s.unavailable())
	for _, workspace := range workspaces {
		err = cmp.Or(err, checkWorkspace(workspace))
	}
	if err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	case <-s.life.Done():
		return ErrClosed
	}
	if err := s.unavailable(); err != nil { // checked again after the wait
		return err
	}
	timed, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	var c *commit
	err = s.engine.Update(timed, workspaces, func(r Reader) ([]Pair, error) {
		c = &commit{reader: r, values: map[Key]value{}, headers: map[string]header{}}
		c.begin(workspaces)
		if c.failed == nil {
			c.fail(apply(c))
		}
		writes := make([]Pair, len(c.set))
		for i, k := range c.set {
			writes[i] = Pair{k, c.values[k].bytes}
		}
		return writes, c.failed
	})
	if err == nil {
		s.mu.Lock()
		for workspace, h := range c.headers {
			s.saw(workspace, h)
		}
		s.mu.Unlock()
	}
	return err
}

// begin reads the headers of workspaces. It fails while a restore is unfinished.
func (c *commit) begin(workspaces []string) {
	keys := []Key{restoring}
	for _, workspace := range workspaces {
		keys = append(keys, headKey(workspace))
	}
	c.fetch(keys...)
	if c.get(restoring) != nil {
		c.fail(errRestoring)
	}
	for i, workspace := range workspaces {
		h, err := decodeHeader(c.get(keys[i+1]))
		if err != nil {
			c.fail(damaged("workspace %q: %v", workspace, err))
		}
		c.headers[workspace] = h
	}
}

func (c *commit) fail(err error) { c.failed = cmp.Or(c.failed, err) }

// fetch reads the keys that have not been read yet.
func (c *commit) fetch(keys ...Key) {
	missing := make([]Key, 0, len(keys))
	for _, k := range keys {
		if _, known := c.values[k]; !known {
			c.values[k] = value{}
			missing = append(missing, k)
		}
	}
	if len(missing) == 0 || c.failed != nil {
		return
	}
	found, err := c.reader.Get(missing...)
	c.fail(err)
	for i := range found {
		c.values[missing[i]] = value{bytes: found[i]}
	}
}

func (c *commit) get(k Key) []byte {
	v, known := c.values[k]
	if !known {
		c.fetch(k)
		v = c.values[k]
	}
	return v.bytes
}

// put sets entries; one without a value is deleted.
func (c *commit) put(entries ...Pair) {
	for _, p := range entries {
		if !c.values[p.Key].set {
			c.set = append(c.set, p.Key)
		}
		c.values[p.Key] = value{p.Value, true}
	}
}

// change sets the header of a workspace and increments its number of changes.
func (c *commit) change(workspace string, h header) {
	h.Changes++
	c.headers[workspace] = h
	c.put(Pair{headKey(workspace), h.encode()})
}

// Append executes a batch. With an error it also returns the receipts of the transactions before the failure. If the
// error wraps [ErrUnavailable] or [ErrReadOnly], it is unknown whether the rest is stored; the same records may be
// appended again with the same keys.
func (s *Store) Append(ctx context.Context, workspace string, b Batch) (done Done, err error) {
	if err := b.check(workspace); err != nil {
		return done, fmt.Errorf("append to workspace %q: %w", workspace, err)
	}
	for more := true; more; more = len(b.Records) > 0 {
		n, _ := b.fits()
		part := appending{Batch: b, workspace: workspace, digests: make([][32]byte, n), keys: make([]string, n)}
		part.Records, part.Changes = b.Records[:n], slices.Clip(b.Changes)
		for i, r := range part.Records {
			part.Changes = append(part.Changes, r.Changes...)
			if part.digests[i] = sha256.Sum256(r.Payload); r.Key != "" {
				key := sha256.Sum256([]byte(r.Key))
				part.keys[i] = string(key[:])
			}
		}
		if err := s.submit(ctx, []string{workspace}, part.apply); err != nil {
			return done, fmt.Errorf("append to workspace %q: %w", workspace, err)
		}
		done = Done{append(done.Receipts, part.done.Receipts...), part.done.Head}
		if part.erasedAt > 0 {
			s.sweep(ctx, part.space, "", name(part.erasedAt+1))
		}
		if b = (Batch{At: b.At, Records: b.Records[n:]}); b.At != nil {
			b.At = &done.Head
		}
	}
	return done, nil
}

// fits returns how many records the first transaction holds, and its size in bytes.
func (b *Batch) fits() (records, size int) {
	size = 300 * len(b.Erase)
	size += sizeOf(b.Changes)
	for ; records < min(len(b.Records), maxRecords); records++ {
		r := &b.Records[records]
		more := len(r.Payload) + 1200 + sizeOf(r.Changes) // including two keys and the longest name of a workspace
		if records > 0 && size+more > maxBytes {
			break
		}
		size += more
	}
	return records, size
}

func sizeOf(changes []Change) (size int) {
	for _, c := range changes {
		size += len(c.Key) + len(c.Value) + 200
	}
	return size
}

// appending is the part of a batch that one transaction executes.
type appending struct {
	Batch
	workspace string
	digests   [][32]byte // of the records
	keys      []string   // SHA-256 of the record keys, since clients choose those; "": no key
	space     string
	done      Done
	erasedAt  uint64 // set if something was erased: snapshots up to this event are removed
}

func (a *appending) apply(c *commit) error {
	before := c.headers[a.workspace]
	if a.At != nil && *a.At != before.Head {
		return fmt.Errorf("%w: the log ends at event %d, not at %d", ErrBehind, before.Head.Seq, a.At.Seq)
	}
	a.done, a.erasedAt, a.space = Done{}, 0, before.space(a.workspace)
	a.fetch(c)
	rows, err := a.rows(c)
	if err != nil {
		return err
	}
	h := before
	h.Deleted = false
	changed := a.erase(c, &h)
	c.put(rows...)
	a.records(c, &h)
	a.done.Head = h.Head
	if changed || len(rows) > 0 || h != before || !before.exists() {
		c.change(a.workspace, h)
	}
	return nil
}

// fetch reads with one call all entries that the batch compares with or changes.
func (a *appending) fetch(c *commit) {
	var keys []Key
	for _, key := range a.keys {
		if key != "" {
			keys = append(keys, Key{tableKeys, a.space, key})
		}
	}
	for _, change := range a.Changes {
		keys = append(keys, Key{tableRows, a.space, change.Key})
	}
	for _, seq := range a.Erase {
		keys = append(keys, Key{tableEvents, a.space, name(seq)})
	}
	c.fetch(keys...)
}

// rows returns the entries to write for the row changes of a batch.
func (a *appending) rows(c *commit) (rows []Pair, err error) {
	for _, change := range a.Changes {
		k := Key{tableRows, a.space, change.Key}
		row, err := decodeRow(change.Key, c.get(k))
		switch {
		case err != nil:
			return nil, err
		case change.Version != nil && *change.Version != row.Version:
			return nil, fmt.Errorf("row %q: %w", change.Key, ErrConflict)
		case change.Value != nil:
			rows = append(rows, Pair{k, encodeRow(row.Version+1, change.Value)})
		case row.Version > 0:
			rows = append(rows, Pair{k, nil})
		}
	}
	return rows, nil
}

// records appends events to the log that ends at h.Head.
func (a *appending) records(c *commit, h *header) {
	for i, r := range a.Records {
		k := Key{tableKeys, a.space, a.keys[i]}
		if a.keys[i] != "" {
			if known := c.get(k); len(known) == 40 {
				receipt := Receipt{Seq: binary.BigEndian.Uint64(known), Status: Duplicate}
				if [32]byte(known[8:]) != a.digests[i] {
					receipt.Status = Conflict
				}
				a.done.Receipts = append(a.done.Receipts, receipt)
				continue
			}
		}
		h.Head = h.Head.next(a.digests[i])
		seq := name(h.Head.Seq)
		c.put(Pair{Key{tableEvents, a.space, seq}, encodeEvent(h.Head.Chain, a.digests[i], false, r.Payload)})
		if a.keys[i] != "" {
			c.put(Pair{k, append([]byte(seq), a.digests[i][:]...)})
		}
		a.done.Receipts = append(a.done.Receipts, Receipt{h.Head.Seq, Stored, h.Head.Chain})
	}
}

// erase removes the payloads of events. It also removes all snapshots, because a snapshot may count the erased events.
func (a *appending) erase(c *commit, h *header) (changed bool) {
	for _, seq := range a.Erase {
		k := Key{tableEvents, a.space, name(seq)}
		b := c.get(k)
		if b == nil {
			continue
		}
		e, err := decodeEvent(seq, b)
		if err != nil {
			c.fail(damaged("event %d: %v", seq, err))
		}
		c.put(Pair{k, encodeEvent(e.Chain, e.Digest, true, nil)}, Pair{Key: snapshotsKey(a.space)})
		changed = true
	}
	if changed {
		a.erasedAt, h.ErasedAt = h.Head.Seq, h.Head.Seq
	}
	return changed
}
