package score

import (
	"context"
	"fmt"
	"slices"

	"waymark/internal/plural"
	"waymark/score/judge"
	"waymark/score/rubric"
)

// A CustomRequest scores things by a rubric that comes with it: as a value, or as the text of a file.
type CustomRequest struct {
	Definition *rubric.Definition        `json:"definition,omitempty"`
	Source     string                    `json:"source,omitempty" doc:"The rubric as YAML or JSON text; alternative to definition."`
	Items      []Item                    `json:"items"`
	Weights    map[string]rubric.Decimal `json:"weights,omitempty" doc:"Weights that replace those of the definition, by dimension."`
	Judge      *JudgeOptions             `json:"judge,omitempty"`
}

// An Item is one thing. A null score says that the dimension does not apply.
type Item struct {
	ID          string                     `json:"id"`
	Text        string                     `json:"text,omitempty" doc:"Text that the judge scores."`
	Scores      map[string]*rubric.Decimal `json:"scores,omitempty"`
	FailedGates []string                   `json:"failed_gates,omitempty"`
	Rationale   map[string]string          `json:"rationale,omitempty"`
}

// A CustomAnswer has the results of what was scored, in the order of the request.
type CustomAnswer struct {
	Message    string        `json:"message" doc:"Summary of the answer in one sentence."`
	Rubric     string        `json:"rubric"`
	Results    []ItemResult  `json:"results"`
	Unscored   []Unscored    `json:"unscored"`
	Judgements []JudgeAnswer `json:"judgements"`
	Audit      []string      `json:"audit"`
}

// ItemResult is one item scored.
type ItemResult struct {
	rubric.ItemResult
	Uncapped rubric.Decimal  `json:"uncapped"`
	Ceiling  *rubric.Decimal `json:"ceiling"`
	Max      rubric.Decimal  `json:"max"`
	Percent  rubric.Decimal  `json:"percent"`
	Warnings []string        `json:"warnings"`
	Gates    []FailedGate    `json:"gates"`
}

// FailedGate is a gate that an item failed.
type FailedGate struct {
	Gate        string `json:"gate"`
	Consequence string `json:"consequence"`
}

// Custom scores and ranks items by the rubric of the request.
func (s *Scorer) Custom(ctx context.Context, req CustomRequest) (CustomAnswer, error) {
	r, audit, err := req.rubric()
	if err != nil {
		return CustomAnswer{}, err
	}
	a := CustomAnswer{Rubric: r.Definition().ID, Results: []ItemResult{}, Unscored: []Unscored{}, Judgements: []JudgeAnswer{}, Audit: append([]string{}, audit...)}
	if err := rubric.DistinctIDs("items", req.Items, func(it Item) string { return it.ID }); err != nil {
		return CustomAnswer{}, err
	}
	items := req.Items
	if req.Judge != nil {
		if items, err = s.judgeItems(ctx, r, *req.Judge, items, &a); err != nil {
			return CustomAnswer{}, err
		}
	}
	scored := make([]rubric.Item, len(items))
	for i, it := range items {
		scored[i] = rubric.Item{ID: it.ID, Card: it.card(), Rationale: it.Rationale}
	}
	shown, exact, err := r.ScoreItems(scored, func(i int) string {
		return fmt.Sprintf("items[%d]", slices.IndexFunc(req.Items, func(x Item) bool { return x.ID == items[i].ID }))
	})
	if err != nil {
		return CustomAnswer{}, err
	}
	for i := range shown {
		a.Results = append(a.Results, itemResult(r, shown[i], exact[i]))
		if rank := shown[i].Rank; rank != nil && *rank == 1 {
			a.Message = fmt.Sprintf(" %s comes first with %s.", items[i].ID, shown[i].Composite)
		}
	}
	a.Message = fmt.Sprintf("%s scored by %s.%s", plural.Of(len(a.Results), "item"), a.Rubric, a.Message)
	return a, nil
}

// rubric is the rubric of the request with its weights, and how they differ from the definition's.
func (req CustomRequest) rubric() (*rubric.Rubric, []string, error) {
	var r *rubric.Rubric
	var err error
	switch {
	case req.Definition != nil && req.Source != "":
		return nil, nil, rubric.Refuse("definition", "and source are given: only one can be meant")
	case req.Definition != nil:
		r, err = rubric.New(*req.Definition)
	case req.Source != "":
		r, err = rubric.Load([]byte(req.Source))
	default:
		return nil, nil, rubric.Refuse("definition", "is required")
	}
	if err != nil {
		return nil, nil, rubric.Refuse("definition", "%v", err)
	}
	r, audit, err := r.Reweight(req.Weights)
	if err != nil {
		return nil, nil, rubric.Within("weights", err)
	}
	return r, audit, nil
}

// judgeItems fills in the scores of items that have none, and returns the items that have scores then.
func (s *Scorer) judgeItems(ctx context.Context, r *rubric.Rubric, o JudgeOptions, items []Item, a *CustomAnswer) ([]Item, error) {
	var err error
	items, a.Unscored, a.Judgements, err = judgeMissing(ctx, s, o, r, items, func(i int, it Item) (*judge.Question, error) {
		switch {
		case it.Scores != nil:
			return nil, nil
		case it.Text == "":
			return nil, rubric.Refuse(fmt.Sprintf("items[%d].text", i), "is required where a judge has to score")
		}
		return new(judge.Rate(r, it.ID, judge.Part{Label: "text", Text: it.Text})), nil
	}, func(it *Item, card rubric.Card, reasons map[string]string, _ judge.Answer) {
		it.Rationale, it.Scores = reasons, map[string]*rubric.Decimal{}
		for name, score := range card.Scores {
			it.Scores[name] = new(score)
		}
		for _, name := range card.NotApplicable {
			it.Scores[name] = nil
		}
	})
	return items, err
}

func (it Item) card() rubric.Card {
	c := rubric.Card{Scores: map[string]rubric.Decimal{}, FailedGates: it.FailedGates}
	for name, score := range it.Scores {
		if score == nil {
			c.NotApplicable = append(c.NotApplicable, name)
			continue
		}
		c.Scores[name] = *score
	}
	return c
}

func itemResult(r *rubric.Rubric, shown rubric.ItemResult, res rubric.Result) ItemResult {
	out := ItemResult{ItemResult: shown, Uncapped: r.Shown(res.Uncapped), Ceiling: res.Ceiling, Max: r.Shown(res.Max),
		Percent: rubric.RoundHalfUp(res.Percent(), 2), Warnings: []string{}, Gates: []FailedGate{}}
	for _, w := range res.Warnings {
		text := w.Name
		if w.Text != "" {
			text += ": " + w.Text
		}
		out.Warnings = append(out.Warnings, text)
	}
	for _, g := range res.Gates {
		out.Gates = append(out.Gates, FailedGate{g.Name, g.Consequence})
	}
	return out
}
