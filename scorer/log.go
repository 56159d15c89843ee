package scorer

import "waymark/judge"

// An Entry is one scored thing as it is logged: names and numbers, no text of what was scored.
type Entry struct {
	ID        string             `json:"id"`
	Scores    map[string]float64 `json:"scores"` // by dimension
	Composite *float64           `json:"composite"`
	Verdict   string             `json:"verdict,omitempty"`
	Rank      *int               `json:"rank"`
	Outcome   judge.Outcome      `json:"outcome,omitempty" doc:"Why there are no scores."`
}

// Logged is an answer with things to log.
type Logged interface{ Entries() []Entry }

func (a HypothesisAnswer) Entries() []Entry {
	var out []Entry
	for _, r := range a.Results {
		e := Entry{ID: r.ID, Scores: map[string]float64{}, Composite: new(r.Composite.Float()), Verdict: r.Verdict, Rank: r.Rank}
		for name, d := range r.Dimensions {
			e.Scores[name] = d.Score.Float()
		}
		out = append(out, e)
	}
	return withUnscored(out, a.Unscored)
}

func (a CustomAnswer) Entries() []Entry {
	var out []Entry
	for _, r := range a.Results {
		e := Entry{ID: r.ID, Scores: map[string]float64{}, Composite: new(r.Composite.Float()), Verdict: r.Verdict, Rank: r.Rank}
		for name, d := range r.Dimensions {
			e.Scores[name] = d.Score.Float()
		}
		out = append(out, e)
	}
	return withUnscored(out, a.Unscored)
}

func withUnscored(out []Entry, unscored []Unscored) []Entry {
	for _, u := range unscored {
		out = append(out, Entry{ID: u.ID, Scores: map[string]float64{}, Outcome: u.Outcome})
	}
	return out
}

// Entries of a council have the means of the dimensions over the reviews.
func (a CouncilAnswer) Entries() []Entry {
	var out []Entry
	for _, r := range a.Ranking {
		e := Entry{ID: r.ID, Scores: map[string]float64{}, Composite: r.Score, Rank: r.Rank}
		for name, d := range r.Dimensions {
			e.Scores[name] = d.Mean
		}
		out = append(out, e)
	}
	return out
}
