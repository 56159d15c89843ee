package ingest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/ingest/hook"
)

// A trace is what some recorder saw of an agent. Whatever its format, it says three things, and each
// decoder of a trace says them to a [thread]:
//
//	ask      the user asked for something
//	call     a tool was called
//	settle   what became of a call
//
// A thread is one line of thought: a session, or a subagent in it. Where one of its episodes ends and
// which of its calls are parallel is the rule of [episodic.Session]. A trace that begins in the middle
// or is cut off gives what it has: a call without a result has an unknown outcome, and did not keep
// what came after it from being an answer to what came before.
type traces struct {
	format  string
	digests *episodic.DigestKey
	begun   map[string]bool // first calls of episodes, over all files: a resumed session repeats them
	emit    func(Item)
	threads map[string]*thread
	order   []*thread // by first line
	tally   Tally
}

func (in *input) traces(format string) *traces {
	return &traces{format: format, digests: in.opts.Digests, begun: map[string]bool{}}
}

// maxTraceLine bounds a line of a trace, which may carry what a tool returned.
const maxTraceLine = 32 << 20

// eachTraceFile reads the files of a trace and ends with the tally.
func (in *input) eachTraceFile(t *traces, emit func(Item) bool, read func(name string, r io.Reader, more func() bool) error) error {
	more := true
	err := in.eachFile(t.format, func(name string) (bool, error) {
		f, err := in.open(name)
		if err != nil {
			return false, err
		}
		defer f.Close()
		t.file(name, func(it Item) { more = more && emit(it) })
		if err = read(name, f, func() bool { return more }); errors.Is(err, errTooLarge) { // the other files still count
			t.drop(1, err)
			err = nil
		}
		t.end()
		return more, err
	})
	if err == nil && more {
		emit(Item{Tally: &t.tally})
	}
	return err
}

// file begins the reading of one file.
func (t *traces) file(name string, emit func(Item)) {
	t.threads, t.order = map[string]*thread{}, nil
	t.emit = func(it Item) {
		it.File = cmp.Or(it.File, name)
		emit(it)
	}
}

// thread of a session.
func (t *traces) thread(session string) *thread {
	th := t.threads[session]
	if th == nil {
		th = t.newThread(session)
		t.threads[session] = th
		t.order = append(t.order, th)
	}
	return th
}

func (t *traces) newThread(session string) *thread {
	return &thread{t: t, session: session, rule: episodic.NewSession(t.format, session), calls: map[string]int{}}
}

// end hands on what the threads still hold.
func (t *traces) end() {
	for _, th := range t.order {
		th.flush()
	}
}

// skip counts a line of a kind that is not known.
func (t *traces) skip() { t.tally.Skipped++ }

// drop says that a line could not be used.
func (t *traces) drop(line int, err error) {
	t.emit(Item{Line: line, Dropped: err.Error()})
}

type thread struct {
	t       *traces
	session string
	salt    string // tells apart what session and call id do not
	loose   bool   // call ids mean nothing beyond the session
	again   bool   // a longer telling of the same session is no repetition

	rule   *episodic.Session
	line   int // of the request
	steps  []step
	events []event        // what happened to steps, in order
	calls  map[string]int // call id → step

	asked, answered int // calls without an id, which are answered in their order
}

// event says that a step began or ended.
type event struct {
	step int
	ends bool
	at   time.Time
}

type step struct {
	episodic.Step
	CallID  string    `json:"call"`
	Started time.Time `json:"started,omitzero"`
	Ended   bool      `json:"ended,omitempty"`
	Void    bool      `json:"void,omitempty"` // it did not happen

	line    int
	turn    string
	intent  string
	problem error // with the name of its tool
}

// call is one call as a recorder saw it.
type call struct {
	line      int
	id        string // unique in its session
	name      string // as written; a wrapper is opened
	server    string // where it is written beside the name
	arguments json.RawMessage
	turn      string // calls of one turn are parallel; "" is no turn
	at        time.Time
}

// result is what became of a call.
type result struct {
	outcome episodic.Outcome // "" is unknown
	kind    string           // of a failure; "" guesses from the text
	text    string           // of a failure
	value   json.RawMessage
	at      time.Time
	void    bool   // nothing came of it yet: a host was asked for something first
	tool    string // id of the tool, where the result knows better
}

// ask says what the user asked for: the next call begins an episode.
func (th *thread) ask(line int, intent string, at time.Time) {
	th.flush()
	th.line = line
	th.rule.Turn(intent, at)
}

// call says that a tool was called. The same call again is no other.
func (th *thread) call(c call) {
	if _, again := th.calls[c.id]; !again {
		th.begin(th.t.step(c))
	}
}

func (th *thread) begin(s step) {
	th.calls[s.CallID] = len(th.steps)
	th.events = append(th.events, event{step: len(th.steps), at: s.Started})
	th.steps = append(th.steps, s)
}

// settle says what became of a call since the last request; of another it changes nothing.
func (th *thread) settle(id string, r result) {
	if i, ok := th.calls[id]; ok {
		th.events = append(th.events, event{step: i, ends: true, at: r.at})
		th.steps[i].settle(r, th.t.digests)
	}
}

// step is a call without its values.
func (t *traces) step(c call) step {
	name := c.name
	if c.server != "" {
		name = catalog.ID(c.server, c.name)
	}
	s := step{line: c.line, CallID: c.id, turn: c.turn, Started: c.at}
	var arguments json.RawMessage
	s.Tool, arguments = hook.Unwrap(name, c.arguments)
	_, s.problem = catalog.Identifier("tool", s.Tool, catalog.MaxID)
	s.Void = hook.IsOwn(s.Tool)
	s.Shape, s.Outcome = episodic.Shape(arguments), episodic.Unknown
	if t.digests != nil && len(arguments) > 0 {
		s.Inputs = t.digests.Digests(arguments)
	}
	return s
}

func (s *step) settle(r result, digests *episodic.DigestKey) {
	s.Ended, s.Void = true, s.Void || r.void
	if r.tool != "" {
		s.Tool, s.Void = r.tool, s.Void || hook.IsOwn(r.tool)
	}
	switch {
	case r.outcome == episodic.Failure:
		s.failed(cmp.Or(r.kind, hook.ErrorKind(r.text)))
	case r.outcome == episodic.Success && s.Outcome == episodic.Unknown && s.ErrorKind == "":
		s.Outcome = r.outcome
	}
	if !s.Started.IsZero() && r.at.After(s.Started) {
		s.DurationMS = r.at.Sub(s.Started).Milliseconds()
	}
	if digests != nil && len(r.value) > 0 && s.Outputs == nil && r.outcome != episodic.Failure {
		s.Outputs = hook.Digests(r.value, digests)
	}
}

// failed says what a failure of a kind makes of a step, as where calls are recorded when they are made
// (package recorder): what is not held against the tool is unknown, and a call that was not let through, or
// names no tool, is none.
func (s *step) failed(kind string) {
	s.Outcome, s.ErrorKind = episodic.Failure, kind
	if !hook.Held(kind) {
		s.Outcome, s.Void = episodic.Unknown, s.Void || !hook.Made(kind)
	}
}

// flush cuts what happened since the last request into episodes and hands them on.
func (th *thread) flush() {
	var open *cut
	for _, ev := range th.events {
		s := &th.steps[ev.step]
		switch {
		case s.Void:
		case ev.ends:
			th.rule.End(s.name(th), ev.at)
		default:
			p := th.rule.Begin(episodic.Call{ID: s.name(th), Intent: s.intent, Group: s.turn, Start: s.Started})
			if open == nil || open.episode.ID != p.Episode {
				open.close(th)
				open = &cut{first: s, episode: episodic.Episode{ID: p.Episode, Intent: p.Intent, Time: p.Time, Session: p.Session}}
			}
			s.Group = p.Group
			open.add(s)
			if !s.Ended {
				th.rule.End(s.name(th), s.Started)
			}
		}
	}
	open.close(th)
	th.line, th.steps, th.events, th.answered = 0, nil, nil, th.asked
	clear(th.calls)
}

// name of a call that tells it from all others.
func (s *step) name(th *thread) string {
	if th.salt == "" {
		return s.CallID
	}
	return s.CallID + "\x00" + th.salt
}

// cut is an episode being put together.
type cut struct {
	first   *step
	episode episodic.Episode
	problem error
}

func (c *cut) add(s *step) {
	c.episode.Steps = append(c.episode.Steps, s.Step)
	if c.problem == nil && s.problem != nil {
		c.problem = fmt.Errorf("line %d: %w", s.line, s.problem)
	}
}

func (c *cut) close(th *thread) {
	if c == nil {
		return
	}
	e := &c.episode
	episodic.NumberGroups(e.Steps)
	it := Item{Line: th.line, Kind: KindEpisode, ID: e.ID, Episode: e}
	if th.line == 0 {
		it.Line = c.first.line
	}
	th.line = 0 // the next episode begins where its first call stands
	first := c.first.CallID
	if th.loose {
		first = e.ID
	}
	switch {
	case th.t.begun[first] && !th.again:
		it.Episode, it.Duplicate = nil, true
	case c.problem != nil:
		it.drop(fmt.Sprintf("episode %q of %s: %s", e.ID, catalog.Plural(len(e.Steps), "step"), c.problem))
	}
	th.t.begun[first] = true
	th.t.emit(it)
}
