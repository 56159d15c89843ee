package score

import (
	"context"
	"errors"
	"fmt"

	"waymark/internal/plural"
	"waymark/score/evidence"
	"waymark/score/evidence/inquiry"
	"waymark/score/judge"
	"waymark/score/rubric"
)

// A HypothesesRequest asks a judge for hypotheses that answer a question.
type HypothesesRequest struct {
	Question   string       `json:"question"`
	EvenIfEasy bool         `json:"even_if_easy,omitempty" doc:"Ask even if the question is easy; by default easy questions are skipped."`
	MaxAsks    int          `json:"max_asks,omitempty" minimum:"0" maximum:"10" doc:"Maximum number of times the judge is asked for distinct hypotheses; default 3."`
	Judge      JudgeOptions `json:"judge,omitzero"`
}

// A HypothesesAnswer has the proposed hypotheses.
type HypothesesAnswer struct {
	Message string `json:"message" doc:"Summary of the answer in one sentence."`
	inquiry.Generation
}

// ErrJudge is returned if no reply of the judge is usable.
var ErrJudge = errors.New("the judge gave no hypotheses")

// Hypotheses asks a judge for five competing hypotheses, each with a rationale and a key fact.
func (s *Scorer) Hypotheses(ctx context.Context, in HypothesesRequest) (HypothesesAnswer, error) {
	if in.Question == "" {
		return HypothesesAnswer{}, rubric.Refuse("question", "is required")
	}
	a, err := s.proposer(in.Question, in.EvenIfEasy, in.Judge)
	if err != nil {
		return HypothesesAnswer{}, err
	}
	g, err := inquiry.Generate(ctx, prompter{a}, in.Question, inquiry.Options{EvenIfEasy: in.EvenIfEasy, MaxAsks: in.MaxAsks})
	if err != nil {
		return HypothesesAnswer{}, inInquiry(ctx, err)
	}
	text := fmt.Sprintf("%s, %.2f apart in the mean.", plural.Of(len(g.Hypotheses), "hypothesis"), g.MeanDistance)
	if g.Skipped {
		text = "The question is easy; no hypotheses are needed. " + askAnyway
	}
	return HypothesesAnswer{text, g}, nil
}

// prompter adapts an asker to the prompts of package inquiry, which parses replies itself: a reply that violates the
// schema is returned unchanged.
type prompter struct{ judge.Asker }

func (p prompter) Ask(ctx context.Context, q evidence.Prompt) (string, error) {
	a := p.Asker.Ask(ctx, judge.Question{System: q.System, User: q.User, Name: q.Name, Schema: q.Schema})
	switch a.Outcome {
	case judge.Answered:
		return string(a.JSON), nil
	case judge.Unparsable:
		return a.Reply, nil
	}
	return "", &AskError{a.Outcome, a.Detail}
}
