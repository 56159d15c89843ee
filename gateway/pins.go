package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waymark/catalog"
	"waymark/run"
	"waymark/storage"
)

// What somebody agreed to is kept in the table of the workspace:
//
//	gateway/consent/SERVER   the digest of how it is started or reached
//	gateway/pin/SERVER:NAME  the fingerprint of a tool, and of another that waits to be approved
//	gateway/grant/PATTERN    tools that may be called though they may do harm
//	gateway/offers/SERVER    its prompts and resources, as it last listed them
//
// Without a consent nothing is started; without a pin nothing is called. Rows that cannot be read close
// what they are about.
const consentRow, pinRow, grantRow, offersRow = "gateway/consent/", "gateway/pin/", "gateway/grant/", "gateway/offers/"

// consent is what was agreed to, and whether the tools that came with it are pinned.
type consent struct {
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
	Pinned bool      `json:"pinned,omitempty"`
}

// pin is one tool as its server listed it when it was approved. A tool that only waits has no entry of its own yet.
type pin struct {
	ID    string          `json:"id"`
	Entry json.RawMessage `json:"entry,omitempty"` // approved, of its server's tools/list
	At    time.Time       `json:"at"`
	Waits *waiting        `json:"waiting,omitempty"`

	offered      // read from the entry
	broken  bool // the row cannot be read
}

// waiting is a contract that nobody has approved.
type waiting struct {
	Entry  json.RawMessage `json:"entry"`
	Reason string          `json:"reason"` // new, changed or flagged
	Flags  []string        `json:"flags,omitempty"`
	At     time.Time       `json:"at"`
}

func pinned(o *offered, at time.Time) *pin {
	return &pin{ID: o.tool.ID, Entry: o.entry, At: at.UTC(), offered: *o}
}

// readPin reads a row.
func readPin(id string, value []byte) *pin {
	server, _, _ := catalog.Split(id)
	p := new(pin)
	if json.Unmarshal(value, p) != nil || p.ID != id || p.Entry == nil && p.Waits == nil {
		return &pin{ID: id, broken: true}
	}
	if p.Entry != nil {
		if p.offered = read(server, p.Entry); p.tool.ID != id || p.wrong != "" {
			return &pin{ID: id, broken: true}
		}
	}
	return p
}

// withheld is what a pin itself holds back.
func (p *pin) withheld() (Withheld, bool) {
	server, _, _ := catalog.Split(p.ID)
	w := Withheld{ID: p.ID, Server: server, Changed: []string{}, Flags: []string{}}
	switch {
	case p.broken:
		w.Reason, w.Detail = ReasonStore, "what was approved of it cannot be read"
		return w, true
	case p.Waits == nil:
		return w, false
	}
	now := read(server, p.Waits.Entry)
	w.Reason, w.Since, w.Flags = p.Waits.Reason, p.Waits.At, append(w.Flags, p.Waits.Flags...)
	w.Description, w.Fingerprint = catalog.Cut(string(now.parts["description"]), 2<<10), now.print.String()
	if p.Entry != nil {
		w.Changes = changes(p.parts, now.parts)
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

// Why a tool is withheld.
const (
	ReasonNew     = "new"     // its server was agreed to without it, or a key without the scope admin put it
	ReasonChanged = "changed" // its contract is another than the approved one
	ReasonFlagged = "flagged" // its texts are suspicious
	ReasonStore   = "store"   // what was approved cannot be read
	ReasonInvalid = "invalid" // its definition is not usable; approving does not help
	ReasonGone    = "gone"    // its server does not offer it at the moment
)

// register is all that was agreed to, in memory and in the table.
type register struct {
	table storage.Table
	now   func() time.Time

	kept atomic.Pointer[agreements]

	mu     sync.Mutex                     // held by changes, also while they are written; readers load kept
	listed map[string]catalog.Fingerprint // of each tool, as this process last saw it
}

// agreements are what the table holds. They are never changed.
type agreements struct {
	consents map[string]consent
	pins     map[string]*pin
	grants   []string // sorted
	offers   map[string]Offers
}

// change replaces what is in memory by a changed copy. r.mu is held.
func (r *register) change(f func(now *agreements)) {
	old := r.kept.Load()
	now := &agreements{maps.Clone(old.consents), maps.Clone(old.pins), slices.Clone(old.grants), maps.Clone(old.offers)}
	f(now)
	r.kept.Store(now)
}

func openRegister(ctx context.Context, table storage.Table, now func() time.Time) (*register, error) {
	r := &register{table: table, now: now, listed: map[string]catalog.Fingerprint{}}
	_, err := r.load(ctx)
	return r, err
}

// load reads the table, which another process may have changed, and reports whether anything is different.
func (r *register) load(ctx context.Context) (changed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, is := r.kept.Load(), &agreements{consents: map[string]consent{}, pins: map[string]*pin{}, offers: map[string]Offers{}}
	for e, err := range r.table.List(ctx, "gateway/") {
		if err != nil {
			return false, fmt.Errorf("gateway: read what was agreed to: %w", err)
		}
		switch {
		case strings.HasPrefix(e.Key, consentRow):
			var c consent
			if json.Unmarshal(e.Value, &c) == nil && c.Digest != "" {
				is.consents[e.Key[len(consentRow):]] = c
			} // a consent that cannot be read is none
		case strings.HasPrefix(e.Key, pinRow):
			id := e.Key[len(pinRow):]
			is.pins[id] = readPin(id, e.Value)
		case strings.HasPrefix(e.Key, grantRow):
			is.grants = append(is.grants, e.Key[len(grantRow):])
		case strings.HasPrefix(e.Key, offersRow):
			var o Offers
			if json.Unmarshal(e.Value, &o) == nil { // else they are read at the next start
				is.offers[e.Key[len(offersRow):]] = o
			}
		}
	}
	slices.Sort(is.grants)
	r.kept.Store(is)
	return !reflect.DeepEqual(was, is), nil
}

func (r *register) put(ctx context.Context, key string, v any) error {
	value, err := json.Marshal(v)
	if err == nil {
		err = r.table.Put(ctx, key, value)
	}
	if err != nil {
		return fmt.Errorf("gateway: keep %s: %w", key, err)
	}
	return nil
}

// agree notes that a definition may be started. A changed one is a new agreement: what it offers first is
// pinned anew.
func (r *register) agree(ctx context.Context, id, digest string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.consent(id).Digest == digest {
		return nil
	}
	c := consent{Digest: digest, At: r.now().UTC()}
	if err := r.put(ctx, consentRow+id, c); err != nil {
		return err
	}
	r.change(func(now *agreements) { now.consents[id] = c })
	return nil
}

// consent returns what was agreed to about a server; the zero value if nothing was.
func (r *register) consent(server string) consent { return r.kept.Load().consents[server] }

func (r *register) agreed(d *Definition) bool { return r.consent(d.ID).Digest == d.Digest() }

// forget drops everything that was agreed to about a server. It returns the ids that were pinned.
func (r *register) forget(ctx context.Context, server string) (ids []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := []string{consentRow + server, offersRow + server} // in one transaction: without its pins, a tool would be new to others
	for _, id := range slices.Sorted(maps.Keys(r.kept.Load().pins)) {
		if s, _, ok := catalog.Split(id); ok && s == server {
			ids, rows = append(ids, id), append(rows, pinRow+id)
		}
	}
	if err := r.table.Delete(ctx, rows...); err != nil {
		return nil, err
	}
	r.change(func(now *agreements) {
		delete(now.consents, server)
		delete(now.offers, server)
		for _, id := range ids {
			delete(now.pins, id)
		}
	})
	return ids, nil
}

// errNoConsent: the agreement is to another definition, so that nothing may be approved with this one's list.
var errNoConsent = errors.New("nobody agreed to start it as it is defined here")

// compare holds the tools that a server lists against their pins, and keeps what waits. It returns the pins of those that
// are approved with this list, for [register.take]. Consents do not change between the two.
//
// Where several processes share the table, their copies of one server may list different contracts. Then only a process
// that sees a contract change, or sees it first, replaces or clears what waits; to the others it is withheld, whatever
// they see themselves. If each wrote what it sees, they would overwrite each other forever.
func (r *register) compare(ctx context.Context, d *Definition, tools []offered) (taken []*pin, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	agreement := r.consent(d.ID)
	if agreement.Digest != d.Digest() {
		return nil, errNoConsent
	}
	for i := range tools {
		o := &tools[i]
		id := o.tool.ID
		p := r.kept.Load().pins[id]
		before, known := r.listed[id]
		unchanged := known && before == o.print
		switch {
		case o.wrong != "", p != nil && p.broken, p != nil && p.Waits != nil && unchanged && r.table.Shared():
			continue
		case p != nil && p.Entry != nil && p.print == o.print:
			if p.Waits != nil {
				taken = append(taken, pinned(o, p.At))
			}
			continue
		case p == nil && !agreement.Pinned && len(o.flags) == 0:
			taken = append(taken, pinned(o, r.now()))
			continue
		}
		was := pin{ID: id}
		if p != nil {
			was = *p
		}
		w := &waiting{Entry: o.entry, Reason: ReasonNew, Flags: o.flags, At: r.now().UTC()}
		switch {
		case was.Entry != nil:
			w.Reason = ReasonChanged
		case len(o.flags) > 0:
			w.Reason = ReasonFlagged
		}
		if was.Waits == nil || read(d.ID, was.Waits.Entry).print != o.print {
			was.Waits = w
			if err := r.put(ctx, pinRow+id, was); err != nil {
				return nil, err
			}
			r.change(func(now *agreements) { now.pins[id] = &was })
		}
	}
	return taken, nil
}

// keepOffers notes what a server has besides tools.
func (r *register) keepOffers(ctx context.Context, server string, o Offers) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if was := r.kept.Load().offers[server]; len(was)+len(o) == 0 || reflect.DeepEqual(was, o) {
		return nil
	}
	if err := r.put(ctx, offersRow+server, o); err != nil {
		return err
	}
	r.change(func(now *agreements) { now.offers[server] = o })
	return nil
}

// keepPins keeps pins of approved tools, each in one transaction with the event that puts the tool into the catalog. r.mu
// is held.
func (r *register) keepPins(ctx context.Context, c Catalog, pins ...*pin) error {
	tools, rows := make([]catalog.Tool, len(pins)), map[string]storage.Change{}
	for i, p := range pins {
		value, err := json.Marshal(p)
		if err != nil {
			return err
		}
		tools[i], rows[p.ID] = p.tool, storage.Change{Key: pinRow + p.ID, Value: value}
	}
	if c != nil && len(pins) > 0 {
		if err := c.PutTools(ctx, tools, rows); err != nil {
			return fmt.Errorf("note its tools: %w", err)
		}
	}
	for _, p := range pins {
		if c == nil {
			if err := r.table.Apply(ctx, rows[p.ID]); err != nil {
				return err
			}
		}
		r.change(func(now *agreements) { now.pins[p.ID] = p })
	}
	return nil
}

// take keeps what was taken of a list. Then the first list of a server is pinned.
func (r *register) take(ctx context.Context, c Catalog, server string, list []offered, taken []*pin) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.keepPins(ctx, c, taken...); err != nil {
		return err
	}
	for i := range list {
		r.listed[list[i].tool.ID] = list[i].print
	}
	agreement := r.consent(server)
	if agreement.Pinned {
		return nil
	}
	agreement.Pinned = true
	if err := r.put(ctx, consentRow+server, agreement); err != nil {
		return err
	}
	r.change(func(now *agreements) { now.consents[server] = agreement })
	return nil
}

// approve takes what waits under an id; nil if nothing does. With a fingerprint it has to be that one: what a person looked at.
func (r *register) approve(ctx context.Context, c Catalog, id, print string) (*pin, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.kept.Load().pins[id]
	switch {
	case p == nil:
		return nil, fmt.Errorf("approve %q: %w", id, ErrUnknown)
	case p.broken: // the next list pins it as new, to be approved then
		if err := r.table.Delete(ctx, pinRow+id); err != nil {
			return nil, err
		}
		r.change(func(now *agreements) { delete(now.pins, id) })
		return nil, nil
	case p.Waits == nil:
		return nil, nil
	}
	server, _, _ := catalog.Split(id)
	now := read(server, p.Waits.Entry)
	if print != "" && print != now.print.String() {
		return nil, fmt.Errorf("approve %q: %w", id, ErrChangedAgain)
	}
	approved := pinned(&now, r.now())
	return approved, r.keepPins(ctx, c, approved)
}

// grant lets tools be called that may do harm; a pattern is an id in which * stands for any characters.
func (r *register) grant(ctx context.Context, pattern string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.put(ctx, grantRow+pattern, map[string]time.Time{"at": r.now().UTC()}); err != nil {
		return err
	}
	r.change(func(now *agreements) {
		if i, found := slices.BinarySearch(now.grants, pattern); !found {
			now.grants = slices.Insert(now.grants, i, pattern)
		}
	})
	return nil
}

// revoke takes a grant back; false if there is none of this pattern.
func (r *register) revoke(ctx context.Context, pattern string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, found := slices.BinarySearch(r.kept.Load().grants, pattern)
	if !found {
		return false, nil
	}
	if err := r.table.Delete(ctx, grantRow+pattern); err != nil {
		return false, err
	}
	r.change(func(now *agreements) { now.grants = slices.Delete(now.grants, i, i+1) })
	return true, nil
}

func (r *register) granted(id string) bool { return run.Matches(r.kept.Load().grants, id) }
