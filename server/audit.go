package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"waymark/internal/redact"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
)

// AuditFile is the log of what administrators did, in the data directory: one JSON object a line, only ever appended.
const AuditFile = "audit.jsonl"

// auditEntry is one act. It holds what was asked for without secrets, and never an answer, which may hold a key.
type auditEntry struct {
	Time      time.Time       `json:"time"`
	Act       string          `json:"act" doc:"The operation, as in create-key."`
	Source    string          `json:"source" doc:"The credential."`
	Workspace string          `json:"workspace"`
	Address   string          `json:"address,omitempty"`
	Request   string          `json:"request,omitempty" doc:"The id of the request."`
	Asked     json.RawMessage `json:"asked,omitempty" doc:"The parameters and the body of the request."`
	About     string          `json:"about,omitempty" doc:"The id of what came of it."`
	Status    int             `json:"status" doc:"Of the answer; below 400 the act was done."`
}

// audit appends an act. What cannot be written is logged: the act is done by then.
func (s *Server) audit(ctx context.Context, act string, asked any, err error) {
	if s.cfg.Data == "" {
		return
	}
	a, x := request.From(ctx), request.ExchangeFrom(ctx)
	entry := auditEntry{Time: s.cfg.Now().UTC(), Act: act, Source: a.Source, Workspace: a.Workspace, Address: a.Peer, Request: x.Id, About: x.About, Status: http.StatusOK}
	if err != nil {
		entry.Status = problem.Of(err).Status
	}
	entry.Asked = maskedJSON(asked)
	if err := s.appendAudit(entry); err != nil {
		s.cfg.Logger.Error("an act could not be written to the audit log", "act", act, "request", x.Id, "error", err)
	}
}

func (s *Server) appendAudit(entry auditEntry) error {
	s.auditing.Lock()
	defer s.auditing.Unlock()
	return appendAudit(s.cfg.Data, entry)
}

// NoteAct appends an act of the operator that no server took part in to the audit log of a data directory.
func NoteAct(dir, workspace, act string, asked any) error {
	return appendAudit(dir, auditEntry{Time: time.Now().UTC(), Act: act, Source: "local", Workspace: workspace, Asked: maskedJSON(asked), Status: http.StatusOK})
}

// maskedJSON is v without secrets; nil where masking leaves no JSON.
func maskedJSON(v any) json.RawMessage {
	text, err := jsonio.Encode(v)
	if masked := json.RawMessage(redact.Text(string(text))); err == nil && json.Valid(masked) {
		return masked
	}
	return nil
}

// appendAudit writes a line at once, so that lines of several processes do not mix.
func appendAudit(dir string, entry auditEntry) error {
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, AuditFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

type (
	auditQuery struct {
		Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Most entries of the answer."`
	}
	auditAnswer struct {
		Body struct {
			Entries []auditEntry `json:"entries" doc:"The newest last."`
		}
	}
)

func (s *Server) auditRoutes(r *route.Table) {
	route.Add(r, route.Rule{Scope: request.ScopeAdmin, Global: true}, huma.Operation{OperationID: "list-audit", Method: http.MethodGet, Path: "/v1/audit", Tags: []string{"Administration"},
		Summary:     "What administrators did",
		Description: "Keys created and revoked, approvals, grants, servers, forgetting, workspaces, rebuilds and rollbacks. A key sees the acts of its own workspace; the operator sees all."}, s.listAudit)
}

func (s *Server) listAudit(ctx context.Context, q *auditQuery) (*auditAnswer, error) {
	out := new(auditAnswer)
	out.Body.Entries = []auditEntry{}
	f, err := os.Open(filepath.Join(s.cfg.Data, AuditFile))
	if s.cfg.Data == "" || errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a := request.From(ctx)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var entry auditEntry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			continue // half a line of a process that was killed
		}
		if a.Operator || entry.Workspace == a.Workspace {
			out.Body.Entries = append(out.Body.Entries, entry)
		}
		if len(out.Body.Entries) >= 2*q.Limit {
			out.Body.Entries = append(out.Body.Entries[:0], out.Body.Entries[len(out.Body.Entries)-q.Limit:]...)
		}
	}
	if over := len(out.Body.Entries) - q.Limit; over > 0 {
		out.Body.Entries = out.Body.Entries[over:]
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return out, nil
}
