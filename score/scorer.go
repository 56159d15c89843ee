// Package score has one function for each scoring operation, shared by HTTP, MCP and the command line.
//
//	HTTP ┐                     ┌─ scores given ───────────────┐
//	MCP  ├─▶ decoded request ──┤                              ├─▶ kernel ─▶ answer ─▶ encoded
//	CLI  ┘                     └─ none ─▶ judge ─▶ scores ────┘      (rubric/…, evidence)
//
// The kernels are pure functions; this package adds the judge and a record of its questions and replies. An item that
// the judge did not score is listed as unscored with the reason and does not appear in the results.
package score

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"waymark/run"
	"waymark/score/judge"
	"waymark/score/rubric"
)

// Judges are the configured models by name. The first one is the default.
type Judges struct {
	Names  []string
	Askers map[string]judge.Asker
}

// OneJudge is a single model.
func OneJudge(name string, a judge.Asker) Judges {
	return Judges{[]string{name}, map[string]judge.Asker{name: a}}
}

// A Scorer implements the operations. The zero value has no judge and no search tool.
type Scorer struct {
	Judges  Judges
	Replies judge.Cache // persistent cache of replies; may be nil
	Caller  run.Caller  // calls search tools; may be nil
}

// JudgeOptions select a judge and limit its cost.
type JudgeOptions struct {
	Model       string `json:"model,omitempty" doc:"Name of a configured model; default the first."`
	MaxRequests int    `json:"max_requests,omitempty" minimum:"0" doc:"Maximum number of requests to the endpoint; 0 is unlimited."`
	MaxTokens   int    `json:"max_tokens,omitempty" minimum:"0" doc:"Maximum number of tokens as counted by the endpoint; 0 is unlimited."`
}

// A JudgeAnswer records one question to a judge with the complete reply.
type JudgeAnswer struct {
	ID       string        `json:"id"`
	Outcome  judge.Outcome `json:"outcome"`
	Detail   string        `json:"detail"`
	Model    string        `json:"model"`
	Attempts int           `json:"attempts"`
	Cached   bool          `json:"cached"`
	Tokens   int           `json:"tokens"`
	Reply    string        `json:"reply"`
}

// Unscored is an item without scores, with the reason.
type Unscored struct {
	ID      string        `json:"id"`
	Outcome judge.Outcome `json:"outcome"`
	Detail  string        `json:"detail"`
}

// ErrNoJudge is returned for a request that needs a judge if none is configured.
var ErrNoJudge = errors.New("no judge is configured: start with --judge-url and --judge-model, or give the scores")

// asker returns the judge that the options select, limited to their budget.
func (s *Scorer) asker(o JudgeOptions) (judge.Asker, error) {
	if len(s.Judges.Names) == 0 {
		return nil, ErrNoJudge
	}
	name := o.Model
	if name == "" {
		name = s.Judges.Names[0]
	}
	a, ok := s.Judges.Askers[name]
	if !ok {
		return nil, rubric.Refuse("judge.model", "%q is not configured; there are %s", name, strings.Join(s.Judges.Names, ", "))
	}
	if p, ok := a.(interface {
		Within(judge.Budget, judge.Cache) judge.Asker
	}); ok {
		a = p.Within(judge.Budget{Requests: o.MaxRequests, Tokens: o.MaxTokens}, s.Replies)
	}
	return a, nil
}

// judgeMissing asks a judge for the scores of the things for which question returns a question, and hands them to
// fill. It returns the things without those that the judge did not score, which are in unscored, and an account of
// every question.
func judgeMissing[T any](ctx context.Context, s *Scorer, o JudgeOptions, r *rubric.Rubric, things []T, question func(int, T) (*judge.Question, error),
	fill func(*T, rubric.Card, map[string]string, judge.Answer)) (scored []T, missing []Unscored, account []JudgeAnswer, err error) {
	scored, missing, account = []T{}, []Unscored{}, []JudgeAnswer{}
	at := map[int]int{} // of a thing in questions
	var questions []judge.Question
	for i, x := range things {
		q, err := question(i, x)
		if err != nil {
			return nil, nil, nil, err
		}
		if q != nil {
			at[i], questions = len(questions), append(questions, *q)
		}
	}
	if len(questions) == 0 {
		return things, missing, account, nil
	}
	asker, err := s.asker(o)
	if err != nil {
		return nil, nil, nil, err
	}
	answers := judge.All(ctx, asker, questions)
	for i, a := range answers {
		account = append(account, JudgeAnswer{questions[i].ID, a.Outcome, a.Detail, a.Model, a.Attempts, a.Cached, a.Tokens, a.Reply})
	}
	for i, x := range things {
		if n, asked := at[i]; asked {
			card, reasons, err := judge.Rating(r, answers[n])
			if err != nil {
				missing = append(missing, unscored(questions[n].ID, answers[n], err))
				continue
			}
			fill(&x, card, reasons, answers[n])
		}
		scored = append(scored, x)
	}
	return scored, missing, account, nil
}

// unscored returns the entry of a question without scores; err is the fault of an answer that satisfies its schema.
func unscored(id string, a judge.Answer, err error) Unscored {
	if a.Outcome == judge.Answered {
		return Unscored{id, judge.Unparsable, err.Error()}
	}
	return Unscored{id, a.Outcome, a.Detail}
}

// line formats the entry for the trace.
func (u Unscored) line() string {
	return fmt.Sprintf("%s: not scored, %s: %s", u.ID, u.Outcome, u.Detail)
}
