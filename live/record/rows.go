package record

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"waymark/ingest"
)

// spanRow is the prefix of the keys of stored spans in the table of their workspace; spanRowSize is the size
// in bytes at which a row is full.
const (
	spanRow     = "spans/"
	spanRowSize = 128 << 10
)

// row holds spans of one trace from one request. It is stored until the trace is recorded.
type row struct {
	Source string         `json:"source"`
	Spans  []*ingest.Span `json:"spans"`

	workspace, key string
	size           int
}

func (r *row) traceKey() traceKey { return traceKey{r.workspace, r.Source, r.Spans[0].Trace} }

// keep stores spans, in rows by trace.
func (f *Feed) keep(ctx context.Context, workspace, source string, spans []*ingest.Span) (rows []*row, err error) {
	at := f.now().UnixNano()
	byTrace := map[string]*row{} // the rows that have room
	for _, sp := range spans {
		r := byTrace[sp.Trace]
		if r == nil || r.size >= spanRowSize {
			r = &row{Source: source, workspace: workspace, key: fmt.Sprintf("%s%020d-%04d-%s", spanRow, at, len(rows), rand.Text())}
			byTrace[sp.Trace], rows = r, append(rows, r)
		}
		text, err := json.Marshal(sp)
		if err != nil {
			return nil, fmt.Errorf("keep a span: %w", err)
		}
		r.Spans, r.size = append(r.Spans, sp), r.size+len(text)
	}
	for _, r := range rows {
		text, err := json.Marshal(r)
		if err == nil {
			err = f.store.Table(workspace).Put(ctx, r.key, text)
		}
		if err != nil {
			return nil, fmt.Errorf("keep spans: %w", err)
		}
	}
	return rows, nil
}

// settle deletes the rows of a trace that is recorded. A row that cannot be deleted is read again by the next process,
// which finds its calls recorded.
func (f *Feed) settle(ctx context.Context, trace string, p *pending) {
	for _, r := range p.rows {
		if err := f.store.Table(r.workspace).Delete(ctx, r.key); err != nil {
			f.log.Warn("spans that are recorded are kept", "trace", trace, "error", err)
		}
	}
	p.rows = nil
}

// load reads, once, the spans that an earlier process acknowledged and did not record.
func (f *Feed) load(ctx context.Context) error {
	if f.traces.loaded {
		return nil
	}
	names, err := f.store.Workspaces(ctx)
	if err != nil {
		return err
	}
	f.traces.loaded = true
	for _, workspace := range names {
		if err := f.loadRows(ctx, workspace); err != nil {
			f.log.Warn("spans that wait are not read", "workspace", workspace, "error", err)
		}
	}
	return nil
}

func (f *Feed) loadRows(ctx context.Context, workspace string) error {
	for e, err := range f.store.Table(workspace).List(ctx, spanRow) {
		if err != nil {
			return err
		}
		r := &row{workspace: workspace, key: e.Key}
		if err := json.Unmarshal(e.Value, r); err != nil || len(r.Spans) == 0 { // acknowledged, so the row stays
			f.log.Warn("spans that wait cannot be read and are left", "workspace", workspace, "row", e.Key, "error", err)
			continue
		}
		f.traces.add(r, f.now())
	}
	return nil
}
