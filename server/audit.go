package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/danielgtaylor/huma/v2"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/catalog"
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

// Limits of what is kept of a request, in bytes. A longer line is of a version without them, or damaged.
const (
	maxAskedText = 8 << 10
	maxAsked     = 64 << 10
	maxAuditLine = 4 << 20
)

// maskedJSON is v without secrets.
func maskedJSON(v any) json.RawMessage {
	text, err := jsonio.Encode(v)
	if err != nil {
		return nil
	}
	return shortened(mapStrings(text, func(name, value string) string {
		if redact.Names(name) && value != "" {
			return redact.Mark
		}
		return redact.Text(value)
	}))
}

// shortened is a request body with long strings cut, or only its length if it is still too long.
func shortened(asked json.RawMessage) json.RawMessage {
	if len(asked) > maxAskedText {
		asked = mapStrings(asked, func(_, value string) string {
			if len(value) <= maxAskedText {
				return value
			}
			return catalog.Cut(value, maxAskedText)
		})
	}
	if len(asked) > maxAsked {
		return fmt.Appendf(nil, `{"omitted":"%d bytes"}`, len(asked))
	}
	return asked
}

// mapStrings puts into the place of each string of a JSON text what f makes of it and of the name of the member that it
// is the value of. Names are kept, without secrets. It is nil for what is no JSON.
func mapStrings(text json.RawMessage, f func(name, value string) string) json.RawMessage {
	var out bytes.Buffer
	lenient := jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	d, e := jsontext.NewDecoder(bytes.NewReader(text), lenient), jsontext.NewEncoder(&out, lenient)
	for {
		token, err := d.ReadToken()
		if err == io.EOF {
			return bytes.TrimSpace(out.Bytes())
		}
		if err == nil && token.Kind() == '"' {
			switch kind, length := d.StackIndex(d.StackDepth()); {
			case kind == '{' && length%2 == 1:
				token = jsontext.String(redact.Text(token.String()))
			case kind == '{':
				token = jsontext.String(f(d.StackPointer().LastToken(), token.String()))
			default:
				token = jsontext.String(f("", token.String()))
			}
		}
		if err == nil {
			err = e.WriteToken(token)
		}
		if err != nil {
			return nil
		}
	}
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
			Entries    []auditEntry `json:"entries" doc:"The newest last."`
			Unreadable int          `json:"unreadable,omitempty" doc:"Lines of the log that are no entries: half a line of a process that was killed, or damage."`
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
	lines := bufio.NewReader(f)
	for line, long := []byte(nil), false; ; {
		part, more, err := lines.ReadLine()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		if long = long || len(line)+len(part) > maxAuditLine; !long {
			line = append(line, part...)
		}
		if more {
			continue
		}
		var entry auditEntry
		unreadable := long || json.Unmarshal(line, &entry) != nil
		line, long = line[:0], false
		if unreadable {
			out.Body.Unreadable++
			continue
		}
		if a.Operator || entry.Workspace == a.Workspace {
			entry.Asked = shortened(entry.Asked)
			out.Body.Entries = append(out.Body.Entries, entry)
		}
		if len(out.Body.Entries) >= 2*q.Limit {
			out.Body.Entries = append(out.Body.Entries[:0], out.Body.Entries[len(out.Body.Entries)-q.Limit:]...)
		}
	}
	if over := len(out.Body.Entries) - q.Limit; over > 0 {
		out.Body.Entries = out.Body.Entries[over:]
	}
	return out, nil
}
