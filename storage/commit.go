package storage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
)

// One goroutine, the committer, takes what has queued up into one transaction, so that many callers share the cost
// of making it durable:
//
//	Append, Lease, … ─▶ queue ─▶ committer ─▶ Engine.Update { headers, what the ops read; apply each op } ─▶ answers
//
// An op that is refused writes nothing and does not touch the others.

// The most that one transaction holds: badger's own limit is 2.4 MB with its memtables of 16 MiB.
const (
	maxRecords = 1000
	maxBytes   = 2 << 20
)

// op is a part of a transaction.
type op struct {
	workspaces []string              // whose entries it writes
	size       int                   // of its writes, in bytes, at most
	reads      func(c *commit) []Key // what apply will read, fetched at once for all ops; headers are fetched before
	apply      func(c *commit) error // sets entries, or refuses before it sets any
	taken      atomic.Bool           // by the committer, or by a caller that gave up
	done       chan struct{}
	err        error
}

// submit hands an op to the committer and waits. An op that was taken is carried out even if ctx ends.
func (s *Store) submit(ctx context.Context, o *op) error {
	if err := cmp.Or(ctx.Err(), s.Writable()); err != nil {
		return err
	}
	for _, workspace := range o.workspaces {
		if err := checkWorkspace(workspace); err != nil {
			return err
		}
	}
	o.done = make(chan struct{})
	giveUp := func(why error) error {
		if o.taken.Swap(true) {
			<-o.done
			return o.err
		}
		return why
	}
	select {
	case s.queue <- o:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return ErrClosed
	}
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		return giveUp(ctx.Err())
	case <-s.closing:
		return giveUp(ErrClosed)
	}
}

func (s *Store) commitLoop() {
	for next := (*op)(nil); ; {
		if next == nil {
			select {
			case next = <-s.queue:
			case <-s.closing:
				return // who waits gives up
			}
		}
		next = s.commitGroup(next)
	}
}

// commitGroup carries out an op with those that wait behind it, and returns the first that does not fit any more.
func (s *Store) commitGroup(first *op) (left *op) {
	var group []*op
	var workspaces []string
	size := 0
	for next := first; next != nil; next = s.queued() {
		if len(group) > 0 && (size+next.size > maxBytes || len(group) == maxRecords) {
			left = next
			break
		}
		if !next.taken.Swap(true) {
			group, size, workspaces = append(group, next), size+next.size, append(workspaces, next.workspaces...)
		}
	}
	if len(group) == 0 {
		return left
	}
	slices.Sort(workspaces)
	workspaces = slices.Compact(workspaces)
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	var c *commit
	err := s.engine.Update(ctx, workspaces, func(r Reader) ([]Pair, error) {
		c = &commit{reader: r, values: map[Key]*value{}, headers: map[string]header{}}
		return c.carryOut(workspaces, group)
	})
	if err == nil {
		s.mu.Lock()
		for workspace, h := range c.headers {
			s.saw(workspace, h)
		}
		s.mu.Unlock()
	}
	for _, o := range group {
		o.err = cmp.Or(err, o.err)
		close(o.done)
	}
	return left
}

func (s *Store) queued() *op {
	select {
	case o := <-s.queue:
		return o
	default:
		return nil
	}
}

// commit is a transaction as its ops see it: what they read, and what those before them have set.
type commit struct {
	reader  Reader
	values  map[Key]*value
	set     []Key // in the order in which they were set first
	headers map[string]header
	failed  error // of the engine
}

type value struct {
	bytes []byte // nil: none
	set   bool
}

func (c *commit) carryOut(workspaces []string, group []*op) ([]Pair, error) {
	keys := make([]Key, len(workspaces))
	for i, workspace := range workspaces {
		keys[i] = headKey(workspace)
	}
	c.fetch(keys)
	for i, workspace := range workspaces {
		h, err := decodeHeader(c.get(keys[i]))
		if err != nil {
			return nil, damaged("workspace %q: %v", workspace, err)
		}
		c.headers[workspace] = h
	}
	keys = nil
	for _, o := range group {
		if o.reads != nil {
			keys = append(keys, o.reads(c)...)
		}
	}
	c.fetch(keys)
	for _, o := range group {
		if c.failed != nil {
			return nil, c.failed
		}
		o.err = o.apply(c)
	}
	if c.failed != nil {
		return nil, c.failed
	}
	writes := make([]Pair, len(c.set))
	for i, k := range c.set {
		writes[i] = Pair{k, c.values[k].bytes}
	}
	return writes, nil
}

// fetch reads the keys that are not known yet.
func (c *commit) fetch(keys []Key) {
	var missing []Key
	for _, k := range keys {
		if c.values[k] == nil {
			c.values[k], missing = new(value), append(missing, k)
		}
	}
	if len(missing) == 0 || c.failed != nil {
		return
	}
	found, err := c.reader.Get(missing...)
	if c.failed = err; err != nil {
		return
	}
	for i, k := range missing {
		c.values[k].bytes = found[i]
	}
}

func (c *commit) get(k Key) []byte {
	if c.values[k] == nil {
		c.fetch([]Key{k})
	}
	return c.values[k].bytes
}

// put sets an entry; nil deletes it.
func (c *commit) put(k Key, bytes []byte) {
	v := c.values[k]
	if v == nil {
		v = new(value)
		c.values[k] = v
	}
	if !v.set {
		c.set = append(c.set, k)
	}
	v.bytes, v.set = bytes, true
}

// change sets the header of a workspace, and counts that.
func (c *commit) change(workspace string, h header) {
	h.changes++
	c.headers[workspace] = h
	c.put(headKey(workspace), h.encode())
}

// Append carries out a batch. An error comes with the receipts of the transactions before it. Where it wraps
// [ErrUnavailable] or [ErrReadOnly] it is unknown whether the rest is stored; the same records with the same keys
// may be appended again.
func (s *Store) Append(ctx context.Context, workspace string, b Batch) (Done, error) {
	var done Done
	err := b.check(workspace)
	for first := true; err == nil && (first || len(b.Records) > 0); first = false {
		n, size := 0, 300*len(b.Erase)
		for _, c := range b.Changes {
			size += len(c.Key) + len(c.Value) + 200
		}
		for n < len(b.Records) && n < maxRecords {
			more := len(b.Records[n].Payload) + 4*len(workspace) + 600
			if n > 0 && size+more > maxBytes {
				break
			}
			n, size = n+1, size+more
		}
		part := appending{Batch: b, workspace: workspace, digests: make([][32]byte, n), keys: make([]string, n)}
		part.Records = b.Records[:n]
		for i, r := range part.Records {
			if part.digests[i] = sha256.Sum256(r.Payload); r.Key != "" {
				key := sha256.Sum256([]byte(r.Key))
				part.keys[i] = string(key[:])
			}
		}
		if err = s.submit(ctx, &op{workspaces: []string{workspace}, size: size, reads: part.reads, apply: part.apply}); err != nil {
			break
		}
		done = Done{append(done.Receipts, part.done.Receipts...), append(done.Versions, part.done.Versions...), part.done.Head}
		if b = (Batch{At: b.At, Records: b.Records[n:]}); b.At != nil {
			b.At = &part.done.Head
		}
		if part.erased != nil {
			s.sweep(ctx, part.space, "", name(*part.erased+1))
		}
	}
	if err != nil {
		return done, fmt.Errorf("append to workspace %q: %w", workspace, err)
	}
	return done, nil
}

// appending is what one transaction does of a batch.
type appending struct {
	Batch
	workspace string
	digests   [][32]byte // of the records
	keys      []string   // of the records, hashed: clients choose them; "": none
	space     string
	done      Done
	erased    *uint64 // snapshots up to this event are gone
}

func (a *appending) reads(c *commit) (keys []Key) {
	space := c.headers[a.workspace].space(a.workspace)
	for _, key := range a.keys {
		if key != "" {
			keys = append(keys, Key{tableKeys, space, key})
		}
	}
	for _, change := range a.Changes {
		keys = append(keys, Key{tableRows, space, change.Key})
	}
	for _, seq := range a.Erase {
		keys = append(keys, Key{tableEvents, space, name(seq)})
	}
	return keys
}

func (a *appending) apply(c *commit) error {
	h := c.headers[a.workspace]
	if a.At != nil && *a.At != h.head {
		return fmt.Errorf("%w: the log ends at event %d, not at %d", ErrBehind, h.head.Seq, a.At.Seq)
	}
	h.deleted = false
	a.space, a.done = h.space(a.workspace), Done{}
	rows, err := a.rows(c)
	if err != nil {
		return err
	}
	erased, err := a.erase(c, h.head)
	if err != nil {
		return err
	}
	a.records(c, &h)
	for _, p := range append(rows, erased...) {
		c.put(p.Key, p.Value)
	}
	if a.erased = nil; len(a.Erase) > 0 {
		h.erasedAt = c.headers[a.workspace].head.Seq
		a.erased = &h.erasedAt
	}
	a.done.Head = h.head
	if empty := len(rows)+len(erased) == 0 && h.head == c.headers[a.workspace].head; !empty || !c.headers[a.workspace].exists() {
		c.change(a.workspace, h)
	}
	return nil
}

// rows are the entries that the changes of a batch make.
func (a *appending) rows(c *commit) (rows []Pair, err error) {
	for _, change := range a.Changes {
		k := Key{tableRows, a.space, change.Key}
		row, err := decodeRow(change.Key, c.get(k))
		if err != nil {
			return nil, err
		}
		if change.Version != nil && *change.Version != row.Version {
			return nil, fmt.Errorf("row %q: %w", change.Key, ErrConflict)
		}
		version := uint64(0)
		if change.Value != nil {
			version = row.Version + 1
			rows = append(rows, Pair{k, encodeRow(version, change.Value)})
		} else if row.Version > 0 {
			rows = append(rows, Pair{k, nil})
		}
		a.done.Versions = append(a.done.Versions, version)
	}
	return rows, nil
}

// records appends events to the log that ends at h.head.
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
		h.head = h.head.next(a.digests[i])
		seq := name(h.head.Seq)
		c.put(Key{tableEvents, a.space, seq}, encodeEvent(h.head.Chain, a.digests[i], false, r.Payload))
		if a.keys[i] != "" {
			c.put(k, append([]byte(seq), a.digests[i][:]...))
		}
		a.done.Receipts = append(a.done.Receipts, Receipt{Seq: h.head.Seq, Status: Stored})
	}
}

// erase are the entries that erasing leaves: events without payload, and no snapshot, since one may count what is
// erased.
func (a *appending) erase(c *commit, head Head) (tombstones []Pair, err error) {
	if len(a.Erase) == 0 {
		return nil, nil
	}
	for _, seq := range a.Erase {
		k := Key{tableEvents, a.space, name(seq)}
		b := c.get(k)
		if b == nil {
			continue
		}
		e, err := decodeEvent(seq, b)
		if err != nil {
			return nil, damaged("event %d: %v", seq, err)
		}
		tombstones = append(tombstones, Pair{k, encodeEvent(e.Chain, e.Digest, true, nil)})
	}
	names, err := c.names(tableSnapshots, a.space)
	for _, n := range names {
		tombstones = append(tombstones, Pair{Key{tableSnapshots, a.space, n}, nil})
	}
	return tombstones, err
}

// names are those of the entries of a table and space, with what the ops before have set.
func (c *commit) names(t kind, space string) (names []string, err error) {
	for p, err := range c.reader.Scan(t, space, "", "") {
		if err != nil {
			return nil, c.fail(err)
		}
		if v := c.values[p.Key]; v == nil || !v.set {
			names = append(names, p.Name)
		}
	}
	for _, k := range c.set {
		if k.Table == t && k.Space == space && c.values[k].bytes != nil {
			names = append(names, k.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (c *commit) fail(err error) error {
	c.failed = err
	return err
}
