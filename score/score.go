// Package score scores items by rubrics, with exact numbers: hypotheses and items by a rubric of the caller (items.go),
// and the answers of a council by the reviews of their peers (council.go and the files council_*.go). Packages
// contribution and evidence hold the scorers of research sessions and of competing explanations.
//
// A rubric is data ([Definition], hypothesis.yaml): dimensions with weight, scale and anchors, and rules. The kernel
// ([Rubric.Score]) evaluates a card of scores in one direction:
//
//	scores ─▶ weighted mean or sum ─▶ ceilings ─▶ caps of failed gates ─▶ composite ─▶ band ─▶ verdict
//	   └────▶ floors ───────────────────────────────────────────────────────────────────────▶ fails
//
// For example, hypothesis scores 4, 3, 4, 3, 2 with the weights 25, 20, 25, 15, 15 % give the composite 3.35, which is
// borderline. Scores and weights are decimals with at most four places and composites are fractions, compared before
// they are rounded: in floating point the scores 3, 2, 5, 2, 2 add up to 2.9999999999999996, which is below 3.
//
// Missing scores come from a judge, a language model at an OpenAI-compatible endpoint ([Client]), if the request asks
// for one. A score that is missing in a reply is never filled in: the item is listed as unscored with the reason. A
// dimension that does not apply is excluded from numerator and denominator. The order of dimensions, items and map keys
// changes no result.
package score

// A Scorer implements the scoring operations. The zero value has no judge.
type Scorer struct {
	Judges  Judges
	Replies Cache // persistent cache of replies; may be nil
}

// longestReason is the maximum number of bytes logged of each reason.
const longestReason = 1000

// An Entry is the log record of one scored item: ids, numbers and the reasons of a judge, without the scored text.
type Entry struct {
	ID        string             `json:"id"`
	Scores    map[string]float64 `json:"scores"` // by dimension
	Rationale map[string]string  `json:"rationale,omitempty" doc:"Reason of each score, by dimension; cut after 1000 bytes."`
	Composite *float64           `json:"composite"`
	Verdict   string             `json:"verdict,omitempty"`
	Rank      *int               `json:"rank"`
	Outcome   Outcome            `json:"outcome,omitempty" doc:"Outcome of the judge if there are no scores."`
}

// Logged is an answer with log records.
type Logged interface{ Entries() []Entry }

// A Judged is an answer to which a judge may have contributed. JudgeOutcome returns Answered if every question was
// answered, else the first other outcome.
type Judged interface{ JudgeOutcome() Outcome }

// JudgeOutcome implements [Judged].
func (a Answer) JudgeOutcome() Outcome { return outcomeOf(a.Judgements) }

func outcomeOf(record []Judgement) Outcome {
	for _, j := range record {
		if j.Outcome != Answered {
			return j.Outcome
		}
	}
	return Answered
}
