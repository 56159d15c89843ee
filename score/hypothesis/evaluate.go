package hypothesis

import (
	"fmt"
	"math"
	"strings"

	"waymark/internal/parallel"
	"waymark/score/rubric"
)

// Scored is the unrounded score and rank of one hypothesis.
type Scored struct {
	ID     string
	Result rubric.Result
	Rank   int // from 1, 0 for what failed

	rationale map[string]string
	shown     rubric.Decimal
}

// Evaluate scores a batch in parallel and ranks it. Of several errors it returns the first by position.
func Evaluate(r *rubric.Rubric, hypotheses []Hypothesis) ([]Scored, error) {
	if err := Check(hypotheses); err != nil {
		return nil, err
	}
	scored := make([]Scored, len(hypotheses))
	faults := make([]error, len(hypotheses))
	parallel.Each(len(scored), func(i int) { scored[i], faults[i] = one(r, i, &hypotheses[i]) })
	for _, err := range faults {
		if err != nil {
			return nil, err
		}
	}
	rank(r, scored)
	return scored, nil
}

func rank(r *rubric.Rubric, scored []Scored) {
	ids, results := make([]string, len(scored)), make([]rubric.Result, len(scored))
	for i, s := range scored {
		ids[i], results[i] = s.ID, s.Result
	}
	for i, n := range r.Rank(ids, results) {
		scored[i].Rank = n
	}
}

// one scores the hypothesis at index i.
func one(r *rubric.Rubric, i int, h *Hypothesis) (Scored, error) {
	place := func(field string) string { return fmt.Sprintf("hypotheses[%d].%s", i, field) }
	scores, err := canonical("scores", h.Scores)
	if err != nil {
		return Scored{}, rubric.Within(fmt.Sprintf("hypotheses[%d]", i), err)
	}
	rationale, err := canonical("rationale", h.Rationale)
	if err != nil {
		return Scored{}, rubric.Within(fmt.Sprintf("hypotheses[%d]", i), err)
	}
	for name := range rationale {
		if _, ok := r.Dimension(name); !ok {
			return Scored{}, rubric.Refuse(place("rationale"), "%s", "names a dimension that there is not; there are "+strings.Join(names(r), ", "))
		}
	}
	res, err := r.Score(rubric.Card{Scores: scores})
	if err != nil {
		return Scored{}, rubric.Within(place("scores"), err)
	}
	return Scored{ID: h.ID, Result: res, rationale: rationale, shown: r.Shown(res.Composite)}, nil
}

func names(r *rubric.Rubric) []string {
	var names []string
	for _, d := range r.Definition().Dimensions {
		names = append(names, d.Name)
	}
	return names
}

func (s *Scored) result() Result {
	out := Result{ID: s.ID, Dimensions: make(map[string]Dimension, len(s.Result.Dimensions)), Composite: s.shown,
		Verdict: s.Result.Verdict, Caution: s.Result.Caution, FailReasons: []string{}}
	out.FailReasons = append(out.FailReasons, s.Result.Reasons...)
	for _, d := range s.Result.Dimensions {
		out.Dimensions[d.Name] = Dimension{Score: d.Score, Weight: d.Weight, Label: d.Anchor.Label,
			Explanation: d.Anchor.Text, Rationale: s.rationale[d.Name]}
	}
	if s.Rank > 0 {
		out.Rank = new(s.Rank)
	}
	return out
}

// roundingOff is the tolerance for a reported composite: half a hundredth and the error of a float.
const roundingOff = .005 + 1e-9

// mismatches compares the reported totals with the computed ones.
func mismatches(h *Hypothesis, s *Scored) []Mismatch {
	if h.Reported == nil {
		return nil
	}
	var out []Mismatch
	if c := h.Reported.Composite; c != nil && !(math.Abs(*c-s.Result.Composite.Float()) <= roundingOff) {
		out = append(out, Mismatch{s.ID, "composite", *c, s.shown})
	}
	if v := h.Reported.Verdict; v != "" && v != s.Result.Verdict {
		out = append(out, Mismatch{s.ID, "verdict", v, s.Result.Verdict})
	}
	return out
}

// line formats the trace of one hypothesis.
func (s *Scored) line() string {
	b := append(make([]byte, 0, 128), s.ID...)
	b = append(b, ':')
	for _, d := range s.Result.Dimensions {
		b = append(append(append(b, ' '), d.Name...), ' ')
		b = d.Score.Append(b)
	}
	b = append(append(b, ", composite "...), s.shown.Fixed(2)...)
	return string(append(append(b, ", "...), s.Result.Verdict...))
}
