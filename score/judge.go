package score

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A Question is a request to a model that is answered with one JSON object.
type Question struct {
	ID     string          // of the item, for the record; not sent to the model
	System string          // instructions, without third-party text
	User   string          // the task; third-party texts are fenced
	Name   string          // of the schema: letters, digits and _
	Schema json.RawMessage // JSON Schema of an object, which the model is asked to satisfy
	// Accept returns an error that says why an object is not an answer, or nil. It may accept more than the schema
	// allows.
	Accept func(object json.RawMessage) error
}

// Outcome is the result of a question.
type Outcome string

const (
	Answered    Outcome = "answered"    // a JSON object that the question accepts
	Refused     Outcome = "refused"     // the model declined
	TimedOut    Outcome = "timeout"     // no reply in time
	Unparsable  Outcome = "unparsable"  // a reply without such an object
	Unavailable Outcome = "unavailable" // the endpoint failed or refused the request
	OverBudget  Outcome = "over_budget" // not asked: the budget is used up
	Cancelled   Outcome = "cancelled"   // the caller gave up
)

// A Judgement records one question to a judge with the complete reply.
type Judgement struct {
	ID       string          `json:"id"`
	Outcome  Outcome         `json:"outcome"`
	Detail   string          `json:"detail"` // why there is no JSON
	Model    string          `json:"model"`
	Attempts int             `json:"attempts"` // requests made; 0 from the cache
	Cached   bool            `json:"cached"`
	Tokens   int             `json:"tokens"` // as counted by the endpoint, 0 if it does not
	Reply    string          `json:"reply"`  // the last reply of the model, whatever the outcome
	JSON     json.RawMessage `json:"-"`      // only if Answered
}

// Read parses a model's reply into a judgement.
func (q Question) Read(reply string) Judgement {
	object, err := q.read(reply)
	switch {
	case err == nil:
		return Judgement{Outcome: Answered, JSON: object, Reply: reply}
	case refuses(reply):
		return Judgement{Outcome: Refused, Reply: reply, Detail: "the model refused"}
	}
	return Judgement{Outcome: Unparsable, Reply: reply, Detail: err.Error()}
}

// An Asker puts questions to one model. It is safe for concurrent use and always returns.
type Asker interface {
	Ask(ctx context.Context, q Question) Judgement
}

// Judges are the configured models by name. The first one is the default.
type Judges struct {
	Names  []string
	Askers map[string]Asker
}

// JudgeOptions select a judge and limit its cost.
type JudgeOptions struct {
	Model       string `json:"model,omitempty" doc:"Name of a configured model; default the first."`
	MaxRequests int    `json:"max_requests,omitempty" minimum:"0" doc:"Maximum number of requests to the endpoint; 0 is unlimited."`
	MaxTokens   int    `json:"max_tokens,omitempty" minimum:"0" doc:"Maximum number of tokens as counted by the endpoint; 0 is unlimited."`
}

// Unscored is an item without scores, with the reason.
type Unscored struct {
	ID      string  `json:"id"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail"`
}

var (
	// ErrNoJudge is returned for a request that needs a judge if none is configured.
	ErrNoJudge = errors.New("no judge is configured: start with --judge-url and --judge-model, or give the scores")
	// ErrJudge is returned if the judge gave nothing usable.
	ErrJudge = errors.New("the judge gave no usable answer")
)

// Asker returns the judge that the options select, limited to their budget.
func (s *Scorer) Asker(o JudgeOptions) (Asker, error) {
	if len(s.Judges.Names) == 0 {
		return nil, ErrNoJudge
	}
	a, ok := s.Judges.Askers[cmp.Or(o.Model, s.Judges.Names[0])]
	if !ok {
		return nil, Refuse("judge.model", "%q is not configured; there are %s", o.Model, strings.Join(s.Judges.Names, ", "))
	}
	if c, ok := a.(*Client); ok {
		a = c.WithBudget(Budget{Requests: o.MaxRequests, Tokens: o.MaxTokens}, s.Replies)
	}
	return a, nil
}

// askAll asks all questions and returns the judgements in order. It asks concurrently, as far as the askers permit. If
// limited is set, it asks one after the other, so that a budget is spent on the first questions.
func askAll(ctx context.Context, askers []Asker, questions []Question, sequential bool) []Judgement {
	judgements := make([]Judgement, len(questions))
	var wg sync.WaitGroup
	for i, q := range questions {
		wg.Go(func() {
			judgements[i] = askers[i].Ask(ctx, q)
			judgements[i].ID = q.ID
		})
		if sequential {
			wg.Wait()
		}
	}
	wg.Wait()
	return judgements
}

// An AskError is the error for a question that a judge did not answer.
type AskError struct{ Judgement }

func (e *AskError) Error() string { return fmt.Sprintf("%s: %s", e.Outcome, e.Detail) }

const noJudgeAsked = `is missing, and the request asks for no judge: give the scores, or "judge": {}`

// judgeMissing asks a judge for the scores of the items without scores. It returns the items that have scores
// afterwards, the others with the reason, and a record of every question.
func (s *Scorer) judgeMissing(ctx context.Context, r *Rubric, items []item, o *JudgeOptions) (
	scored []item, unscored []Unscored, record []Judgement, err error) {
	unscored, record = []Unscored{}, []Judgement{}
	var questions []Question
	var asked []*item
	for i := range items {
		it := &items[i]
		switch {
		case it.Scores != nil: // checked before a judge is asked
			if _, err := it.score(r); err != nil {
				return nil, nil, nil, Within(it.place, err)
			}
			continue
		case o == nil && len(s.Judges.Names) == 0:
			continue
		case o == nil:
			return nil, nil, nil, Refuse(it.place+".scores", "%s", noJudgeAsked)
		case strings.TrimSpace(it.parts[0].Text) == "":
			return nil, nil, nil, Refuse(it.place+"."+it.required, "is required where a judge has to score")
		}
		questions, asked = append(questions, rate(r, it)), append(asked, it)
	}
	if len(questions) == 0 {
		return items, unscored, record, nil
	}
	asker, err := s.Asker(*o)
	if err != nil {
		return nil, nil, nil, err
	}
	record = askAll(ctx, slices.Repeat([]Asker{asker}, len(questions)), questions, o.MaxRequests > 0 || o.MaxTokens > 0)
	for i, v := range record {
		if it := asked[i]; it.Scores == nil {
			unscored = append(unscored, Unscored{it.ID, v.Outcome, v.Detail})
		}
	}
	unanswered := func(it item) bool { return it.Scores == nil }
	return slices.DeleteFunc(items, unanswered), unscored, record, nil
}
