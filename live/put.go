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
)

// PutTools adds tools to the catalog or replaces them; unchanged tools are skipped. Tools of an [Approver] are
// trusted: the checks report findings but quarantine nothing, and a quarantine of these ids ends.
func (e *Engine) PutTools(ctx context.Context, tools []catalog.Tool, by Trust) (PutResult, error) {
	return e.put(ctx, len(tools), func(w *writer, i int) (candidate, error) { return w.tool(tools[i]) }, by, nil)
}

// PutToolsWith is [Engine.PutTools] by an [Approver] that also sets a row for each tool. If an event of the tool is
// stored, its row is set in the same transaction.
func (e *Engine) PutToolsWith(ctx context.Context, tools []catalog.Tool, rows map[string]storage.Change) (PutResult, error) {
	for _, c := range rows {
		if err := fits(c); err != nil {
			return PutResult{}, err
		}
	}
	r, err := e.put(ctx, len(tools), func(w *writer, i int) (candidate, error) { return w.tool(tools[i]) }, Approver, rows)
	for id, c := range rows {
		if err == nil && !slices.Contains(r.stored, id) {
			err = e.table.Apply(ctx, c)
		}
	}
	return r, err
}

// PutCapabilities adds capabilities to the catalog or replaces them, as [Engine.PutTools] does for tools.
func (e *Engine) PutCapabilities(ctx context.Context, caps []catalog.Capability, by Trust) (PutResult, error) {
	return e.putCapabilities(ctx, caps, by, nil)
}

func (e *Engine) putCapabilities(ctx context.Context, caps []catalog.Capability, by Trust, rows rowsByID) (PutResult, error) {
	return e.put(ctx, len(caps), func(w *writer, i int) (candidate, error) { return w.capability(caps[i]) }, by, rows)
}

// The parameters of put: the entries of a request, and the rows that are set with the events of some of them.
type (
	nthCandidate func(w *writer, i int) (candidate, error)
	rowsByID     map[string]storage.Change
)

// candidate is one entry of a request that may be stored.
type candidate struct {
	entry          // its event, which holds the tool or capability in the form in which it is stored
	*catalog.Entry // input of the checks, with the texts as they were sent
	noun           catalog.Kind
	line           int
}

// tool returns a tool as a candidate, or an error if it cannot be stored.
func (w *writer) tool(t catalog.Tool) (candidate, error) {
	c := candidate{noun: catalog.KindTool, Entry: catalog.EntryOfTool(&t)}
	err := t.Normalise()
	c.ID, c.Name, c.Server = t.ID, t.Name, t.Server
	if err != nil {
		return c, err
	}
	if _, taken := w.state.Capability(t.ID); taken {
		return c, fmt.Errorf("tool %q: a capability has this id", t.ID)
	}
	if now := w.state.Aliases().Of(t.ID); now != t.ID {
		return c, fmt.Errorf("tool %q is an alias of %q: undo that rule first", t.ID, now)
	}
	c.entry, err = newEntry(kindTool, "", &t)
	return c, err
}

// capability returns a capability as a candidate with resolved ids of its tools, or an error if it cannot be stored.
func (w *writer) capability(p catalog.Capability) (candidate, error) {
	c := candidate{noun: catalog.KindCapability, Entry: catalog.EntryOfCapability(&p)}
	err := p.Normalise()
	c.ID, c.Name = p.ID, p.Name
	if err != nil {
		return c, err
	}
	if _, taken := w.state.Tool(p.ID); taken {
		return c, fmt.Errorf("capability %q: a tool has this id", p.ID)
	}
	for i := range p.Tools {
		id, err := w.state.Resolve(p.Tools[i])
		if err != nil {
			return c, fmt.Errorf("capability %q: %w", p.ID, err)
		}
		p.Tools[i] = id
	}
	for i := range p.Tasks {
		id, err := w.state.Resolve(p.Tasks[i].Tool)
		if err != nil {
			return c, fmt.Errorf("capability %q, task %q: %w", p.ID, p.Tasks[i].ID, err)
		}
		p.Tasks[i].Tool = id
	}
	c.entry, err = newEntry(kindCapability, "", &p)
	return c, err
}

// entryOf returns the tool or capability with an id from the catalog.
func (w *writer) entryOf(kind catalog.Kind, id string) (v any, found bool) {
	if kind == catalog.KindTool {
		return w.state.Tool(id)
	}
	return w.state.Capability(id)
}

// put appends those of n catalog entries that are new or changed, each with the row of its id.
func (e *Engine) put(ctx context.Context, n int, nth nthCandidate, by Trust, rows rowsByID) (PutResult, error) {
	var r PutResult
	var added []bool
	var ids []string
	a, err := e.append(ctx, true, func(w *writer) (entries []entry, err error) {
		r, added, ids = PutResult{Rejected: []Rejection{}, Changed: []string{}}, nil, nil
		if err := w.quarantine.sync(w.life.ctx); err != nil {
			return nil, err
		}
		for _, c := range w.candidates(n, nth, &r) {
			changed, known, err := w.toPut(&c, by, &r)
			if err != nil {
				r.reject(c.line, c.ID, err)
			} else if changed {
				if row, ok := rows[c.ID]; ok {
					c.rows = append(c.rows, row)
				}
				entries, added, ids = append(entries, c.entry), append(added, !known), append(ids, c.ID)
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

func (r *PutResult) reject(line int, id string, why error) {
	r.Rejected = append(r.Rejected, Rejection{Line: line, ID: id, Error: why.Error()})
}

// candidates returns the valid entries of a request, each id once: of two with different content the first counts and
// the other one is rejected. All of them are added to the checks before the first one is checked.
func (w *writer) candidates(n int, nth nthCandidate, r *PutResult) (all []candidate) {
	seen := map[string]candidate{}
	for i := range n {
		c, err := nth(w, i)
		c.line = i + 1
		if before, twice := seen[c.ID]; err == nil && twice {
			if bytes.Equal(before.payload, c.payload) {
				r.Unchanged++
				continue
			}
			err = fmt.Errorf("%s %q was read before, on line %d, with other content", c.noun, c.ID, before.line)
		}
		if err != nil {
			r.reject(c.line, c.ID, err)
			continue
		}
		w.knownEntries().Add(c.ID, c.Server, c.Name)
		seen[c.ID] = c
		all = append(all, c)
	}
	return all
}

// toPut completes the event that stores a candidate. changed is false if the catalog has the same content; known
// reports whether it has the id.
func (w *writer) toPut(c *candidate, by Trust, r *PutResult) (changed, known bool, err error) {
	var was []byte
	now, known := w.entryOf(c.noun, c.ID)
	if known {
		if was, err = encode(c.kind, now); err != nil {
			return false, known, err
		}
	}
	row, waits := w.quarantine.row(c.ID)
	if known && bytes.Equal(was, c.payload) {
		r.Unchanged++
		if by == Approver && waits && !row.Removed {
			rows := w.endQuarantine(c.ID)
			err = w.table.Apply(context.WithoutCancel(w.life.ctx), rows...)
			w.quarantine.stored(rows)
		}
		return false, known, err
	}
	next := Quarantined{ID: c.ID, Kind: c.noun, Server: c.Server, Description: catalog.Cut(c.Texts[0], 2<<10),
		Fingerprint: catalog.Fingerprint(sha256.Sum256(c.payload)).String(), Since: w.opts.Now().UTC()}
	if t, ok := c.value.(*catalog.Tool); ok {
		if !known && row.Removed {
			was = row.Was
		}
		if len(changedParts(was, t)) > 0 {
			r.Changed = append(r.Changed, c.ID)
		}
		if next.Was = was; waits {
			next.Was = row.Was
		}
		next.Fingerprint, next.Changed = t.Fingerprint().String(), changedParts(next.Was, t)
	}
	flag, err := w.review(c, next, by)
	if err == nil && len(flag.Flags) > 0 {
		r.Flagged = append(r.Flagged, flag)
	}
	return err == nil, known, err
}

// changedParts returns the parts of a tool's contract that differ from the encoded tool was; none if the tool is new.
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

// Remove removes an entry from the catalog; it returns false if the catalog does not have it. After a removal by an
// [Approver], a later entry with this id is new. After a removal by others, a later tool is compared with the approved
// one, and an entry that was quarantined is quarantined again.
func (e *Engine) Remove(ctx context.Context, kind catalog.Kind, id string, by Trust) (bool, error) {
	a, err := e.append(ctx, true, func(w *writer) ([]entry, error) {
		v, found := w.entryOf(kind, id)
		if !found {
			return nil, nil
		}
		w.known = nil
		err := e.quarantine.sync(w.life.ctx)
		var rows []storage.Change
		if by == Approver {
			rows = w.endQuarantine(id)
		}
		row, known := w.quarantine.row(id)
		if held := known && !row.Removed; err == nil && by < Approver && (held || kind == catalog.KindTool) {
			if !held { // keep the approved tool for a comparison
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
		one, err := newEntry(kindRemoved, "", &id)
		one.rows = rows
		return []entry{one}, err
	})
	return len(a.receipts) > 0, err
}
