package live

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"

	"waymark/catalog"
	"waymark/storage"
	"waymark/suggest/history"
)

// PutTools adds tools to the catalog or replaces them; what is already there is left alone. An [Approver] vouches for
// them: what the checks find is reported, and what was quarantined under these ids is released.
func (e *Engine) PutTools(ctx context.Context, tools []catalog.Tool, by Trust) (PutResult, error) {
	return e.putTools(ctx, tools, by, nil)
}

// PutToolsWith is [Engine.PutTools] by an [Approver] that also sets a row for each tool, in one transaction with the event of the tool
// where one is stored.
func (e *Engine) PutToolsWith(ctx context.Context, tools []catalog.Tool, rows map[string]storage.Change) (PutResult, error) {
	for _, c := range rows {
		if err := fits(c); err != nil {
			return PutResult{}, err
		}
	}
	r, err := e.putTools(ctx, tools, Approver, func(id string) (change []storage.Change) {
		if c, ok := rows[id]; ok {
			change = append(change, c)
		}
		return change
	})
	for id, c := range rows {
		if err == nil && !slices.Contains(r.stored, id) {
			err = e.table.Apply(ctx, c)
		}
	}
	return r, err
}

func (e *Engine) putTools(ctx context.Context, tools []catalog.Tool, by Trust, rows rowsOf) (PutResult, error) {
	return put(ctx, e, tools, by, rows, putting[catalog.Tool]{kindTool, catalog.KindTool, func(s *history.State, t *catalog.Tool) (string, error) {
		if err := t.Normalise(); err != nil {
			return t.ID, err
		}
		if _, taken := s.Capability(t.ID); taken {
			return t.ID, fmt.Errorf("tool %q: a capability has this id", t.ID)
		}
		if now := s.Aliases().Of(t.ID); now != t.ID {
			return t.ID, fmt.Errorf("tool %q is an alias of %q: undo that rule first", t.ID, now)
		}
		return t.ID, nil
	}, (*history.State).Tool, catalog.EntryOfTool})
}

// PutCapabilities adds capabilities to the catalog or replaces them, as [Engine.PutTools] does for tools.
func (e *Engine) PutCapabilities(ctx context.Context, caps []catalog.Capability, by Trust) (PutResult, error) {
	return e.putCapabilities(ctx, caps, by, nil)
}

func (e *Engine) putCapabilities(ctx context.Context, caps []catalog.Capability, by Trust, rows rowsOf) (PutResult, error) {
	return put(ctx, e, caps, by, rows, putting[catalog.Capability]{kindCapability, catalog.KindCapability, func(s *history.State, c *catalog.Capability) (string, error) {
		if err := c.Normalise(); err != nil {
			return c.ID, err
		}
		if _, taken := s.Tool(c.ID); taken {
			return c.ID, fmt.Errorf("capability %q: a tool has this id", c.ID)
		}
		for i := range c.Tools {
			id, err := s.Resolve(c.Tools[i])
			if err != nil {
				return c.ID, fmt.Errorf("capability %q: %w", c.ID, err)
			}
			c.Tools[i] = id
		}
		for i := range c.Tasks {
			id, err := s.Resolve(c.Tasks[i].Tool)
			if err != nil {
				return c.ID, fmt.Errorf("capability %q, task %q: %w", c.ID, c.Tasks[i].ID, err)
			}
			c.Tasks[i].Tool = id
		}
		return c.ID, nil
	}, (*history.State).Capability, catalog.EntryOfCapability})
}

// putting is how one kind of entry is put.
type putting[T any] struct {
	kind    byte
	noun    catalog.Kind
	check   func(*history.State, *T) (id string, err error) // normalises it
	current func(*history.State, string) (T, bool)
	entry   func(*T) *catalog.Entry // as it was sent
}

// candidate is one entry of a request that may be stored.
type candidate struct {
	id      string
	kind    catalog.Kind
	line    int
	payload []byte
	value   any
	entry   *catalog.Entry // as the checks see it: its texts as they were sent
	print   catalog.Fingerprint
	changed []string         // parts of the contract, of that which was approved
	was     []byte           // the tool as it was approved, if it was
	rows    []storage.Change // of the quarantine, for its event
}

// rowsOf returns the rows that are set in one transaction with the event of an entry; nil: none.
type rowsOf func(id string) []storage.Change

// put appends the entries of a catalog that are new or changed.
func put[T any](ctx context.Context, e *Engine, things []T, by Trust, rows rowsOf, how putting[T]) (PutResult, error) {
	var r PutResult
	var added []bool
	var ids []string
	a, err := e.append(ctx, true, func(w *writer) (entries []entry, err error) {
		r, added, ids = PutResult{Rejected: []Rejection{}, Changed: []string{}}, nil, nil
		if err := w.quarantine.sync(w.life.ctx); err != nil {
			return nil, err
		}
		for _, one := range how.candidates(w, things, &r) {
			entry, known, err := how.toPut(w, &one, by, &r)
			if err != nil {
				r.Rejected = append(r.Rejected, Rejection{Line: one.line, ID: one.id, Error: err.Error()})
			} else if entry != nil {
				if rows != nil {
					entry.rows = append(entry.rows, rows(one.id)...)
				}
				entries, added, ids = append(entries, *entry), append(added, !known), append(ids, one.id)
			}
		}
		slices.SortStableFunc(r.Rejected, func(a, b Rejection) int { return a.Line - b.Line })
		return entries, nil
	})
	for i := range a.receipts {
		if added[i] {
			r.Added++
		} else {
			r.Updated++
		}
	}
	r.Seq, r.stored = a.seq, ids[:len(a.receipts)]
	return r, err
}

// candidates are the entries of a request that are valid, each id once: of two with other content the first counts and
// the other is refused. All of them are known to the checks before the first is checked.
func (how *putting[T]) candidates(w *writer, things []T, r *PutResult) (all []candidate) {
	seen := map[string]candidate{}
	for i := range things {
		t := things[i]
		one := candidate{kind: how.noun, entry: how.entry(&t), line: i + 1}
		var err error
		if one.id, err = how.check(w.state, &t); err == nil {
			one.payload, err = encode(how.kind, t)
		}
		if err == nil && len(one.payload) > storage.MaxPayload {
			err = fmt.Errorf("%q has %d bytes, at most %d", one.id, len(one.payload), storage.MaxPayload)
		}
		if before, twice := seen[one.id]; err == nil && twice {
			if bytes.Equal(before.payload, one.payload) {
				r.Unchanged++
				continue
			}
			err = fmt.Errorf("%s %q was read before, on line %d, with other content", one.kind, one.id, before.line)
		}
		if err != nil {
			r.Rejected = append(r.Rejected, Rejection{Line: one.line, ID: one.id, Error: err.Error()})
			continue
		}
		clean := how.entry(&t)
		one.entry.ID, one.entry.Name, one.entry.Server, one.value = clean.ID, clean.Name, clean.Server, &t
		w.knownEntries().Add(clean.ID, clean.Server, clean.Name)
		seen[one.id] = one
		all = append(all, one)
	}
	return all
}

// toPut is the event that stores a candidate; nil: it is stored already. known: there is an entry with this id.
func (how *putting[T]) toPut(w *writer, one *candidate, by Trust, r *PutResult) (put *entry, known bool, err error) {
	var was []byte
	now, known := how.current(w.state, one.id)
	if known {
		if was, err = encode(how.kind, now); err != nil {
			return nil, known, err
		}
	}
	row, waits := w.quarantine.row(one.id)
	if known && bytes.Equal(was, one.payload) {
		r.Unchanged++
		if by == Approver && waits && !row.Removed {
			rows := w.vouched(one.id)
			err = w.table.Apply(context.WithoutCancel(w.life.ctx), rows...)
			w.quarantine.stored(rows)
		}
		return nil, known, err
	}
	one.print = sha256.Sum256(one.payload)
	if t, ok := one.value.(*catalog.Tool); ok {
		if !known && row.Removed {
			was = row.Was
		}
		one.print = t.Fingerprint()
		if len(changedParts(was, t)) > 0 {
			r.Changed = append(r.Changed, one.id)
		}
		if one.was = was; waits {
			one.was = row.Was
		}
		one.changed = changedParts(one.was, t)
	}
	flag, err := w.review(one, by)
	if err != nil {
		return nil, known, err
	}
	if flag != nil {
		r.Flagged = append(r.Flagged, *flag)
	}
	return &entry{how.kind, "", one.payload, one.value, one.rows}, known, nil
}

// changedParts names the parts of a tool's contract that are others than before; none if it is new.
func changedParts(was []byte, t *catalog.Tool) (parts []string) {
	if len(was) == 0 {
		return nil
	}
	_, v, err := decode(was)
	old, ok := v.(*catalog.Tool)
	if err != nil || !ok || old.Fingerprint() == t.Fingerprint() {
		return nil
	}
	for _, part := range []struct {
		name string
		of   func(t *catalog.Tool) any
	}{
		{"name", func(t *catalog.Tool) any { return t.Name }},
		{"description", func(t *catalog.Tool) any { return t.Description }},
		{"input schema", func(t *catalog.Tool) any { return catalog.Canonical(t.InputSchema) }},
		{"output schema", func(t *catalog.Tool) any { return catalog.Canonical(t.OutputSchema) }},
		{"annotations", func(t *catalog.Tool) any { return cmp.Or(t.Annotations, new(catalog.Annotations)) }},
	} {
		if !reflect.DeepEqual(part.of(old), part.of(t)) {
			parts = append(parts, part.name)
		}
	}
	return parts
}

// Remove takes an entry out of the catalog; false if it is not in it. After an [Approver] what comes under this id is new;
// after others it is held against what was approved, and what was quarantined is so again.
func (e *Engine) Remove(ctx context.Context, kind catalog.Kind, id string, by Trust) (bool, error) {
	a, err := e.append(ctx, true, func(w *writer) ([]entry, error) {
		var v any
		var found bool
		if kind == catalog.KindTool {
			v, found = w.state.Tool(id)
		} else {
			v, found = w.state.Capability(id)
		}
		if !found {
			return nil, nil
		}
		w.known = nil
		err := e.quarantine.sync(w.life.ctx)
		var rows []storage.Change
		if by == Approver {
			rows = w.vouched(id)
		}
		row, known := w.quarantine.row(id)
		if held := known && !row.Removed; err == nil && by < Approver && (held || kind == catalog.KindTool) {
			if !held { // before it is gone
				row = Quarantined{ID: id, Kind: catalog.KindTool, Since: e.opts.Now().UTC()}
				row.Was, err = encode(kindTool, v)
			}
			row.Removed = true
			if err = cmp.Or(err, e.quarantine.roomFor(id)); err == nil {
				rows, err = row.change()
			}
		}
		if err != nil {
			return nil, fmt.Errorf("remove %q: %w", id, err)
		}
		payload, err := encode(kindRemoved, id)
		return []entry{{kindRemoved, "", payload, &id, rows}}, err
	})
	return len(a.receipts) > 0, err
}
