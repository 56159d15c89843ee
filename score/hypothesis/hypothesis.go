// Package hypothesis scores research hypotheses that carry an idea from one domain to another.
//
// The rubric is the file hypothesis.yaml beside this one: five dimensions, 1 to 5, a floor of 2 under
// each, and three verdicts.
//
//	composite = (25·specificity + 20·novelty + 25·connection_validity + 15·feasibility + 15·grounding) / 100
//
//	any score < 2 ─▶ fail      composite < 3.0 ─▶ fail      < 3.5 ─▶ borderline      else ─▶ pass
//
// Totals reported with the scores are compared with the computed ones and never used. Hypotheses that do not fail are
// ranked by composite, connection validity, specificity and id.
//
//	answer, err := hypothesis.Score(hypothesis.Request{Hypotheses: …})
package hypothesis

import (
	_ "embed"
	"fmt"
	"maps"

	"waymark/internal/parallel"
	"waymark/score/rubric"
)

//go:embed hypothesis.yaml
var source []byte

// Rubric is the rubric with its default weights.
var Rubric = rubric.MustLoad(source)

// A Hypothesis is one candidate with its scores. Only ID and Scores are needed.
type Hypothesis struct {
	ID           string                    `json:"id"`
	Statement    string                    `json:"statement,omitempty"`
	SourceDomain string                    `json:"source_domain,omitempty"`
	TargetDomain string                    `json:"target_domain,omitempty"`
	Explanation  string                    `json:"explanation,omitempty"`
	Scores       map[string]rubric.Decimal `json:"scores,omitempty"`
	Rationale    map[string]string         `json:"rationale,omitempty"`
	Reported     *Reported                 `json:"reported,omitempty"`
}

// Reported are the totals that a judge states beside its scores.
type Reported struct {
	Composite *float64 `json:"composite,omitempty"`
	Verdict   string   `json:"verdict,omitempty"`
}

// A Request is a batch of hypotheses scored with the same weights.
type Request struct {
	Hypotheses []Hypothesis              `json:"hypotheses"`
	Weights    map[string]rubric.Decimal `json:"weights,omitempty"`
	Feedback   []Feedback                `json:"feedback,omitempty"`
}

// Feedback is the verdict of a user on a hypothesis. Scores default to those of the hypothesis with the same id.
type Feedback struct {
	ID       string                    `json:"id"`
	Scores   map[string]rubric.Decimal `json:"scores,omitempty"`
	Accepted bool                      `json:"accepted"`
}

// An Answer has the results in the order of the request. Only the rank of a failed hypothesis is null.
type Answer struct {
	Results    []Result   `json:"results"`
	Mismatches []Mismatch `json:"mismatches"`
	Audit      []string   `json:"audit"` // changes of weights against the default
	Trace      []string   `json:"trace"` // one line for each hypothesis: id, scores, composite and verdict

	// Calibration reports the agreement of the weights with the feedback, if there is any; it changes nothing.
	Calibration *rubric.Calibration `json:"calibration,omitempty"`
}

// A Result is the score of one hypothesis.
type Result struct {
	ID          string               `json:"id"`
	Dimensions  map[string]Dimension `json:"dimensions"`
	Composite   rubric.Decimal       `json:"composite"` // rounded half up; the verdict is not
	Verdict     string               `json:"verdict"`
	Caution     bool                 `json:"caution"`
	FailReasons []string             `json:"fail_reasons"`
	Rank        *int                 `json:"rank"` // null if it failed
}

// A Dimension is one score with its meaning.
type Dimension struct {
	Score       rubric.Decimal `json:"score"`
	Weight      rubric.Decimal `json:"weight"`
	Label       string         `json:"label"`
	Explanation string         `json:"explanation"` // of the level, from the rubric
	Rationale   string         `json:"rationale,omitempty"`
}

// A Mismatch is a reported total that differs from the computed one.
type Mismatch struct {
	ID       string `json:"id"`
	Field    string `json:"field"` // composite or verdict
	Reported any    `json:"reported"`
	Computed any    `json:"computed"`
}

// Score scores and ranks a batch.
func Score(req Request) (Answer, error) {
	r, audit, err := req.rubric()
	if err != nil {
		return Answer{}, err
	}
	scored, err := Evaluate(r, req.Hypotheses)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Results: make([]Result, len(scored)), Mismatches: []Mismatch{}, Audit: audit, Trace: make([]string, len(scored))}
	parallel.Each(len(scored), func(i int) { a.Results[i], a.Trace[i] = scored[i].result(), scored[i].line() })
	for i := range scored {
		a.Mismatches = append(a.Mismatches, mismatches(&req.Hypotheses[i], &scored[i])...)
	}
	if len(req.Feedback) > 0 {
		a.Calibration, err = calibrate(r, req)
	}
	return a, err
}

// rubric returns the rubric with the requested weights, and the changes.
func (req Request) rubric() (*rubric.Rubric, []string, error) {
	weights, err := canonical("weights", req.Weights)
	if err != nil {
		return nil, nil, err
	}
	r, audit, err := Rubric.Reweight(weights)
	if err != nil {
		return nil, nil, rubric.Within("weights", err)
	}
	return r, append([]string{}, audit...), nil
}

func calibrate(r *rubric.Rubric, req Request) (*rubric.Calibration, error) {
	scored := make(map[string]map[string]rubric.Decimal, len(req.Hypotheses))
	for _, h := range req.Hypotheses {
		scored[h.ID] = h.Scores
	}
	verdicts := make([]rubric.Verdict, len(req.Feedback))
	for i, f := range req.Feedback {
		place := fmt.Sprintf("feedback[%d]", i)
		if f.ID == "" {
			return nil, rubric.Refuse(place+".id", "is required")
		}
		if f.Scores == nil {
			f.Scores = scored[f.ID]
		}
		scores, err := canonical("scores", f.Scores)
		if err != nil {
			return nil, rubric.Within(place, err)
		}
		if _, err := r.Score(rubric.Card{Scores: scores}); err != nil {
			return nil, rubric.Within(place+".scores", err)
		}
		verdicts[i] = rubric.Verdict{ID: f.ID, Card: rubric.Card{Scores: scores}, Accepted: f.Accepted}
	}
	c, err := r.Calibrate(verdicts)
	if err != nil {
		return nil, rubric.Within("feedback", err)
	}
	return &c, nil
}

// Check refuses hypotheses without an id of their own.
func Check(hypotheses []Hypothesis) error {
	return rubric.DistinctIDs("hypotheses", hypotheses, func(h Hypothesis) string { return h.ID })
}

// canonical returns a map by dimension with the camelCase name of the original rubric translated. A map that has the
// name in both forms is refused.
func canonical[V any](place string, in map[string]V) (map[string]V, error) {
	const original, name = "connectionValidity", "connection_validity"
	value, translate := in[original]
	if !translate {
		return in, nil
	}
	if _, twice := in[name]; twice {
		return nil, rubric.Refuse(place+"."+name, "is given twice, in two spellings")
	}
	out := maps.Clone(in)
	delete(out, original)
	out[name] = value
	return out, nil
}
