package score

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/internal/plural"
	"waymark/score/council"
	"waymark/score/council/convene"
	"waymark/score/judge"
	"waymark/score/rubric"
)

// A CouncilRequest ranks responses by their reviews. With Judge, models write the reviews, and the responses if there
// are none.
type CouncilRequest struct {
	Question  string             `json:"question,omitempty"`
	Responses []council.Response `json:"responses,omitempty"`
	Reviews   []council.Review   `json:"reviews,omitempty"`
	Options   council.Options    `json:"options,omitzero"`
	Judge     *CouncilJudge      `json:"judge,omitempty"`
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
	council.Result
	Judgements []convene.Entry `json:"judgements" doc:"Every question to a model with its reply."`
	// Convened is the request completed by the models, from which the ranking can be recomputed.
	Convened *council.Input `json:"convened,omitempty" doc:"The request completed with the answers and reviews of the models."`
}

// Council ranks responses by peer reviews.
func (s *Scorer) Council(ctx context.Context, in CouncilRequest) (CouncilAnswer, error) {
	if in.Judge != nil {
		return s.convene(ctx, in)
	}
	res, err := council.Score(council.Input{Question: in.Question, Responses: in.Responses, Reviews: in.Reviews, Options: in.Options})
	if err != nil {
		return CouncilAnswer{}, err
	}
	return CouncilAnswer{Message: councilMessage(res), Result: res, Judgements: []convene.Entry{}}, nil
}

// convene lets models answer and review.
func (s *Scorer) convene(ctx context.Context, in CouncilRequest) (CouncilAnswer, error) {
	if len(in.Reviews) > 0 {
		return CouncilAnswer{}, rubric.Refuse("reviews", "are given: leave them out, or the judge")
	}
	c := convene.Council{Options: in.Options, Holistic: in.Judge.Holistic}
	var err error
	if c.Members, err = s.members("judge.models", in.Judge.Models, in.Judge); err != nil {
		return CouncilAnswer{}, err
	}
	if len(in.Judge.Reviewers) > 0 {
		if c.Reviewers, err = s.members("judge.reviewers", in.Judge.Reviewers, in.Judge); err != nil {
			return CouncilAnswer{}, err
		}
	}
	var m convene.Minutes
	if len(in.Responses) == 0 {
		m, err = c.Convene(ctx, in.Question)
	} else {
		m, err = c.Review(ctx, in.Question, in.Responses)
	}
	if errors.Is(err, convene.ErrNoAnswer) || errors.Is(err, convene.ErrNoReview) {
		err = fmt.Errorf("%w: %w", ErrJudge, errors.Join(append([]error{err}, troubles(m.Entries)...)...))
	}
	if err != nil {
		return CouncilAnswer{}, err
	}
	return CouncilAnswer{councilMessage(m.Result), m.Result, m.Entries, &m.Input}, nil
}

// troubles are what went wrong with the questions of a council.
func troubles(entries []convene.Entry) []error {
	var out []error
	for _, e := range entries {
		if e.Outcome != judge.Answered {
			out = append(out, fmt.Errorf("%s: %s: %s", e.Member, e.Outcome, e.Detail))
		}
	}
	return out
}

// members returns the named models, or all models if no name is given. A model that both answers and reviews has
// a separate budget for each.
func (s *Scorer) members(place string, names []string, j *CouncilJudge) ([]convene.Member, error) {
	if len(names) == 0 {
		names = s.Judges.Names
	}
	if len(s.Judges.Names) == 0 {
		return nil, ErrNoJudge
	}
	var members []convene.Member
	for i, name := range names {
		a, err := s.asker(JudgeOptions{Model: name, MaxRequests: j.MaxRequests, MaxTokens: j.MaxTokens})
		var unknown *rubric.RequestError
		if errors.As(err, &unknown) {
			return nil, rubric.Refuse(fmt.Sprintf("%s[%d]", place, i), "%s", unknown.Detail)
		}
		if err != nil {
			return nil, err
		}
		members = append(members, convene.Member{Name: name, Asker: a})
	}
	return members, nil
}

func councilMessage(res council.Result) string {
	text := "No answer could be ranked."
	if i := slices.IndexFunc(res.Ranking, func(r council.Ranked) bool { return r.Rank != nil }); i >= 0 {
		best := res.Ranking[i]
		text = best.ID + " comes first"
		if best.Score != nil {
			text += fmt.Sprintf(" with %.2f", *best.Score)
		}
		text += fmt.Sprintf(" of %s.", plural.Of(len(res.Ranking), "answer"))
	}
	if n := len(res.SafetyGate.Failed); n > 0 {
		text += fmt.Sprintf(" %s failed the safety gate.", plural.Of(n, "answer"))
	}
	return text
}
