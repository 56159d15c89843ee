// Package council ranks answers by peer review.
//
// Several models answer a question and review each other's answers, anonymised and in a random order for each reviewer
// ([Ballot]). [Score] aggregates the reviews:
//
//	review ─▶ scores by dimension ─▶ weighted mean ─▶ ceiling of its own accuracy ┐
//	review ─▶ …                                                                  ├─▶ mean ─▶ safety cap ─▶ rank
//	review ─▶ …                                                                  ┘             Borda breaks ties
//
// Everything is computed from the scores of the dimensions. Totals and orders that a reviewer declares are compared
// and reported, never used: a confident falsehood with 3 for accuracy and 9 for all else is bounded by 4, wherever the
// reviewer ranks it.
//
// A reply without all scores of the rubric falls back step by step; missing values are never filled in:
//
//	rubric        every dimension of every answer reviewed has a score
//	holistic      one number for each answer, bounded by the accuracy where that is given
//	ranking_only  an order, which counts for Borda alone
//	abstained     the reviewer declined, which is not a score of 0
//	unparsable    nothing in it is usable
//
// Sums are exact fractions, so scores and ranks do not depend on the order of answers, reviews or dimensions.
// The package is pure; package convene asks the models.
package council

import (
	"waymark/score/rubric"
)

// An Input is a question with its answers and their reviews.
type Input struct {
	Question  string     `json:"question,omitempty"`
	Responses []Response `json:"responses"`
	Reviews   []Review   `json:"reviews"`
	Options   Options    `json:"options,omitzero"`
}

// A Response is one answer.
type Response struct {
	ID   string `json:"id"`
	Text string `json:"text,omitempty"`
	// Author is the reviewer who wrote the answer, if any: reviews of one's own answer do not count.
	Author string `json:"author,omitempty"`
	// CorrectRefusal marks an answer that rightly declines; completeness then does not apply. If absent, a text that
	// declines a question that the safety gate matches is a correct refusal.
	CorrectRefusal *bool `json:"correct_refusal,omitempty"`
}

// A Review is the review of all answers by one reviewer. Evaluations and Ranking are parsed by the caller; if both are
// absent, Raw, the text of the reply, is parsed. Holistic Scores may be given with either.
type Review struct {
	Reviewer string `json:"reviewer"`
	// Labels maps labels to ids of answers. Names that are no labels are ids.
	Labels      map[string]string         `json:"labels,omitempty"`
	Evaluations map[string]*Evaluation    `json:"evaluations,omitempty"` // null: the reviewer abstains on that answer
	Scores      map[string]rubric.Decimal `json:"scores,omitempty"`      // holistic, beside or without evaluations
	Ranking     []string                  `json:"ranking,omitempty"`     // as declared, the best first
	Raw         string                    `json:"raw,omitempty"`
}

// An Evaluation holds the scores of one answer, 1 to 10. Overall and Notes are the reviewer's own words.
type Evaluation struct {
	Accuracy             *rubric.Decimal `json:"accuracy,omitempty"`
	Relevance            *rubric.Decimal `json:"relevance,omitempty"`
	Completeness         *rubric.Decimal `json:"completeness,omitempty"`
	Conciseness          *rubric.Decimal `json:"conciseness,omitempty"`
	Clarity              *rubric.Decimal `json:"clarity,omitempty"`
	InstructionAdherence *rubric.Decimal `json:"instruction_adherence,omitempty"`
	Overall              *rubric.Decimal `json:"overall,omitempty"`
	// CorrectRefusal: the reviewer considers declining right; completeness then does not apply.
	CorrectRefusal bool   `json:"correct_refusal,omitempty"`
	Notes          string `json:"notes,omitempty"`
}

// at returns a pointer to the score of a dimension or overall, nil for an unknown name.
func (e *Evaluation) at(dimension string) **rubric.Decimal {
	switch dimension {
	case "accuracy":
		return &e.Accuracy
	case "relevance":
		return &e.Relevance
	case "completeness":
		return &e.Completeness
	case "conciseness":
		return &e.Conciseness
	case "clarity":
		return &e.Clarity
	case "instruction_adherence":
		return &e.InstructionAdherence
	case "overall":
		return &e.Overall
	}
	return nil
}

// Options of [Score]. The zero value is the rubric "updated" with the safety gate on.
type Options struct {
	Rubric               string                    `json:"rubric,omitempty"`                // see Rubrics
	Weights              map[string]rubric.Decimal `json:"weights,omitempty"`               // of every dimension that counts; the sum is 1
	InstructionAdherence bool                      `json:"instruction_adherence,omitempty"` // adds the dimension with a weight of 0.1 and scales the others by 0.9
	SafetyGate           *bool                     `json:"safety_gate,omitempty"`           // default true
	SafetyScoreCap       rubric.Decimal            `json:"safety_score_cap,omitempty"`      // 0 to 10
	Normalise            Normalise                 `json:"normalise,omitempty"`
	Seed                 int64                     `json:"seed,omitempty"` // of shuffles
}

// Normalise is the normalisation of scores over reviewers.
type Normalise string

const (
	none Normalise = "none" // the default
	Z    Normalise = "z"    // rank by the mean of (score − the reviewer's mean) / the reviewer's deviation
)

// Status is the outcome of reading a review.
type Status string

const (
	ByRubric    Status = "rubric"
	Holistic    Status = "holistic"
	rankingOnly Status = "ranking_only"
	Abstained   Status = "abstained"
	Unparsable  Status = "unparsable"
)

// A Result is the ranking of an [Input]. Numbers are not rounded; null is unknown.
type Result struct {
	Rubric     RubricUsed `json:"rubric"`
	Ranking    []Ranked   `json:"ranking"` // the best first
	SafetyGate SafetyGate `json:"safety_gate"`
	Reviews    []Read     `json:"reviews"`    // in the order of the input
	Mismatches []Mismatch `json:"mismatches"` // reported totals that differ from the computed ones
	Holistic   *Beside    `json:"holistic"`   // the ranking by holistic scores, null if nobody gave any
	Metrics    Metrics    `json:"metrics"`
}

// RubricUsed names the rubric with its weights and ceilings.
type RubricUsed struct {
	ID       string                    `json:"id"`
	Weights  map[string]rubric.Decimal `json:"weights"`
	Ceilings []rubric.Ceiling          `json:"ceilings"`
}

// A Ranked is one answer in the ranking.
type Ranked struct {
	ID   string `json:"id"`
	Rank *int   `json:"rank"` // from 1 on; null if no review mentions it
	// Score is the mean of the scores of the reviews, each limited by the ceiling of its own accuracy, then limited by
	// the safety cap; Uncapped is the mean without limits; Ceiling the lowest ceiling of a review.
	Score        *float64          `json:"score"`
	Uncapped     *float64          `json:"uncapped"`
	Ceiling      *rubric.Decimal   `json:"ceiling"`
	Z            *float64          `json:"z"`     // null without normalisation
	Borda        *float64          `json:"borda"` // mean of (answers beaten) / (answers compared with), 0 … 1
	Dimensions   map[string]Spread `json:"dimensions"`
	Reviews      int               `json:"reviews"`     // number that scored it
	Abstentions  int               `json:"abstentions"` // number of reviews without a score for it
	SafetyFailed bool              `json:"safety_failed"`
	// CorrectRefusal: completeness was left out, in every review or where the reviewer said so.
	CorrectRefusal bool `json:"correct_refusal"`
	Tied           bool `json:"tied"` // equal to a neighbour but for the id
}

// A Spread is the mean and population variance of one dimension over the reviews by rubric; the variance of a single
// review is null.
type Spread struct {
	Mean     float64  `json:"mean"`
	Variance *float64 `json:"variance"`
	Reviews  int      `json:"reviews"`
}

// SafetyGate lists the answers that failed the gate.
type SafetyGate struct {
	Enabled bool           `json:"enabled"`
	Cap     rubric.Decimal `json:"cap"`
	Failed  []Failed       `json:"failed"` // by id
}

// Failed is an answer that failed the gate, with the categories and rules.
type Failed struct {
	ID         string     `json:"id"`
	Categories []Category `json:"categories"`
	Rules      []string   `json:"rules"`
}

// A Read is the parsed status of one review.
type Read struct {
	Reviewer string `json:"reviewer"`
	Status   Status `json:"status"`
	// DeclaredOrderMismatch: the declared order contradicts the scores of the same review after the ceiling.
	DeclaredOrderMismatch bool     `json:"declared_order_mismatch"`
	Counted               bool     `json:"counted"` // false for unreadable reviews
	SelfExcluded          []string `json:"self_excluded"`
	Problems              []string `json:"problems"`
}

// A Mismatch is a reported total that equals the computed one, rounded half up to two decimals, neither before nor
// after the ceiling.
type Mismatch struct {
	Reviewer string         `json:"reviewer"`
	ID       string         `json:"id"`
	Reported rubric.Decimal `json:"reported"`
	Computed rubric.Decimal `json:"computed"` // after the ceiling
}

// Score ranks the answers of an input. The error names the invalid field; an unreadable reply in Raw is no error.
func Score(in Input) (Result, error) {
	p, err := newPanel(in)
	if err != nil {
		return Result{}, err
	}
	return p.result(), nil
}
