package score

import (
	"strings"

	"waymark/score/judge"
	"waymark/score/rubric"
)

// An Entry is the log record of one scored item: ids, numbers and the reasons of a judge, without the scored text.
type Entry struct {
	ID        string             `json:"id"`
	Scores    map[string]float64 `json:"scores"` // by dimension
	Rationale map[string]string  `json:"rationale,omitempty" doc:"Reason of each score, by dimension; cut after 1000 bytes."`
	Composite *float64           `json:"composite"`
	Verdict   string             `json:"verdict,omitempty"`
	Rank      *int               `json:"rank"`
	Outcome   judge.Outcome      `json:"outcome,omitempty" doc:"Outcome of the judge if there are no scores."`
}

// Logged is an answer with log records.
type Logged interface{ Entries() []Entry }

func (a HypothesisAnswer) Entries() []Entry {
	out := make([]Entry, 0, len(a.Results)+len(a.Unscored))
	for _, r := range a.Results {
		out = append(out, entry(r))
	}
	return withUnscored(out, a.Unscored)
}

func (a CustomAnswer) Entries() []Entry {
	out := make([]Entry, 0, len(a.Results)+len(a.Unscored))
	for _, r := range a.Results {
		out = append(out, entry(r.ItemResult))
	}
	return withUnscored(out, a.Unscored)
}

// longestReason is the number of bytes logged of each reason.
const longestReason = 1000

func entry(r rubric.ItemResult) Entry {
	e := Entry{ID: r.ID, Scores: make(map[string]float64, len(r.Dimensions)), Composite: new(r.Composite.Float()), Verdict: r.Verdict, Rank: r.Rank}
	for name, d := range r.Dimensions {
		e.Scores[name] = d.Score.Float()
		if why := strings.ToValidUTF8(d.Rationale[:min(len(d.Rationale), longestReason)], ""); why != "" {
			if e.Rationale == nil {
				e.Rationale = map[string]string{}
			}
			e.Rationale[name] = why
		}
	}
	return e
}

// Entries of a ranking have no dimensions.
func (a HypothesisRanking) Entries() []Entry {
	var out []Entry
	for _, r := range a.Ranking {
		out = append(out, Entry{ID: r.ID, Scores: map[string]float64{}, Composite: new(r.Composite), Verdict: r.Verdict, Rank: new(r.Rank)})
	}
	return out
}

func withUnscored(out []Entry, unscored []Unscored) []Entry {
	for _, u := range unscored {
		out = append(out, Entry{ID: u.ID, Scores: map[string]float64{}, Outcome: u.Outcome})
	}
	return out
}

// Entries of a council hold the mean of each dimension over the reviews.
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
