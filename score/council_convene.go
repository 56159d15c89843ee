package score

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"waymark/catalog"
)

// A CouncilRequest ranks responses by their reviews. With Judge, models write the reviews, and the responses if there
// are none:
//
//	question ─▶ members answer ─▶ ballots: no names, an order for each reviewer ─▶ reviews ─▶ ScoreCouncil
//
// A model that does not answer or review has no answer or review; silence never becomes a number.
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
func (a CouncilAnswer) JudgeOutcome() Outcome {
	for _, j := range a.Judgements {
		if j.Outcome != Answered {
			return j.Outcome
		}
	}
	return Answered
}

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
	if err := CheckText("question", c.in.Question, maxQuestion); err != nil {
		return err
	}
	field, models := "judge.models", c.options.Models
	if len(models) == 0 {
		models = c.scorer.Judges.Names
	}
	if len(c.in.Responses) == 0 {
		question := func(name string) *Question { return answerQuestion(name, c.in.Question) }
		err := c.ask(ctx, field, models, question, func(name string, j Judgement) { // a refusal is an answer
			text := said(j)
			var reply struct{ Answer string }
			if j.Outcome == Answered && json.Unmarshal(j.JSON, &reply) == nil {
				text = reply.Answer
			}
			if text = Cut(strings.TrimSpace(text), min(maxText, maxTexts/len(models))); text != "" {
				c.in.Responses = append(c.in.Responses, Response{ID: name, Author: name, Text: text})
			}
		})
		if err != nil {
			return err
		}
		if len(c.in.Responses) == 0 {
			return c.failed("no member answered")
		}
	}
	if len(c.options.Reviewers) > 0 {
		field, models = "judge.reviewers", c.options.Reviewers
	}
	question := func(name string) *Question {
		if b := newBallot(c.in.Options.Seed, name, c.in.Responses); len(b.labels) > 0 {
			return reviewQuestion(r, c.in.Question, b)
		}
		return nil
	}
	err = c.ask(ctx, field, models, question, func(name string, j Judgement) {
		if raw := Cut(said(j), maxRaw); raw != "" {
			labels := newBallot(c.in.Options.Seed, name, c.in.Responses).ids()
			c.in.Reviews = append(c.in.Reviews, Review{Reviewer: name, Labels: labels, Raw: raw})
		}
	})
	if err == nil && len(c.in.Reviews) == 0 {
		return c.failed("nobody reviewed the answers")
	}
	return err
}

// ask puts each model its question, concurrently, and uses the replies in the order of the models. A model without a
// question is left out; one that both answers and reviews has a budget for each.
func (c *council) ask(ctx context.Context, field string, models []string, question func(model string) *Question,
	use func(model string, j Judgement)) error {
	if len(models) == 0 {
		return ErrNoJudge
	}
	questions, askers := make([]*Question, len(models)), make([]Asker, len(models))
	for i, name := range models {
		place := fmt.Sprintf("%s[%d]", field, i)
		if slices.Index(models, name) < i {
			return Refuse(place, "%q comes twice", name)
		}
		var err error
		var unknown *RequestError
		options := JudgeOptions{Model: name, MaxRequests: c.options.MaxRequests, MaxTokens: c.options.MaxTokens}
		if askers[i], err = c.scorer.Asker(options); errors.As(err, &unknown) {
			return Refuse(place, "%s", unknown.Detail)
		} else if err != nil {
			return err
		}
		questions[i] = question(name)
	}
	replies := make([]Judgement, len(models))
	var wg sync.WaitGroup
	for i, q := range questions {
		if q != nil {
			wg.Go(func() { replies[i] = askers[i].Ask(ctx, *q) })
		}
	}
	wg.Wait()
	for i, q := range questions {
		if q != nil {
			replies[i].ID = q.ID
			c.record = append(c.record, replies[i])
			use(models[i], replies[i])
		}
	}
	return ctx.Err()
}

// failed is the error of a council without answers or reviews, with the reason of each model.
func (c *council) failed(what string) error {
	err := errors.New("convene: " + what)
	for _, j := range c.record {
		if j.Outcome != Answered {
			err = errors.Join(err, fmt.Errorf("%s: %s: %s", j.Model, j.Outcome, j.Detail))
		}
	}
	return fmt.Errorf("%w: %w", ErrJudge, err)
}

// said is the part of a judgement that can be read as a review: the accepted JSON, else the reply, in which a review may
// still be found; a refusal is an abstention.
func said(j Judgement) string {
	switch j.Outcome {
	case Answered:
		return string(j.JSON)
	case Refused, Unparsable:
		return j.Reply
	}
	return ""
}

// A ballot is the view of one reviewer: the answers of others, without names, in an order of its own.
type ballot struct {
	reviewer string
	labels   []string // in the order shown: A … Z, AA, AB …
	answers  []Response
}

// newBallot shuffles the answers for a reviewer. It depends on seed, reviewer and the set of ids, not on their order; other
// reviewers get other orders. The reviewer's own answers are left out. The shuffle (Fisher and Yates) is written out, so
// that the order stays the same whatever a library does; its bias for lists this short is below 2⁻⁵⁷.
func newBallot(seed int64, reviewer string, responses []Response) ballot {
	b := ballot{reviewer: reviewer}
	for _, r := range slices.SortedFunc(slices.Values(responses), func(a, b Response) int { return cmp.Compare(a.ID, b.ID) }) {
		if r.Author == "" || r.Author != reviewer {
			b.labels, b.answers = append(b.labels, label(len(b.labels))), append(b.answers, r)
		}
	}
	key := binary.BigEndian.AppendUint64(nil, uint64(seed))
	for _, word := range []string{"ballot", reviewer, "1"} {
		key = append(binary.BigEndian.AppendUint64(key, uint64(len(word))), word...)
	}
	hash := sha256.Sum256(key)
	random := rand.NewPCG(binary.BigEndian.Uint64(hash[:]), binary.BigEndian.Uint64(hash[8:]))
	for i := len(b.answers) - 1; i > 0; i-- {
		j, _ := bits.Mul64(random.Uint64(), uint64(i+1))
		b.answers[i], b.answers[j] = b.answers[j], b.answers[i]
	}
	return b
}

func label(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return label(i/26-1) + label(i%26)
}

// ids are the ids of the answers by label.
func (b ballot) ids() map[string]string {
	ids := map[string]string{}
	for i, l := range b.labels {
		ids[l] = b.answers[i].ID
	}
	return ids
}
