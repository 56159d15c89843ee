package scorer

import (
	"context"
	"fmt"
	"slices"

	"waymark/rubric/council"
)

// A CouncilAnswer is the ranking with everything that led to it.
type CouncilAnswer struct {
	Message string `json:"message" doc:"The answer in a sentence."`
	council.Result
}

// Council ranks answers by the reviews of their peers.
func (s *Scorer) Council(_ context.Context, in council.Input) (CouncilAnswer, error) {
	res, err := council.Score(in)
	if err != nil {
		return CouncilAnswer{}, inKernel(err)
	}
	return CouncilAnswer{councilMessage(res), res}, nil
}

func councilMessage(res council.Result) string {
	text := "No answer could be ranked."
	if i := slices.IndexFunc(res.Ranking, func(r council.Ranked) bool { return r.Rank != nil }); i >= 0 {
		best := res.Ranking[i]
		text = best.ID + " comes first"
		if best.Score != nil {
			text += fmt.Sprintf(" with %.2f", *best.Score)
		}
		text += fmt.Sprintf(" of %s.", counted(len(res.Ranking), "answer"))
	}
	if n := len(res.SafetyGate.Failed); n > 0 {
		text += fmt.Sprintf(" %s failed the safety gate.", counted(n, "answer"))
	}
	return text
}

// A CouncilRanking is [CouncilAnswer] without everything but the ranking.
type CouncilRanking struct {
	Message string           `json:"message" doc:"The answer in a sentence."`
	Ranking []council.Ranked `json:"ranking"`
}

// RankCouncil ranks answers and says no more.
func (s *Scorer) RankCouncil(ctx context.Context, in council.Input) (CouncilRanking, error) {
	a, err := s.Council(ctx, in)
	return CouncilRanking{a.Message, a.Ranking}, err
}
