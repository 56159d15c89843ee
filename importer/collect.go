package importer

import (
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"waymark/catalog"
	"waymark/episodic"
)

// Span is one span of a trace that was sent, without its values. Only [SpanCalls] knows what is in it.
type Span struct{ span *span }

// Trace names the trace of a span; the spans of a trace are to be read together.
func (s Span) Trace() string { return s.span.id.trace }

// Root reports whether a span has no parent: mostly it is the last of its trace to be sent.
func (s Span) Root() bool { return s.span.parent.id == "" }

// OTLP reads an export request of traces, in JSON or protobuf. Without a key values have no digests.
func OTLP(body []byte, protobuf bool, key *episodic.DigestKey) ([]Span, error) {
	read := unmarshalOTLP
	if protobuf {
		read = unmarshalOTLPProtobuf
	}
	td, err := read(body)
	if err != nil {
		return nil, err
	}
	s := newSpans(&traces{format: "otel", resolver: catalog.NewResolver(nil), digests: key})
	s.otel(0, td)
	all := make([]Span, len(s.all))
	for i, sp := range s.all {
		all[i] = Span{sp}
	}
	return all, nil
}

func unmarshalOTLPProtobuf(body []byte) (ptrace.Traces, error) {
	return guardOTLP("protobuf", func() (ptrace.Traces, error) { return new(ptrace.ProtoUnmarshaler).UnmarshalTraces(body) })
}

// SpanCall is a call as the spans of a trace tell of it.
type SpanCall struct {
	Session string
	ID      string // unique in its session
	Intent  string
	Start   time.Time
	End     time.Time // not after Start: not known
	Step    episodic.Step
}

// SpanCalls are the calls of one trace, in the order in which they began: what the format otel takes of a
// file with these spans.
func SpanCalls(all []Span) []SpanCall {
	s := newSpans(nil)
	for _, sp := range all {
		s.add(sp.span)
	}
	var calls []SpanCall
	for _, sp := range s.calls() {
		calls = append(calls, SpanCall{sp.session, sp.tool.id, sp.tool.intent, sp.tool.started, sp.end, sp.tool.Step})
	}
	return calls
}
