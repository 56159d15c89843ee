// Package council ranks answers by what their peers think of them.
//
// Several models answer a question and review each other's answers, which they see without names and in
// an order of their own ([Ballot]). [Score] puts the reviews together, in one direction:
//
//	review ─▶ scores by dimension ─▶ weighted mean ─▶ ceiling of its own accuracy ┐
//	review ─▶ …                                                                  ├─▶ mean ─▶ safety cap ─▶ rank
//	review ─▶ …                                                                  ┘             Borda breaks ties
//
// Everything is computed from the scores of the dimensions. What a reviewer says an answer's total is, or
// which order follows from it, is compared and reported, never used: a confident falsehood that scores 3
// for accuracy and 9 for all else is bounded by 4, wherever the reviewer puts it.
//
// A reply that does not fill the rubric falls back step by step, and nothing missing is ever filled in:
//
//	rubric        every dimension of every answer reviewed has a score
//	holistic      one number for each answer, bounded by the accuracy where that is given
//	ranking_only  an order, which counts for Borda alone
//	abstained     the reviewer would not judge; that is no zero
//	unparsable    nothing in it can be used
//
// Sums are exact fractions, so the order of answers, reviews or dimensions changes neither score nor rank.
// The package is pure; package convene asks the models.
package council

import (
	"waymark/rubric"
)

// An Input is a question, its answers, and what their reviewers wrote.
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
	// Author is the reviewer who wrote it, if one did: nobody's review of his own answer counts.
	Author string `json:"author,omitempty"`
	// CorrectRefusal says whether declining is the right answer, which then is not judged on completeness.
	// If absent, a text that declines a question the safety gate stops at is one.
	CorrectRefusal *bool `json:"correct_refusal,omitempty"`
}

// A Review is what one reviewer says of the answers. Evaluations and Ranking are what the caller has read of
// a reply; where both are absent Raw, the reply itself, is read. Holistic Scores may stand beside either.
type Review struct {
	Reviewer string `json:"reviewer"`
	// Round is 1 if absent. Of several rounds of a reviewer the last that can be read counts.
	Round int `json:"round,omitempty"`
	// Order lists the ids as the reviewer saw them, for the audit of positions.
	Order []string `json:"order,omitempty"`
	// Labels gives the id of the answer behind a label. What is no label is an id.
	Labels      map[string]string         `json:"labels,omitempty"`
	Evaluations map[string]*Evaluation    `json:"evaluations,omitempty"` // null: abstains on that answer
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
	// CorrectRefusal is the reviewer's opinion that declining is right: completeness then does not apply.
	CorrectRefusal bool   `json:"correct_refusal,omitempty"`
	Notes          string `json:"notes,omitempty"`
}

// at is the place of a dimension's score, nil for a name that is none.
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
	}
	return nil
}

// Options of [Score]. The zero value is the rubric "updated" with the safety gate on.
type Options struct {
	Rubric               string                    `json:"rubric,omitempty"`                // see Rubrics
	Weights              map[string]rubric.Decimal `json:"weights,omitempty"`               // every dimension that counts; they add up to 1
	InstructionAdherence bool                      `json:"instruction_adherence,omitempty"` // weighs a tenth, the others nine
	SafetyGate           *bool                     `json:"safety_gate,omitempty"`           // on if absent
	SafetyScoreCap       rubric.Decimal            `json:"safety_score_cap,omitempty"`      // 0 to 10
	Normalise            Normalise                 `json:"normalise,omitempty"`
	Seed                 int64                     `json:"seed,omitempty"` // of shuffles, and of tests by sampling
}

// Normalise says whether reviewers are put on one scale before they are compared.
type Normalise string

const (
	None Normalise = "none" // the default
	Z    Normalise = "z"    // rank by the mean of (score − the reviewer's mean) / the reviewer's deviation
)

// Status says what could be read of a review.
type Status string

const (
	ByRubric    Status = "rubric"
	Holistic    Status = "holistic"
	RankingOnly Status = "ranking_only"
	Abstained   Status = "abstained"
	Unparsable  Status = "unparsable"
)

// A Result is what became of an [Input]. Numbers are not rounded; null is unknown.
type Result struct {
	Rubric     RubricUsed `json:"rubric"`
	Ranking    []Ranked   `json:"ranking"` // the best first
	SafetyGate SafetyGate `json:"safety_gate"`
	Reviews    []Read     `json:"reviews"`    // in the order of the input
	Mismatches []Mismatch `json:"mismatches"` // totals that reviewers got wrong
	Holistic   *Beside    `json:"holistic"`   // the ranking by holistic scores, null if nobody gave any
	Rounds     []Round    `json:"rounds"`     // where there was more than one
	BiasAudit  BiasAudit  `json:"bias_audit"`
	Metrics    Metrics    `json:"metrics"`
}

// RubricUsed names what was weighed.
type RubricUsed struct {
	ID       string                    `json:"id"`
	Weights  map[string]rubric.Decimal `json:"weights"`
	Ceilings []rubric.Ceiling          `json:"ceilings"`
}

// A Ranked is one answer in the ranking.
type Ranked struct {
	ID   string `json:"id"`
	Rank *int   `json:"rank"` // from 1 on; null if no review says anything of it
	// Score is the mean of the reviews' scores, each bounded by the ceiling of its own accuracy, and then
	// by the safety cap; Uncapped the mean without any bound; Ceiling the lowest that a review set.
	Score        *float64          `json:"score"`
	Uncapped     *float64          `json:"uncapped"`
	Ceiling      *rubric.Decimal   `json:"ceiling"`
	Z            *float64          `json:"z"`     // null unless asked for
	Borda        *float64          `json:"borda"` // mean of (answers beaten) / (answers compared with), 0 … 1
	Dimensions   map[string]Spread `json:"dimensions"`
	Reviews      int               `json:"reviews"`     // that scored it
	Abstentions  int               `json:"abstentions"` // reviews that left it out, on purpose or not
	SafetyFailed bool              `json:"safety_failed"`
	// CorrectRefusal: completeness was left out, in every review or where the reviewer said so.
	CorrectRefusal bool `json:"correct_refusal"`
	Tied           bool `json:"tied"` // only the id tells it from a neighbour
}

// Spread is mean and population variance of one dimension over the reviews by rubric; the variance of a
// single review is unknown.
type Spread struct {
	Mean     float64  `json:"mean"`
	Variance *float64 `json:"variance"`
	Reviews  int      `json:"reviews"`
}

// SafetyGate says which answers failed it.
type SafetyGate struct {
	Enabled bool           `json:"enabled"`
	Cap     rubric.Decimal `json:"cap"`
	Failed  []Failed       `json:"failed"` // by id
}

// Failed is an answer that the gate stopped, with the categories and the rules in them.
type Failed struct {
	ID         string     `json:"id"`
	Categories []Category `json:"categories"`
	Rules      []string   `json:"rules"`
}

// A Read is what could be read of one review.
type Read struct {
	Reviewer string `json:"reviewer"`
	Round    int    `json:"round"`
	Status   Status `json:"status"`
	// DeclaredOrderMismatch: the declared order contradicts the review's own scores after the ceiling.
	DeclaredOrderMismatch bool     `json:"declared_order_mismatch"`
	Counted               bool     `json:"counted"` // false for unreadable reviews and for rounds that a later one replaces
	SelfExcluded          []string `json:"self_excluded"`
	Problems              []string `json:"problems"`
}

// A Mismatch is a total that a reviewer reported and that its own scores do not give, rounded half up to
// two decimals, neither before nor after the ceiling.
type Mismatch struct {
	Reviewer string         `json:"reviewer"`
	Round    int            `json:"round"`
	ID       string         `json:"id"`
	Reported rubric.Decimal `json:"reported"`
	Computed rubric.Decimal `json:"computed"` // after the ceiling
}

// Score ranks the answers of an input. The error names what of the input cannot be taken; a reply in Raw
// never causes one.
func Score(in Input) (Result, error) {
	p, err := newPanel(in)
	if err != nil {
		return Result{}, err
	}
	return p.result(), nil
}
