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
	forlorn = 24 * time.Hour         // after this time a call without an end, or a user message without a call, is dropped
)

// Feed records the events that hooks have spooled in one data directory, and the traces that exporters send:
//
//	DIR/spool ──────────────────▶ Feed ──▶ episodic.Session ───▶ live.Perform ──▶ log
//	POST /v1/traces ──▶ traces ────┘
//
// A call counts as soon as it is over. Its file is removed once the step is durable, together with the files
// that the call needs (the user message, the beginning of the call). So if the process ends at any point, the
// next one finds the remaining work. A step that was stored before its file was removed is recognised by the
// id of its call and counts once.
//
// All methods may be called concurrently.
type Feed struct {
	NoDigests bool // hooks get no key for digests

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

// sessionKey identifies a session. source is the reporter; rule is the source of its
// [episodic.Session], as in importers.
type sessionKey struct{ workspace, source, rule, name string }

// reported is the state of a session that hooks or traces report.
type reported struct {
	*episodic.Session
	key   sessionKey
	taken map[string]bool // calls that are recorded
	asked []string        // events of the user messages that the next call belongs to
	begun map[string]*call
	spans map[string]string // span of each call id of a trace
	label string            // source that a collector names for the newest call
	turn  time.Time         // when the newest recorded episode began: mostly the time of the user message
	last  time.Time
}

// call is a call that has begun and is not over.
type call struct {
	place episodic.Place
	id    string
	at    time.Time
	asked []string // events of the user messages that it belongs to
	files []string // other events needed to begin it again
}

// NewFeed returns a feed. engine opens a workspace. The tables of the store hold the spans that are
// acknowledged and not recorded yet.
func NewFeed(spool hook.Spool, store *storage.Store, engine func(context.Context, string) (*live.Engine, error), now func() time.Time, log *slog.Logger) *Feed {
	return &Feed{spool: spool, store: store, engine: engine, now: now, log: log, sessions: map[sessionKey]*reported{}, seen: map[string]bool{}}
}

// KeepKey writes the digest key of a workspace to the spool, where hooks read it. With NoDigests it deletes all keys.
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

// Run processes new events and traces until the context ends.
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

// Take processes the events in the spool and returns how many steps were recorded.
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

// event processes one event of the spool. If it returns an error, the event stays in the spool.
func (f *Feed) event(ctx context.Context, name string) error {
	e, err := f.spool.Take(name)
	var gone *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &gone): // not readable now; the other events are processed
		f.seen[name] = true
		f.log.Warn("an event of a hook cannot be read", "event", name, "error", err)
		return nil
	case err != nil:
		return f.damaged(name, err)
	}
	return f.apply(ctx, sessionKey{e.Workspace, "hook:" + e.Host, e.Host, e.Session}, &e, name)
}

// apply processes an event. name is its file in the spool, or empty.
func (f *Feed) apply(ctx context.Context, key sessionKey, e *hook.Event, name string) error {
	if e.Through { // the caller of the tool records it
		return f.remove(name)
	}
	if (e.Kind == hook.Began || e.Kind == hook.Ended) && (e.Call == "" || e.Tool == "") {
		return f.damaged(name, errors.New("it names no call or no tool"))
	}
	engine, err := f.engine(ctx, key.workspace)
	var refused *suggest.RequestError
	switch {
	case errors.As(err, &refused): // the name of the workspace is invalid
		return f.damaged(name, err)
	case err != nil:
		return err
	}
	s := f.session(ctx, engine, key)
	s.last = later(s.last, e.Time)
	switch e.Kind {
	case hook.Asked:
		if e.Time.Equal(s.turn) { // it was processed before, and its call recorded
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
	if err := f.remove(name); err != nil { // for example a folder, which must not block others
		f.seen[name] = true
		f.log.Warn("an event of a hook is not removed", "event", name, "error", err)
	}
	return nil
}

// remove removes an event from the spool, if it came from there.
func (f *Feed) remove(name string) error {
	if name == "" {
		return nil
	}
	return f.spool.Remove(name)
}

// need marks an event as applied and keeps it in the spool until it is dropped.
func (f *Feed) need(names []string, name string) []string {
	if name == "" {
		return names
	}
	f.seen[name] = true
	return append(names, name)
}

// session returns the session of an event. A new one resumes the episode that an earlier process recorded.
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

// begin adds a call to the session and so assigns its place.
func (s *reported) begin(f *Feed, e *hook.Event, name string) *call {
	c := &call{id: e.Call, at: e.Time, asked: s.asked, files: f.need(nil, name)}
	if e.Unnamed { // the same call may be repeated
		c.id += "-" + strconv.FormatInt(e.Time.UnixNano(), 36)
	}
	c.place = s.Begin(episodic.Call{ID: c.id, Intent: e.Intent, Start: e.Time})
	s.asked = nil
	s.begun[e.Call] = c
	return c
}

// abandon drops the calls that never ended, because they were refused or interrupted.
func (s *reported) abandon(f *Feed) {
	for id, c := range s.begun {
		s.dropCall(f, id, c)
	}
}

// dropCall drops a call that was not made. If no episode has begun, its user messages belong to the next call.
func (s *reported) dropCall(f *Feed, id string, c *call) {
	s.Drop(c.id)
	delete(s.begun, id)
	f.drop(c.files)
	if s.Begun() {
		f.drop(c.asked)
	} else {
		s.asked = append(c.asked, s.asked...)
	}
}

// done marks a call as recorded and drops the events that it needed.
func (s *reported) done(f *Feed, id string, c *call, at time.Time) {
	s.End(c.id, at)
	s.taken[c.id], s.turn = true, c.place.Time
	delete(s.begun, id)
	f.drop(append(c.asked, c.files...))
}

// drop removes events that are no longer needed. An event that cannot be removed is found again by the next process.
func (f *Feed) drop(names []string) {
	for _, name := range names {
		if err := f.remove(name); err != nil {
			f.log.Warn("an event of a hook is not removed", "event", name, "error", err)
			continue
		}
		delete(f.seen, name)
	}
}

// ended records a call that is over, unless it was not made.
func (f *Feed) ended(ctx context.Context, engine *live.Engine, s *reported, e *hook.Event, name string) error {
	c := s.begun[e.Call]
	if c == nil {
		if s.taken[e.Call] {
			return f.remove(name)
		}
		c = s.begin(f, e, "") // its beginning was not reported
	}
	if !hook.Made(e.ErrorKind) { // it was not made
		if s.dropCall(f, e.Call, c); name == "" {
			s.taken[c.id] = true // a trace is processed again when more spans arrive
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
		return err // the call stays begun, so it is tried again
	default:
		f.steps++
	}
	s.done(f, e.Call, c, e.Time)
	f.drop([]string{name})
	return nil
}

// forget drops idle sessions, and the events that they still keep in the spool.
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
