package score

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"waymark/internal/plural"
	"waymark/score/contribution"
	"waymark/score/rubric"
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

// A LintRequest is an artifact as a value or as text (JSON or Markdown).
type LintRequest struct {
	Artifact any                   `json:"artifact,omitempty" doc:"The artifact as an object of metadata and sections."`
	Text     string                `json:"text,omitempty" doc:"The artifact as JSON or Markdown text; alternative to artifact."`
	Anchors  *contribution.Anchors `json:"anchors,omitempty" doc:"Sections and evidence records that citations may refer to."`
	Merge    []Message             `json:"merge,omitempty" doc:"Messages whose deltas are merged into the artifact before the check."`
}

// A Message is one message of an agent in a research session.
type Message struct {
	Agent string    `json:"agent,omitempty" doc:"Author of the message; deltas of the same time are merged in the order of agents."`
	Time  time.Time `json:"time,omitzero" doc:"Time of the message; deltas are merged in order of time, those without a time first."`
	Text  string    `json:"text" doc:"Text of the message with its deltas."`
}

// A LintAnswer has the violations of an artifact.
type LintAnswer struct {
	Message string `json:"message" doc:"Summary of the answer in one sentence."`
	contribution.LintReport
	Merged *MergedArtifact `json:"merged,omitempty" doc:"The merged artifact and the outcome of each delta."`
}

// A MergedArtifact is the artifact after the merge; Dropped are the parts of messages that could not be parsed as
// deltas.
type MergedArtifact struct {
	contribution.Merged
	Dropped []contribution.Dropped `json:"dropped"`
}

// Lint checks a research artifact.
func (s *Scorer) Lint(_ context.Context, in LintRequest) (LintAnswer, error) {
	text := in.Text
	switch {
	case in.Artifact != nil && text != "":
		return LintAnswer{}, rubric.Refuse("artifact", "and text are given: only one can be meant")
	case in.Artifact == nil && text == "":
		return LintAnswer{}, rubric.Refuse("artifact", "is required")
	case in.Artifact != nil:
		data, err := json.Marshal(in.Artifact)
		if err != nil {
			return LintAnswer{}, rubric.Refuse("artifact", "%v", err)
		}
		text = string(data)
	}
	rep, merged, err := lint(text, in)
	if err != nil {
		return LintAnswer{}, err
	}
	verdict := "valid"
	if !rep.Valid {
		verdict = "not valid"
	}
	return LintAnswer{fmt.Sprintf("The artifact is %s: %s, %s.", verdict, plural.Of(rep.Summary.Errors, "error"), plural.Of(rep.Summary.Warnings, "warning")), rep, merged}, nil
}

// lint checks an artifact, after merging the messages if there are any.
func lint(text string, in LintRequest) (contribution.LintReport, *MergedArtifact, error) {
	if len(in.Merge) == 0 {
		rep, err := contribution.LintText(text, in.Anchors)
		return rep, nil, err
	}
	a, err := contribution.ParseArtifact(text)
	if err != nil {
		return contribution.LintReport{}, nil, err
	}
	merged := &MergedArtifact{Dropped: []contribution.Dropped{}}
	var updates []contribution.Update
	for i, m := range in.Merge {
		deltas, dropped, err := contribution.Parse(m.Text)
		if err != nil {
			return contribution.LintReport{}, nil, rubric.Within(fmt.Sprintf("merge[%d]", i), err)
		}
		for _, d := range deltas {
			updates = append(updates, contribution.Update{Delta: d, Agent: m.Agent, Time: m.Time})
		}
		merged.Dropped = append(merged.Dropped, dropped...)
	}
	if merged.Merged, err = contribution.Merge(a, updates); err != nil {
		return contribution.LintReport{}, nil, err
	}
	rep, err := contribution.Lint(merged.Artifact, in.Anchors)
	return rep, merged, err
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
