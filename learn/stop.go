package learn

import (
	"fmt"
	"slices"
)

// Stopper is a [Ranker] that also says how likely it is that the task is over.
type Stopper interface {
	Ranker
	Stop(q Question) (float64, error)
}

// StopReport says how far the probability that a task is over can be trusted. It is asked for after every
// step of a test task, the last one too; see [Calibrate].
type StopReport struct {
	Positions   int      `json:"positions"`
	ECE         float64  `json:"ece"`
	Band        Interval `json:"ece_band"`
	Calibrated  bool     `json:"calibrated"`
	Reliability []Bin    `json:"reliability"`
}

// askStop claims after every step of a test that it is over.
func askStop(k Stopper, t *task) ([]Claim, error) {
	claims := make([]Claim, len(t.seq))
	for i := range claims {
		p, err := k.Stop(Question{Context: t.seq[: i+1 : i+1]})
		if err != nil {
			return nil, fmt.Errorf("episode %q, after step %d: %w", t.Episode.ID, i+1, err)
		}
		claims[i] = Claim{p, i+1 == len(t.seq)}
	}
	return claims, nil
}

func (r *run) stopReport() *StopReport {
	claims := slices.Concat(r.mine.stops...)
	if len(claims) == 0 {
		return nil
	}
	c := Calibrate(claims, r.o.Seed)
	return &StopReport{len(claims), c.ECE, c.Band, c.Passed, Reliability(claims)}
}

// Stop is [Stopper].
func (a suggester) Stop(q Question) (float64, error) {
	answer, err := a.ask(q, 1, unexplained)
	return answer.Stop, err
}
