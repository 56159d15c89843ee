package score

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"waymark/catalog"
)

//go:embed hypothesis.yaml
var hypothesisSource []byte

// HypothesisRubric is the rubric for hypotheses with its default weights.
var HypothesisRubric = MustLoad(hypothesisSource)

// A HypothesisRequest is a batch of hypotheses that are scored with the same weights.
type HypothesisRequest struct {
	Hypotheses []Hypothesis       `json:"hypotheses"`
	Weights    map[string]Decimal `json:"weights,omitempty" doc:"Weights that replace those of the rubric, by dimension."`
	Judge      *JudgeOptions      `json:"judge,omitempty" doc:"Ask a model to score the hypotheses that have no scores."`
}

// A Hypothesis needs an id and scores. A judge needs the statement.
type Hypothesis struct {
	ID           string              `json:"id"`
	Statement    string              `json:"statement,omitempty"`
	SourceDomain string              `json:"source_domain,omitempty"`
	TargetDomain string              `json:"target_domain,omitempty"`
	Explanation  string              `json:"explanation,omitempty" doc:"Explanation of the connection between the two domains."`
	Scores       map[string]*Decimal `json:"scores,omitempty"`
	Rationale    map[string]string   `json:"rationale,omitempty"`
	Reported     *Reported           `json:"reported,omitempty"`
}

// Reported are totals stated beside the scores. They are compared with the computed ones and never used.
type Reported struct {
	Composite *float64 `json:"composite,omitempty"`
	Verdict   string   `json:"verdict,omitempty"`
}

// A CustomRequest scores items by the rubric in the request, as a value or as the text of a file.
type CustomRequest struct {
	Definition *Definition        `json:"definition,omitempty"`
	Source     string             `json:"source,omitempty" doc:"The rubric as YAML or JSON text; alternative to definition."`
	Items      []Item             `json:"items"`
	Weights    map[string]Decimal `json:"weights,omitempty" doc:"Weights that replace those of the rubric, by dimension."`
	Judge      *JudgeOptions      `json:"judge,omitempty" doc:"Ask a model to score the items that have no scores."`
}

// An Item is one thing to score. A null score excludes a conditional dimension.
type Item struct {
	ID          string              `json:"id" is:"required,name" max:"256"`
	Text        string              `json:"text,omitempty" doc:"Text that the judge scores."`
	Scores      map[string]*Decimal `json:"scores,omitempty"`
	FailedGates []string            `json:"failed_gates,omitempty"`
	Rationale   map[string]string   `json:"rationale,omitempty"`
}

// An Answer has the results of the scored items in the order of the request.
type Answer struct {
	Message    string       `json:"message" doc:"Summary of the answer in one sentence."`
	Rubric     string       `json:"rubric" doc:"Id of the rubric."`
	Results    []ItemResult `json:"results"`
	Mismatches []Mismatch   `json:"mismatches" doc:"Reported totals that differ from the computed ones."`
	Unscored   []Unscored   `json:"unscored" doc:"Items that the judge did not score."`
	Judgements []Judgement  `json:"judgements" doc:"Every question to a judge with its reply."`
	Audit      []string     `json:"audit" doc:"Changes of weights against the rubric."`
	Trace      []string     `json:"trace" doc:"One line for each item: id, scores, composite and verdict."`
}

// An ItemResult is the score of one item. Composites are rounded half up; the verdict is determined before rounding.
type ItemResult struct {
	ID          string               `json:"id"`
	Dimensions  map[string]ItemScore `json:"dimensions"` // those that apply
	Composite   Decimal              `json:"composite"`
	Verdict     string               `json:"verdict"`
	Caution     bool                 `json:"caution"`
	FailReasons []string             `json:"fail_reasons"`
	Rank        *int                 `json:"rank" doc:"From 1 on; null if the item failed."`
	Uncapped    Decimal              `json:"uncapped" doc:"The composite before ceilings and gates."`
	Ceiling     *Decimal             `json:"ceiling" doc:"The lowest ceiling set by a score."`
	Max         Decimal              `json:"max" doc:"The largest composite of the dimensions that apply."`
	Percent     Decimal              `json:"percent" doc:"The composite in percent of max."`
	Warnings    []string             `json:"warnings"`
	Gates       []FailedGate         `json:"gates" doc:"Gates that the item failed."`
}

// An ItemScore is the score of one dimension with the text of its anchor.
type ItemScore struct {
	Score       Decimal `json:"score"`
	Weight      Decimal `json:"weight"`
	Label       string  `json:"label"`
	Explanation string  `json:"explanation" doc:"Text of the anchor in the rubric."`
	Rationale   string  `json:"rationale,omitempty" doc:"The judge's reason for the score."`
}

// FailedGate is a gate that an item failed.
type FailedGate struct {
	Gate        string `json:"gate"`
	Consequence string `json:"consequence"`
}

// A Mismatch is a reported total that differs from the computed one.
type Mismatch struct {
	ID       string `json:"id"`
	Field    string `json:"field"` // composite or verdict
	Reported any    `json:"reported"`
	Computed any    `json:"computed"`
}

// Hypothesis scores and ranks hypotheses.
func (s *Scorer) Hypothesis(ctx context.Context, req HypothesisRequest) (Answer, error) {
	if req.Hypotheses == nil {
		return Answer{}, Refuse("hypotheses", "is required")
	}
	items := make([]item, len(req.Hypotheses))
	for i, h := range req.Hypotheses {
		items[i] = item{
			Item: Item{ID: h.ID, Scores: h.Scores, Rationale: h.Rationale}, reported: h.Reported, required: "statement",
			parts: []Part{{"hypothesis", h.Statement}, {"source domain", h.SourceDomain}, {"target domain", h.TargetDomain},
				{"explanation of the connection", h.Explanation}},
		}
	}
	return s.score(ctx, HypothesisRubric, "hypotheses", items, req.Weights, req.Judge)
}

// Custom scores and ranks items by the rubric of the request.
func (s *Scorer) Custom(ctx context.Context, req CustomRequest) (Answer, error) {
	var r *Rubric
	var err error
	switch {
	case req.Definition != nil && req.Source != "":
		return Answer{}, Refuse("definition", "and source are given: only one can be meant")
	case req.Definition != nil:
		r, err = New(*req.Definition)
	case req.Source != "":
		r, err = Load([]byte(req.Source))
	default:
		return Answer{}, Refuse("definition", "is required")
	}
	if err != nil {
		return Answer{}, Refuse("definition", "%v", err)
	}
	if req.Items == nil {
		return Answer{}, Refuse("items", "is required")
	}
	items := make([]item, len(req.Items))
	for i, it := range req.Items {
		items[i] = item{Item: it, required: "text", parts: []Part{{"text", it.Text}}}
	}
	return s.score(ctx, r, "items", items, req.Weights, req.Judge)
}

// An item is an Item with its place in the request and the texts that a judge reads.
type item struct {
	Item
	place    string
	parts    []Part // the first one is required
	required string // field of the first part
	reported *Reported
}

// score scores and ranks items by a rubric with the given weights; field is the place of the items in the request. If
// judge is not nil, a judge first scores the items that have no scores.
func (s *Scorer) score(ctx context.Context, r *Rubric, field string, items []item, weights map[string]Decimal,
	judge *JudgeOptions) (Answer, error) {
	weights, err := canonical(r, "weights", weights)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Results: []ItemResult{}, Mismatches: []Mismatch{}, Trace: []string{}}
	if r, a.Audit, err = r.Reweight(weights); err != nil {
		return Answer{}, Within("weights", err)
	}
	a.Rubric = r.def.ID
	if err := check(field, reflect.ValueOf(items), `unique:"ID"`); err != nil {
		return Answer{}, err
	}
	for i := range items {
		items[i].place = fmt.Sprintf("%s[%d]", field, i)
	}
	if items, a.Unscored, a.Judgements, err = s.judgeMissing(ctx, r, items, judge); err != nil {
		return Answer{}, err
	}
	ids, results := make([]string, len(items)), make([]Result, len(items))
	for i := range items {
		it := &items[i]
		ids[i] = it.ID
		if results[i], err = it.score(r); err != nil {
			return Answer{}, Within(it.place, err)
		}
	}
	for i, rank := range r.Rank(ids, results) {
		shown := items[i].shown(r, &results[i])
		if rank > 0 {
			shown.Rank = &rank
		}
		a.Results = append(a.Results, shown)
		a.Mismatches = append(a.Mismatches, items[i].mismatches(shown, &results[i])...)
		a.Trace = append(a.Trace, trace(r, shown, &results[i]))
	}
	for _, u := range a.Unscored {
		a.Trace = append(a.Trace, fmt.Sprintf("%s: not scored, %s: %s", u.ID, u.Outcome, u.Detail))
	}
	a.Message = a.message(r, field)
	return a, nil
}

// score scores one item. It first replaces names of dimensions by those of the rubric.
func (it *item) score(r *Rubric) (Result, error) {
	var err error
	if it.Scores, err = canonical(r, "scores", it.Scores); err != nil {
		return Result{}, err
	}
	if it.Rationale, err = canonical(r, "rationale", it.Rationale); err != nil {
		return Result{}, err
	}
	for name := range it.Rationale {
		if _, ok := r.at[name]; !ok {
			return Result{}, Refuse("rationale", "has an unknown dimension: want one of %s", strings.Join(r.Names(), ", "))
		}
	}
	for i, name := range it.FailedGates {
		if !slices.ContainsFunc(r.def.Gates, func(g Gate) bool { return g.Name == name }) {
			return Result{}, Refuse(fmt.Sprintf("failed_gates[%d]", i), "there is no gate %s", quoted(name))
		}
	}
	res, err := r.Score(Card{it.Scores, it.FailedGates})
	if err != nil {
		return Result{}, Within("scores", err)
	}
	return res, nil
}

// canonical returns a map by dimension in which names in another spelling (connectionValidity) are replaced by those of
// the rubric. Two spellings of one dimension are an error; unknown names stay as they are.
func canonical[V any](r *Rubric, place string, in map[string]V) (map[string]V, error) {
	if in == nil {
		return nil, nil
	}
	out := make(map[string]V, len(in))
	for given, v := range in {
		name := given
		i := slices.IndexFunc(r.def.Dimensions, func(d Dimension) bool { return fold(d.Name) == fold(given) })
		if _, exact := r.at[given]; !exact && i >= 0 {
			name = r.def.Dimensions[i].Name
		}
		if _, twice := out[name]; twice {
			return nil, Refuse(place+"."+name, "is given twice, in two spellings")
		}
		out[name] = v
	}
	return out, nil
}

// shown formats a result for the answer.
func (it *item) shown(r *Rubric, res *Result) ItemResult {
	out := ItemResult{
		ID: it.ID, Dimensions: map[string]ItemScore{}, Composite: r.Shown(res.Composite), Uncapped: r.Shown(res.Uncapped),
		Ceiling: res.Ceiling, Max: r.Shown(res.Max), Percent: Round(res.Percent(), 2),
		Verdict: res.Verdict, Caution: res.Caution, FailReasons: append([]string{}, res.Reasons...),
		Warnings: []string{}, Gates: []FailedGate{},
	}
	for _, d := range res.Dimensions {
		if d.Applies {
			out.Dimensions[d.Name] = ItemScore{d.Score, d.Weight, d.Anchor.Label, d.Anchor.Text, it.Rationale[d.Name]}
		}
	}
	for _, w := range res.Warnings {
		out.Warnings = append(out.Warnings, strings.TrimSuffix(w.Name+": "+w.Text, ": "))
	}
	for _, g := range res.Gates {
		out.Gates = append(out.Gates, FailedGate{g.Name, g.Consequence})
	}
	return out
}

// roundingOff is the tolerance for a reported composite: half a hundredth plus the floating-point error.
const roundingOff = 0.005 + 1e-9

// mismatches compares the reported totals with the computed ones.
func (it *item) mismatches(shown ItemResult, res *Result) []Mismatch {
	if it.reported == nil {
		return nil
	}
	var out []Mismatch
	exact, _ := res.Composite.Float64()
	if c := it.reported.Composite; c != nil && !(math.Abs(*c-exact) <= roundingOff) {
		out = append(out, Mismatch{it.ID, "composite", *c, shown.Composite})
	}
	if v := it.reported.Verdict; v != "" && v != shown.Verdict {
		out = append(out, Mismatch{it.ID, "verdict", v, shown.Verdict})
	}
	return out
}

// trace formats one line: "h1: novelty 4 grounding 2, composite 3.35, pass".
func trace(r *Rubric, shown ItemResult, res *Result) string {
	line := shown.ID + ":"
	for _, d := range res.Dimensions {
		if d.Applies {
			line += fmt.Sprintf(" %s %v", d.Name, d.Score)
		}
	}
	line += ", composite " + shown.Composite.Fixed(r.places)
	if shown.Verdict != "" {
		line += ", " + shown.Verdict
	}
	return line
}

// message formats the summary: "3 hypotheses: 1 pass, 1 borderline, 1 fail. h1 comes first with 3.35."
func (a *Answer) message(r *Rubric, field string) string {
	var verdicts []string
	for _, b := range r.def.Bands {
		n := 0
		for _, x := range a.Results {
			if x.Verdict == b.Verdict {
				n++
			}
		}
		verdicts = append(verdicts, fmt.Sprintf("%d %s", n, b.Verdict))
	}
	text := catalog.Plural(len(a.Results), map[string]string{"hypotheses": "hypothesis", "items": "item"}[field])
	if len(verdicts) > 0 {
		text += ": " + strings.Join(verdicts, ", ")
	}
	text += "."
	for _, x := range a.Results {
		if x.Rank != nil && *x.Rank == 1 {
			text += fmt.Sprintf(" %s comes first with %s.", x.ID, x.Composite.Fixed(r.places))
		}
	}
	if n := len(a.Unscored); n > 0 {
		text += fmt.Sprintf(" %d could not be scored.", n)
	}
	return text
}

// Entries returns the log records of the answer.
func (a Answer) Entries() []Entry {
	var out []Entry
	for _, r := range a.Results {
		e := Entry{ID: r.ID, Scores: map[string]float64{}, Rationale: map[string]string{}, Verdict: r.Verdict, Rank: r.Rank}
		e.Composite = new(r.Composite.Float())
		for name, d := range r.Dimensions {
			e.Scores[name] = d.Score.Float()
			if why := Cut(d.Rationale, longestReason); why != "" {
				e.Rationale[name] = why
			}
		}
		out = append(out, e)
	}
	for _, u := range a.Unscored {
		out = append(out, Entry{ID: u.ID, Scores: map[string]float64{}, Outcome: u.Outcome})
	}
	return out
}
