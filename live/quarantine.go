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

// Trust is the level of trust in a caller that puts entries into the catalog. It decides
// which entries are quarantined.
type Trust uint8

const (
	Untrusted Trust = iota // quarantined: a new entry, a capability that changed, and the entries that Checked quarantines
	Checked                // quarantined: an entry that the checks flag, a tool whose contract changed
	Approver               // nothing is quarantined
)

// Quarantined is an entry of the catalog whose author is not trusted enough, see [Trust]. It is stored, but neither
// suggested nor shown until it is approved.
type Quarantined struct {
	ID          string       `json:"id"`
	Kind        catalog.Kind `json:"kind"`
	Server      string       `json:"server,omitempty"`
	Flags       []string     `json:"flags"`       // what the checks found
	Changed     []string     `json:"changed"`     // parts of the contract that differ from the approved one
	Description string       `json:"description"` // cleaned and cut: data, never instructions to follow
	Fingerprint string       `json:"fingerprint"` // of the quarantined content
	Since       time.Time    `json:"since"`

	// Was is the tool as it was approved, with which later content under this id is compared; without it later content is
	// quarantined. Removed: a caller without the right to approve removed the entry from the catalog since.
	Was     []byte `json:"was,omitempty"`
	Removed bool   `json:"removed,omitempty"`
}

// Approved returns the tool as it was approved; false if it never was.
func (q *Quarantined) Approved() (*catalog.Tool, bool) {
	_, v, _ := decode(q.Was) // an unreadable tool counts as not approved
	t, ok := v.(*catalog.Tool)
	return t, ok
}

// Detail returns the reasons for the quarantine in one sentence.
func (q *Quarantined) Detail() string { return strings.Join(reasons(q.Flags, q.Changed), "; ") }

// reasons returns the reasons for a quarantine. An entry without flags and changes is new.
func reasons(flags, changed []string) []string {
	if len(changed) > 0 {
		return append([]string{"its contract changed: " + strings.Join(changed, ", ")}, flags...)
	}
	if len(flags) == 0 {
		return []string{"it is not approved yet"}
	}
	return flags
}

// Flagged lists the findings of the checks for an entry that was stored.
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

// quarantine holds the entries that wait for approval, in memory and in the table. In this process only the writer
// reads and changes the rows of the table.
type quarantine struct {
	table storage.Table // other processes may change the rows too

	mu       sync.Mutex
	rows     map[string]Quarantined
	base     *suggest.Exclusions // the other exclusions; both adds the quarantined and banned entries
	combined *suggest.Exclusions
	bans     map[string]suggest.Exclusion // by rules of the operator
	valid    bool
}

// load reads all rows, including changes of other processes.
func (q *quarantine) load(ctx context.Context) error {
	rows := map[string]Quarantined{}
	for row, err := range q.table.List(ctx, quarantineRow) {
		if err != nil {
			return fmt.Errorf("read the quarantine: %w", err)
		}
		id := row.Key[len(quarantineRow):]
		rows[id] = readQuarantined(id, row.Value)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rows, q.valid = rows, false
	return nil
}

// sync reads the changes of other processes before a decision about a row.
func (q *quarantine) sync(ctx context.Context) error {
	if !q.table.Shared() {
		return nil
	}
	return q.load(ctx)
}

func readQuarantined(id string, value []byte) (row Quarantined) {
	if json.Unmarshal(value, &row) != nil || row.ID != id {
		row = Quarantined{ID: id, Kind: catalog.KindTool, Flags: []string{"its findings cannot be read"}}
	}
	return row
}

// stored applies rows that this process wrote. It ignores rows that do not belong to the quarantine.
func (q *quarantine) stored(rows []storage.Change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range rows {
		id, ok := strings.CutPrefix(c.Key, quarantineRow)
		if !ok {
			continue
		}
		q.valid = false
		if c.Value == nil {
			delete(q.rows, id)
		} else {
			q.rows[id] = readQuarantined(id, c.Value)
		}
	}
}

// change returns the row that is stored with the event of the entry.
func (row *Quarantined) change() ([]storage.Change, error) {
	text, err := json.Marshal(row)
	c := storage.Change{Key: quarantineRow + row.ID, Value: text}
	if err = cmp.Or(err, fits(c)); err != nil {
		return nil, fmt.Errorf("quarantine %q: %w", row.ID, err)
	}
	return []storage.Change{c}, nil
}

// endQuarantine returns the change that ends the quarantine of an entry, if there is a row.
func (w *writer) endQuarantine(id string) []storage.Change {
	if _, known := w.quarantine.row(id); !known {
		return nil
	}
	return []storage.Change{{Key: quarantineRow + id}}
}

// row returns the row of an id, whose entry may be in the catalog or removed.
func (q *quarantine) row(id string) (Quarantined, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	row, ok := q.rows[id]
	return row, ok
}

// maxRemoved is the maximum number of remembered removals by callers without the right to approve: more than a catalog
// has. Dropping one to remember another would allow any content under its id, so one more removal is rejected.
const maxRemoved = 10_000

// roomFor returns an error if one more removal would exceed [maxRemoved].
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

// ban replaces the exclusions by rules of the operator.
func (q *quarantine) ban(ids map[string]suggest.Exclusion) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bans, q.valid = ids, false
}

// exclusions returns base together with the quarantined and the banned entries.
func (q *quarantine) exclusions(base *suggest.Exclusions) *suggest.Exclusions {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.valid || q.base != base {
		held := make(map[string]suggest.Exclusion, len(q.rows))
		for id, row := range q.rows {
			if !row.Removed {
				held[id] = suggest.Exclusion{Absent: suggest.AbsentQuarantined, Detail: row.Detail()}
			}
		}
		q.base, q.combined, q.valid = base, base.And(held).And(q.bans), true
	}
	return q.combined
}

// Quarantined lists the entries that wait for approval, by id.
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

// Release ends the quarantine of an entry. With a fingerprint it does so only if the quarantined content has that
// fingerprint, so content that others put meanwhile stays quarantined.
func (e *Engine) Release(ctx context.Context, id, fingerprint string) error {
	err := e.try(ctx, func(w *writer) error {
		value, version, err := w.table.Get(w.life.ctx, quarantineRow+id)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			return ErrNotQuarantined
		case err == nil && fingerprint != "" && fingerprint != readQuarantined(id, value).Fingerprint:
			return ErrChangedAgain
		case err != nil:
			return err
		}
		row := storage.Change{Key: quarantineRow + id, Version: &version}
		if err = w.table.Apply(w.life.ctx, row); err == nil {
			w.quarantine.stored([]storage.Change{row})
		}
		return err
	})
	if errors.Is(err, storage.ErrConflict) {
		err = ErrChangedAgain
	}
	if err != nil {
		return fmt.Errorf("approve %q: %w", id, err)
	}
	return nil
}

// Withheld returns the reason why an id is neither suggested nor shown at the moment.
func (e *Engine) Withheld(id string) (suggest.Exclusion, bool) { return e.withheld().Of(id) }

// knownEntries returns the entries that the checks compare with. The writer collects them when the first entry is put.
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

// review decides whether an entry that is new or changed is stored, quarantined, or rejected with an error. next is
// its quarantine row. If the entry is quarantined, the row is stored with its event. A capability has no contract to
// compare with, so every changed capability counts as new.
func (w *writer) review(c *candidate, next Quarantined, by Trust) (flag Flagged, err error) {
	held := by == Untrusted && len(next.Was) == 0 || by < Approver && len(next.Changed) > 0
	known := w.knownEntries()
	if w.opts.Connected != nil {
		known.Connected(w.opts.Connected(w.name))
	}
	next.Flags = []string{}
	for _, f := range known.Inspect(c.Entry) {
		switch {
		case f.Refuse:
			return flag, fmt.Errorf("%s %q: %s", c.noun, catalog.Cut(c.ID, 160), f.Detail)
		case by < Approver:
			held = true
		}
		next.Flags = append(next.Flags, f.Detail)
	}
	before, ok := w.quarantine.row(c.ID)
	if ok && before.Was == nil && by < Approver { // it is quarantined, or was when it was removed
		held = true
		if len(next.Flags)+len(next.Changed) == 0 {
			next.Flags, next.Changed = slices.Clone(before.Flags), before.Changed
		}
	}
	flag = Flagged{ID: c.ID, Quarantined: held, Flags: next.Flags}
	switch {
	case held:
		flag.Flags = reasons(next.Flags, next.Changed)
		next.Changed = append([]string{}, next.Changed...)
		c.rows, err = next.change()
	case by == Approver, ok && !before.Removed: // it equals the approved tool again
		c.rows = w.endQuarantine(c.ID)
	}
	return flag, err
}
