package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/ingest"
	"waymark/live"
	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
)

// maxImportRejections is how many refusals of an import are listed; all are counted.
const maxImportRejections = 100

type kindCounts struct {
	Tools        int `json:"tools"`
	Capabilities int `json:"capabilities"`
	Episodes     int `json:"episodes"`
}

type importInput struct {
	route.RawInput
	Review bool `query:"review" doc:"Entries that the checks flag wait for approval, whoever imports them."`
}

type importResult struct {
	Taken         kindCounts       `json:"taken"`
	Duplicates    kindCounts       `json:"duplicates" doc:"Known already, with the same content or more of it."`
	Rejected      []live.Rejection `json:"rejected" doc:"At most the first 100."`
	RejectedTotal int              `json:"rejected_total"`
	Flagged       []live.Flagged   `json:"flagged,omitempty" doc:"What the checks found in entries that were stored; at most the first 100."`
	FlaggedTotal  int              `json:"flagged_total,omitempty"`
	Seq           uint64           `json:"seq"`
	Model         string           `json:"model" doc:"The version of the model that counts it all."`
	Held          string           `json:"held,omitempty" doc:"Why nothing is measured on it yet, where held-out tasks say that the model would lose."`
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

func (s *Server) transferRoutes(r *route.Table) {
	lines := map[string]*huma.MediaType{ndjson: {Schema: &huma.Schema{Type: "string"}}}
	route.Record(r, route.Rule{Scope: request.ScopeWrite, Stream: true, Ndjson: true, Creates: true}, route.Op("Administration", "import", http.MethodPost, "/v1/import", "Import an export",
		"The lines of an export: one tool, capability or episode each, of any number. The model is built once, at the end."), s.importLines)
	route.DocumentBody(r, "/v1/import", http.MethodPost, map[string]*huma.Schema{ndjson: {Type: "string"}})

	export := route.Op("Administration", "export", http.MethodGet, "/v1/export", "Export catalog and history", "One tool, capability or episode a line, in this order.")
	export.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: lines}}
	route.Raw(r, route.Rule{Scope: request.ScopeAdmin, Stream: true}, export, s.export)

	backup := route.Op("Administration", "backup", http.MethodGet, "/v1/backup", "Back up the whole data directory",
		"One consistent state of all workspaces; for the operator only. The trailer Waymark-Backup-Summary lists its contents.")
	backup.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"application/octet-stream": {Schema: &huma.Schema{Type: "string", Format: "binary"}}}}}
	route.Raw(r, route.Rule{Scope: request.ScopeAdmin, Stream: true, Global: true}, backup, s.backup)
}

// importBatch collects items of one kind, so that they are appended together and in order.
type importBatch struct {
	kind  ingest.Kind
	tools []catalog.Tool
	caps  []catalog.Capability
	eps   []episodic.Episode
	lines []int
	by    live.Trust
}

func (s *Server) importLines(ctx context.Context, e *live.Engine, in *importInput) (out importResult, err error) {
	source := request.From(ctx).Source
	out.Rejected = []live.Rejection{}
	reject := func(rej live.Rejection) {
		out.RejectedTotal++
		if len(out.Rejected) < maxImportRejections {
			out.Rejected = append(out.Rejected, rej)
		}
	}
	release := e.Hold() // one build, at the end
	defer release()

	batch := importBatch{by: request.From(ctx).Trust()}
	if in.Review {
		batch.by = min(batch.by, live.Checked)
	}
	flush := func() error {
		rejected, err := batch.store(ctx, e, source, &out)
		for _, rej := range rejected {
			reject(rej)
		}
		batch = importBatch{by: batch.by}
		return err
	}
	for item, err := range ingest.ReadFrom(ctx, in.Request.Body, ingest.Options{Format: "waymark", Split: "all", Source: source, Now: s.cfg.Now()}) {
		if err != nil {
			return out, route.BadRead(err)
		}
		if item.Kind != batch.kind || len(batch.lines) >= batchSize {
			if err := flush(); err != nil {
				return out, err
			}
		}
		batch.kind = item.Kind
		switch {
		case item.Duplicate:
			*countOf(&out.Duplicates, item.Kind)++
		case item.Tool != nil:
			batch.tools, batch.lines = append(batch.tools, *item.Tool), append(batch.lines, item.Line)
		case item.Capability != nil:
			batch.caps, batch.lines = append(batch.caps, *item.Capability), append(batch.lines, item.Line)
		case item.Episode != nil:
			batch.eps, batch.lines = append(batch.eps, *item.Episode), append(batch.lines, item.Line)
		default:
			reject(live.Rejection{Line: item.Line, ID: item.ID, Error: item.Dropped + item.LeftOut})
		}
	}
	if err := flush(); err != nil {
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

// store appends the batch and returns what was refused, by its line in the import.
func (b *importBatch) store(ctx context.Context, e *live.Engine, source string, answer *importResult) ([]live.Rejection, error) {
	var rejected []live.Rejection
	switch b.kind {
	case ingest.KindTool, ingest.KindCapability:
		if len(b.lines) == 0 {
			return nil, nil
		}
		var res live.PutResult
		var err error
		if b.kind == ingest.KindTool {
			res, err = e.PutTools(ctx, b.tools, b.by)
		} else {
			res, err = e.PutCapabilities(ctx, b.caps, b.by)
		}
		if err != nil {
			return nil, err
		}
		answer.FlaggedTotal += len(res.Flagged)
		answer.Flagged = append(answer.Flagged, res.Flagged[:min(len(res.Flagged), maxImportRejections-len(answer.Flagged))]...)
		taken, duplicates := &answer.Taken, &answer.Duplicates
		*countOf(taken, b.kind) += res.Added + res.Updated
		*countOf(duplicates, b.kind) += res.Unchanged
		rejected = res.Rejected
	case ingest.KindEpisode:
		if len(b.lines) == 0 {
			return nil, nil
		}
		res, err := e.Record(ctx, source, b.eps)
		if err != nil {
			return nil, err
		}
		answer.Taken.Episodes += res.Accepted
		answer.Duplicates.Episodes += res.Duplicates
		rejected = res.Rejected
	}
	for i := range rejected {
		rejected[i].Line = b.lines[rejected[i].Line-1]
	}
	return rejected, nil
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

// export writes the catalog, then the episodes. An error in the middle cuts the connection, so that
// half an export cannot be taken for a whole one.
func (s *Server) export(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	e, err := s.engine(ctx)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", ndjson)
		w := bufio.NewWriterSize(hc.BodyWriter(), 64<<10)
		for item, err := range e.Items(hc.Context()) {
			if err == nil {
				err = ingest.WriteLine(w, ingest.Item{Tool: item.Tool, Capability: item.Capability, Episode: item.Episode})
			}
			if err != nil {
				s.breakOff(hc, err)
			}
		}
		if err := w.Flush(); err != nil {
			s.breakOff(hc, err)
		}
		humagin.Unwrap(hc).Writer.WriteHeaderNow() // an empty workspace is an answer too
	}}, nil
}

const backupSummary = "Waymark-Backup-Summary"

func (s *Server) backup(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	if !request.From(ctx).Operator {
		return nil, problem.New(http.StatusForbidden, "a backup holds every workspace: only the operator of the server takes it")
	}
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
		}
		humagin.Unwrap(hc).Writer.Flush() // the head goes out before the trailer is set
		hc.SetHeader(backupSummary, string(text))
	}}, nil
}

// breakOff ends a stream so that the client sees that it is not whole; if nothing was sent yet, with
// an ordinary error.
func (s *Server) breakOff(hc huma.Context, err error) {
	c := humagin.Unwrap(hc)
	if !errors.Is(err, context.Canceled) {
		s.cfg.Logger.Error("a stream was broken off", "route", c.FullPath(), "error", err)
	}
	if !c.Writer.Written() {
		panic(problemPanic{err})
	}
	panic(http.ErrAbortHandler)
}

// problemPanic carries an error out of a stream to recoverPanic.
type problemPanic struct{ err error }
