package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"waymark/storage"
)

// An API key is wmk_<id>_<secret>: the id finds the row, the secret proves it. The secret is 32
// random bytes, so its plain SHA-256 is as hard to invert as the secret is to guess; nothing else of
// it is stored. Keys are looked up on every request, so that a revocation holds at once.
const (
	keyPrefix = "wmk_"
	keyRow    = "key/"
)

// storedKey is a row of the system table.
type storedKey struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Workspace string    `json:"workspace"`
	Scopes    []string  `json:"scopes"`
	SHA256    string    `json:"sha256"`
	CreatedAt time.Time `json:"created_at"`
}

// keyInfo is what may be shown of a key.
type keyInfo struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Workspace string    `json:"workspace"`
	Scopes    []string  `json:"scopes"`
	CreatedAt time.Time `json:"created_at"`
}

func (k storedKey) info() keyInfo {
	return keyInfo{ID: k.ID, Name: k.Name, Workspace: k.Workspace, Scopes: k.Scopes, CreatedAt: k.CreatedAt}
}

// createKey stores a new key and returns it with the only copy of its text. A workspace that does not exist is
// created: who has a key may ask before anything is recorded.
func (s *Server) createKey(ctx context.Context, name, workspace string, set scopes) (keyInfo, string, error) {
	if err := s.cfg.Workspaces.Create(ctx, workspace); err != nil {
		return keyInfo{}, "", err
	}
	var random [8 + 32]byte
	if _, err := rand.Read(random[:]); err != nil {
		return keyInfo{}, "", fmt.Errorf("create key %q: %w", name, err)
	}
	id, secret := hex.EncodeToString(random[:8]), base64.RawURLEncoding.EncodeToString(random[8:])
	digest := sha256.Sum256([]byte(secret))
	row := storedKey{
		ID: id, Name: name, Workspace: workspace, Scopes: set.names(),
		SHA256: hex.EncodeToString(digest[:]), CreatedAt: s.cfg.Now().UTC().Truncate(time.Second),
	}
	value, err := json.Marshal(row)
	if err != nil {
		return keyInfo{}, "", fmt.Errorf("create key %q: %w", name, err)
	}
	if _, err := s.cfg.Store.System().CAS(ctx, keyRow+id, 0, value); err != nil {
		return keyInfo{}, "", fmt.Errorf("create key %q: %w", name, err)
	}
	return row.info(), keyPrefix + id + "_" + secret, nil
}

// key reads one stored key; storage.ErrNotFound if there is none.
func (s *Server) key(ctx context.Context, id string) (storedKey, error) {
	value, _, err := s.cfg.Store.System().Get(ctx, keyRow+id)
	if err != nil {
		return storedKey{}, err
	}
	var row storedKey
	if err := json.Unmarshal(value, &row); err != nil {
		return storedKey{}, fmt.Errorf("key %s: %w", id, errors.Join(storage.ErrDamaged, err))
	}
	return row, nil
}

// keys lists the keys of a workspace ("": of all), by id.
func (s *Server) keys(ctx context.Context, workspace string) ([]keyInfo, error) {
	out := []keyInfo{}
	for entry, err := range s.cfg.Store.System().List(ctx, keyRow) {
		if err != nil {
			return nil, fmt.Errorf("list keys: %w", err)
		}
		var row storedKey
		if err := json.Unmarshal(entry.Value, &row); err != nil {
			return nil, fmt.Errorf("key %s: %w", entry.Key, errors.Join(storage.ErrDamaged, err))
		}
		if workspace == "" || row.Workspace == workspace {
			out = append(out, row.info())
		}
	}
	return out, nil
}

// revokeKey deletes a key. A second revocation is storage.ErrNotFound.
func (s *Server) revokeKey(ctx context.Context, id string) error {
	if _, err := s.key(ctx, id); err != nil {
		return err
	}
	return s.cfg.Store.System().Delete(ctx, keyRow+id)
}

// keyAccess is the access that the text of a key grants. Unknown id and wrong secret are one error.
func (s *Server) keyAccess(ctx context.Context, token string) (access, error) {
	rest, ok := strings.CutPrefix(token, keyPrefix)
	id, secret, cut := strings.Cut(rest, "_")
	if !ok || !cut || len(id) != 16 || len(secret) != 43 {
		return access{}, errBadCredential
	}
	row, err := s.key(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return access{}, errBadCredential // that an id is unknown is no secret: ids are shown in lists
	}
	if err != nil {
		return access{}, err
	}
	digest := sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(digest[:])), []byte(row.SHA256)) != 1 {
		return access{}, errBadCredential
	}
	set, err := parseScopes(row.Scopes)
	if err != nil {
		return access{}, fmt.Errorf("key %s: %w", id, errors.Join(storage.ErrDamaged, err))
	}
	return access{Workspace: row.Workspace, Scopes: set, Source: "key:" + id}, nil
}
