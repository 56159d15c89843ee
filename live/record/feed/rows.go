package feed

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"waymark/ingest"
	"waymark/storage"
)

// tables hold the spans that are acknowledged and not history yet: a [storage.Store].
type tables interface {
	Workspaces(ctx context.Context) ([]string, error)
	Table(workspace string) storage.Table
}

// spanRow begins the keys of those spans in the table of their workspace; spanRowSize is when a row is full,
// in bytes.
const (
	spanRow     = "spans/"
	spanRowSize = 128 << 10
)

// row is spans of one request, as they are kept until their traces are recorded.
type row struct {
	workspace, source, key string
	parts                  []part
}

// part is the spans of one trace in a row.
type part struct {
	trace string
	spans []*ingest.Span
}

// rowImage is a row as it is stored.
type rowImage struct {
	Source string         `json:"source"`
	Spans  []*ingest.Span `json:"spans"`
}

// keep makes spans durable.
func (f *Feed) keep(ctx context.Context, workspace, source string, spans []*ingest.Span) (rows []*row, err error) {
	table := f.tables.Table(workspace)
	at := f.now().UnixNano()
	for n := 0; len(spans) > 0; n++ {
		full, size := 0, 0
		for size < spanRowSize && full < len(spans) {
			text, err := json.Marshal(spans[full])
			if err != nil {
				return nil, fmt.Errorf("keep a span: %w", err)
			}
			size += len(text)
			full++
		}
		r := newRow(workspace, source, fmt.Sprintf("%s%020d-%04d-%s", spanRow, at, n, rand.Text()), spans[:full])
		if err := r.put(ctx, table); err != nil {
			return nil, err
		}
		rows, spans = append(rows, r), spans[full:]
	}
	return rows, nil
}

func newRow(workspace, source, key string, spans []*ingest.Span) *row {
	r := &row{workspace: workspace, source: source, key: key}
	for _, sp := range spans {
		i := slices.IndexFunc(r.parts, func(p part) bool { return p.trace == sp.Trace })
		if i < 0 {
			i, r.parts = len(r.parts), append(r.parts, part{trace: sp.Trace})
		}
		r.parts[i].spans = append(r.parts[i].spans, sp)
	}
	return r
}

// put stores what a row still keeps; a row that keeps nothing is removed.
func (r *row) put(ctx context.Context, table storage.Table) error {
	image := rowImage{Source: r.source}
	for _, p := range r.parts {
		image.Spans = append(image.Spans, p.spans...)
	}
	if len(image.Spans) == 0 {
		return table.Delete(ctx, r.key)
	}
	text, err := json.Marshal(image)
	if err == nil {
		err = table.Put(ctx, r.key, text)
	}
	return err
}

// settle takes the spans of a trace that is recorded out of their rows. A row that stays as it was is read
// again by the next process, which finds its calls recorded.
func (f *Feed) settle(ctx context.Context, trace string, p *pending) {
	for _, r := range p.rows {
		r.parts = slices.DeleteFunc(r.parts, func(part part) bool { return part.trace == trace })
		if err := r.put(ctx, f.tables.Table(r.workspace)); err != nil {
			f.log.Warn("spans that are recorded are kept", "trace", trace, "error", err)
		}
	}
	p.rows = nil
}

// load reads what an earlier process has acknowledged and not recorded, once.
func (f *Feed) load(ctx context.Context) {
	if f.traces.loaded {
		return
	}
	names, err := f.tables.Workspaces(ctx)
	if err != nil {
		if ctx.Err() == nil {
			f.log.Warn("spans that wait are not read yet", "error", err)
		}
		return
	}
	f.traces.loaded = true
	for _, workspace := range names {
		if err := f.loadRows(ctx, workspace); err != nil {
			f.log.Warn("spans that wait are not read", "workspace", workspace, "error", err)
		}
	}
}

func (f *Feed) loadRows(ctx context.Context, workspace string) error {
	table := f.tables.Table(workspace)
	held := map[string]bool{} // of this process
	for _, p := range f.traces.open {
		for _, r := range p.rows {
			held[r.key] = true
		}
	}
	for e, err := range table.List(ctx, spanRow) {
		if err != nil {
			return err
		}
		if held[e.Key] {
			continue
		}
		var image rowImage
		if err := json.Unmarshal(e.Value, &image); err != nil { // acknowledged, so it stays where it is
			f.log.Warn("spans that wait cannot be read and are left", "workspace", workspace, "row", e.Key, "error", err)
			continue
		}
		f.traces.add(newRow(workspace, image.Source, e.Key, image.Spans), f.now())
	}
	return nil
}
