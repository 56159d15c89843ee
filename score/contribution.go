package score

import (
	"context"

	"waymark/score/contribution"
)

// Contribution scores one message of a research session.
func (s *Scorer) Contribution(_ context.Context, in contribution.Request) (contribution.Report, error) {
	return contribution.Score(in)
}

// Session scores the messages of a research session and aggregates them.
func (s *Scorer) Session(_ context.Context, in contribution.Session) (contribution.SessionReport, error) {
	return contribution.ScoreSession(in)
}
