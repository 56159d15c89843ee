package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"waymark/ingest/hook"
)

// spans collects the spans of a trace, in which each call has a start, an end and a parent. Spans arrive in
// any order, mostly children first, so they are held, without their values, until the file ends.
//
// One call may appear as several nested spans: the agent's execute_tool, the client's tools/call, the
// server's. It counts once, as the outermost span, unless that is a wrapper that does not name the tool it
// calls. An agent that was itself called as a tool gets its own thread:
//
//	invoke_agent main ─┬─ execute_tool read ── tools/call read                one step of main: read
//	                   └─ execute_tool Task ── invoke_agent sub ── execute_tool grep
//	                                           main: Task;  sub: grep
type spans struct {
	t       *traces
	byID    map[spanID]*Span
	all     []*Span
	session map[string]string // trace → session, if any of its spans names one
}

type spanID struct{ trace, id string }

// Span is one span of a trace, without its values. As JSON it can be read again later, by another process.
type Span struct {
	Trace   string    `json:"trace"` // the spans of a trace must be read together
	ID      string    `json:"id"`    // unique in the trace
	Parent  string    `json:"parent,omitempty"`
	Session string    `json:"session,omitempty"` // "" is inherited
	Origin  string    `json:"origin,omitempty"`  // service name and instance; "": unknown
	Intent  string    `json:"intent,omitempty"`  // the user's request, if the span contains it
	Agent   bool      `json:"agent,omitempty"`   // an agent or a model: calls below it are its own decisions
	Call    *step     `json:"call,omitempty"`
	End     time.Time `json:"end,omitzero"`

	wrapper bool
}

func newSpans(t *traces) *spans {
	return &spans{t: t, byID: map[spanID]*Span{}, session: map[string]string{}}
}

// add holds a span. A span whose id was read before is ignored.
func (s *spans) add(sp *Span) {
	if id := (spanID{sp.Trace, sp.ID}); sp.ID != "" {
		if _, again := s.byID[id]; again {
			return
		}
		s.byID[id] = sp
	}
	if sp.Session != "" && s.session[sp.Trace] == "" {
		s.session[sp.Trace] = sp.Session
	}
	if sp.Call != nil {
		sp.wrapper = hook.IsWrapper(sp.Call.Tool) || hook.IsOwn(sp.Call.Tool)
	}
	s.all = append(s.all, sp)
}

// call marks a span as a call.
func (s *spans) call(sp *Span, c call, r result) {
	st := s.t.step(c)
	st.settle(r, s.t.digests)
	sp.Call, sp.End = &st, r.at
}

// maxDepth bounds the number of ancestors that are visited.
const maxDepth = 1000

// above visits the ancestors of a span, nearest first, until visit returns false.
func (s *spans) above(sp *Span, visit func(*Span) bool) {
	for range maxDepth {
		if sp.Parent == "" {
			return
		}
		up := s.byID[spanID{sp.Trace, sp.Parent}]
		if up == nil || !visit(up) {
			return
		}
		sp = up
	}
}

// end adds the calls to their threads and sorts the events by time; at equal times an end comes before a
// start.
func (s *spans) end() {
	threads := map[*thread]bool{}
	for _, sp := range s.calls() {
		th, st := s.t.thread(sp.Session), *sp.Call
		st.intent = sp.Intent
		for _, again := th.calls[st.CallID]; again; _, again = th.calls[st.CallID] { // call ids need not be unique among spans
			st.CallID += "'"
		}
		st.Ended = sp.End.After(st.Started) // otherwise the call ends when it starts
		th.begin(st)
		if st.Ended {
			th.events = append(th.events, event{step: th.calls[st.CallID], ends: true, at: sp.End})
		}
		th.localCallIDs, threads[th] = true, true
	}
	for th := range threads {
		slices.SortStableFunc(th.events, func(a, b event) int {
			if c := a.at.Compare(b.at); c != 0 || a.ends == b.ends {
				return c
			}
			if a.ends {
				return -1
			}
			return 1
		})
	}
	s.all, s.byID = nil, map[spanID]*Span{}
}

// calls returns the spans that count as calls, in order of their start, each with its session and intent.
func (s *spans) calls() []*Span {
	for _, sp := range s.all { // the inner call replaces its wrapper
		if sp.Call == nil {
			continue
		}
		s.above(sp, func(up *Span) bool {
			if up.Call != nil && up.wrapper {
				up.Call.Void = true
			}
			return !up.Agent
		})
	}
	calls := slices.DeleteFunc(slices.Clone(s.all), func(sp *Span) bool { return sp.Call == nil || sp.Call.Void || s.inside(sp) })
	slices.SortStableFunc(calls, func(a, b *Span) int {
		return cmp.Or(a.Call.Started.Compare(b.Call.Started), cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.ID, b.ID))
	})
	type about struct{ session, intent string }
	found := make([]about, len(calls))
	for i, sp := range calls {
		found[i].session, found[i].intent = s.belongs(sp)
	}
	for i, sp := range calls { // set last, because the loop above inherits the original values
		sp.Session, sp.Intent = found[i].session, found[i].intent
	}
	return calls
}

// SpanCalls returns the spans of one trace that count as calls, in order of their start, each with its
// session and intent. The format otel uses the same calls of a file with these spans.
func SpanCalls(all []*Span) []*Span {
	s := newSpans(nil)
	for _, sp := range all { // work on copies: more spans of the trace may follow
		one := *sp
		if one.Call != nil {
			call := *one.Call
			one.Call = &call
		}
		s.add(&one)
	}
	return s.calls()
}

// inside reports whether a call is part of another call that is not a wrapper.
func (s *spans) inside(sp *Span) (inside bool) {
	s.above(sp, func(up *Span) bool {
		inside = up.Call != nil && !up.wrapper
		return !inside && !up.Agent
	})
	return inside
}

// belongs returns the session and the intent of a call.
func (s *spans) belongs(sp *Span) (session, intent string) {
	session, intent = sp.Session, sp.Intent
	agent, nearest := "", ""
	s.above(sp, func(up *Span) bool {
		if up.Agent {
			nearest = up.ID
		}
		if up.Call != nil && agent == "" && nearest != "" {
			agent = nearest
		}
		if intent == "" && agent == "" {
			intent = up.Intent
		}
		if session == "" {
			session = up.Session
		}
		return true
	})
	session = cmp.Or(session, s.session[sp.Trace], sp.Trace)
	if agent != "" {
		session += "/" + agent
	}
	return session, intent
}

// askedFor extracts the user's request from the input of an agent: a string, an object with a text field,
// or the last user message.
func askedFor(v json.RawMessage) string {
	d := &document{raw: hook.Unquoted(v)}
	if bytes.HasPrefix(d.raw, []byte(`"`)) {
		return strings.TrimSpace(hook.Text(d.raw))
	}
	messages, isList := d.elements()
	if list := d.at("messages"); list != nil && !isList {
		messages, isList = list.elements()
	}
	if !isList {
		return strings.TrimSpace(d.text("input question query prompt text content user_input inputs.input"))
	}
	for _, m := range slices.Backward(messages) {
		if nested, ok := m.elements(); ok && len(nested) > 0 { // a batch of one
			return askedFor(m.raw)
		}
		if text := m.prose("content parts"); text != "" && holds(m, "role=user; type=human") {
			return text
		}
	}
	return ""
}
