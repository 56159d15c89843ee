package record

import (
	"context"
	"time"

	"waymark/episodic"
)

// session is what one source does in one session, cut into episodes.
type session struct {
	source, name string
	cut          *episodic.Sessions
}

// newSession returns a session in which nothing was done. rule is the name by which its episodes are cut, as importers
// do.
func newSession(source, name, rule string) session {
	return session{source, name, episodic.NewSessions(rule)}
}

// resume goes on with the episode that was left open by the process before, and returns its last call and its steps.
func (s *session) resume(ctx context.Context, store Store) (place episodic.Place, steps []string, ok bool) {
	place, steps, last, ok := store.Growing(ctx, s.source, s.name)
	if ok {
		s.cut.Resume(place, last)
	}
	return place, steps, ok
}

// rests reports whether the next call of the session begins an episode anyway.
func (s *session) rests(now time.Time) bool {
	s.cut.Forget(now)
	return !s.cut.Knows(s.name)
}
