package ingest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/ingest/hook"
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
	byID    map[spanID]*Span
	all     []*Span
	session map[string]string // trace → session, if any of its spans names one
}

type spanID struct{ trace, id string }

// Span is one span of a trace, without its values. As JSON it can be read again later, by another process.
type Span struct {
	Trace   string    `json:"trace"` // the spans of a trace are to be read together
	ID      string    `json:"id"`    // unique in its trace
	Parent  string    `json:"parent,omitempty"`
	Session string    `json:"session,omitempty"` // "" is inherited
	Origin  string    `json:"origin,omitempty"`  // the service and its instance; "": not known
	Intent  string    `json:"intent,omitempty"`  // what the user asked for, where the span says it
	Agent   bool      `json:"agent,omitempty"`   // an agent or a model: what is called below was its own decision
	Call    *step     `json:"call,omitempty"`
	End     time.Time `json:"end,omitzero"`
}

func newSpans(t *traces) *spans {
	return &spans{t: t, byID: map[spanID]*Span{}, session: map[string]string{}}
}

// decode reads files of JSON values that hold spans.
func (row *spanRow) decode(in *input) error {
	return in.eachTraceFile(row.format, func(t *traces, _ string, r io.Reader) error {
		s := newSpans(t)
		defer s.end()
		return in.eachValue(r, true, func(l line) { s.read(row, l) })
	})
}

// read adds the spans of a JSON value. A record with a field of a wrong type is dropped alone.
func (s *spans) read(row *spanRow, l line) {
	if d, err := newDocument(l); err != nil {
		s.t.tally.Lines++
		s.t.drop(l.number, err)
	} else {
		s.records(l.number, row, d, Span{}, 0)
	}
}

// records reads a record, or those inside it. Trace, session and origin are inherited from up, which is the parent.
func (s *spans) records(number int, row *spanRow, d *document, up Span, depth int) {
	if resource := d.at("resource"); resource != nil {
		r, origin := row.document(resource), up.Origin
		up.Session = cmp.Or(r.text(conventions.session), up.Session)
		if up.Origin = originOf(r); *d.problem != nil {
			up.Origin, *d.problem = origin, nil // of the resource alone
		}
	}
	up.Session = cmp.Or(d.text(row.parts["session"]), up.Session)
	inside := []*document(nil)
	for list := range strings.FieldsSeq(row.lists) {
		if inside = d.records(list); inside != nil {
			break
		}
	}
	if inside == nil {
		s.t.tally.Lines++
		own := d
		if body := d.at(row.body); body.at("id") != nil {
			own = body
		}
		if sp := s.span(number, row, own, &up); sp != nil {
			inside, _ = d.list(row.children)
			up.Trace, up.ID = sp.Trace, sp.ID
			if *d.problem == nil {
				s.add(sp)
			}
		}
	}
	if err := *d.problem; err != nil {
		if name := d.value(row.parts["name"]); len(name) > 0 && len(name) < 200 {
			err = fmt.Errorf("span %s: %w", name, err)
		}
		s.t.drop(number, err)
		*d.problem = nil
		return
	}
	for _, e := range inside {
		if depth < maxDepth {
			s.records(number, row, e, up, depth+1)
		}
	}
}

// document is a record as its attributes and the parts that the row names. The first of several attributes of one name
// counts; those of events stand after those of the span.
func (row *spanRow) document(record *document) *document {
	d := &document{members: map[string]*document{}, problem: record.problem}
	if row.attributes != "" {
		d.attributes(record.at(row.attributes))
	}
	events, _ := record.list(row.events)
	for _, e := range events {
		d.attributes(e.at("attributes"))
	}
	for name, member := range record.members { // of a table, attributes.tool.name
		if name, ok := strings.CutPrefix(name, "attributes."); ok && member != nil {
			d.attribute(name, member.raw)
		}
	}
	set := func(name string, v json.RawMessage) { d.members["span."+name] = &document{raw: v, problem: d.problem} }
	for name, paths := range row.parts {
		if v := record.value(paths); v != nil {
			set(name, v)
		}
	}
	name := record.text(row.parts["name"])
	if tool := called(name); row.format != "otel" || tool != name || holds(d, conventions.kinds) {
		set("tool", encode(tool))
	}
	var text []string
	for _, paths := range []string{"error.type exception.type", "span.failure exception.message"} {
		if v := d.value(paths); v != nil {
			text = append(text, message(v))
		}
	}
	set("text", encode(strings.TrimSpace(strings.Join(append(text, d.text("span.message")), " "))))
	return d
}

// span reads one record; nil if it is none of the format.
func (s *spans) span(number int, row *spanRow, record *document, up *Span) *Span {
	if row.is != "" && !holds(record, row.is) {
		s.t.skip()
		return nil
	}
	d, c := row.document(record), &conventions
	id, tool := idOf(record, row.parts["id"]), d.text(c.tool)
	isCall, agent := tool != "" && holds(d, c.calls), holds(d, c.agents)
	known := isCall || agent || row.known == "" || holds(record, row.known)
	switch {
	case d.at("span.id") == nil && row.known == "" && *d.problem == nil:
		*d.problem = errors.New("has no id")
	case id == "" || !known:
		s.t.skip()
	}
	if id == "" {
		return nil
	}
	sp := &Span{ID: id, Trace: cmp.Or(idOf(record, row.parts["trace"]), up.Trace, id),
		Parent: cmp.Or(idOf(record, row.parts["parent"]), up.ID), Session: cmp.Or(d.text(c.session), up.Session), Origin: up.Origin}
	if sp.Parent == "" {
		if row.topIsTrace && id != sp.Trace {
			sp.Parent = sp.Trace
		} else {
			agent = known && !isCall
		}
	}
	if isCall {
		r := c.outcome.read(d)
		r.at = moment(d, "span.end")
		arguments := d.value(c.arguments)
		if all := hook.Members(arguments); row.only && len(all) == 1 && hook.Members(hook.Unquoted(all["input"])) != nil {
			arguments = hook.Unquoted(all["input"])
		}
		st := s.t.step(call{line: number, id: d.text(c.callID), name: tool, server: d.text(c.server),
			arguments: arguments, at: moment(d, "span.begin")})
		st.settle(r, s.t.digests)
		sp.Call, sp.End = &st, r.at
	}
	if sp.Agent = agent && !isCall; sp.Agent {
		if sp.Intent = askedFor(d.value(c.request)); sp.Intent == "" && !row.agents {
			sp.Intent = askedFor(d.value("span.input"))
		}
	}
	return sp
}

// idOf is an id of a record; one of zeros alone is none.
func idOf(d *document, names string) string {
	id := d.text(names)
	if len(id) >= 16 && strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

// attributes adds attributes as OTLP writes them, a list of {key, value}, or as an object.
func (d *document) attributes(of *document) {
	if of == nil {
		return
	}
	if list, ok := of.elements(); ok {
		for _, a := range list {
			d.attribute(a.text("key"), anyValue(a.at("value"), 0))
		}
		return
	}
	for name, v := range of.object() {
		if v != nil {
			d.attribute(name, v.raw)
		}
	}
}

// attribute adds one. A truth value or number alone is a text, and so is a text that is written as JSON once more.
func (d *document) attribute(name string, v json.RawMessage) {
	if d.members[name] != nil || strings.HasPrefix(name, "span.") || len(v) == 0 || string(v) == "null" {
		return
	}
	var inner string
	switch {
	case !bytes.ContainsAny(v[:1], `{["`):
		v = encode(string(v))
	case bytes.HasPrefix(v, []byte(`"\"`)) && json.Unmarshal([]byte(message(v)), &inner) == nil:
		v = encode(inner)
	}
	d.members[name] = &document{raw: v, problem: d.problem}
}

// anyValue is the value of an attribute of OTLP, null where it is nested too deeply.
func anyValue(v *document, depth int) json.RawMessage {
	if v == nil || depth > 16 {
		return nil
	}
	if list, ok := v.list("arrayValue.values"); ok {
		all := make([]json.RawMessage, len(list))
		for i, e := range list {
			all[i] = anyValue(e, depth+1)
		}
		return encode(all)
	}
	if list, ok := v.list("kvlistValue.values"); ok {
		all := map[string]json.RawMessage{}
		for _, e := range list {
			all[e.text("key")] = anyValue(e.at("value"), depth+1)
		}
		return encode(all)
	}
	whole := v.value("intValue") // may be a text
	if number := bytes.Trim(whole, `"`); json.Valid(number) {
		return number
	}
	return v.value("stringValue boolValue doubleValue bytesValue")
}

// called takes the operation out of the name of a span.
func called(name string) string {
	for _, operation := range []string{"execute_tool ", "tools/call ", "running tool: "} {
		if tool, ok := strings.CutPrefix(name, operation); ok {
			return strings.TrimSpace(tool)
		}
	}
	return name
}

func originOf(resource *document) string {
	instance := resource.text("service.instance.id host.name host.id")
	return catalog.Cut(strings.Trim(resource.text("service.name")+"@"+instance, "@"), catalog.MaxID)
}

// add holds a span. One that was read before is passed over.
func (s *spans) add(sp *Span) {
	id := spanID{sp.Trace, sp.ID}
	if s.byID[id] != nil {
		return
	}
	if s.byID[id] = sp; s.session[sp.Trace] == "" {
		s.session[sp.Trace] = sp.Session
	}
	s.all = append(s.all, sp)
}

// wraps reports whether a span is a call of a wrapper.
func (sp *Span) wraps() bool {
	return sp.Call != nil && (hook.IsWrapper(sp.Call.Tool) || hook.IsOwn(sp.Call.Tool))
}

// maxDepth bounds the way up from a span.
const maxDepth = 1000

// above visits the ancestors of a span, nearest first, until visit reports false.
func (s *spans) above(sp *Span, visit func(*Span) bool) {
	for range maxDepth {
		if sp = s.byID[spanID{sp.Trace, sp.Parent}]; sp == nil || !visit(sp) {
			return
		}
	}
}

// end says the calls to their threads, in the order of the times; an end comes before a beginning at the same time.
func (s *spans) end() {
	threads := map[*thread]bool{}
	for _, sp := range s.calls() {
		th, st := s.t.thread(sp.Session), *sp.Call
		st.intent = sp.Intent
		for _, again := th.calls[st.CallID]; again; _, again = th.calls[st.CallID] { // call ids need not be unique among spans
			st.CallID += "'"
		}
		st.Ended = sp.End.After(st.Started) // else as soon as it began
		th.begin(st)
		if st.Ended {
			th.events = append(th.events, event{step: th.calls[st.CallID], ends: true, at: sp.End})
		}
		threads[th] = true
	}
	begins := func(e event) int {
		if e.ends {
			return 0
		}
		return 1
	}
	for th := range threads {
		slices.SortStableFunc(th.events, func(a, b event) int { return cmp.Or(a.at.Compare(b.at), begins(a)-begins(b)) })
	}
}

// SpanCalls are the spans of one trace that count as calls, in the order in which they began, each with its session and
// what it is about: what the format otel takes of a file with these spans.
func SpanCalls(all []*Span) []*Span {
	s := newSpans(nil)
	for _, sp := range all {
		s.add(sp)
	}
	return s.calls()
}

// calls are the spans that count as calls, in the order in which they began, each with its session and
// what it is about. The spans stay as they are: more of their traces may come.
func (s *spans) calls() (calls []*Span) {
	open := map[*Span]bool{} // wrappers for which the call in them stands
	for _, sp := range s.all {
		if sp.Call == nil {
			continue
		}
		s.above(sp, func(up *Span) bool {
			if up.wraps() {
				open[up] = true
			}
			return !up.Agent
		})
	}
	for _, sp := range s.all {
		if sp.Call != nil && !sp.Call.Void && !open[sp] && !s.inside(sp) {
			one := *sp
			one.Session, one.Intent = s.belongs(sp)
			calls = append(calls, &one)
		}
	}
	slices.SortStableFunc(calls, func(a, b *Span) int {
		return cmp.Or(a.Call.Started.Compare(b.Call.Started), cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.ID, b.ID))
	})
	return calls
}

// inside reports whether a call is part of another, and not of a wrapper alone.
func (s *spans) inside(sp *Span) (inside bool) {
	s.above(sp, func(up *Span) bool {
		inside = up.Call != nil && !up.wraps()
		return !inside && !up.Agent
	})
	return inside
}

// belongs finds the session of a call, and what it is about.
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

// askedFor finds what a user asked for in the input of an agent: a text, an object that names one, or the
// last of its messages that is the user's.
func askedFor(v json.RawMessage) string {
	d := &document{raw: hook.Unquoted(v), problem: new(error)}
	if text := hook.Text(d.raw); len(d.raw) > 0 && d.raw[0] == '"' {
		return strings.TrimSpace(text)
	}
	messages, isList := d.elements()
	if list := d.at("messages"); list != nil && !isList {
		messages, isList = list.elements()
	}
	if !isList {
		return strings.TrimSpace(d.text("input question query prompt text content user_input"))
	}
	for _, m := range slices.Backward(messages) {
		if nested, ok := m.elements(); ok && len(nested) > 0 { // a batch of one
			return askedFor(m.raw)
		}
		if !holds(m, "role=user; type=human") {
			continue
		}
		text, _ := m.prose("content")
		parts, _ := m.list("parts")
		for _, p := range parts {
			if holds(p, "type=text") {
				text = strings.TrimSpace(text + "\n" + p.text("content"))
			}
		}
		if text != "" {
			return text
		}
	}
	return ""
}

// ErrNotOTLP is of a request that is no OTLP.
var ErrNotOTLP = errors.New("not OTLP")

// jsonOf is an export request in protobuf as OTLP JSON: the JSON form of the messages but for ids in hexadecimal digits.
// The collector's pdata does this in two calls, but nothing in it bounds how deep values are nested.
func jsonOf(body []byte) ([]byte, error) {
	td := new(trace.TracesData) // its fields are those of an export request
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, td); err != nil {
		text := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ") // the library puts either space into its errors
		return nil, errors.New(text)
	}
	for _, rs := range td.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, sp := range ss.Spans {
				for _, id := range []*[]byte{&sp.TraceId, &sp.SpanId, &sp.ParentSpanId} {
					*id, _ = base64.StdEncoding.DecodeString(hex.EncodeToString(*id)) // which the JSON writes as these digits again
				}
			}
		}
	}
	return protojson.Marshal(td)
}

// OTLP reads an export request of traces, in JSON or protobuf. It asks for the key of the digests of values if there
// are spans. A span that cannot be read is left out; it is an error if there is no other.
func OTLP(body []byte, protobuf bool, key func() (episodic.DigestKey, error)) ([]*Span, error) {
	var bad, err error
	form := "JSON"
	if protobuf {
		form = "protobuf"
		body, err = jsonOf(body)
	}
	d, wrong := newDocument(line{data: body})
	if err != nil || wrong != nil {
		return nil, fmt.Errorf("%w %s: %.200s", ErrNotOTLP, form, cmp.Or(err, wrong))
	}
	t := &traces{format: "otel", emit: func(it Item) { bad = errors.New(it.Dropped) }}
	if bytes.Contains(body, []byte("spanId")) || bytes.Contains(body, []byte("span_id")) {
		digests, err := key()
		if err != nil {
			return nil, err
		}
		t.digests = &digests
	}
	s := newSpans(t)
	s.records(0, spanRows["otel"], d, Span{}, 0)
	if bad != nil && len(s.all) == 0 {
		return nil, fmt.Errorf("%w %s: %.200s", ErrNotOTLP, form, bad)
	}
	return s.all, nil
}
