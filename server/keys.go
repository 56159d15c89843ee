package server

import (
	"context"
	"errors"
	"fmt"

	"waymark/live/state"
	"waymark/storage"
)

func (s *Server) keys() state.Keys { return state.Keys{Table: s.cfg.Store.System()} }

// createKey stores a new key and returns it with the only copy of its text. A workspace that does not exist is
// created: who has a key may ask before anything is recorded.
func (s *Server) createKey(ctx context.Context, name, workspace string, set scopes) (state.KeyInfo, string, error) {
	if err := s.cfg.Workspaces.Create(ctx, workspace); err != nil {
		return state.KeyInfo{}, "", err
	}
	return s.keys().Create(ctx, name, workspace, set.names(), s.cfg.Now())
}

// keyAccess is the access that the text of a key grants. Unknown id and wrong secret are one error.
func (s *Server) keyAccess(ctx context.Context, token string) (access, error) {
	row, err := s.keys().Verify(ctx, token)
	if errors.Is(err, state.ErrBadKey) {
		return access{}, errBadCredential
	}
	if err != nil {
		return access{}, err
	}
	set, err := parseScopes(row.Scopes)
	if err != nil {
		return access{}, fmt.Errorf("key %s: %w", row.ID, errors.Join(storage.ErrDamaged, err))
	}
	return access{Workspace: row.Workspace, Scopes: set, Source: "key:" + row.ID}, nil
}
