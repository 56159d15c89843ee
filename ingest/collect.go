package ingest

import (
	"encoding/json"
	"slices"
	"time"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"waymark/catalog"
	"waymark/episodic"
)

// Span is one span of a trace that was sent, without its values. Only [SpanCalls] knows what is in it.
type Span struct{ span *span }

// Trace names the trace of a span; the spans of a trace are to be read together.
func (s Span) Trace() string { return s.span.id.trace }

// Root reports whether a span has no parent: mostly it is the last of its trace to be sent.
func (s Span) Root() bool { return s.span.parent.id == "" }

// OTLP reads an export request of traces, in JSON or protobuf. It asks for the key of the digests of values if there are
// spans.
func OTLP(body []byte, protobuf bool, key func() (episodic.DigestKey, error)) ([]Span, error) {
	read := unmarshalOTLP
	if protobuf {
		read = unmarshalOTLPProtobuf
	}
	td, err := read(body)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(td.GetResourceSpans(), func(r *trace.ResourceSpans) bool {
		return slices.ContainsFunc(r.GetScopeSpans(), func(s *trace.ScopeSpans) bool { return len(s.GetSpans()) > 0 })
	}) {
		return nil, nil
	}
	digests, err := key()
	if err != nil {
		return nil, err
	}
	s := newSpans(&traces{format: "otel", resolver: catalog.NewResolver(nil, catalog.Aliases{}), digests: &digests})
	s.otel(0, td)
	all := make([]Span, len(s.all))
	for i, sp := range s.all {
		all[i] = Span{sp}
	}
	return all, nil
}

// spanImage is a span as JSON. Calls have no problem with their tool: who knows no tools finds none ambiguous.
type spanImage struct {
	Trace   string     `json:"trace"`
	ID      string     `json:"id"`
	Parent  string     `json:"parent,omitempty"`
	Session string     `json:"session,omitempty"`
	Origin  string     `json:"origin,omitempty"`
	Intent  string     `json:"intent,omitempty"`
	Agent   bool       `json:"agent,omitempty"`
	End     time.Time  `json:"end,omitzero"`
	Call    *callImage `json:"call,omitempty"`
}

type callImage struct {
	ID      string        `json:"id"`
	Step    episodic.Step `json:"step"`
	Started time.Time     `json:"started,omitzero"`
	Ended   bool          `json:"ended,omitempty"`
	Void    bool          `json:"void,omitempty"`
}

// MarshalJSON writes a span so that it can be read again later, by another process.
func (s Span) MarshalJSON() ([]byte, error) {
	sp := s.span
	image := spanImage{sp.id.trace, sp.id.id, sp.parent.id, sp.session, sp.origin, sp.intent, sp.agent, sp.end, nil}
	if c := sp.tool; c != nil {
		image.Call = &callImage{c.id, c.Step, c.started, c.ended, c.void}
	}
	return json.Marshal(image)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Span) UnmarshalJSON(text []byte) error {
	var image spanImage
	if err := json.Unmarshal(text, &image); err != nil {
		return err
	}
	sp := &span{id: spanID{image.Trace, image.ID}, session: image.Session, origin: image.Origin, intent: image.Intent, agent: image.Agent, end: image.End}
	if image.Parent != "" {
		sp.parent = spanID{image.Trace, image.Parent}
	}
	if c := image.Call; c != nil {
		sp.tool = &step{Step: c.Step, id: c.ID, started: c.Started, ended: c.Ended, void: c.Void}
	}
	s.span = sp
	return nil
}

// SpanCall is a call as the spans of a trace tell of it.
type SpanCall struct {
	Session string
	Origin  string // the service and its instance, as the resource of the span says
	Span    string // id of the span, unique in its trace
	ID      string // as its recorder wrote it
	Intent  string
	Start   time.Time
	End     time.Time // not after Start: not known
	Step    episodic.Step
}

// SpanCalls are the calls of one trace, in the order in which they began: what the format otel takes of a
// file with these spans.
func SpanCalls(all []Span) []SpanCall {
	s := newSpans(nil)
	for _, sp := range all { // what is found out about one stays here: more of the trace may come
		one := *sp.span
		if one.tool != nil {
			call := *one.tool
			one.tool = &call
		}
		s.add(&one)
	}
	var calls []SpanCall
	for _, sp := range s.calls() {
		calls = append(calls, SpanCall{sp.session, sp.origin, sp.id.id, sp.tool.id, sp.tool.intent, sp.tool.started, sp.end, sp.tool.Step})
	}
	return calls
}
