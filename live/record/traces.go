package record

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"waymark/episodic"
	"waymark/ingest"
	"waymark/ingest/hook"
)

// Exporters send spans in batches, children before their parents. Whether a span is a call of its own or a part of
// another is known when the trace is complete. A trace counts as complete if its root was sent and no span has come
// for afterRoot, or if no span has come for withoutRoot. Its spans are kept for withoutRoot more, so that later spans,
// of a process that sends more slowly, find the spans they belong to.
const (
	afterRoot   = 2 * time.Second
	withoutRoot = time.Minute
	mostSpans   = 100_000 // held at a time; then all traces are recorded as they are
)

type traceKey struct{ workspace, source, trace string }

type pending struct {
	spans []*ingest.Span
	rows  []*row // stored spans that are not recorded yet
	root  bool
	read  bool // its calls are recorded
	last  time.Time
	began time.Time // start of its first call
}

// traces holds the spans of traces that may get more spans.
type traces struct {
	open   map[traceKey]*pending
	spans  int
	loaded bool // the spans of an earlier process were loaded
}

// Collect processes an export request of traces in OTLP, JSON or protobuf. It returns when the spans are durable.
// Their calls are recorded when their trace is complete, by the next process if this one is killed before.
func (f *Feed) Collect(ctx context.Context, workspace, source string, body []byte, protobuf bool) error {
	engine, err := f.engine(ctx, workspace)
	if err != nil {
		return err
	}
	spans, err := ingest.OTLP(body, protobuf, func() (episodic.DigestKey, error) { return engine.DigestKey(ctx) })
	if err != nil || len(spans) == 0 {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.load(ctx); err != nil {
		return err
	}
	rows, err := f.keep(ctx, workspace, "otel:"+source, spans)
	if err != nil {
		return err
	}
	for _, r := range rows {
		f.traces.add(r, f.now())
	}
	if f.traces.spans > mostSpans {
		f.recordComplete(ctx, true)
	}
	return nil
}

// add adds the spans of a row to their trace.
func (t *traces) add(r *row, now time.Time) {
	if t.open == nil {
		t.open = map[traceKey]*pending{}
	}
	k := r.traceKey()
	p := t.open[k]
	if p == nil {
		p = &pending{}
		t.open[k] = p
	}
	p.spans, p.rows, p.last, p.read = append(p.spans, r.Spans...), append(p.rows, r), now, false
	for _, sp := range r.Spans {
		p.root = p.root || sp.Parent == ""
		if c := sp.Call; c != nil && (p.began.IsZero() || c.Started.Before(p.began)) {
			p.began = c.Started
		}
	}
	t.spans += len(r.Spans)
}

// flush records the traces that are complete, or all of them.
func (f *Feed) flush(ctx context.Context, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.load(ctx); err != nil && ctx.Err() == nil {
		f.log.Warn("spans that wait are not read yet", "error", err)
	}
	f.recordComplete(ctx, all)
}

// recordComplete is flush with the lock held. If all are recorded, they are also dropped.
func (f *Feed) recordComplete(ctx context.Context, all bool) {
	now := f.now()
	for _, k := range slices.SortedFunc(maps.Keys(f.traces.open), f.traces.order) {
		p := f.traces.open[k]
		rest := now.Sub(p.last)
		if !p.read && (all || rest > withoutRoot || p.root && rest > afterRoot) && f.record(ctx, k, p) {
			p.read, p.last, rest = true, now, 0
		}
		if all || p.read && rest > withoutRoot {
			f.traces.drop(k)
		}
	}
}

// order compares traces by the start of their first call.
func (t *traces) order(a, b traceKey) int {
	return cmp.Or(t.open[a].began.Compare(t.open[b].began), cmp.Compare(a.trace, b.trace), cmp.Compare(a.workspace, b.workspace), cmp.Compare(a.source, b.source))
}

// drop removes a trace from memory. Rows that are still stored are loaded by the next process.
func (t *traces) drop(k traceKey) {
	t.spans -= len(t.open[k].spans)
	delete(t.open, k)
}

// record records the calls of a trace that are not recorded yet. It applies the beginning and the end of each call, in
// the order of their times. If the store fails, the rows of the trace stay.
func (f *Feed) record(ctx context.Context, k traceKey, p *pending) (ok bool) {
	type moment struct {
		session, span, origin string
		hook.Event
	}
	var begins, ends []moment
	for _, c := range ingest.SpanCalls(p.spans) {
		e := hook.Event{Kind: hook.Began, Time: c.Call.Started, Call: c.Call.CallID, Tool: c.Call.Tool, Intent: c.Intent}
		begins = append(begins, moment{c.Session, c.ID, c.Origin, e})
		e.Kind, e.Time = hook.Ended, later(c.Call.Started.Add(1), c.End) // at least a nanosecond after its beginning
		e.Shape, e.Inputs, e.Outputs, e.Outcome, e.ErrorKind = c.Call.Shape, c.Call.Inputs, c.Call.Outputs, c.Call.Outcome, c.Call.ErrorKind
		ends = append(ends, moment{c.Session, c.ID, c.Origin, e})
	}
	moments := append(ends, begins...) // at equal times, ends come before beginnings
	slices.SortStableFunc(moments, func(a, b moment) int { return a.Time.Compare(b.Time) })
	for i := range moments {
		m := &moments[i]
		key := sessionKey{k.workspace, k.source, "otel", m.session}
		engine, err := f.engine(ctx, k.workspace)
		if err == nil {
			s := f.session(ctx, engine, key)
			m.Call, s.label = s.unlike(m.Call, k.trace+m.span), m.origin
			err = f.apply(ctx, key, &m.Event, "")
		}
		if err != nil {
			f.log.Warn("calls of a trace are not recorded yet", "trace", k.trace, "error", err)
			return false
		}
	}
	f.settle(ctx, k.trace, p)
	return true
}

// unlike returns an id for the call of a span that no other span has, because some
// recorders restart the numbers of calls.
func (s *reported) unlike(call, span string) string {
	if s.spans == nil {
		s.spans = map[string]string{}
	}
	for {
		was, known := s.spans[call]
		if !known {
			s.spans[call] = span
		}
		if !known || was == span {
			return call
		}
		call += "'"
	}
}
