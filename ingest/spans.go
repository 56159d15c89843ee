package ingest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"waymark/ingest/toolcall"
)

// spans are the calls of a trace in which each has a beginning, an end and a parent. They come in any
// order, mostly children first, so they are held, without their values, until the file has ended.
//
// One call may appear several times, one inside the other: the agent's execute_tool, the client's
// tools/call, the server's. It counts once, as the outermost, unless that is a wrapper that does not say
// what it calls. What an agent does that was itself called as a tool is a thread of its own:
//
//	invoke_agent main ─┬─ execute_tool read ── tools/call read                one step of main: read
//	                   └─ execute_tool Task ── invoke_agent sub ── execute_tool grep
//	                                           main: Task;  sub: grep
type spans struct {
	t       *traces
	byID    map[spanID]*span
	all     []*span
	session map[string]string // trace → session, if any of its spans names one
}

type spanID struct{ trace, id string }

type span struct {
	id, parent spanID
	session    string // "" is inherited
	origin     string // the service and its instance; "": not known
	intent     string // what the user asked for, where the span says it
	agent      bool   // an agent or a model: what is called below was its own decision
	tool       *step  // a call
	end        time.Time
	wrapper    bool
}

func newSpans(t *traces) *spans {
	return &spans{t: t, byID: map[spanID]*span{}, session: map[string]string{}}
}

// add holds a span. One that was read before is passed over.
func (s *spans) add(sp *span) {
	if sp.id.id != "" {
		if _, again := s.byID[sp.id]; again {
			return
		}
		s.byID[sp.id] = sp
	}
	if sp.session != "" && s.session[sp.id.trace] == "" {
		s.session[sp.id.trace] = sp.session
	}
	if sp.tool != nil {
		sp.wrapper = toolcall.IsWrapper(sp.tool.Tool) || toolcall.IsOwn(sp.tool.Tool)
	}
	s.all = append(s.all, sp)
}

// call makes a span a call.
func (s *spans) call(sp *span, c call, r result) {
	st := s.t.step(c)
	st.settle(r, s.t.digests)
	sp.tool, sp.end = &st, r.at
}

// maxDepth bounds the way up from a span.
const maxDepth = 1000

// above visits the ancestors of a span, nearest first, until visit reports false.
func (s *spans) above(sp *span, visit func(*span) bool) {
	for range maxDepth {
		if sp.parent.id == "" {
			return
		}
		up := s.byID[sp.parent]
		if up == nil || !visit(up) {
			return
		}
		sp = up
	}
}

// end says the calls to their threads in the order in which they began.
func (s *spans) end() {
	byThread := map[*thread][]*span{}
	var order []*thread
	for _, sp := range s.calls() {
		th := s.t.thread(sp.session, sp.session)
		th.loose = true
		if byThread[th] == nil {
			order = append(order, th)
		}
		byThread[th] = append(byThread[th], sp)
	}
	for _, th := range order {
		th.spans(byThread[th])
	}
	s.all, s.byID = nil, map[spanID]*span{}
}

// calls are the spans that count as calls, in the order in which they began, each with its session and
// what it is about.
func (s *spans) calls() []*span {
	for _, sp := range s.all { // what a wrapper called stands for it
		if sp.tool == nil {
			continue
		}
		s.above(sp, func(up *span) bool {
			if up.tool != nil && up.wrapper {
				up.tool.void = true
			}
			return !up.agent
		})
	}
	calls := slices.DeleteFunc(slices.Clone(s.all), func(sp *span) bool { return sp.tool == nil || sp.tool.void || s.inside(sp) })
	slices.SortStableFunc(calls, func(a, b *span) int {
		return cmp.Or(a.tool.started.Compare(b.tool.started), cmp.Compare(a.id.trace, b.id.trace), cmp.Compare(a.id.id, b.id.id))
	})
	sessions := make([]string, len(calls))
	for i, sp := range calls {
		sessions[i], sp.tool.intent = s.belongs(sp)
	}
	for i, sp := range calls { // only now: others inherit what a span itself says
		sp.session = sessions[i]
	}
	return calls
}

// inside reports whether a call is part of another, and not of a wrapper alone.
func (s *spans) inside(sp *span) (inside bool) {
	s.above(sp, func(up *span) bool {
		inside = up.tool != nil && !up.wrapper
		return !inside && !up.agent
	})
	return inside
}

// belongs finds the session of a call, and what it is about.
func (s *spans) belongs(sp *span) (session, intent string) {
	session, intent = sp.session, sp.intent
	agent, nearest := "", ""
	s.above(sp, func(up *span) bool {
		if up.agent {
			nearest = up.id.id
		}
		if up.tool != nil && agent == "" && nearest != "" {
			agent = nearest
		}
		if intent == "" && agent == "" {
			intent = up.intent
		}
		if session == "" {
			session = up.session
		}
		return true
	})
	session = cmp.Or(session, s.session[sp.id.trace], sp.id.trace)
	if agent != "" {
		session += "/" + agent
	}
	return session, intent
}

// spans says calls with their times, in the order of their beginnings.
func (th *thread) spans(calls []*span) {
	type moment struct {
		at    time.Time
		order int // an end comes before a beginning at the same time
		call  int
	}
	var moments []moment
	for i, sp := range calls {
		moments = append(moments, moment{sp.tool.started, 1, i})
		if sp.end.After(sp.tool.started) {
			moments = append(moments, moment{sp.end, 0, i})
		} else {
			sp.tool.ended = false // as soon as it began
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.order, b.order))
	})
	for _, m := range moments {
		s := calls[m.call].tool
		if m.order == 0 {
			th.events = append(th.events, event{step: th.calls[s.id], ends: true, at: m.at})
			continue
		}
		for th.known(s.id) { // call ids need not be unique among spans
			s.id += "'"
		}
		th.begin(*s)
	}
}

func (th *thread) known(id string) bool { _, ok := th.calls[id]; return ok }

// askedFor finds what a user asked for in the input of an agent: a text, an object that names one, or the
// last of its messages that is the user's.
func askedFor(v json.RawMessage) string {
	v = toolcall.Unquoted(v)
	var text string
	if json.Unmarshal(v, &text) == nil {
		return strings.TrimSpace(text)
	}
	var list []json.RawMessage
	if m := toolcall.Members(v); m != nil {
		if json.Unmarshal(m["messages"], &list) != nil {
			return strings.TrimSpace(toolcall.FirstText(m, "input", "question", "query", "prompt", "text", "content", "user_input"))
		}
	} else if json.Unmarshal(v, &list) != nil {
		return ""
	}
	for _, e := range slices.Backward(list) {
		var nested []json.RawMessage
		if json.Unmarshal(e, &nested) == nil && len(nested) > 0 { // a batch of one
			return askedFor(e)
		}
		var message struct {
			Role    string          `json:"role"`
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
			Parts   []struct {
				Type    string `json:"type"`
				Content string `json:"content"`
			} `json:"parts"`
		}
		if json.Unmarshal(e, &message) != nil || message.Role != "user" && message.Type != "human" {
			continue
		}
		text := toolcall.Text(message.Content)
		for _, p := range message.Parts {
			if p.Type == "text" {
				text = strings.TrimSpace(text + "\n" + p.Content)
			}
		}
		if text = strings.TrimSpace(text); text != "" {
			return text
		}
	}
	return ""
}
