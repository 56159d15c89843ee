package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"waymark/server/internal/api"
	"waymark/storage"
)

// An API key is wmk_<id>_<secret>: the id locates the row, the secret authenticates it. The secret is 32 random bytes,
// so its plain SHA-256 is as hard to invert as the secret is to guess; nothing else of it is stored. Keys are looked up
// on every request, so a revocation takes effect at once.
const (
	keyPrefix = "wmk_"
	keyRow    = "key/" // prefix of a row of the system table, followed by the id
)

// KeyInfo is the part of a key that may be shown.
type KeyInfo struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Workspace string    `json:"workspace"`
	Scopes    []string  `json:"scopes"`
	CreatedAt time.Time `json:"created_at"`
	Agent     string    `json:"agent,omitempty"` // the agent whose tool set limits the key; empty: none
}

// storedKey is the stored row of a key.
type storedKey struct {
	KeyInfo
	SHA256 string `json:"sha256"`
}

// keys returns the rows of the API keys of all workspaces.
func (s *Server) keys() api.Rows[storedKey] {
	return api.Rows[storedKey]{Table: s.cfg.Store.System(), Prefix: keyRow}
}

// createKey stores a new key and returns it with the only copy of its text. It creates the workspace if it does not
// exist, so that the key can be used before anything is recorded.
func (s *Server) createKey(ctx context.Context, name, workspace string, set api.Scopes, agent string) (KeyInfo, string, error) {
	if err := s.cfg.Workspaces.Create(ctx, workspace); err != nil {
		return KeyInfo{}, "", err
	}
	var random [8 + 32]byte
	_, _ = rand.Read(random[:]) // never fails since Go 1.24
	id, secret := hex.EncodeToString(random[:8]), base64.RawURLEncoding.EncodeToString(random[8:])
	info := KeyInfo{id, name, workspace, set.Names(), s.cfg.Now().UTC().Truncate(time.Second), agent}
	if err := s.keys().Set(ctx, id, storedKey{info, digestOf(secret)}, new(uint64)); err != nil {
		return KeyInfo{}, "", fmt.Errorf("create key %q: %w", name, err)
	}
	return info, keyPrefix + id + "_" + secret, nil
}

func digestOf(secret string) string {
	digest := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(digest[:])
}

// storedKey reads a key from the memory cache; it returns storage.ErrNotFound if there is none.
func (s *Server) storedKey(ctx context.Context, id string) (row storedKey, err error) {
	value, err := s.keys().Cached(ctx, keyRow+id)
	if err == nil {
		row, err = s.keys().Decode(id, value)
	}
	return row, err
}

// listKeysOf returns the keys of a workspace, or of all workspaces if it is "", sorted by id.
func (s *Server) listKeysOf(ctx context.Context, workspace string) ([]KeyInfo, error) {
	out := []KeyInfo{}
	for row, err := range s.keys().All(ctx) {
		if err != nil {
			return nil, err
		}
		if workspace == "" || row.Value.Workspace == workspace {
			out = append(out, row.Value.KeyInfo)
		}
	}
	return out, nil
}

// keyAccess returns the access that a key grants. An unknown id and a wrong secret give the same error. Whether an id
// exists is no secret, because lists show ids.
func (s *Server) keyAccess(ctx context.Context, token string) (api.Access, error) {
	rest, ok := strings.CutPrefix(token, keyPrefix)
	id, secret, cut := strings.Cut(rest, "_")
	if !ok || !cut || len(id) != 16 || len(secret) != 43 {
		return api.Access{}, api.ErrBadCredential
	}
	row, err := s.storedKey(ctx, id)
	same := subtle.ConstantTimeCompare([]byte(digestOf(secret)), []byte(row.SHA256)) == 1
	if errors.Is(err, storage.ErrNotFound) || err == nil && !same {
		return api.Access{}, api.ErrBadCredential
	}
	if err != nil {
		return api.Access{}, err
	}
	set, err := api.ParseScopes(row.Scopes)
	if err != nil {
		return api.Access{}, fmt.Errorf("key %s: %w", row.ID, errors.Join(storage.ErrDamaged, err))
	}
	a := api.Access{Workspace: row.Workspace, Scopes: set, Source: "key:" + row.ID}
	if row.Agent != "" {
		a.Tools = s.cfg.Upstream.ToolSet(row.Workspace, row.Agent)
	}
	return a, nil
}

// accessOf returns the access of a request, from its credential.
//
//	no Authorization   loopback without keys: everything in "default"; otherwise refused
//	the local token    everything; Waymark-Workspace, Waymark-Source and Waymark-Agent are applied
//	wmk_<id>_<secret>  the access of the key
//	wms_<session>      the access of the credential that created the sign-in link
//
// From all other callers these headers are refused, not ignored, so that nobody assumes that a write went to another
// workspace.
func (s *Server) accessOf(r *http.Request) (api.Access, error) {
	a, err := s.credential(r)
	if err != nil {
		return api.Access{}, err
	}
	a.Conversation, a.Peer = r.Header.Get(api.HeaderConversation), api.PeerOf(r)
	workspace, source, agent := r.Header.Get(api.HeaderWorkspace), r.Header.Get(api.HeaderSource), r.Header.Get(api.HeaderAgent)
	if workspace == "" && source == "" && agent == "" {
		return a, nil
	}
	if !a.Local {
		return api.Access{}, api.Problem(http.StatusForbidden,
			api.HeaderWorkspace+", "+api.HeaderSource+" and "+api.HeaderAgent+" are obeyed only with the local token; the workspace comes from the credential")
	}
	if workspace != "" {
		if !api.WorkspaceName.MatchString(workspace) {
			return api.Access{}, api.Problem(http.StatusBadRequest, fmt.Sprintf("workspace %q is not a name of 1 to 64 of a-z, 0-9, dot, dash, underscore", workspace))
		}
		a.Workspace = workspace
	}
	if source != "" {
		if !api.SourceName.MatchString(source) {
			return api.Access{}, api.Problem(http.StatusBadRequest, "the source is not 1 to 128 visible ASCII characters")
		}
		a.Source = source
	}
	if agent != "" {
		a.Tools = s.cfg.Upstream.ToolSet(a.Workspace, agent)
	}
	return a, nil
}

func (s *Server) credential(r *http.Request) (api.Access, error) {
	values := r.Header.Values("Authorization")
	if len(values) > 1 {
		return api.Access{}, api.ErrBadCredential
	}
	if len(values) == 0 {
		return s.granted(r.Context(), "")
	}
	_, token, _ := strings.Cut(values[0], " ")
	if token = strings.TrimSpace(token); !strings.HasPrefix(token, sessionPrefix) {
		return s.granted(r.Context(), values[0])
	}
	session, ok := s.page.get(token, s.cfg.Now())
	if !ok {
		return api.Access{}, api.ErrNoSession
	}
	a, err := s.granted(r.Context(), session.credential)
	a.Workspace = session.workspace
	return a, err
}

// needsKey reports whether every request needs a credential, on loopback too: once a key exists, a request without one
// has no identity.
func (s *Server) needsKey(ctx context.Context) (bool, error) {
	if s.cfg.RequireKey {
		return true, nil
	}
	n, _ := s.cfg.Store.Changes("") // of the system rows
	if seen := s.keyed.Load(); seen != nil && seen.changes == n {
		return seen.any, nil
	}
	any := false
	for _, err := range s.keys().List(ctx, keyRow) {
		if any = true; err != nil {
			return true, err
		}
		break
	}
	s.keyed.Store(&keyed{any, n})
	return any, nil
}

// keyed records whether a key existed at a given number of changes of the system rows. So a server still answers
// requests while the database of a shared store is unavailable.
type keyed struct {
	any     bool
	changes uint64
}

// granted returns the access of an Authorization header; empty: the request has none.
func (s *Server) granted(ctx context.Context, authorization string) (api.Access, error) {
	if authorization == "" {
		// A handler that is mounted outside of Serve may listen on an address that others can reach.
		local, known := ctx.Value(http.LocalAddrContextKey).(*net.TCPAddr)
		needed, err := s.needsKey(ctx)
		if err != nil || needed || known && !local.IP.IsLoopback() {
			return api.Access{}, cmp.Or(err, api.ErrNoCredential)
		}
		return api.Access{Workspace: api.DefaultWorkspace, Scopes: api.AllScopes, Source: "local", Operator: true}, nil
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return api.Access{}, api.ErrBadCredential
	}
	token = strings.TrimSpace(token)
	if s.cfg.LocalToken != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.cfg.LocalToken)) == 1 {
		return api.Access{Workspace: api.DefaultWorkspace, Scopes: api.AllScopes, Source: "local", Local: true, Operator: true, Credential: authorization}, nil
	}
	a, err := s.keyAccess(ctx, token)
	a.Credential = authorization
	return a, err
}
