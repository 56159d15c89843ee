package evaluate

import (
	"fmt"
	"slices"
)

// Stopper is a [Ranker] that also says, in the same answer, how likely it is that the task is over.
type Stopper interface {
	Ranker
	RankOrStop(q Question, limit int) (ranked []Candidate, over float64, err error)
}

// StopReport says how far the probability that a task is over can be trusted. It is asked for after every
// step of a test task, the last one too; see [Calibrate].
type StopReport struct {
	Positions   int      `json:"positions"`
	ECE         float64  `json:"ece"`
	Band        Interval `json:"ece_band"`
	Calibrated  *bool    `json:"calibrated"` // nil: it may be, but there are too few claims to tell; see [LeastClaims]
	Reliability []Bin    `json:"reliability"`
}

// stopAnswers are a [Ranker] that notes, beside what it ranks, what is claimed of the end of the task.
type stopAnswers struct {
	Stopper
	claims []Prediction
}

// Rank is [Ranker].
func (s *stopAnswers) Rank(q Question, limit int) ([]Candidate, error) {
	ranked, over, err := s.RankOrStop(q, limit)
	s.claims = append(s.claims, Prediction{Confidence: over})
	return ranked, err
}

// askStops is [nextAnswers.ask] without the intent; beside it, the end of the task is claimed after every
// step of it, the last one too.
func (a *nextAnswers) askStops(k Stopper, t *task, test int) ([]Prediction, error) {
	s := &stopAnswers{k, make([]Prediction, 0, len(t.seq))}
	if err := a.ask(s, t, test, false); err != nil {
		return nil, err
	}
	if _, err := s.Rank(Question{Context: t.seq}, 1); err != nil {
		return nil, fmt.Errorf("episode %q, at its end: %w", t.Episode.ID, err)
	}
	s.claims[len(s.claims)-1].Right = true
	return s.claims, nil
}

// stopReport compares the stated probabilities that a task is over with how often it was.
func (r *run) stopReport() *StopReport {
	claims := slices.Concat(r.mine.stops...)
	if len(claims) == 0 {
		return nil
	}
	c := Calibrate(claims, r.o.Seed)
	return &StopReport{len(claims), c.ECE, c.Band, c.verdict(), reliability(claims)}
}

// RankOrStop is [Stopper].
func (a suggester) RankOrStop(q Question, limit int) ([]Candidate, float64, error) {
	answer, err := a.ask(q, atMost(limit), unexplained)
	return candidates(answer.Suggestions), answer.Stop, err
}
