package score

// A council ranks answers by peer review: several models answer a question and review each other's answers, anonymised
// and in a random order for each reviewer. [Scorer.Council] asks the models, [ScoreCouncil] aggregates their reviews:
//
//	review ─▶ scores by dimension ─▶ weighted mean ─▶ ceiling of its own accuracy ┐
//	review ─▶ …                                                                  ├─▶ mean ─▶ safety cap ─▶ rank
//	review ─▶ …                                                                  ┘             Borda breaks ties
//
// For example, a confident falsehood with accuracy 3 and 9 for everything else has the weighted mean .35·3 + .65·9 =
// 6.90, and the ceiling lowers it to 4.00, wherever the reviewer ranks it. Totals that a reviewer declares are compared
// and reported, never used. A declared order affects only the Borda points, where scores are missing or equal. Sums are
// exact fractions, so no order of answers, reviews or dimensions changes a score or a rank.
//
// A reply without all scores of the rubric falls back step by step; missing values are never filled in:
//
//	rubric        every dimension of every answer reviewed has a score
//	holistic      one number for each answer, bounded by the accuracy where that is given
//	ranking_only  an order, which counts for Borda alone
//	abstained     the reviewer declined, which is not a score of 0
//	unparsable    nothing in it is usable

// A CouncilInput is a question with its answers and their reviews.
type CouncilInput struct {
	Question  string         `json:"question,omitempty" max:"65536"`
	Responses []Response     `json:"responses,omitempty" max:"64" unique:"ID"`
	Reviews   []Review       `json:"reviews,omitempty" max:"128" unique:"Reviewer"`
	Options   CouncilOptions `json:"options,omitzero"`
}

// A Response is one answer.
type Response struct {
	ID   string `json:"id" is:"required,name" max:"256"`
	Text string `json:"text,omitempty" max:"262144"`
	// Author is the reviewer who wrote the answer, if any: reviews of one's own answer do not count.
	Author string `json:"author,omitempty" is:"name" max:"256"`
	// CorrectRefusal marks an answer that rightly declines; completeness then does not apply. If absent, a text
	// that declines a question that the safety gate matches is a correct refusal.
	CorrectRefusal *bool `json:"correct_refusal,omitempty"`
}

// A Review is the review of all answers by one reviewer. Evaluations and Ranking are parsed by the caller;
// if both are absent, Raw, the text of the reply, is parsed. Holistic Scores may be given with either.
type Review struct {
	Reviewer string `json:"reviewer" is:"required,name" max:"256"`
	// Labels maps labels to ids of answers. A name that is not a label is read as an id.
	Labels      map[string]string      `json:"labels,omitempty"`
	Evaluations map[string]*Evaluation `json:"evaluations,omitempty"` // null: the reviewer abstains on that answer
	// Scores are holistic, given with or without evaluations.
	Scores  map[string]Decimal `json:"scores,omitempty" min:"1" max:"10"`
	Ranking []string           `json:"ranking,omitempty"` // as declared, the best first
	Raw     string             `json:"raw,omitempty" max:"262144"`
}

// An Evaluation holds the scores of one answer, 1 to 10. Overall is the total as the reviewer declares it.
type Evaluation struct {
	Accuracy             *Decimal `json:"accuracy,omitempty" min:"1" max:"10"`
	Relevance            *Decimal `json:"relevance,omitempty" min:"1" max:"10"`
	Completeness         *Decimal `json:"completeness,omitempty" min:"1" max:"10"`
	Conciseness          *Decimal `json:"conciseness,omitempty" min:"1" max:"10"`
	Clarity              *Decimal `json:"clarity,omitempty" min:"1" max:"10"`
	InstructionAdherence *Decimal `json:"instruction_adherence,omitempty" min:"1" max:"10"`
	Overall              *Decimal `json:"overall,omitempty" min:"1" max:"10"`
	// CorrectRefusal is set if the reviewer considers declining right; completeness then does not apply.
	CorrectRefusal bool   `json:"correct_refusal,omitempty"`
	Notes          string `json:"notes,omitempty"`
}

// at returns a pointer to the score of a dimension, or to the overall score.
func (e *Evaluation) at(name string) **Decimal {
	return map[string]**Decimal{
		"accuracy": &e.Accuracy, "relevance": &e.Relevance, "completeness": &e.Completeness, "conciseness": &e.Conciseness,
		"clarity": &e.Clarity, "instruction_adherence": &e.InstructionAdherence, "overall": &e.Overall,
	}[name]
}

// CouncilOptions select the rubric and the aggregation. The zero value is the rubric "updated" with the
// safety gate on.
type CouncilOptions struct {
	// Rubric is the name of one of [Rubrics]; the default is "updated".
	Rubric string `json:"rubric,omitempty"`
	// Weights maps every dimension that counts to its weight; the sum is 1.
	Weights map[string]Decimal `json:"weights,omitempty"`
	// SafetyGate is on by default. SafetyScoreCap, 0 to 10, bounds the score of an answer that fails it.
	SafetyGate     *bool   `json:"safety_gate,omitempty"`
	SafetyScoreCap Decimal `json:"safety_score_cap,omitempty" max:"10"`
	// Normalise is "none", the default, or "z": answers are ranked by their mean z-score, which removes
	// the difference between harsh and generous reviewers.
	Normalise string `json:"normalise,omitempty"`
	Seed      int64  `json:"seed,omitempty"` // of the orders in which reviewers see the answers
}

// ReviewStatus is the outcome of reading a review.
type ReviewStatus string

const (
	ByRubric    ReviewStatus = "rubric"
	Holistic    ReviewStatus = "holistic"
	rankingOnly ReviewStatus = "ranking_only"
	Abstained   ReviewStatus = "abstained"
	Unreadable  ReviewStatus = "unparsable"
)

// A CouncilResult is the ranking of a [CouncilInput]. Numbers are not rounded; null is unknown.
type CouncilResult struct {
	Rubric     RubricUsed      `json:"rubric"`
	Ranking    []RankedAnswer  `json:"ranking"` // the best first
	SafetyGate SafetyGate      `json:"safety_gate"`
	Reviews    []ReadReview    `json:"reviews"`    // in the order of the input
	Mismatches []TotalMismatch `json:"mismatches"` // reported totals that differ from the computed ones
}

// RubricUsed names the rubric with its weights and ceilings.
type RubricUsed struct {
	ID       string             `json:"id"`
	Weights  map[string]Decimal `json:"weights"`
	Ceilings []Ceiling          `json:"ceilings"`
}

// A RankedAnswer is one answer in the ranking.
type RankedAnswer struct {
	ID   string `json:"id"`
	Rank *int   `json:"rank"` // from 1 on; null if no review mentions it
	// Score is the mean of the scores of the reviews, each limited by the ceiling of its own accuracy, then
	// limited by the safety cap; Uncapped is the mean without limits; Ceiling the lowest ceiling of a review.
	Score        *float64          `json:"score"`
	Uncapped     *float64          `json:"uncapped"`
	Ceiling      *Decimal          `json:"ceiling"`
	Z            *float64          `json:"z"`     // null without normalisation
	Borda        *float64          `json:"borda"` // mean of (answers beaten) / (answers compared with), 0 … 1
	Dimensions   map[string]Spread `json:"dimensions"`
	Reviews      int               `json:"reviews"`     // number that scored it
	Abstentions  int               `json:"abstentions"` // number of reviews without a score for it
	SafetyFailed bool              `json:"safety_failed"`
	// CorrectRefusal is set if completeness was left out, in every review or where the reviewer marked the refusal as
	// correct.
	CorrectRefusal bool `json:"correct_refusal"`
	Tied           bool `json:"tied"` // ranks equal to a neighbour except for the id
}

// A Spread is the mean and population variance of one dimension over the reviews by rubric; the variance of
// a single review is null.
type Spread struct {
	Mean     float64  `json:"mean"`
	Variance *float64 `json:"variance"`
	Reviews  int      `json:"reviews"`
}

// SafetyGate lists the answers that failed the gate.
type SafetyGate struct {
	Enabled bool           `json:"enabled"`
	Cap     Decimal        `json:"cap"`
	Failed  []FailedAnswer `json:"failed"` // by id
}

// A FailedAnswer is an answer that failed the gate, with the categories and rules.
type FailedAnswer struct {
	ID         string   `json:"id"`
	Categories []string `json:"categories"`
	Rules      []string `json:"rules"`
}

// A ReadReview is the parsed status of one review.
type ReadReview struct {
	Reviewer string       `json:"reviewer"`
	Status   ReviewStatus `json:"status"`
	// DeclaredOrderMismatch is set if the declared order contradicts the scores of the same review after the ceiling.
	DeclaredOrderMismatch bool     `json:"declared_order_mismatch"`
	Counted               bool     `json:"counted"` // false for unreadable reviews
	SelfExcluded          []string `json:"self_excluded"`
	Problems              []string `json:"problems"` // the first 20
}

// A TotalMismatch is a reported total that differs from the computed total, rounded half up to two decimals, both
// before and after the ceiling.
type TotalMismatch struct {
	Reviewer string  `json:"reviewer"`
	ID       string  `json:"id"`
	Reported Decimal `json:"reported"`
	Computed Decimal `json:"computed"` // after the ceiling
}
