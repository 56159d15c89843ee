package feed

import (
	"cmp"
	"context"
	"slices"
	"time"

	"waymark/hook"
	"waymark/importer"
)

// Exporters send spans in batches, children before their parents: what is a call of its own, and what is
// a part of another, is known when the trace is complete. It is taken to be so when its root was sent
// and nothing has come since for a moment, or nothing has come for long.
const (
	afterRoot   = 2 * time.Second
	withoutRoot = time.Minute
	mostSpans   = 100_000 // held at a time; then the oldest trace is read as it stands
)

type traceKey struct{ workspace, source, trace string }

type pending struct {
	spans []importer.Span
	root  bool
	last  time.Time
}

// traces are the spans that wait for the rest of their trace.
type traces struct {
	open  map[traceKey]*pending
	spans int
}

// Collect takes an export request of traces in OTLP, JSON or protobuf. It returns when the request is
// read; its calls are recorded when their trace is complete. A process that is killed before loses them,
// as exporters lose what they hold.
func (f *Feed) Collect(ctx context.Context, workspace, source string, body []byte, protobuf bool) error {
	engine, err := f.engine(ctx, workspace)
	if err != nil {
		return err
	}
	key, err := engine.DigestKey(ctx)
	if err != nil {
		return err
	}
	spans, err := importer.OTLP(body, protobuf, &key)
	if err != nil {
		return err
	}
	now := f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.traces.open == nil {
		f.traces.open = map[traceKey]*pending{}
	}
	for _, sp := range spans {
		k := traceKey{workspace, "otel:" + source, sp.Trace()}
		p := f.traces.open[k]
		if p == nil {
			p = &pending{}
			f.traces.open[k] = p
		}
		p.spans, p.root, p.last = append(p.spans, sp), p.root || sp.Root(), now
	}
	f.traces.spans += len(spans)
	for f.traces.spans > mostSpans {
		f.read(ctx, f.traces.oldest())
	}
	return nil
}

// flush records the traces that are complete, or all.
func (f *Feed) flush(ctx context.Context, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	var complete []traceKey
	for k, p := range f.traces.open {
		if rest := now.Sub(p.last); all || rest > withoutRoot || p.root && rest > afterRoot {
			complete = append(complete, k)
		}
	}
	slices.SortFunc(complete, func(a, b traceKey) int {
		return cmp.Or(f.traces.open[a].began().Compare(f.traces.open[b].began()), cmp.Compare(a.trace, b.trace), cmp.Compare(a.workspace, b.workspace), cmp.Compare(a.source, b.source))
	})
	for _, k := range complete {
		f.read(ctx, k)
	}
}

// began is when the first call of a trace did.
func (p *pending) began() (first time.Time) {
	for _, c := range importer.SpanCalls(p.spans) {
		if first.IsZero() || c.Start.Before(first) {
			first = c.Start
		}
	}
	return first
}

func (t *traces) oldest() (oldest traceKey) {
	for k, p := range t.open {
		if o := t.open[oldest]; o == nil || cmp.Or(p.last.Compare(o.last), cmp.Compare(k.trace, oldest.trace)) < 0 {
			oldest = k
		}
	}
	return oldest
}

// read records the calls of a trace: each begins and ends, in the order of the times.
func (f *Feed) read(ctx context.Context, k traceKey) {
	p := f.traces.open[k]
	delete(f.traces.open, k)
	f.traces.spans -= len(p.spans)
	type moment struct {
		session string
		hook.Event
	}
	var moments []moment
	for _, c := range importer.SpanCalls(p.spans) {
		e := hook.Event{Kind: hook.Began, Time: c.Start, Call: c.ID, Tool: c.Step.Tool, Intent: c.Intent}
		moments = append(moments, moment{c.Session, e})
		e.Kind, e.Time = hook.Ended, later(c.Start.Add(1), c.End) // after its beginning, by a nanosecond at least
		e.Shape, e.Inputs, e.Outputs, e.Outcome, e.ErrorKind = c.Step.Shape, c.Step.Inputs, c.Step.Outputs, c.Step.Outcome, c.Step.ErrorKind
		moments = append(moments, moment{c.Session, e})
	}
	slices.SortStableFunc(moments, func(a, b moment) int { // what begins when another ends comes after it
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(ends(b.Kind), ends(a.Kind)))
	})
	var r Report
	for i := range moments {
		m := &moments[i]
		if err := f.apply(ctx, sessionKey{k.workspace, k.source, "otel", m.session}, &m.Event, "", &r); err != nil {
			f.log.Warn("calls of a trace are not recorded", "trace", k.trace, "error", err)
			return
		}
	}
}

func ends(k hook.Kind) int {
	if k == hook.Ended {
		return 1
	}
	return 0
}
