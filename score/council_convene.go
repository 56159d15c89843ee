package score

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
)

// A CouncilRequest ranks responses by their reviews. With Judge, models write the reviews, and the responses if there
// are none:
//
//	question ─▶ members answer ─▶ ballots: no names, an order for each reviewer ─▶ reviews ─▶ ScoreCouncil
//
// A model that does not answer or review contributes no answer or review; a missing reply never becomes a number.
type CouncilRequest struct {
	CouncilInput
	Judge *CouncilJudge `json:"judge,omitempty"`
}

// CouncilJudge selects the models that answer and review.
type CouncilJudge struct {
	Models      []string `json:"models,omitempty" doc:"Models that answer, and review if reviewers is absent; default all configured models."`
	Reviewers   []string `json:"reviewers,omitempty" doc:"Models that review; default the models that answer."`
	MaxRequests int      `json:"max_requests,omitempty" minimum:"0" doc:"Maximum number of requests to each model for its answer, and again for its review; 0 is unlimited."`
	MaxTokens   int      `json:"max_tokens,omitempty" minimum:"0" doc:"Maximum number of tokens of each model for its answer, and again for its review; 0 is unlimited."`
}

// A CouncilAnswer is the ranking with all intermediate values.
type CouncilAnswer struct {
	Message string `json:"message" doc:"Summary of the answer in one sentence."`
	CouncilResult
	Judgements []Judgement `json:"judgements" doc:"Every question to a model with its reply; the id is answer/MODEL or review/MODEL."`
	// Convened is the request completed by the models, from which the ranking can be computed again.
	Convened *CouncilInput `json:"convened,omitempty" doc:"The request completed with the answers and reviews of the models."`
}

// Council ranks responses by peer reviews.
func (s *Scorer) Council(ctx context.Context, req CouncilRequest) (CouncilAnswer, error) {
	a := CouncilAnswer{Judgements: []Judgement{}}
	in := req.CouncilInput
	if req.Judge != nil {
		c := council{scorer: s, options: *req.Judge, in: &in}
		if err := c.convene(ctx); err != nil {
			return CouncilAnswer{}, err
		}
		a.Judgements, a.Convened = c.record, &in
	}
	var err error
	if a.CouncilResult, err = ScoreCouncil(in); err != nil {
		return CouncilAnswer{}, err
	}
	a.Message = "No answer could be ranked."
	if i := slices.IndexFunc(a.Ranking, func(r RankedAnswer) bool { return r.Rank != nil }); i >= 0 {
		a.Message = a.Ranking[i].ID + " comes first"
		if best := a.Ranking[i].Score; best != nil {
			a.Message += fmt.Sprintf(" with %.2f", *best)
		}
		a.Message += fmt.Sprintf(" of %s.", catalog.Plural(len(a.Ranking), "answer"))
	}
	if n := len(a.SafetyGate.Failed); n > 0 {
		a.Message += fmt.Sprintf(" %s failed the safety gate.", catalog.Plural(n, "answer"))
	}
	return a, nil
}

// Entries returns the log records: the mean of each dimension over the reviews.
func (a CouncilAnswer) Entries() []Entry {
	var out []Entry
	for _, r := range a.Ranking {
		e := Entry{ID: r.ID, Scores: map[string]float64{}, Composite: r.Score, Rank: r.Rank}
		for name, d := range r.Dimensions {
			e.Scores[name] = d.Mean
		}
		out = append(out, e)
	}
	return out
}

// JudgeOutcome implements [Judged].
func (a CouncilAnswer) JudgeOutcome() Outcome { return outcomeOf(a.Judgements) }

// A council completes an input by asking models.
type council struct {
	scorer  *Scorer
	options CouncilJudge
	in      *CouncilInput
	record  []Judgement
}

func (c *council) convene(ctx context.Context) error {
	r, err := c.in.Options.Weighed()
	switch {
	case len(c.in.Reviews) > 0:
		return Refuse("reviews", "are given: leave them out, or the judge")
	case strings.TrimSpace(c.in.Question) == "":
		return Refuse("question", "is required")
	case err != nil:
		return err
	}
	if err := Check(c.in); err != nil {
		return err
	}
	field, models := "judge.models", c.options.Models
	if len(models) == 0 {
		models = c.scorer.Judges.Names
	}
	if len(c.in.Responses) == 0 {
		question := func(name string) *Question { return answerQuestion(name, c.in.Question) }
		answers, err := c.ask(ctx, field, models, question)
		for _, j := range answers { // a refusal is an answer
			var reply struct{ Answer string }
			if j.Outcome != Answered || json.Unmarshal(j.JSON, &reply) != nil {
				reply.Answer = judgementText(j)
			}
			if text := Cut(strings.TrimSpace(reply.Answer), min(maxText, maxTexts/len(models))); text != "" {
				name := strings.TrimPrefix(j.ID, "answer/")
				c.in.Responses = append(c.in.Responses, Response{ID: name, Author: name, Text: text})
			}
		}
		if err == nil && len(c.in.Responses) == 0 {
			err = c.failed("no member answered")
		}
		if err != nil {
			return err
		}
	}
	if len(c.options.Reviewers) > 0 {
		field, models = "judge.reviewers", c.options.Reviewers
	}
	reviews, err := c.ask(ctx, field, models, func(name string) *Question {
		if b := newBallot(c.in.Options.Seed, name, c.in.Responses); len(b.labels) > 0 {
			return reviewQuestion(r, c.in.Question, b)
		}
		return nil
	})
	for _, j := range reviews {
		if raw := Cut(judgementText(j), maxText); raw != "" {
			name := strings.TrimPrefix(j.ID, "review/")
			labels := newBallot(c.in.Options.Seed, name, c.in.Responses).ids()
			c.in.Reviews = append(c.in.Reviews, Review{Reviewer: name, Labels: labels, Raw: raw})
		}
	}
	if err == nil && len(c.in.Reviews) == 0 {
		err = c.failed("no member reviewed the answers")
	}
	return err
}

// ask sends each model its question and returns the replies in the order of the models. A model without a question is
// left out. A model that both answers and reviews has a separate budget for each.
func (c *council) ask(ctx context.Context, field string, models []string,
	question func(model string) *Question) ([]Judgement, error) {
	if len(models) == 0 {
		return nil, ErrNoJudge
	}
	var questions []Question
	var askers []Asker
	for i, name := range models {
		place := fmt.Sprintf("%s[%d]", field, i)
		if slices.Index(models, name) < i {
			return nil, Refuse(place, "%q comes twice", name)
		}
		var unknown *RequestError
		options := JudgeOptions{Model: name, MaxRequests: c.options.MaxRequests, MaxTokens: c.options.MaxTokens}
		asker, err := c.scorer.Asker(options)
		if errors.As(err, &unknown) {
			return nil, Refuse(place, "%s", unknown.Detail)
		} else if err != nil {
			return nil, err
		}
		if q := question(name); q != nil {
			questions, askers = append(questions, *q), append(askers, asker)
		}
	}
	replies := askAll(ctx, askers, questions, false)
	c.record = append(c.record, replies...)
	return replies, ctx.Err()
}

// failed returns the error for a council without answers or reviews, with the reason of each model.
func (c *council) failed(what string) error {
	err := errors.New("convene: " + what)
	for _, j := range c.record {
		if j.Outcome != Answered {
			err = errors.Join(err, fmt.Errorf("%s: %s: %s", j.Model, j.Outcome, j.Detail))
		}
	}
	return fmt.Errorf("%w: %w", ErrJudge, err)
}

// judgementText returns the text of a judgement that is parsed as an answer or a review: the accepted JSON, or else the reply,
// which may still contain a review. A refusal is later read as an abstention.
func judgementText(j Judgement) string {
	switch j.Outcome {
	case Answered:
		return string(j.JSON)
	case Refused, Unparsable:
		return j.Reply
	}
	return ""
}

// A ballot holds the answers that one reviewer sees: those of other authors, without names, in an order for this
// reviewer.
type ballot struct {
	reviewer string
	labels   []string // in the order shown: A … Z, AA, AB …
	answers  []Response
}

// newBallot orders the answers for a reviewer by hashes of seed, reviewer and id, so that each reviewer has a different
// order, which does not depend on the order of the input. The reviewer's own answers are left out.
func newBallot(seed int64, reviewer string, responses []Response) ballot {
	own := func(r Response) bool { return r.Author == reviewer }
	b := ballot{reviewer: reviewer, answers: slices.DeleteFunc(slices.Clone(responses), own)}
	hash := func(r Response) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %q", seed, reviewer, r.ID))
		return string(sum[:])
	}
	slices.SortFunc(b.answers, func(x, y Response) int { return cmp.Compare(hash(x), hash(y)) })
	for i := range b.answers {
		b.labels = append(b.labels, label(i))
	}
	return b
}

func label(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return label(i/26-1) + label(i%26)
}

// ids returns the id of the answer behind each label.
func (b ballot) ids() map[string]string {
	ids := map[string]string{}
	for i, l := range b.labels {
		ids[l] = b.answers[i].ID
	}
	return ids
}
