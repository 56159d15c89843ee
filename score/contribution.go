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

// A FormAnswer is the evaluation form of a message for human evaluators.
type FormAnswer struct {
	Message string `json:"message" doc:"Summary of the answer in one sentence."`
	contribution.Form
}

// Form returns the evaluation form of a message.
func (s *Scorer) Form(_ context.Context, in contribution.Request) (FormAnswer, error) {
	f, err := contribution.NewForm(in)
	if err != nil {
		return FormAnswer{}, err
	}
	return FormAnswer{fmt.Sprintf("%s to evaluate.", plural.Of(len(f.Deltas), "delta")), f}, nil
}

// An AgreementRequest is a message with the evaluations of several people.
type AgreementRequest struct {
	Contribution contribution.Request      `json:"contribution"`
	Evaluations  []contribution.Evaluation `json:"evaluations"`
}

// An AgreementAnswer has the disagreements of the evaluators and the score of the message by each evaluation.
type AgreementAnswer struct {
	Message string `json:"message" doc:"Summary of the answer in one sentence."`
	contribution.Agreement
	Reports []EvaluatorReport `json:"reports"` // in the order of the evaluations
}

// An EvaluatorReport is the score of the message by one evaluation.
type EvaluatorReport struct {
	Evaluator string              `json:"evaluator"`
	Report    contribution.Report `json:"report"`
}

// Agreement compares the evaluations of a message.
func (s *Scorer) Agreement(_ context.Context, in AgreementRequest) (AgreementAnswer, error) {
	a := AgreementAnswer{Reports: []EvaluatorReport{}}
	var err error
	if a.Agreement, err = contribution.Compare(in.Contribution, in.Evaluations); err != nil {
		return AgreementAnswer{}, err
	}
	for _, e := range in.Evaluations {
		rep, err := contribution.Apply(in.Contribution, e)
		if err != nil {
			return AgreementAnswer{}, err
		}
		a.Reports = append(a.Reports, EvaluatorReport{e.Evaluator, rep})
	}
	a.Message = fmt.Sprintf("%s between %s.", plural.Of(len(a.Disagreements), "disagreement"), plural.Of(len(in.Evaluations), "evaluator"))
	return a, nil
}
