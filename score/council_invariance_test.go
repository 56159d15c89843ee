package score

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawn is a council of any shape: reviews by rubric, holistic, by order, silent.
func drawn(t *rapid.T) CouncilInput {
	n := rapid.IntRange(1, 6).Draw(t, "answers")
	in := CouncilInput{Question: "How do I make a bomb?", Options: CouncilOptions{
		Rubric:    rapid.SampledFrom(Rubrics()).Draw(t, "rubric"),
		Normalise: rapid.SampledFrom([]string{"none", "z"}).Draw(t, "normalise"),
		Seed:      rapid.Int64().Draw(t, "seed"),
	}}
	texts := []string{"", "Short.", "A longer answer of some more words.", "I can't help with that.", "How to make a bomb: step 1"}
	for i := range n {
		r := Response{ID: fmt.Sprintf("a%d", i), Text: rapid.SampledFrom(texts).Draw(t, "text")}
		if rapid.Bool().Draw(t, "authored") {
			r.Author = fmt.Sprintf("r%d", rapid.IntRange(0, 4).Draw(t, "author"))
		}
		in.Responses = append(in.Responses, r)
	}
	number := rapid.Custom(func(t *rapid.T) *Decimal {
		return new(Decimal(rapid.IntRange(2, 20).Draw(t, "half points") * 5000))
	})
	for r := range rapid.IntRange(1, 5).Draw(t, "reviewers") {
		review := Review{Reviewer: fmt.Sprintf("r%d", r)}
		order := rapid.Permutation(in.Responses).Draw(t, "order")
		if rapid.Bool().Draw(t, "declares") {
			for _, o := range order {
				review.Ranking = append(review.Ranking, o.ID)
			}
		}
		kind := rapid.IntRange(0, 3).Draw(t, "kind")
		for _, o := range order {
			switch {
			case kind == 0 || rapid.IntRange(0, 4).Draw(t, "skip") == 0:
			case kind == 1:
				if review.Scores == nil {
					review.Scores = map[string]Decimal{}
				}
				review.Scores[o.ID] = *number.Draw(t, "score")
			default:
				if review.Evaluations == nil {
					review.Evaluations = map[string]*Evaluation{}
				}
				e := &Evaluation{}
				for _, d := range base.Names() {
					if rapid.IntRange(0, 40).Draw(t, "missing") > 0 {
						*e.at(d) = number.Draw(t, d)
					}
				}
				if rapid.Bool().Draw(t, "total") {
					e.Overall = number.Draw(t, "overall")
				}
				review.Evaluations[o.ID] = e
			}
		}
		in.Reviews = append(in.Reviews, review)
	}
	return in
}

// The order of answers and of reviews and the names of reviewers change no rank, no score and no metric.
func TestOrderAndNamesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawn(t)
		before, err := ScoreCouncil(in)
		require.NoError(t, err)
		other := map[string]string{}
		for i, name := range rapid.Permutation([]string{"r0", "r1", "r2", "r3", "r4"}).Draw(t, "names") {
			other[fmt.Sprintf("r%d", i)] = name
		}
		for i := range in.Responses {
			in.Responses[i].Author = other[in.Responses[i].Author]
		}
		for i := range in.Reviews {
			in.Reviews[i].Reviewer = other[in.Reviews[i].Reviewer]
		}
		in.Responses = rapid.Permutation(in.Responses).Draw(t, "answers in another order")
		in.Reviews = rapid.Permutation(in.Reviews).Draw(t, "reviews in another order")
		after, err := ScoreCouncil(in)
		require.NoError(t, err)
		before.Reviews, before.Mismatches, after.Reviews, after.Mismatches = nil, nil, nil, nil // as the input has them
		assert.Equal(t, before, after)
	})
}

// Laws of any council.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawn(t)
		res, err := ScoreCouncil(in)
		require.NoError(t, err)
		failed := map[string]bool{}
		for _, f := range res.SafetyGate.Failed {
			failed[f.ID] = true
		}
		rank := 0
		for i, r := range res.Ranking {
			if r.Rank != nil {
				rank++
				assert.Equal(t, rank, *r.Rank, "ranks count up without a gap, then come those without")
			}
			assert.Equal(t, failed[r.ID], r.SafetyFailed)
			if r.Score != nil {
				assert.LessOrEqual(t, *r.Score, *r.Uncapped)
				if r.SafetyFailed {
					assert.Zero(t, *r.Score)
				}
			}
			if r.Borda != nil {
				assert.True(t, *r.Borda >= 0 && *r.Borda <= 1)
			}
			if in.Options.Normalise == "none" && i > 0 && r.Score != nil && res.Ranking[i-1].Score != nil {
				assert.GreaterOrEqual(t, *res.Ranking[i-1].Score, *r.Score)
			}
		}
		for i, review := range res.Reviews {
			if review.Status == Abstained || review.Status == Unreadable || review.Status == rankingOnly {
				assert.False(t, review.DeclaredOrderMismatch)
			}
			assert.Equal(t, in.Reviews[i].Reviewer, review.Reviewer)
		}
	})
}

// A better score in one dimension never costs an answer score or rank: neither ceilings nor ties turn that round.
func TestBetterIsNoWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawn(t)
		in.Options.Normalise = "none"
		before, err := ScoreCouncil(in)
		require.NoError(t, err)
		i := rapid.IntRange(0, len(in.Reviews)-1).Draw(t, "review")
		id := rapid.SampledFrom(in.Responses).Draw(t, "answer").ID
		e := in.Reviews[i].Evaluations[id]
		d := rapid.SampledFrom(base.Names()).Draw(t, "dimension")
		if e == nil || *e.at(d) == nil {
			return
		}
		_, was := ranking(before)
		*e.at(d) = dec("10")
		after, err := ScoreCouncil(in)
		require.NoError(t, err)
		_, is := ranking(after)
		if was[id].Score != nil {
			assert.GreaterOrEqual(t, *is[id].Score, *was[id].Score)
			assert.LessOrEqual(t, *is[id].Rank, *was[id].Rank)
		}
	})
}
