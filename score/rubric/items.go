package rubric

import "waymark/internal/parallel"

// An Item is a card with its id and the reasons for its scores.
type Item struct {
	ID        string
	Card      Card
	Rationale map[string]string // by dimension
}

// An ItemResult is the score of an item as it is shown.
type ItemResult struct {
	ID          string               `json:"id"`
	Dimensions  map[string]ItemScore `json:"dimensions"` // those that apply
	Composite   Decimal              `json:"composite"`  // rounded half up; the verdict is not
	Verdict     string               `json:"verdict"`
	Caution     bool                 `json:"caution"`
	FailReasons []string             `json:"fail_reasons"`
	Rank        *int                 `json:"rank"` // null if the item failed
}

// An ItemScore is the score of one dimension with its meaning.
type ItemScore struct {
	Score       Decimal `json:"score"`
	Weight      Decimal `json:"weight"`
	Label       string  `json:"label"`
	Explanation string  `json:"explanation"` // of the level, from the rubric
	Rationale   string  `json:"rationale,omitempty"`
}

// ScoreItems scores items in parallel and ranks them. It also returns the unrounded results. Of several errors it
// returns that of the first item; place names an item in the request.
func (r *Rubric) ScoreItems(items []Item, place func(i int) string) ([]ItemResult, []Result, error) {
	shown, results, faults := make([]ItemResult, len(items)), make([]Result, len(items)), make([]error, len(items))
	ids := make([]string, len(items))
	parallel.Each(len(items), func(i int) {
		ids[i] = items[i].ID
		if results[i], faults[i] = r.Score(items[i].Card); faults[i] == nil {
			shown[i] = r.shown(&items[i], &results[i])
		}
	})
	for i, err := range faults {
		if err != nil {
			return nil, nil, Within(place(i)+".scores", err)
		}
	}
	for i, rank := range r.Rank(ids, results) {
		if rank > 0 {
			shown[i].Rank = new(rank)
		}
	}
	return shown, results, nil
}

func (r *Rubric) shown(it *Item, res *Result) ItemResult {
	out := ItemResult{ID: it.ID, Dimensions: make(map[string]ItemScore, len(res.Dimensions)), Composite: r.Shown(res.Composite),
		Verdict: res.Verdict, Caution: res.Caution, FailReasons: append([]string{}, res.Reasons...)}
	for _, d := range res.Dimensions {
		if d.Applies {
			out.Dimensions[d.Name] = ItemScore{d.Score, d.Weight, d.Anchor.Label, d.Anchor.Text, it.Rationale[d.Name]}
		}
	}
	return out
}
