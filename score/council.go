package score

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/internal/plural"
	"waymark/score/council"
	"waymark/score/judge"
	"waymark/score/rubric"
)

// A CouncilRequest ranks responses by their reviews. With Judge, models write the reviews, and the responses if there
// are none.
type CouncilRequest struct {
	council.CouncilInput
	Judge *CouncilJudge `json:"judge,omitempty"`
}

// CouncilJudge selects the models that answer and review.
type CouncilJudge struct {
	Models      []string `json:"models,omitempty" doc:"Models that answer, and review if reviewers is absent; default all configured models."`
	Reviewers   []string `json:"reviewers,omitempty" doc:"Models that review; default the models that answer."`
	Holistic    bool     `json:"holistic,omitempty" doc:"Ask also for one holistic score of each answer, for comparison."`
	MaxRequests int      `json:"max_requests,omitempty" minimum:"0" doc:"Maximum number of requests to each model; 0 is unlimited."`
	MaxTokens   int      `json:"max_tokens,omitempty" minimum:"0" doc:"Maximum number of tokens of each model; 0 is unlimited."`
}

// A CouncilAnswer is the ranking with all intermediate values.
type CouncilAnswer struct {
	Message string `json:"message" doc:"Summary of the answer in one sentence."`
	council.CouncilResult
	Judgements []council.CouncilEntry `json:"judgements" doc:"Every question to a model with its reply."`
	// Convened is the request completed by the models, from which the ranking can be recomputed.
	Convened *council.CouncilInput `json:"convened,omitempty" doc:"The request completed with the answers and reviews of the models."`
}

// Council ranks responses by peer reviews.
func (s *Scorer) Council(ctx context.Context, in CouncilRequest) (CouncilAnswer, error) {
	a := CouncilAnswer{Judgements: []council.CouncilEntry{}}
	var err error
	if in.Judge == nil {
		a.CouncilResult, err = council.ScoreCouncil(in.CouncilInput)
	} else {
		err = s.convene(ctx, in, &a)
	}
	if err != nil {
		return CouncilAnswer{}, err
	}
	a.Message = "No answer could be ranked."
	if i := slices.IndexFunc(a.Ranking, func(r council.RankedAnswer) bool { return r.Rank != nil }); i >= 0 {
		a.Message = a.Ranking[i].ID + " comes first"
		if best := a.Ranking[i].Score; best != nil {
			a.Message += fmt.Sprintf(" with %.2f", *best)
		}
		a.Message += fmt.Sprintf(" of %s.", plural.Of(len(a.Ranking), "answer"))
	}
	if n := len(a.SafetyGate.Failed); n > 0 {
		a.Message += fmt.Sprintf(" %s failed the safety gate.", plural.Of(n, "answer"))
	}
	return a, nil
}

// convene lets models answer and review.
func (s *Scorer) convene(ctx context.Context, in CouncilRequest, a *CouncilAnswer) error {
	if len(in.Reviews) > 0 {
		return rubric.Refuse("reviews", "are given: leave them out, or the judge")
	}
	c := council.Council{Options: in.Options, Holistic: in.Judge.Holistic}
	var err error
	if c.Members, err = s.members("judge.models", in.Judge.Models, in.Judge); err != nil {
		return err
	}
	if len(in.Judge.Reviewers) > 0 {
		if c.Reviewers, err = s.members("judge.reviewers", in.Judge.Reviewers, in.Judge); err != nil {
			return err
		}
	}
	m, err := c.Convene(ctx, in.Question, in.Responses)
	if errors.Is(err, council.ErrNoAnswer) || errors.Is(err, council.ErrNoReview) {
		for _, e := range m.Entries {
			if e.Outcome != judge.Answered {
				err = errors.Join(err, fmt.Errorf("%s: %s: %s", e.Member, e.Outcome, e.Detail))
			}
		}
		err = fmt.Errorf("%w: %w", ErrJudge, err)
	}
	a.CouncilResult, a.Judgements, a.Convened = m.Result, m.Entries, &m.Input
	return err
}

// members returns the named models, or all models if no name is given. A model that both answers and reviews has
// a separate budget for each.
func (s *Scorer) members(place string, names []string, j *CouncilJudge) ([]council.Member, error) {
	if len(names) == 0 {
		names = s.Judges.Names
	}
	if len(s.Judges.Names) == 0 {
		return nil, ErrNoJudge
	}
	var members []council.Member
	for i, name := range names {
		a, err := s.asker(JudgeOptions{Model: name, MaxRequests: j.MaxRequests, MaxTokens: j.MaxTokens})
		var unknown *rubric.RequestError
		if errors.As(err, &unknown) {
			return nil, rubric.Refuse(fmt.Sprintf("%s[%d]", place, i), "%s", unknown.Detail)
		}
		if err != nil {
			return nil, err
		}
		members = append(members, council.Member{Name: name, Asker: a})
	}
	return members, nil
}
