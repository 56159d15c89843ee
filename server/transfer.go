package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/ingest"
	"waymark/live"
	"waymark/server/internal/api"
)

const (
	batchSize    = 500     // entries appended in one commit
	batchBytes   = 8 << 20 // of the lines of episodes in one commit
	maxRejection = 1000    // rejections and flags that a result lists; the rest are only counted
)

// Rejections lists the entries that were rejected.
type Rejections struct {
	Rejected      []live.Rejection `json:"rejected" doc:"At most the first 1000."`
	RejectedTotal int              `json:"rejected_total"`
}

func (r *Rejections) reject(rej live.Rejection) {
	if r.RejectedTotal++; len(r.Rejected) < maxRejection {
		r.Rejected = append(r.Rejected, rej)
	}
}

type kindCounts struct {
	Tools        int `json:"tools"`
	Capabilities int `json:"capabilities"`
	Episodes     int `json:"episodes"`
}

type importInput struct {
	api.RawInput
	Review bool `query:"review" doc:"Quarantine flagged entries until they are approved, whoever imports them."`
}

type importResult struct {
	Taken      kindCounts `json:"taken"`
	Duplicates kindCounts `json:"duplicates" doc:"Already recorded with the same or more content."`
	Rejections
	Flagged      []live.Flagged `json:"flagged,omitempty" doc:"Findings of the checks in stored entries; at most the first 1000."`
	FlaggedTotal int            `json:"flagged_total,omitempty"`
	Seq          uint64         `json:"seq"`
	Model        string         `json:"model" doc:"Version of the model that counts all of the import."`
	Held         string         `json:"held,omitempty" doc:"Reason why the import is not in a build yet: a rebuild was refused."`
}

func (s *Server) transferRoutes(r *api.Table) {
	lines := map[string]*huma.MediaType{ndjson: {Schema: &huma.Schema{Type: "string"}}}
	api.AddForWorkspace(r, api.Rule{Scope: api.ScopeWrite, Stream: true, Also: ndjson, CreatesWorkspace: true}, api.Op("Administration", "import", http.MethodPost, "/v1/import", "Import an export",
		"The lines of an export: one tool, capability or episode each, of any number. The model is built once, at the end."), s.importLines)
	api.DocumentBody(r, "/v1/import", http.MethodPost, map[string]*huma.Schema{ndjson: {Type: "string"}})

	admin := api.Rule{Scope: api.ScopeAdmin, Stream: true}
	export := api.Op("Administration", "export", http.MethodGet, "/v1/export", "Export catalog and history", "One tool, capability or episode a line, in this order.")
	export.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: lines}}
	api.Raw(r, admin, export, api.ForWorkspace(r, admin, s.export))

	backup := api.Op("Administration", "backup", http.MethodGet, "/v1/backup", "Back up the whole data directory",
		"One consistent state of all workspaces; for the operator only. The trailer Waymark-Backup-Summary lists its contents.")
	backup.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"application/octet-stream": {Schema: &huma.Schema{Type: "string", Format: "binary"}}}}}
	api.Raw(r, api.Rule{Scope: api.ScopeAdmin, Stream: true, Global: true, Operator: true}, backup, s.backup)
}

// importBatch collects entries of one kind, so that they are appended together and in order.
type importBatch struct {
	kind  ingest.Kind
	tools []catalog.Tool
	caps  []catalog.Capability
	eps   []episodic.Episode
	lines []int // line number of each entry

	by     live.Trust
	source string
}

func (s *Server) importLines(ctx context.Context, e *live.Engine, in *importInput) (out importResult, err error) {
	a := api.From(ctx)
	release := e.Hold() // one build, at the end
	defer release()
	batch := importBatch{by: a.Trust(), source: a.Source}
	if in.Review {
		batch.by = min(batch.by, live.Checked)
	}
	for item, err := range ingest.ReadFrom(ctx, in.Request.Body, ingest.Options{Format: "waymark", Split: "all", Source: a.Source, Now: s.cfg.Now()}) {
		if err != nil {
			return out, api.BadRead(err)
		}
		if item.Kind != batch.kind || len(batch.lines) >= batchSize {
			if err := batch.store(ctx, e, &out); err != nil {
				return out, err
			}
		}
		batch.kind = item.Kind
		switch {
		case item.Duplicate:
			*countOf(&out.Duplicates, item.Kind)++
			continue
		case item.Tool != nil:
			batch.tools = append(batch.tools, *item.Tool)
		case item.Capability != nil:
			batch.caps = append(batch.caps, *item.Capability)
		case item.Episode != nil:
			batch.eps = append(batch.eps, *item.Episode)
		default:
			out.reject(live.Rejection{Line: item.Line, ID: item.ID, Error: item.Dropped + item.LeftOut})
			continue
		}
		batch.lines = append(batch.lines, item.Line)
	}
	if err := batch.store(ctx, e, &out); err != nil {
		return out, err
	}
	release()
	if out.Seq, err = e.Build(ctx); err != nil {
		return out, err
	}
	out.Model = e.Model().Info().Version
	if j := e.Judgement(); j != nil && !j.Published {
		out.Held = j.String()
	}
	return out, nil
}

// store appends the batch, adds its results to out by line number, and empties the batch.
func (b *importBatch) store(ctx context.Context, e *live.Engine, out *importResult) (err error) {
	var put live.PutResult
	var res live.RecordResult
	switch {
	case len(b.tools) > 0:
		put, err = e.PutTools(ctx, b.tools, b.by)
	case len(b.caps) > 0:
		put, err = e.PutCapabilities(ctx, b.caps, b.by)
	case len(b.eps) > 0:
		res, err = e.Record(ctx, b.source, b.eps)
		out.Seq = res.Seq
	}
	if err != nil {
		return err
	}
	out.FlaggedTotal += len(put.Flagged)
	out.Flagged = append(out.Flagged, put.Flagged[:min(len(put.Flagged), maxRejection-len(out.Flagged))]...)
	*countOf(&out.Taken, b.kind) += put.Added + put.Updated + res.Accepted
	*countOf(&out.Duplicates, b.kind) += put.Unchanged + res.Duplicates
	for _, rej := range append(put.Rejected, res.Rejected...) {
		rej.Line = b.lines[rej.Line-1]
		out.reject(rej)
	}
	*b = importBatch{kind: b.kind, by: b.by, source: b.source}
	return nil
}

func countOf(c *kindCounts, kind ingest.Kind) *int {
	switch kind {
	case ingest.KindTool:
		return &c.Tools
	case ingest.KindCapability:
		return &c.Capabilities
	}
	return &c.Episodes
}

// export writes the catalog, then the episodes. An error in the middle aborts the connection, so that half an export
// cannot be mistaken for a complete one.
func (s *Server) export(_ context.Context, e *live.Engine, _ *struct{}) (*huma.StreamResponse, error) {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", ndjson)
		w := bufio.NewWriterSize(hc.BodyWriter(), 64<<10)
		for item, err := range e.Items(hc.Context()) {
			if err == nil {
				err = ingest.WriteLine(w, ingest.Item{Tool: item.Tool, Capability: item.Capability, Episode: item.Episode})
			}
			if err != nil {
				s.breakOff(hc, err)
				return
			}
		}
		if err := w.Flush(); err != nil {
			s.breakOff(hc, err)
			return
		}
		humagin.Unwrap(hc).Writer.WriteHeaderNow() // also for an empty workspace
	}}, nil
}

const backupSummary = "Waymark-Backup-Summary"

func (s *Server) backup(_ context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "application/octet-stream")
		hc.SetHeader("Trailer", backupSummary)
		summary, err := s.cfg.Store.Backup(hc.Context(), hc.BodyWriter())
		var text []byte
		if err == nil {
			text, err = json.Marshal(summary)
		}
		if err != nil {
			s.breakOff(hc, err)
			return
		}
		humagin.Unwrap(hc).Writer.Flush() // the header is sent before the trailer is set
		hc.SetHeader(backupSummary, string(text))
	}}, nil
}

// breakOff aborts a stream so that the client notices that it is incomplete. If nothing was sent yet, it answers with
// an ordinary error.
func (s *Server) breakOff(hc huma.Context, err error) {
	c := humagin.Unwrap(hc)
	if !errors.Is(err, context.Canceled) {
		s.cfg.Logger.Error("a stream was broken off", "route", c.FullPath(), "error", err)
	}
	if c.Writer.Written() {
		panic(http.ErrAbortHandler)
	}
	c.Writer.Header().Del("Trailer")
	fail(c, err)
}
