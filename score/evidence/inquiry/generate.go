package inquiry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"waymark/score/evidence"
)

// A Generation is what a judge proposed, and how.
type Generation struct {
	Hypotheses   []evidence.Hypothesis `json:"hypotheses"` // exactly five, h1 the most plausible; none if skipped
	Difficulty   evidence.Difficulty   `json:"difficulty"`
	Skipped      bool                  `json:"skipped"`       // the question is easy
	Distinct     bool                  `json:"distinct"`      // no two say the same
	Alike        [][]string            `json:"alike"`         // those that do; they will be merged
	MeanDistance float64               `json:"mean_distance"` // mean of 1 - cosine over all pairs
	Asks         []Ask                 `json:"asks"`
}

// An Ask is one reply of the judge and what was wrong with it.
type Ask struct {
	Reply    string   `json:"reply"`
	Problems []string `json:"problems"`
}

// Generate asks a judge for five hypotheses, and again with the problems named where there are fewer,
// where a part is missing, or where two say the same. Two that still say the same after Options.MaxAsks
// are given as they are, with Distinct false; too few are an error that wraps [*evidence.ReplyError].
// An easy question is skipped unless Options.EvenIfEasy. What cannot be accepted is a
// [*rubric.RequestError], before the judge is asked.
func Generate(ctx context.Context, judge Judge, question string, opts Options) (Generation, error) {
	g := Generation{Hypotheses: []evidence.Hypothesis{}, Difficulty: evidence.Assess(question), Alike: [][]string{}, Asks: []Ask{}}
	if err := cmp.Or(evidence.CheckQuestion(question), opts.thresholds().Check()); err != nil {
		return g, err
	}
	if g.Difficulty.Easy && !opts.EvenIfEasy {
		g.Skipped = true
		return g, nil
	}
	opts = opts.filled()
	var problems []string
	for range opts.MaxAsks {
		reply, err := judge.Ask(ctx, evidence.AskForHypotheses(question, problems))
		if err != nil {
			return g, fmt.Errorf("ask for hypotheses: %w", err)
		}
		problems = []string{}
		hs, err := evidence.ParseHypotheses(reply)
		var bad *evidence.ReplyError
		if errors.As(err, &bad) {
			problems = bad.Problems
		} else {
			alike := evidence.Alike(hs, opts.thresholds().MergeCosine)
			for _, ids := range alike {
				problems = append(problems, fmt.Sprintf("%s say the same: keep one, and give answers that differ in what they claim", strings.Join(ids, " and ")))
			}
			if len(g.Hypotheses) == 0 || redundant(alike) < redundant(g.Alike) {
				g.Hypotheses, g.Alike, g.Distinct, g.MeanDistance = hs, alike, len(alike) == 0, evidence.Distance(hs)
			}
		}
		g.Asks = append(g.Asks, Ask{Reply: reply, Problems: problems})
		if g.Distinct {
			return g, nil
		}
	}
	if len(g.Hypotheses) == 0 {
		return g, fmt.Errorf("after %d replies: %w", opts.MaxAsks, &evidence.ReplyError{Problems: problems})
	}
	return g, nil
}

// redundant counts the hypotheses that merging takes away.
func redundant(groups [][]string) int {
	n := 0
	for _, g := range groups {
		n += len(g) - 1
	}
	return n
}
