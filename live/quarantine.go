package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"waymark/catalog"
	"waymark/storage"
	"waymark/suggest"
)

// Trust is how far a caller is trusted who puts entries into the catalog. An entry that waits is quarantined.
type Trust uint8

const (
	Untrusted Trust = iota // waits: an entry that is new, a capability that changed, and what waits for Checked
	Checked                // waits: an entry that the checks flag, a tool whose contract changed
	Approver               // nothing waits
)

// Quarantined is an entry of the catalog that its author is not trusted with: see [Trust]. It is stored, but neither
// suggested nor shown until it is approved.
type Quarantined struct {
	ID          string       `json:"id"`
	Kind        catalog.Kind `json:"kind"`
	Server      string       `json:"server,omitempty"`
	Flags       []string     `json:"flags"`       // what the checks found
	Changed     []string     `json:"changed"`     // parts of the contract that are others than before
	Description string       `json:"description"` // cleaned and cut: data, never to be followed
	Fingerprint string       `json:"fingerprint"` // of what waits
	Since       time.Time    `json:"since"`

	// What comes under this id is held against Was, the tool as it was approved; without one it waits. Removed: somebody
	// without the right to approve took it out of the catalog since.
	Was     []byte `json:"was,omitempty"`
	Removed bool   `json:"removed,omitempty"`
}

// Approved is the tool as it was approved, if it was.
func (q *Quarantined) Approved() (*catalog.Tool, bool) {
	_, v, _ := decode(q.Was) // what cannot be read was not approved
	t, ok := v.(*catalog.Tool)
	return t, ok
}

// Detail says in a sentence why the entry is quarantined.
func (q *Quarantined) Detail() string { return strings.Join(reasons(q.Flags, q.Changed), "; ") }

// reasons are those for a quarantine. Without flags or changes the entry is new.
func reasons(flags, changed []string) []string {
	if len(changed) > 0 {
		return append([]string{"its contract changed: " + strings.Join(changed, ", ")}, flags...)
	}
	if len(flags) == 0 {
		return []string{"nobody has approved it yet"}
	}
	return flags
}

// Flagged is what the checks found about an entry that was stored.
type Flagged struct {
	ID          string   `json:"id"`
	Flags       []string `json:"flags"`
	Quarantined bool     `json:"quarantined"`
}

// The quarantine of a workspace is kept in its table, one row for each entry.
const quarantineRow = "quarantine/"

var (
	ErrNotQuarantined = errors.New("it is not quarantined")
	ErrChangedAgain   = errors.New("it changed again since it was looked at")
)

// quarantine is what waits for approval, in memory and in the table. The writer alone changes it.
type quarantine struct {
	table storage.Table // other processes may change the rows, too

	mu      sync.Mutex
	rows    map[string]Quarantined
	changes int                 // of rows
	base    *suggest.Exclusions // what is withheld besides, and both together
	both    *suggest.Exclusions
	bans    map[string]suggest.Exclusion // rules of the operator
	valid   bool
}

// load reads the rows, also those that other processes changed, and again where one was changed here meanwhile.
func (q *quarantine) load(ctx context.Context) error {
	for {
		q.mu.Lock()
		before := q.changes
		q.mu.Unlock()
		rows := map[string]Quarantined{}
		for row, err := range q.table.List(ctx, quarantineRow) {
			if err != nil {
				return fmt.Errorf("read the quarantine: %w", err)
			}
			id := row.Key[len(quarantineRow):]
			rows[id] = readQuarantined(id, row.Value)
		}
		q.mu.Lock()
		same := q.changes == before
		if same {
			q.rows, q.valid, q.changes = rows, false, q.changes+1
		}
		q.mu.Unlock()
		if same {
			return nil
		}
	}
}

// sync takes in what other processes noted, for a decision about one of the rows.
func (q *quarantine) sync(ctx context.Context) error {
	if !q.table.Shared() {
		return nil
	}
	return q.load(ctx)
}

func readQuarantined(id string, value []byte) (row Quarantined) {
	if json.Unmarshal(value, &row) != nil || row.ID != id {
		row = Quarantined{ID: id, Kind: catalog.KindTool, Flags: []string{"what was found about it cannot be read"}}
	}
	return row
}

// stored takes in rows that this process wrote, those of the quarantine among them.
func (q *quarantine) stored(rows []storage.Change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range rows {
		id, ok := strings.CutPrefix(c.Key, quarantineRow)
		if !ok {
			continue
		}
		q.valid, q.changes = false, q.changes+1
		if c.Value == nil {
			delete(q.rows, id)
		} else {
			q.rows[id] = readQuarantined(id, c.Value)
		}
	}
}

// change is the row with which the event of an entry is stored.
func (row *Quarantined) change() ([]storage.Change, error) {
	text, err := json.Marshal(row)
	c := storage.Change{Key: quarantineRow + row.ID, Value: text}
	if err = cmp.Or(err, fits(c)); err != nil {
		return nil, fmt.Errorf("quarantine %q: %w", row.ID, err)
	}
	return []storage.Change{c}, nil
}

// vouched is the row with which the quarantine of an entry ends, if it waits.
func (w *writer) vouched(id string) []storage.Change {
	if _, known := w.quarantine.row(id); !known {
		return nil
	}
	return []storage.Change{{Key: quarantineRow + id}}
}

// row is what is known of an id, in the catalog or removed.
func (q *quarantine) row(id string) (Quarantined, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	row, ok := q.rows[id]
	return row, ok
}

// maxRemoved is how many entries are remembered that somebody without the right to approve took out of the catalog: more
// than a catalog has. To forget one for another would let its id come back as anything, so that one more is refused.
const maxRemoved = 10_000

// roomFor refuses to remember the removal of one more entry than [maxRemoved].
func (q *quarantine) roomFor(id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, row := range q.rows {
		if row.Removed {
			n++
		}
	}
	if n < maxRemoved || q.rows[id].Removed {
		return nil
	}
	return &suggest.RequestError{Kind: suggest.Invalid, Detail: fmt.Sprintf("the limit of %d remembered removals is reached; a key that may approve can remove this entry", n)}
}

// ban replaces what rules of the operator withhold.
func (q *quarantine) ban(ids map[string]suggest.Exclusion) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bans, q.valid = ids, false
}

// with is what is withheld besides, what is quarantined and what is banned.
func (q *quarantine) with(base *suggest.Exclusions) *suggest.Exclusions {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.valid || q.base != base {
		held := make(map[string]suggest.Exclusion, len(q.rows))
		for id, row := range q.rows {
			if !row.Removed {
				held[id] = suggest.Exclusion{Absent: suggest.AbsentQuarantined, Detail: row.Detail()}
			}
		}
		q.base, q.both, q.valid = base, base.And(held).And(q.bans), true
	}
	return q.both
}

// Quarantined lists what waits for approval, by id.
func (e *Engine) Quarantined() []Quarantined {
	e.quarantine.mu.Lock()
	defer e.quarantine.mu.Unlock()
	all := make([]Quarantined, 0, len(e.quarantine.rows))
	for _, id := range slices.Sorted(maps.Keys(e.quarantine.rows)) {
		if row := e.quarantine.rows[id]; !row.Removed {
			all = append(all, row)
		}
	}
	return all
}

// Release ends the quarantine of an entry; with a fingerprint only of the entry as it was looked at. What others put
// there meanwhile stays.
func (e *Engine) Release(ctx context.Context, id, fingerprint string) (err error) {
	failed := e.do(ctx, func(w *writer) {
		value, version, failed := w.table.Get(w.life.ctx, quarantineRow+id)
		switch {
		case errors.Is(failed, storage.ErrNotFound):
			failed = ErrNotQuarantined
		case failed == nil && fingerprint != "" && fingerprint != readQuarantined(id, value).Fingerprint:
			failed = ErrChangedAgain
		case failed == nil:
			row := storage.Change{Key: quarantineRow + id, Version: &version}
			if failed = w.table.Apply(w.life.ctx, row); failed == nil {
				w.quarantine.stored([]storage.Change{row})
			}
		}
		if err = failed; errors.Is(err, storage.ErrConflict) {
			err = ErrChangedAgain
		}
	})
	if err = cmp.Or(failed, err); err != nil {
		return fmt.Errorf("approve %q: %w", id, err)
	}
	return nil
}

// Withheld says why an id is neither suggested nor shown at the moment.
func (e *Engine) Withheld(id string) (suggest.Exclusion, bool) { return e.withheld().Of(id) }

// known is what the checks compare entries with. It lives in the writer, from the first entry put on.
func (w *writer) knownEntries() *catalog.Inspector {
	if w.known == nil {
		w.known = catalog.NewInspector()
		for _, t := range w.state.Tools() {
			if row, known := w.quarantine.row(t.ID); !known || row.Removed {
				w.known.Add(t.ID, t.Server, t.Name)
			}
		}
		for _, c := range w.state.Capabilities() {
			w.known.Add(c.ID, "", "")
		}
	}
	return w.known
}

// review decides what becomes of an entry that is new or changed: an error refuses it. next is its row should it be
// quarantined, which rows then have, with the event that stores it. A capability has no contract to compare with, so every
// change of one is as good as new.
func (w *writer) review(c *candidate, next Quarantined, by Trust) (_ *Flagged, rows []storage.Change, err error) {
	held := by == Untrusted && len(next.Was) == 0 || by < Approver && len(next.Changed) > 0
	known := w.knownEntries()
	if w.opts.Connected != nil {
		known.Connected(w.opts.Connected(w.name))
	}
	next.Flags = []string{}
	for _, f := range known.Inspect(c.entry) {
		switch {
		case f.Refuse:
			return nil, nil, fmt.Errorf("%s %q: %s", c.noun, catalog.Cut(c.id, 160), f.Detail)
		case by < Approver:
			held = true
		}
		next.Flags = append(next.Flags, f.Detail)
	}
	before, ok := w.quarantine.row(c.id)
	if ok && before.Was == nil && by < Approver { // it waits, or did when it was removed
		held = true
		if len(next.Flags)+len(next.Changed) == 0 {
			next.Flags, next.Changed = slices.Clone(before.Flags), before.Changed
		}
	}
	flag := Flagged{ID: c.id, Quarantined: held, Flags: next.Flags}
	switch {
	case held:
		flag.Flags = reasons(next.Flags, next.Changed)
		next.Changed = append([]string{}, next.Changed...)
		if rows, err = next.change(); err != nil {
			return nil, nil, err
		}
	case by == Approver, ok && !before.Removed: // it is as it was approved again
		rows = w.vouched(c.id)
	}
	if len(flag.Flags) == 0 {
		return nil, rows, nil
	}
	return &flag, rows, nil
}
