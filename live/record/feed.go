package record

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"waymark/episodic"
	"waymark/ingest/hook"
	"waymark/live"
	"waymark/storage"
	"waymark/suggest"
)

const (
	tick    = 400 * time.Millisecond
	settled = 100 * time.Millisecond // events that are older are complete and in order
	forlorn = 24 * time.Hour         // after which a call without an end, or a question without a call, is given up
)

// Feed takes in what hooks have spooled in one data directory, and the traces that exporters send:
//
//	DIR/spool ──────────────────▶ Feed ──▶ episodic.Session ───▶ live.Perform ──▶ log
//	POST /v1/traces ──▶ traces ────┘
//
// A call counts as soon as it is over. Its file is removed once it is durable, and the files of what it
// needs (what the user asked, the beginning of the call) with it; so whatever ends the process, the next
// one finds what is still to be done. A step that was stored before the file was removed is recognised
// by the id of its call and counts once.
//
// All methods may be called concurrently.
type Feed struct {
	NoDigests bool // hooks get no key

	spool  hook.Spool
	store  *storage.Store
	engine func(ctx context.Context, workspace string) (*live.Engine, error)
	now    func() time.Time
	log    *slog.Logger

	mu       sync.Mutex
	sessions map[sessionKey]*reported
	seen     map[string]bool // events that are applied and still needed
	steps    int             // recorded so far
	traces   traces
}

// sessionKey names a session: who tells of it, and by which name its episodes are cut, as importers do.
type sessionKey struct{ workspace, source, rule, name string }

// reported is what is under way in a session that hooks or traces report.
type reported struct {
	*episodic.Session
	key   sessionKey
	taken map[string]bool // calls that are recorded
	asked []string        // events whose words the next call is about
	begun map[string]*call
	spans map[string]string // span of each call of a trace
	label string            // whom a collector names as the source of the newest
	turn  time.Time         // when the newest recorded episode began: mostly what the user asked
	last  time.Time
}

// call is one that has begun and is not over.
type call struct {
	place episodic.Place
	id    string
	at    time.Time
	asked []string // events of what it is about
	files []string // what else has to be there to begin it again
}

// NewFeed returns a feed. engine opens a workspace; in the tables of the store stands what is acknowledged and not
// history yet.
func NewFeed(spool hook.Spool, store *storage.Store, engine func(context.Context, string) (*live.Engine, error), now func() time.Time, log *slog.Logger) *Feed {
	return &Feed{spool: spool, store: store, engine: engine, now: now, log: log, sessions: map[sessionKey]*reported{}, seen: map[string]bool{}}
}

// KeepKey leaves the key of a workspace's digests where hooks find it.
func (f *Feed) KeepKey(ctx context.Context, workspace string) error {
	if f.NoDigests {
		return f.spool.DropKeys()
	}
	engine, err := f.engine(ctx, workspace)
	if err != nil {
		return err
	}
	key, err := engine.DigestKey(ctx)
	if err != nil {
		return err
	}
	return f.spool.KeepKey(workspace, key)
}

// Run takes in what comes until the context ends.
func (f *Feed) Run(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		if _, err := f.take(ctx, f.now().Add(-settled)); err != nil && ctx.Err() == nil {
			f.log.Warn("the spool of hooks is not taken in", "error", err)
		}
		f.flush(ctx, false)
		select {
		case <-ctx.Done():
			f.flush(context.WithoutCancel(ctx), true)
			return
		case <-t.C:
		}
	}
}

// Take takes in what is there, and says how many steps were recorded.
func (f *Feed) Take(ctx context.Context) (steps int, err error) {
	return f.take(ctx, f.now().Add(time.Hour))
}

func (f *Feed) take(ctx context.Context, before time.Time) (steps int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	earlier := f.steps
	names, err := f.spool.List(before)
	for _, name := range names {
		if err != nil || ctx.Err() != nil {
			break
		}
		if !f.seen[name] {
			err = f.event(ctx, name)
		}
	}
	if len(names) == 0 {
		clear(f.seen)
	}
	f.forget()
	return f.steps - earlier, err
}

// event takes in one event of the spool. An error is of the store: the event stays.
func (f *Feed) event(ctx context.Context, name string) error {
	e, err := f.spool.Take(name)
	var gone *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &gone): // it cannot be read now; others can
		f.seen[name] = true
		f.log.Warn("an event of a hook cannot be read", "event", name, "error", err)
		return nil
	case err != nil:
		return f.damaged(name, err)
	}
	return f.apply(ctx, sessionKey{e.Workspace, "hook:" + e.Host, e.Host, e.Session}, &e, name)
}

// apply takes in an event, of a file of the spool or of none.
func (f *Feed) apply(ctx context.Context, key sessionKey, e *hook.Event, name string) error {
	if e.Through { // whoever made the call records it
		return f.remove(name)
	}
	if (e.Kind == hook.Began || e.Kind == hook.Ended) && (e.Call == "" || e.Tool == "") {
		return f.damaged(name, errors.New("it names no call or no tool"))
	}
	engine, err := f.engine(ctx, key.workspace)
	var refused *suggest.RequestError
	switch {
	case errors.As(err, &refused): // no such workspace can be
		return f.damaged(name, err)
	case err != nil:
		return err
	}
	s := f.session(ctx, engine, key)
	s.last = later(s.last, e.Time)
	switch e.Kind {
	case hook.Asked:
		if e.Time.Equal(s.turn) { // it was taken in, and its call recorded
			return f.remove(name)
		}
		s.abandon(f)
		s.Turn(e.Intent, e.Time)
		s.asked = f.need(s.asked, name)
	case hook.Began:
		if s.begun[e.Call] != nil || s.taken[e.Call] {
			return f.remove(name)
		}
		s.begin(f, e, name)
	case hook.Ended:
		return f.ended(ctx, engine, s, e, name)
	case hook.Over:
		s.abandon(f)
		f.drop(s.asked)
		delete(f.sessions, s.key)
		return f.remove(name)
	default:
		return f.damaged(name, errors.New("kind "+strconv.Quote(string(e.Kind))+" is not known"))
	}
	return nil
}

func (f *Feed) damaged(name string, err error) error {
	f.log.Warn("an event of a hook is passed over", "event", name, "reason", err)
	if err := f.remove(name); err != nil { // a folder, say: it must not keep others waiting
		f.seen[name] = true
		f.log.Warn("an event of a hook is not removed", "event", name, "error", err)
	}
	return nil
}

// remove takes an event out of the spool, if it came from there.
func (f *Feed) remove(name string) error {
	if name == "" {
		return nil
	}
	return f.spool.Remove(name)
}

// need keeps an event in the spool until it is dropped.
func (f *Feed) need(names []string, name string) []string {
	if name == "" {
		return names
	}
	f.seen[name] = true
	return append(names, name)
}

// session of an event, as it was left by the process before.
func (f *Feed) session(ctx context.Context, engine *live.Engine, key sessionKey) *reported {
	s := f.sessions[key]
	if s != nil {
		return s
	}
	s = &reported{Session: episodic.NewSession(key.rule, key.name), key: key, taken: map[string]bool{}, begun: map[string]*call{}}
	if place, steps, last, ok := engine.Growing(ctx, key.source, key.name); ok {
		s.Resume(place, last)
		s.turn = place.Time
		for _, id := range steps {
			s.taken[id] = true
		}
	}
	f.sessions[key] = s
	if err := f.KeepKey(ctx, key.workspace); err != nil {
		f.log.Warn("hooks have no key for digests", "error", err)
	}
	return s
}

// begin gives a call its place.
func (s *reported) begin(f *Feed, e *hook.Event, name string) *call {
	c := &call{id: e.Call, at: e.Time, asked: s.asked, files: f.need(nil, name)}
	if e.Unnamed { // the same call may come again
		c.id += "-" + strconv.FormatInt(e.Time.UnixNano(), 36)
	}
	c.place = s.Begin(episodic.Call{ID: c.id, Intent: e.Intent, Start: e.Time})
	s.asked = nil
	s.begun[e.Call] = c
	return c
}

// abandon gives up the calls that never ended: they were refused, or interrupted.
func (s *reported) abandon(f *Feed) {
	for id, c := range s.begun {
		s.none(f, id, c)
	}
}

// none gives up a call that was none. What the user asked may be what the next call is about.
func (s *reported) none(f *Feed, id string, c *call) {
	s.Drop(c.id)
	delete(s.begun, id)
	f.drop(c.files)
	if s.Begun() {
		f.drop(c.asked)
	} else {
		s.asked = append(c.asked, s.asked...)
	}
}

// done forgets what was needed for a call that is recorded.
func (s *reported) done(f *Feed, id string, c *call, at time.Time) {
	s.End(c.id, at)
	s.taken[c.id], s.turn = true, c.place.Time
	delete(s.begun, id)
	f.drop(append(c.asked, c.files...))
}

// drop removes events that nothing needs any more. One that stays is found again by the next process.
func (f *Feed) drop(names []string) {
	for _, name := range names {
		if err := f.remove(name); err != nil {
			f.log.Warn("an event of a hook is not removed", "event", name, "error", err)
			continue
		}
		delete(f.seen, name)
	}
}

// ended records a call that is over.
func (f *Feed) ended(ctx context.Context, engine *live.Engine, s *reported, e *hook.Event, name string) error {
	c := s.begun[e.Call]
	if c == nil {
		if s.taken[e.Call] {
			return f.remove(name)
		}
		c = s.begin(f, e, "") // nobody told that it began
	}
	if !hook.Made(e.ErrorKind) { // it was none
		if s.none(f, e.Call, c); name == "" {
			s.taken[c.id] = true // a trace is read again when more of it comes
		}
		f.drop([]string{name})
		return nil
	}
	step := episodic.Step{
		ID: c.id, Tool: e.Tool, Outcome: cmp.Or(e.Outcome, episodic.Unknown), ErrorKind: e.ErrorKind, Shape: e.Shape,
		Inputs: e.Inputs, Outputs: e.Outputs, DurationMS: max(0, e.Time.Sub(c.at).Milliseconds()),
	}
	_, err := engine.Perform(ctx, s.key.source, live.Performed{Place: c.place, Step: step, Label: s.label})
	var refused *suggest.RequestError
	switch {
	case errors.Is(err, live.ErrOtherStep): // it was recorded before
	case errors.As(err, &refused):
		f.log.Warn("a call reported by a hook is not recorded", "tool", e.Tool, "reason", err)
	case err != nil:
		return err // begun, so it is tried again
	default:
		f.steps++
	}
	s.done(f, e.Call, c, e.Time)
	f.drop([]string{name})
	return nil
}

// forget drops the sessions of which nothing more is expected, and what they still keep in the spool.
func (f *Feed) forget() {
	now := f.now()
	for key, s := range f.sessions {
		rest := now.Sub(s.last)
		if rest < 2*episodic.IdleGap || rest < forlorn && len(s.begun)+len(s.asked) > 0 {
			continue
		}
		s.abandon(f)
		f.drop(s.asked)
		delete(f.sessions, key)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
