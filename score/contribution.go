package score

import (
	"context"
	"fmt"

	"waymark/internal/plural"
	"waymark/score/contribution"
)

// A ContributionAnswer is one message of a research session scored.
type ContributionAnswer struct {
	Message string `json:"message" doc:"Summary of the answer in one sentence."`
	contribution.Report
}

// Contribution scores one message.
func (s *Scorer) Contribution(_ context.Context, in contribution.Request) (ContributionAnswer, error) {
	rep, err := contribution.Score(in)
	if err != nil {
		return ContributionAnswer{}, err
	}
	return ContributionAnswer{contributionMessage(rep), rep}, nil
}

func contributionMessage(rep contribution.Report) string {
	valid, text := 0, ""
	for _, d := range rep.Deltas {
		if !d.Valid {
			continue
		}
		if valid++; valid == 1 {
			text = fmt.Sprintf(" The first scores %v of %v (%s).", *d.Composite, *d.Max, *d.Grade)
		}
	}
	rejected := len(rep.Deltas) - valid + len(rep.Dropped)
	return fmt.Sprintf("%s valid, %d rejected or dropped.%s", plural.Of(valid, "delta"), rejected, text)
}

// A SessionAnswer is a whole research session scored.
type SessionAnswer struct {
	Message string `json:"message" doc:"Summary of the answer in one sentence."`
	contribution.SessionReport
}

// Session scores the messages of a session and aggregates them.
func (s *Scorer) Session(_ context.Context, in contribution.Session) (SessionAnswer, error) {
	rep, err := contribution.ScoreSession(in)
	if err != nil {
		return SessionAnswer{}, err
	}
	valid := 0
	for _, n := range rep.Volume {
		valid += n
	}
	return SessionAnswer{fmt.Sprintf("%s with %s; quality is %s, %s added and %d killed.", plural.Of(len(rep.Contributions), "contribution"),
		plural.Of(valid, "valid delta"), rep.Progression.Trend, plural.Of(rep.Convergence.Adds, "item"), rep.Convergence.Kills), rep}, nil
}
