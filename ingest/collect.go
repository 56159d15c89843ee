package ingest

import (
	"time"

	"waymark/episodic"
)

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
func SpanCalls(all []*Span) []SpanCall {
	s := newSpans(nil)
	for _, sp := range all { // what is found out about one stays here: more of the trace may come
		one := *sp
		if one.Call != nil {
			call := *one.Call
			one.Call = &call
		}
		s.add(&one)
	}
	var calls []SpanCall
	for _, sp := range s.calls() {
		calls = append(calls, SpanCall{sp.Session, sp.Origin, sp.ID, sp.Call.CallID, sp.Call.intent, sp.Call.Started, sp.End, sp.Call.Step})
	}
	return calls
}
