package ingest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/ingest/hook"
)

// traces holds the state of reading the traces of one format. A trace is a recording of an agent. Every
// trace decoder, whatever its format, reports three kinds of event to a [thread]:
//
//	ask      the user makes a request
//	call     the agent calls a tool
//	settle   a call returns its result
//
// A thread is one sequence of decisions: a session, or a subagent in it. [episodic.Session] defines
// where an episode ends and which calls are parallel. A trace that starts in the middle or is cut off
// is still used: a call without a result has an unknown outcome and ends at its own start, so that it
// does not make the calls after it parallel.
type traces struct {
	format  string
	digests *episodic.DigestKey
	server  string          // option
	begun   map[string]bool // first call or id of each episode read so far, over all files: a resumed session repeats them
	emit    func(Item)
	threads map[string]*thread
	order   []*thread // in the order of their first lines
	tally   Tally
}

// traceDecoder returns the decoder of a format of traces. begin prepares for a file, given its path, and returns the
// functions for its lines or values, which each visits, and for its end.
func traceDecoder(format string, each func(io.Reader, func(line) bool) error,
	begin func(t *traces, file string) (read func(line), end func())) decoder {
	return func(in *input, emit func(Item) bool) error {
		t := &traces{format: format, digests: in.opts.Digests, server: in.opts.Server, begun: map[string]bool{}}
		more := true
		err := in.eachFile(format, func(name string) (bool, error) {
			f, err := in.open(name)
			if err != nil {
				return false, err
			}
			defer f.Close()
			t.threads, t.order = map[string]*thread{}, nil
			t.emit = func(it Item) {
				it.File = name
				more = more && emit(it)
			}
			read, end := begin(t, path.Join(in.folder, name))
			err = each(f, func(l line) bool {
				read(l)
				return more
			})
			if errors.Is(err, errTooLarge) { // continue with the other files
				t.drop(1, err)
				err = nil
			}
			end()
			for _, th := range t.order {
				th.flush()
			}
			return more, err
		})
		if err == nil && more {
			emit(Item{Tally: &t.tally})
		}
		return err
	}
}

// thread returns the thread of a session and creates it if necessary.
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

// skip counts a line of an unknown kind.
func (t *traces) skip() { t.tally.Skipped++ }

// drop emits a line that could not be used, with the reason.
func (t *traces) drop(line int, err error) {
	t.emit(Item{Line: line, Dropped: err.Error()})
}

type thread struct {
	t            *traces
	session      string
	salt         string // distinguishes calls whose session and call id are equal
	localCallIDs bool   // call ids are unique only within the session
	allowRepeat  bool   // a longer record of the same session is not a duplicate

	rule   *episodic.Session
	line   int // line of the request
	steps  []step
	events []event        // starts and ends of steps, in order
	calls  map[string]int // call id → step

	asked, answered int // number of calls without an id and of their results, which are paired in order
}

// event is the start or the end of a step.
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
	Void    bool      `json:"void,omitempty"` // the call is not counted: it was not made, or the tool is Waymark's own

	line    int
	turn    string
	intent  string
	problem error // error in the name of the tool
}

// call is one tool call as recorded in a trace.
type call struct {
	line      int
	id        string // unique in the session
	name      string // as recorded; wrappers are resolved later
	server    string // if it is recorded separately from the name
	arguments json.RawMessage
	turn      string // calls with the same turn are parallel; "" is no turn
	at        time.Time
}

// result is the recorded result of a call.
type result struct {
	outcome episodic.Outcome // "" is unknown
	kind    string           // error kind of a failure; "" derives it from the text
	text    string           // error text of a failure
	value   json.RawMessage
	at      time.Time
	void    bool   // the call did not take place: it was cancelled, or the server asked for input first
	tool    string // id of the tool, if the result has a more precise one than the call
}

// ask records a request of the user: the next call begins an episode.
func (th *thread) ask(line int, intent string, at time.Time) {
	th.flush()
	th.line = line
	th.rule.Turn(intent, at)
}

// call records a tool call. A call whose id is already known is ignored.
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

// settle records the result of a call made since the last request; results of other calls are ignored.
func (th *thread) settle(id string, r result) {
	if i, ok := th.calls[id]; ok {
		th.events = append(th.events, event{step: i, ends: true, at: r.at})
		th.steps[i].settle(r, th.t.digests)
	}
}

// step converts a call to a step without its values.
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

// failed sets the outcome of a step that failed with a given error kind, by the same rule as live
// recording (package record): a failure that does not count against the tool is an unknown outcome, and
// a call that was not permitted, or whose tool does not exist, is void.
func (s *step) failed(kind string) {
	s.Outcome, s.ErrorKind = episodic.Failure, kind
	if !hook.CountsAgainstTool(kind) {
		s.Outcome, s.Void = episodic.Unknown, s.Void || !hook.Made(kind)
	}
}

// flush cuts the events since the last request into episodes and emits them.
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

// name returns an id that is unique among all calls of the session.
func (s *step) name(th *thread) string {
	if th.salt == "" {
		return s.CallID
	}
	return s.CallID + "\x00" + th.salt
}

// cut is an episode under construction.
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
	th.line = 0 // the next episode is reported at the line of its first call
	first := c.first.CallID
	if th.localCallIDs {
		first = e.ID
	}
	switch {
	case th.t.begun[first] && !th.allowRepeat:
		it.Episode, it.Duplicate = nil, true
	case c.problem != nil:
		it.drop(fmt.Sprintf("episode %q of %s: %s", e.ID, catalog.Plural(len(e.Steps), "step"), c.problem))
	}
	th.t.begun[first] = true
	th.t.emit(it)
}
