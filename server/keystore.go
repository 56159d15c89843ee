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
	keyRow    = "key/" // of the system table, followed by the id
)

// errBadKey is returned for a text that is no key, of an unknown id or with a wrong secret: one error for all.
var errBadKey = errors.New("unknown API key")

// keyStore has the API keys of all workspaces, in the system table.
type keyStore struct{ Table storage.Table }

// KeyInfo is what may be shown of a key.
type KeyInfo struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Workspace string    `json:"workspace"`
	Scopes    []string  `json:"scopes"`
	CreatedAt time.Time `json:"created_at"`
	Agent     string    `json:"agent,omitempty"` // whose tool set bounds the key; empty: none
}

// storedKey is the row of a key.
type storedKey struct {
	KeyInfo
	SHA256 string `json:"sha256"`
}

// create stores a new key and returns it with the only copy of its text.
func (k keyStore) create(ctx context.Context, name, workspace string, scopes []string, agent string, now time.Time) (KeyInfo, string, error) {
	var random [8 + 32]byte
	if _, err := rand.Read(random[:]); err != nil {
		return KeyInfo{}, "", fmt.Errorf("create key %q: %w", name, err)
	}
	id, secret := hex.EncodeToString(random[:8]), base64.RawURLEncoding.EncodeToString(random[8:])
	digest := sha256.Sum256([]byte(secret))
	row := storedKey{KeyInfo{id, name, workspace, scopes, now.UTC().Truncate(time.Second), agent}, hex.EncodeToString(digest[:])}
	value, err := json.Marshal(row)
	if err != nil {
		return KeyInfo{}, "", fmt.Errorf("create key %q: %w", name, err)
	}
	if err := k.Table.CAS(ctx, keyRow+id, 0, value); err != nil {
		return KeyInfo{}, "", fmt.Errorf("create key %q: %w", name, err)
	}
	return row.KeyInfo, keyPrefix + id + "_" + secret, nil
}

// get reads one stored key; storage.ErrNotFound if there is none.
func (k keyStore) get(ctx context.Context, id string) (storedKey, error) {
	value, err := k.Table.Cached(ctx, keyRow+id)
	if err != nil {
		return storedKey{}, err
	}
	var row storedKey
	if err := json.Unmarshal(value, &row); err != nil {
		return storedKey{}, fmt.Errorf("key %s: %w", id, errors.Join(storage.ErrDamaged, err))
	}
	return row, nil
}

// list returns the keys of a workspace ("": of all), by id.
func (k keyStore) list(ctx context.Context, workspace string) ([]KeyInfo, error) {
	out := []KeyInfo{}
	for entry, err := range k.Table.List(ctx, keyRow) {
		if err != nil {
			return nil, fmt.Errorf("list keys: %w", err)
		}
		var row storedKey
		if err := json.Unmarshal(entry.Value, &row); err != nil {
			return nil, fmt.Errorf("key %s: %w", entry.Key, errors.Join(storage.ErrDamaged, err))
		}
		if workspace == "" || row.Workspace == workspace {
			out = append(out, row.KeyInfo)
		}
	}
	return out, nil
}

// any reports whether there is a key of any workspace.
func (k keyStore) any(ctx context.Context) (bool, error) {
	for _, err := range k.Table.List(ctx, keyRow) {
		return err == nil, err
	}
	return false, nil
}

// revoke deletes a key. A second revocation is storage.ErrNotFound.
func (k keyStore) revoke(ctx context.Context, id string) error {
	if _, err := k.get(ctx, id); err != nil {
		return err
	}
	return k.Table.Delete(ctx, keyRow+id)
}

// verify returns the key of a text. That an id is unknown is no secret, as ids are shown in lists.
func (k keyStore) verify(ctx context.Context, text string) (storedKey, error) {
	rest, ok := strings.CutPrefix(text, keyPrefix)
	id, secret, cut := strings.Cut(rest, "_")
	if !ok || !cut || len(id) != 16 || len(secret) != 43 {
		return storedKey{}, errBadKey
	}
	row, err := k.get(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return storedKey{}, errBadKey
	}
	if err != nil {
		return storedKey{}, err
	}
	digest := sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(digest[:])), []byte(row.SHA256)) != 1 {
		return storedKey{}, errBadKey
	}
	return row, nil
}
