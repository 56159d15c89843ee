package feed

import (
	"context"
	"time"

	"waymark/live/record"
)

// Told finds a call under way by the host's id of it, so that whoever makes the call can record it where it
// belongs: in the session of the host, among calls that only hooks tell of. The host has waited for the hook
// before it called, so what the hook left is there by now.
func (f *Feed) Told(ctx context.Context, workspace, id string) (t record.Told, ok bool) {
	if _, err := f.Take(ctx); err != nil {
		f.log.Warn("the spool of hooks is not taken in", "error", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, s := range f.sessions {
		if c := s.begun[id]; c != nil && key.workspace == workspace {
			return record.Told{Source: key.source, Place: c.place, Recorded: func(ended time.Time) { f.recorded(s, id, ended) }}, true
		}
	}
	return t, false
}

// recorded ends a call that somebody else has recorded.
func (f *Feed) recorded(s *session, id string, ended time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := s.begun[id]; c != nil {
		s.done(f, id, c, ended)
	}
	s.taken[id] = true
}
