package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waymark/catalog"
	"waymark/run"
	"waymark/storage"
)

// The table of the workspace stores the agreements of the operator:
//
//	gateway/consent/SERVER   the digest of its definition
//	gateway/pin/SERVER:NAME  the approved contract of a tool, and another that waits for approval
//	gateway/grant/PATTERN    tools that may be called although they may do harm
//	gateway/offers/SERVER    its prompts and resources, as it last listed them
//
// Without a consent a server is not started; without a pin a tool is not called. A consent or pin that cannot be read
// blocks its server or tool.
const (
	rows       = "gateway/"
	consentRow = rows + "consent/"
	pinRow     = rows + "pin/"
	grantRow   = rows + "grant/"
	offersRow  = rows + "offers/"
)

// consent is the agreement to start a server. Pinned means that the tools of its first list are pinned.
type consent struct {
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
	Pinned bool      `json:"pinned,omitempty"`
}

// pin is one tool as its server listed it when it was approved. A tool that only waits for approval has no entry yet.
type pin struct {
	ID    string          `json:"id"`
	Entry json.RawMessage `json:"entry,omitempty"` // the approved entry of the tools/list
	At    time.Time       `json:"at"`
	Waits *waiting        `json:"waiting,omitempty"`

	approved *contract // parsed from the entry; nil without one
	broken   bool      // the row cannot be read
}

// waiting is a contract that nobody has approved.
type waiting struct {
	Entry  json.RawMessage `json:"entry"`
	Reason string          `json:"reason"` // new, changed or flagged
	Flags  []string        `json:"flags,omitempty"`
	At     time.Time       `json:"at"`

	contract *contract
}

// readPin decodes a row. A row that cannot be read gives a broken pin.
func readPin(id string, value []byte) *pin {
	server, _, _ := catalog.Split(id)
	p := new(pin)
	if json.Unmarshal(value, p) != nil || p.ID != id || p.Entry == nil && p.Waits == nil {
		return &pin{ID: id, broken: true}
	}
	if p.Entry != nil {
		if p.approved = read(server, p.Entry); p.approved.tool.ID != id || p.approved.wrong != "" {
			return &pin{ID: id, broken: true}
		}
	}
	if p.Waits != nil {
		p.Waits.contract = read(server, p.Waits.Entry)
	}
	return p
}

// withheld reports whether the pin itself withholds the tool, and why.
func (p *pin) withheld() (w Withheld, held bool) {
	server, _, _ := catalog.Split(p.ID)
	w = Withheld{ID: p.ID, Server: server, Changed: []string{}, Flags: []string{}}
	switch {
	case p.broken:
		w.Reason, w.Detail = ReasonStore, "its approvals cannot be read"
		return w, true
	case p.Waits == nil:
		return w, false
	}
	now := p.Waits.contract
	w.Reason, w.Since, w.Flags = p.Waits.Reason, p.Waits.At, append(w.Flags, p.Waits.Flags...)
	w.Description, w.Fingerprint = catalog.Cut(string(now.parts["description"]), 2<<10), now.print.String()
	if p.approved != nil {
		w.Changes = changes(p.approved.parts, now.parts)
	}
	for _, c := range w.Changes {
		w.Changed = append(w.Changed, c.Part)
	}
	why := map[string]string{
		ReasonChanged: "its contract changed: " + strings.Join(w.Changed, ", "), ReasonNew: "its server offers it only since it was agreed to",
	}[w.Reason]
	w.Detail = strings.Trim(why+"; "+strings.Join(w.Flags, "; "), "; ")
	return w, true
}

// Reasons why a tool is withheld.
const (
	ReasonNew     = "new"     // not in the list that was agreed to, or stored with a key without the scope admin
	ReasonChanged = "changed" // its contract differs from the approved one
	ReasonFlagged = "flagged" // its texts are suspicious
	ReasonStore   = "store"   // what was approved cannot be read
	ReasonInvalid = "invalid" // its definition is not usable; approving does not help
	ReasonGone    = "gone"    // its server does not offer it at the moment
)

// register holds all agreements, in memory and in the table.
type register struct {
	table   storage.Table
	catalog Catalog // nil: none
	now     func() time.Time

	kept atomic.Pointer[agreements]

	mu     sync.Mutex                     // held by changes until they are written; readers load kept instead
	listed map[string]catalog.Fingerprint // of each tool in the last list of this process
}

// agreements are the content of the table. They do not change once they are stored in register.kept.
type agreements struct {
	rows   map[string][]byte // by key
	pins   map[string]*pin
	grants []string // sorted
}

// take applies one row that was set, or deleted if value is nil.
func (a *agreements) take(key string, value []byte) {
	a.rows[key] = value
	if value == nil {
		delete(a.rows, key)
	}
	if id, ok := strings.CutPrefix(key, pinRow); ok {
		if delete(a.pins, id); value != nil {
			a.pins[id] = readPin(id, value)
		}
	}
	if pattern, ok := strings.CutPrefix(key, grantRow); ok {
		a.grants = slices.DeleteFunc(a.grants, func(g string) bool { return g == pattern })
		if value != nil {
			a.grants = append(a.grants, pattern)
			slices.Sort(a.grants)
		}
	}
}

// consent returns the agreement about a server, or the zero value if there is none or it cannot be read.
func (a *agreements) consent(server string) (c consent) {
	if json.Unmarshal(a.rows[consentRow+server], &c) != nil {
		return consent{}
	}
	return c
}

func (a *agreements) agreed(d *Definition) bool { return a.consent(d.ID).Digest == d.Digest() }

// offers returns the prompts and resources of a server. Those that cannot be read are listed again at the next start.
func (a *agreements) offers(server string) (o Offers) {
	_ = json.Unmarshal(a.rows[offersRow+server], &o)
	return o
}

func openRegister(ctx context.Context, o Options) (*register, error) {
	r := &register{table: o.Table, catalog: o.Catalog, now: o.Now, listed: map[string]catalog.Fingerprint{}}
	r.kept.Store(&agreements{})
	_, err := r.load(ctx)
	return r, err
}

// load reads the table, which another process may have changed, and reports whether anything is different.
func (r *register) load(ctx context.Context) (changed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := &agreements{rows: map[string][]byte{}, pins: map[string]*pin{}}
	for e, err := range r.table.List(ctx, rows) {
		if err != nil {
			return false, fmt.Errorf("gateway: read the approvals: %w", err)
		}
		is.take(e.Key, append([]byte{}, e.Value...))
	}
	changed = !maps.EqualFunc(r.kept.Load().rows, is.rows, slices.Equal)
	r.kept.Store(is)
	return changed, nil
}

// row returns the change that sets a row of the table.
func row(key string, v any) storage.Change {
	value, _ := json.Marshal(v) // strings, times and valid JSON: cannot fail
	return storage.Change{Key: key, Value: value}
}

// write applies changes to the table, row by row, and then to the copy in memory. After an error, the copy contains the
// changes before it. The caller holds r.mu.
func (r *register) write(ctx context.Context, changes ...storage.Change) error {
	for i, c := range changes {
		if err := r.table.Apply(ctx, c); err != nil {
			r.remember(changes[:i])
			return fmt.Errorf("gateway: keep %s: %w", c.Key, err)
		}
	}
	r.remember(changes)
	return nil
}

func (r *register) remember(changes []storage.Change) {
	old := r.kept.Load()
	now := &agreements{maps.Clone(old.rows), maps.Clone(old.pins), slices.Clone(old.grants)}
	for _, c := range changes {
		now.take(c.Key, c.Value)
	}
	r.kept.Store(now)
}

// approved pins contracts, each in one transaction with the event that puts the tool into the catalog. The caller holds
// r.mu.
func (r *register) approved(ctx context.Context, pins []*pin) error {
	var all []storage.Change
	tools, byID := make([]catalog.Tool, len(pins)), map[string]storage.Change{}
	for i, p := range pins {
		all = append(all, row(pinRow+p.ID, p))
		tools[i], byID[p.ID] = p.approved.tool, all[i]
	}
	if r.catalog == nil || len(pins) == 0 {
		return r.write(ctx, all...)
	}
	if err := r.catalog.PutTools(ctx, tools, byID); err != nil {
		return fmt.Errorf("note its tools: %w", err)
	}
	r.remember(all)
	return nil
}

// agree stores that a definition may be started. A changed definition is a new agreement: the next list counts as a
// first one, in which tools without a pin are approved.
func (r *register) agree(ctx context.Context, id, digest string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept.Load().consent(id).Digest == digest {
		return nil
	}
	return r.write(ctx, row(consentRow+id, consent{Digest: digest, At: r.now().UTC()}))
}

// forget deletes all agreements about a server together: to a process that sees a consent without the pins, the tools
// would be new. It returns the ids that were pinned.
func (r *register) forget(ctx context.Context, server string) (ids []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys, gone := []string{consentRow + server, offersRow + server}, []storage.Change{}
	for _, id := range slices.Sorted(maps.Keys(r.kept.Load().pins)) {
		if s, _, ok := catalog.Split(id); ok && s == server {
			ids, keys = append(ids, id), append(keys, pinRow+id)
		}
	}
	if err := r.table.Delete(ctx, keys...); err != nil {
		return nil, err
	}
	for _, key := range keys {
		gone = append(gone, storage.Change{Key: key})
	}
	r.remember(gone)
	return ids, nil
}

// errNoConsent means that the agreement is for another definition. The list of this one must not approve anything.
var errNoConsent = errors.New("the start of this definition is not approved")

// compare compares the tools that a server lists with their pins. A tool whose contract equals the approved one stays
// approved; any other waits for approval. The first list of a server is approved except for suspicious tools.
//
// If several processes share the table, their copies of one server may list different contracts. Then only a process
// that sees a contract change, or sees it for the first time, replaces or clears the waiting contract. In the others
// the tool stays withheld, whatever they see. If each process wrote the contract it sees, they would overwrite each
// other forever.
func (r *register) compare(ctx context.Context, d *Definition, tools map[string]*contract, besides Offers) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.kept.Load()
	if !kept.agreed(d) {
		return errNoConsent
	}
	agreement, known := kept.consent(d.ID), catalog.NewInspector()
	for _, id := range slices.Sorted(maps.Keys(kept.pins)) {
		if server, name, ok := catalog.Split(id); ok {
			known.Add(id, server, name)
		}
	}
	ids := slices.Sorted(maps.Keys(tools))
	for _, id := range ids {
		known.Add(id, d.ID, tools[id].tool.Name)
	}
	var taken []*pin
	var others []storage.Change
	for _, id := range ids {
		c, p := tools[id], kept.pins[id]
		flags := c.look(known)
		before, seen := r.listed[id]
		switch {
		case c.wrong != "", p != nil && p.broken, p != nil && p.Waits != nil && seen && before == c.print && r.table.Shared():
		case p != nil && p.approved != nil && p.approved.print == c.print:
			if p.Waits != nil {
				taken = append(taken, pinned(c, p.At))
			}
		case p == nil && !agreement.Pinned && len(flags) == 0:
			taken = append(taken, pinned(c, r.now()))
		case p == nil || p.Waits == nil || p.Waits.contract.print != c.print:
			now := pin{ID: id, Waits: &waiting{Entry: c.entry, Reason: ReasonNew, Flags: flags, At: r.now().UTC()}}
			if p != nil {
				now.Entry, now.At = p.Entry, p.At
			}
			if now.Entry != nil {
				now.Waits.Reason = ReasonChanged
			} else if len(flags) > 0 {
				now.Waits.Reason = ReasonFlagged
			}
			others = append(others, row(pinRow+id, now))
		}
	}
	offers := row(offersRow+d.ID, besides)
	if was := kept.rows[offers.Key]; len(was)+len(besides) > 0 && !bytes.Equal(was, offers.Value) {
		others = append(others, offers)
	}
	if err := r.write(ctx, others...); err != nil {
		return err
	}
	if err := r.approved(ctx, taken); err != nil {
		return err
	}
	for id, c := range tools {
		r.listed[id] = c.print
	}
	if agreement.Pinned {
		return nil
	}
	agreement.Pinned = true // set last: after an earlier error, the next try approves the rest
	return r.write(ctx, row(consentRow+d.ID, agreement))
}

func pinned(c *contract, at time.Time) *pin {
	return &pin{ID: c.tool.ID, Entry: c.entry, At: at.UTC(), approved: c}
}

// approve approves the contract that waits under an id, if there is one. A fingerprint, if given, must be that of the
// waiting contract, so that a person approves only what was shown.
func (r *register) approve(ctx context.Context, id, print string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.kept.Load().pins[id]
	switch {
	case p == nil:
		return fmt.Errorf("approve %q: %w", id, ErrUnknown)
	case p.broken: // the next list stores it as new, to be approved then
		return r.write(ctx, storage.Change{Key: pinRow + id})
	case p.Waits == nil:
		return nil
	case print != "" && print != p.Waits.contract.print.String():
		return fmt.Errorf("approve %q: %w", id, ErrChangedAgain)
	}
	return r.approved(ctx, []*pin{pinned(p.Waits.contract, r.now())})
}

// set changes rows of the table.
func (r *register) set(ctx context.Context, changes ...storage.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.write(ctx, changes...)
}

func (r *register) granted(id string) bool { return run.Matches(r.kept.Load().grants, id) }
