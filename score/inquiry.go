package score

import (
	"context"
	"fmt"
	"sync"

	"waymark/score/evidence"
	"waymark/score/judge"
)

// A TriangulateRequest is a request of package evidence with the judge that proposes hypotheses if none are given.
type TriangulateRequest struct {
	evidence.Request
	Judge JudgeOptions `json:"judge,omitzero"`
}

// ErrJudge is returned if no reply of the judge is usable, ErrSearch if all searches of a round fail.
var ErrJudge, ErrSearch = evidence.ErrJudge, evidence.ErrSearch

// Triangulate weighs competing hypotheses by evidence, or has a judge and a search find both.
func (s *Scorer) Triangulate(ctx context.Context, in TriangulateRequest) (evidence.Answer, error) {
	asker := sync.OnceValues(func() (judge.Asker, error) { return s.asker(in.Judge) }) // an easy question needs none
	return evidence.Triangulate(ctx, in.Request, prompter(asker), s.Caller)
}

// A prompter asks a judge, which package evidence parses the replies of: one that violates the schema is returned
// unchanged.
type prompter func() (judge.Asker, error)

func (p prompter) Ask(ctx context.Context, q evidence.Prompt) (string, error) {
	asker, err := p()
	if err != nil {
		return "", err
	}
	a := asker.Ask(ctx, judge.Question{System: q.System, User: q.User, Name: q.Name, Schema: q.Schema})
	switch a.Outcome {
	case judge.Answered:
		return string(a.JSON), nil
	case judge.Unparsable:
		return a.Reply, nil
	}
	return "", fmt.Errorf("%w: ask for hypotheses: %w", ErrJudge, &AskError{a.Outcome, a.Detail})
}

// An AskError is an unanswered question to a judge, with the outcome.
type AskError struct {
	Outcome judge.Outcome
	Detail  string
}

func (e *AskError) Error() string { return fmt.Sprintf("%s: %s", e.Outcome, e.Detail) }

// JudgeOutcome implements [Judged].
func (e *AskError) JudgeOutcome() judge.Outcome { return e.Outcome }
