package score

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"waymark/internal/plural"
	"waymark/score/hypothesis"
	"waymark/score/judge"
	"waymark/score/rubric"
)

// A HypothesisRequest is a batch of hypotheses. With Judge, a model scores the hypotheses without scores.
type HypothesisRequest struct {
	hypothesis.Request
	Judge *JudgeOptions `json:"judge,omitempty" doc:"Ask a model to score the hypotheses that have no scores."`
}

// A HypothesisAnswer has the results of the scored hypotheses in the order of the request.
type HypothesisAnswer struct {
	Message string `json:"message" doc:"Summary of the answer in one sentence."`
	hypothesis.Answer
	Unscored   []Unscored    `json:"unscored"`
	Judgements []JudgeAnswer `json:"judgements"`
}

// Hypothesis scores and ranks hypotheses.
func (s *Scorer) Hypothesis(ctx context.Context, req HypothesisRequest) (HypothesisAnswer, error) {
	a := HypothesisAnswer{Unscored: []Unscored{}, Judgements: []JudgeAnswer{}}
	if req.Judge != nil {
		if err := s.judgeHypotheses(ctx, &req, &a); err != nil {
			return HypothesisAnswer{}, err
		}
	} else if i := slices.IndexFunc(req.Hypotheses, func(h hypothesis.Hypothesis) bool { return h.Scores == nil }); i >= 0 && len(s.Judges.Names) > 0 {
		return HypothesisAnswer{}, rubric.Refuse(fmt.Sprintf("hypotheses[%d].scores", i), "%s", askForJudge)
	}
	scored, err := hypothesis.Score(req.Request)
	if err != nil {
		return HypothesisAnswer{}, err
	}
	a.Answer = scored
	for _, u := range a.Unscored {
		a.Trace = append(a.Trace, u.line())
	}
	a.Message = hypothesisMessage(a)
	return a, nil
}

// askForJudge is the error for a hypothesis without scores in a request without a judge, if one is configured.
const askForJudge = `is missing, and the request asks for no judge: give the scores, or "judge": {}`

func hypothesisMessage(a HypothesisAnswer) string {
	verdicts := map[string]int{}
	best := -1
	for i, r := range a.Results {
		verdicts[r.Verdict]++
		if r.Rank != nil && *r.Rank == 1 {
			best = i
		}
	}
	text := fmt.Sprintf("%s: %d pass, %d borderline, %d fail.", plural.Of(len(a.Results), "hypothesis"), verdicts["pass"], verdicts["borderline"], verdicts["fail"])
	if best >= 0 {
		text += fmt.Sprintf(" %s comes first with %s.", a.Results[best].ID, a.Results[best].Composite.Fixed(2))
	}
	if n := len(a.Unscored); n > 0 {
		text += fmt.Sprintf(" %d could not be scored.", n)
	}
	return text
}

// judgeHypotheses fills in the scores of hypotheses that have none; req keeps the hypotheses that have scores then.
func (s *Scorer) judgeHypotheses(ctx context.Context, req *HypothesisRequest, a *HypothesisAnswer) error {
	if err := hypothesis.Check(req.Hypotheses); err != nil {
		return err
	}
	var err error
	req.Hypotheses, a.Unscored, a.Judgements, err = judgeMissing(ctx, s, *req.Judge, hypothesis.Rubric, req.Hypotheses,
		func(i int, h hypothesis.Hypothesis) (*judge.Question, error) {
			switch {
			case h.Scores != nil:
				return nil, nil
			case h.Statement == "":
				return nil, rubric.Refuse(fmt.Sprintf("hypotheses[%d].statement", i), "is required where a judge has to score")
			}
			return new(hypothesisQuestion(h)), nil
		}, func(h *hypothesis.Hypothesis, card rubric.Card, reasons map[string]string, answer judge.Answer) {
			h.Scores, h.Rationale = card.Scores, reasons
			if composite, verdict := judge.Totals(answer); h.Reported == nil && (composite != nil || verdict != "") {
				h.Reported = &hypothesis.Reported{Composite: composite, Verdict: verdict}
			}
		})
	return err
}

func hypothesisQuestion(h hypothesis.Hypothesis) judge.Question {
	return judge.Rate(hypothesis.Rubric, h.ID,
		judge.Part{Label: "hypothesis", Text: h.Statement},
		judge.Part{Label: "source domain", Text: h.SourceDomain},
		judge.Part{Label: "target domain", Text: h.TargetDomain},
		judge.Part{Label: "explanation of the connection", Text: h.Explanation})
}

// A HypothesisRanking is the ranking without the dimensions.
type HypothesisRanking struct {
	Message string             `json:"message" doc:"Summary of the answer in one sentence."`
	Ranking []RankedHypothesis `json:"ranking"` // best first
	Failed  []string           `json:"failed"`  // sorted ids; Missing too
	Missing []string           `json:"unscored"`
}

// RankedHypothesis is one hypothesis in a ranking.
type RankedHypothesis struct {
	ID        string  `json:"id"`
	Rank      int     `json:"rank"`
	Composite float64 `json:"composite"`
	Verdict   string  `json:"verdict"`
}

// RankHypotheses returns the ranking that [Scorer.Hypothesis] computes.
func (s *Scorer) RankHypotheses(ctx context.Context, req HypothesisRequest) (HypothesisRanking, error) {
	a, err := s.Hypothesis(ctx, req)
	if err != nil {
		return HypothesisRanking{}, err
	}
	r := HypothesisRanking{Message: a.Message, Ranking: []RankedHypothesis{}, Failed: []string{}, Missing: []string{}}
	for _, x := range a.Results {
		if x.Rank == nil {
			r.Failed = append(r.Failed, x.ID)
			continue
		}
		r.Ranking = append(r.Ranking, RankedHypothesis{x.ID, *x.Rank, x.Composite.Float(), x.Verdict})
	}
	for _, u := range a.Unscored {
		r.Missing = append(r.Missing, u.ID)
	}
	slices.SortFunc(r.Ranking, func(a, b RankedHypothesis) int { return cmp.Compare(a.Rank, b.Rank) })
	slices.Sort(r.Failed)
	slices.Sort(r.Missing)
	return r, nil
}
