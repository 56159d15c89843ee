package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/gateway"
	"waymark/ingest/hook"
	"waymark/live"
	"waymark/server/internal/api"
	"waymark/server/internal/runs"
	mcpserver "waymark/server/mcp"
	"waymark/storage"
	"waymark/suggest/evaluate"
)

type keyBody struct {
	Name      string   `json:"name" minLength:"1" maxLength:"128" doc:"A label for people, such as the owner of the key."`
	Workspace string   `json:"workspace,omitempty" pattern:"^[a-z0-9][a-z0-9._-]{0,63}$" doc:"The workspace that the key gives access to; default: that of the caller."`
	Scopes    []string `json:"scopes" minItems:"1" maxItems:"3" enum:"read,write,admin"`
	Agent     string   `json:"agent,omitempty" maxLength:"64" doc:"An agent in gateway.json: the key can see and call only the tools in its set."`
}

type keyCreated struct {
	KeyInfo
	Key string `json:"key" doc:"The key. It is shown only once."`
}

type keyList struct {
	Keys []KeyInfo `json:"keys"`
}

type workspaceList struct {
	Workspaces []string `json:"workspaces"`
}

type workspaceMade struct {
	Workspace string `json:"workspace"`
	Created   bool   `json:"created" doc:"False if it already existed."`
}

type nameQuery struct {
	Name string `path:"name"`
}

type doctorAnswer struct {
	Checks   []check `json:"checks"`
	Settings any     `json:"settings,omitempty" doc:"Of the server, for its operator."`
}

type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

func (s *Server) adminRoutes(r *api.Table) {
	ru, global := api.Rule{Scope: api.ScopeAdmin}, api.Rule{Scope: api.ScopeAdmin, Global: true}
	s.transferRoutes(r)
	api.Add(r, ru, api.Op("Administration", "forget", http.MethodPost, "/v1/forget", "Erase history",
		"Exactly one of source, episode, before. What is erased is gone from the log; the model is rebuilt without it."), s.forget)
	api.Add(r, global, api.Op("Administration", "list-keys", http.MethodGet, "/v1/keys", "List API keys", "The keys of the caller's workspace; the operator sees all."), s.listKeys)
	api.Add(r, global, api.Op("Administration", "create-key", http.MethodPost, "/v1/keys", "Create an API key", "Only this answer contains the key."), s.postKey)
	api.Add(r, global, api.Op("Administration", "revoke-key", http.MethodDelete, "/v1/keys/{id}", "Revoke an API key", "At once."), s.deleteKey)
	api.Add(r, global, api.Op("Administration", "list-workspaces", http.MethodGet, "/v1/workspaces", "List workspaces", "A key sees its own; the operator sees all."), s.listWorkspaces)
	operator := api.Rule{Scope: api.ScopeAdmin, Global: true, Operator: true}
	api.Add(r, operator, api.Op("Administration", "create-workspace", http.MethodPut, "/v1/workspaces/{name}", "Create a workspace",
		"So that it can be asked before anything is recorded in it; one that exists stays as it is. Whatever records creates its workspace, too."), s.putWorkspace)
	api.Add(r, operator, api.Op("Administration", "delete-workspace", http.MethodDelete, "/v1/workspaces/{name}", "Delete a workspace", "With its history, and the keys to it."), s.deleteWorkspace)
	api.AddForWorkspace(r, ru, api.Op("Administration", "doctor", http.MethodGet, "/v1/doctor", "Health checks", ""), s.doctor)
}

func (s *Server) forget(ctx context.Context, q *question[live.Selection]) (res live.ForgetResult, err error) {
	sel := q.Body
	if sel.Parts() != 1 {
		return res, api.Problem(http.StatusUnprocessableEntity, "name exactly one of source, episode and before")
	}
	return s.erase(ctx, sel)
}

// erase forgets the selected history in the workspace of ctx: first scores, replies of judges and runs, then the
// history, and last the files of hooks. A file of a hook session names neither source nor episode, so the files before
// the selected time are removed, or all of them if the selection has no time.
func (s *Server) erase(ctx context.Context, sel live.Selection) (res live.ForgetResult, err error) {
	workspace := api.From(ctx).Workspace
	e, err := s.engine(ctx)
	if err != nil {
		return res, err
	}
	if err = s.scoring.Forget(ctx, sel); err != nil {
		return res, err
	}
	run := sel.Episode
	if run != "" { // the session of the episodes of a run is the id of the run
		for it, err := range e.Items(ctx) {
			if err != nil {
				return res, err
			}
			if it.Episode != nil && it.Episode.ID == sel.Episode {
				run = cmp.Or(it.Episode.Session, run)
			}
		}
	}
	journal := runs.Journal{Table: s.cfg.Store.Table(workspace)}
	if err = journal.ForgetSelected(ctx, sel.Source, run, sel.Before); err != nil {
		return res, err
	}
	if res, err = e.Forget(ctx, sel); err != nil || s.cfg.Data == "" {
		return res, err
	}
	before := sel.Before
	if before.IsZero() {
		before = s.cfg.Now().Add(time.Hour) // later than any file, whatever the clock of the file system
	}
	return res, hook.WhisperOf(s.cfg.Data, workspace).Forget(before)
}

func (s *Server) postKey(ctx context.Context, q *question[keyBody]) (made keyCreated, err error) {
	a := api.From(ctx)
	workspace := cmp.Or(q.Body.Workspace, a.Workspace)
	if workspace != a.Workspace && !a.Operator {
		return made, api.Problem(http.StatusForbidden, "a key gives out keys to its own workspace only")
	}
	set, err := api.ParseScopes(q.Body.Scopes)
	if err != nil {
		return made, api.Problem(http.StatusUnprocessableEntity, err.Error())
	}
	if q.Body.Agent != "" && s.cfg.Upstream.ToolSet(workspace, q.Body.Agent).Patterns == nil {
		return made, api.Problem(http.StatusUnprocessableEntity, fmt.Sprintf("workspace %q has no agent %q; agents are defined in %s", workspace, q.Body.Agent, gateway.DefinitionsFile))
	}
	name, err := catalog.Identifier("name", q.Body.Name, catalog.MaxName) // terminals display the name
	if err != nil {
		return made, api.Problem(http.StatusUnprocessableEntity, err.Error())
	}
	info, text, err := s.createKey(ctx, name, workspace, set, q.Body.Agent)
	if err != nil {
		return made, err
	}
	return keyCreated{info, text}, nil
}

func (s *Server) listKeys(ctx context.Context, _ *struct{}) (keyList, error) {
	a := api.From(ctx)
	workspace := a.Workspace
	if a.Operator {
		workspace = ""
	}
	keys, err := s.listKeysOf(ctx, workspace)
	return keyList{keys}, err
}

func (s *Server) deleteKey(ctx context.Context, q *api.ByID) (none api.None, err error) {
	a := api.From(ctx)
	row, err := s.storedKey(ctx, q.ID)
	if err == nil && row.Workspace != a.Workspace && !a.Operator { // reported as missing: the keys of other workspaces are confidential
		err = storage.ErrNotFound
	}
	if err == nil {
		err = s.keys().Delete(ctx, keyRow+q.ID)
	}
	if errors.Is(err, storage.ErrNotFound) {
		err = api.Problem(http.StatusNotFound, fmt.Sprintf("there is no key %q", q.ID))
	}
	return none, err
}

func (s *Server) listWorkspaces(ctx context.Context, _ *struct{}) (workspaceList, error) {
	if a := api.From(ctx); !a.Operator {
		return workspaceList{[]string{a.Workspace}}, nil
	}
	names, err := s.workspaces(ctx)
	return workspaceList{names}, err
}

func (s *Server) putWorkspace(ctx context.Context, q *nameQuery) (made workspaceMade, err error) {
	name := q.Name
	if !api.WorkspaceName.MatchString(name) {
		return made, api.Problem(http.StatusUnprocessableEntity, fmt.Sprintf("workspace %q is not a name of 1 to 64 of a-z, 0-9, dot, dash, underscore", name))
	}
	existed := s.cfg.Workspaces.Exists(name)
	if err := s.cfg.Workspaces.Create(ctx, name); err != nil {
		return made, err
	}
	if s.cfg.KeepKey != nil {
		if err := s.cfg.KeepKey(ctx, name); err != nil {
			return made, err
		}
	}
	return workspaceMade{name, !existed}, nil
}

// deleteWorkspace removes the keys first: a key that outlived its workspace would give access to the next workspace of
// the same name.
func (s *Server) deleteWorkspace(ctx context.Context, q *nameQuery) (none api.None, err error) {
	if !s.cfg.Workspaces.Exists(q.Name) {
		return none, api.Problem(http.StatusNotFound, fmt.Sprintf("there is no workspace %q", q.Name))
	}
	keys, err := s.listKeysOf(ctx, q.Name)
	if err != nil {
		return none, err
	}
	for _, k := range keys {
		if err := s.keys().Delete(ctx, keyRow+k.ID); err != nil {
			return none, err
		}
	}
	if err := s.cfg.Workspaces.Delete(ctx, q.Name); err != nil {
		return none, err
	}
	return none, s.dropBeside(q.Name)
}

// dropBeside removes the files of a deleted workspace that are outside the store.
func (s *Server) dropBeside(workspace string) error {
	if s.cfg.Data == "" {
		return nil
	}
	return errors.Join(os.RemoveAll(string(hook.WhisperOf(s.cfg.Data, workspace))), os.RemoveAll(evaluate.KeptFile(s.cfg.Data, workspace)))
}

// doctor returns the checks that a person needs first when something is wrong.
func (s *Server) doctor(ctx context.Context, e *live.Engine, _ *struct{}) (out doctorAnswer, err error) {
	if api.From(ctx).Operator {
		out.Settings = s.cfg.Settings
	}
	note := func(name string, ok bool, format string, args ...any) {
		out.Checks = append(out.Checks, check{name, ok, fmt.Sprintf(format, args...)})
	}
	if err := s.cfg.Store.Writable(); err != nil {
		note("storage", false, "%v", err)
	} else {
		note("storage", true, "writes are accepted")
	}
	stats, counted := e.Model().Stats(), e.Counted()
	note("model", true, "version %s, %s, %d nodes, %d edges", stats.Model.Version, builtWhen(stats.Model.BuiltAt), stats.Model.Nodes, stats.Model.Edges)
	note("lag", counted <= stats.Model.Seq, "the model counts event %d of %d", min(stats.Model.Seq, counted), counted)
	note("freshness", true, "%v", e.Behind())
	note("catalog", true, "%d tools, %d capabilities, %d tools seen only in episodes", stats.Tools, stats.Capabilities, stats.ObservedTools)
	note("approval", true, "%s waiting; list and release with waymark approve", catalog.Plural(e.Waiting(), "entry"))
	if embeddings := e.Embeddings(); embeddings != "" {
		note("embeddings", true, "%s", embeddings)
	}
	note("thesaurus", true, "%v", e.Thesaurus())
	begin := ""
	if stats.Model.Nodes == 0 {
		begin = "; begin with " + Beginning("")
	}
	note("history", true, "%d episodes of %d sources%s", stats.Episodes, len(stats.Sources), begin)
	for _, a := range stats.Anomalies {
		note("source "+a.Source, false, "%s; waymark forget --source erases its records", a.Detail)
	}
	judged := e.Judgement()
	note("rebuild", judged == nil || judged.Published, "%v", judged)
	g, err := s.gateway(ctx)
	switch {
	case err != nil: // none is defined
	case s.cfg.Upstream.Reload == nil:
		note("servers", true, "%d defined, none started here: waymark serve --connect, or mcp --connect", len(g.Servers()))
	default:
		ok, line := serversWell(g.Servers())
		note("servers", ok, "%s", line)
		if left := mcpserver.Unlisted(g); len(left) > 0 {
			note("tools of servers", true, "%d left out of the list of tools: %s", len(left), strings.Join(left, "; "))
		}
	}
	needed, err := s.needsKey(ctx)
	note("access", err == nil, "%s", map[bool]string{true: "every request needs a key", false: "requests on loopback need no key until there is one"}[needed])
	note("draining", !s.isDraining(), "%s", map[bool]string{true: "the server is shutting down", false: "the server takes requests"}[s.isDraining()])
	return out, nil
}
