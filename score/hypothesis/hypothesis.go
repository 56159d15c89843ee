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
	"math"
	"strings"

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
}

// An Answer has the results in the order of the request. Only the rank of a failed hypothesis is null.
type Answer struct {
	Results    []rubric.ItemResult `json:"results"`
	Mismatches []Mismatch          `json:"mismatches"`
	Audit      []string            `json:"audit"` // changes of weights against the default
	Trace      []string            `json:"trace"` // one line for each hypothesis: id, scores, composite and verdict
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
	if err := Check(req.Hypotheses); err != nil {
		return Answer{}, err
	}
	items := make([]rubric.Item, len(req.Hypotheses))
	for i := range items {
		if items[i], err = req.Hypotheses[i].item(r); err != nil {
			return Answer{}, rubric.Within(place(i), err)
		}
	}
	a := Answer{Mismatches: []Mismatch{}, Audit: audit}
	results, exact, err := r.ScoreItems(items, place)
	if err != nil {
		return Answer{}, err
	}
	a.Results, a.Trace = results, make([]string, len(results))
	parallel.Each(len(results), func(i int) { a.Trace[i] = line(&results[i], &exact[i]) })
	for i := range results {
		a.Mismatches = append(a.Mismatches, mismatches(req.Hypotheses[i].Reported, &results[i], &exact[i])...)
	}
	return a, nil
}

func place(i int) string { return fmt.Sprintf("hypotheses[%d]", i) }

// item returns the scores and reasons by the names of the rubric.
func (h *Hypothesis) item(r *rubric.Rubric) (rubric.Item, error) {
	scores, err := canonical("scores", h.Scores)
	if err != nil {
		return rubric.Item{}, err
	}
	rationale, err := canonical("rationale", h.Rationale)
	if err != nil {
		return rubric.Item{}, err
	}
	for name := range rationale {
		if _, ok := r.Dimension(name); !ok {
			return rubric.Item{}, rubric.Refuse("rationale", "has an unknown dimension: want one of %s", strings.Join(r.Names(), ", "))
		}
	}
	return rubric.Item{ID: h.ID, Card: rubric.Card{Scores: scores}, Rationale: rationale}, nil
}

// roundingOff is the tolerance for a reported composite: half a hundredth and the error of a float.
const roundingOff = .005 + 1e-9

// mismatches compares the reported totals with the computed ones.
func mismatches(reported *Reported, shown *rubric.ItemResult, exact *rubric.Result) []Mismatch {
	if reported == nil {
		return nil
	}
	var out []Mismatch
	if c := reported.Composite; c != nil && !(math.Abs(*c-exact.Composite.Float()) <= roundingOff) {
		out = append(out, Mismatch{shown.ID, "composite", *c, shown.Composite})
	}
	if v := reported.Verdict; v != "" && v != shown.Verdict {
		out = append(out, Mismatch{shown.ID, "verdict", v, shown.Verdict})
	}
	return out
}

// line formats the trace of one hypothesis.
func line(shown *rubric.ItemResult, exact *rubric.Result) string {
	b := append(make([]byte, 0, 128), shown.ID...)
	b = append(b, ':')
	for _, d := range exact.Dimensions {
		b = append(append(append(b, ' '), d.Name...), ' ')
		b = d.Score.Append(b)
	}
	b = append(append(b, ", composite "...), shown.Composite.Fixed(2)...)
	return string(append(append(b, ", "...), shown.Verdict...))
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
