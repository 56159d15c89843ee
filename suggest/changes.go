package suggest

import (
	"cmp"
	"math"
	"slices"
)

// AnswerChanged is a request that two models answer differently.
type AnswerChanged struct {
	After  string   `json:"after,omitempty" doc:"The tool that was used last."`
	Intent string   `json:"intent,omitempty"`
	Before []string `json:"before"`
	Now    []string `json:"now"`
	Why    []Moved  `json:"why" doc:"Ids that were added, removed or ranked differently."`

	ProfileBefore string `json:"profile_before" doc:"Profile that answered. Scores and terms of different profiles cannot be compared."`
	ProfileNow    string `json:"profile_now"`
}

// Moved is an id whose rank differs between two answers, with the terms that differ most. If an answer does not have
// the id among the best 50, its rank and score there are 0.
type Moved struct {
	ID       string        `json:"id"`
	WasRank  int           `json:"was_rank"`
	Rank     int           `json:"rank"`
	WasScore float64       `json:"was_score"`
	Score    float64       `json:"score"`
	Terms    []TermChanged `json:"terms" doc:"Contributions that changed, the largest change first; empty where other formulas made the scores."`
	Reason   string        `json:"reason,omitempty" doc:"From the newer answer, else from the older one."`
}

// TermChanged is one term of a score in two models.
type TermChanged struct {
	Name string  `json:"name"`
	Was  float64 `json:"was"`
	Now  float64 `json:"now"`
}

// Sizes of a diff: the requests of each kind, the first ids of an answer that are compared, the suggestions requested
// of each model, and the terms shown of each id.
const (
	sampleQuestions = 20
	sampledAnswers  = 5
	answersRead     = 50
	movedTerms      = 3
)

// SampleRequests returns the requests of a diff: one after each of the most used tools and, if intents is true, one for
// each of the newest intents.
func (m *Model) SampleRequests(intents bool) (requests []NextRequest) {
	for _, id := range m.mostUsed(sampleQuestions) {
		requests = append(requests, NextRequest{Context: []string{id}})
	}
	if intents {
		for _, intent := range m.newestIntents(sampleQuestions) {
			requests = append(requests, NextRequest{Intent: intent})
		}
	}
	return requests
}

// Diff compares two models: nodes, edges, groups, and the answers to the requests. If there are no requests, it
// compares the answers after the most used tools of b.
func Diff(a, b *Model, requests ...NextRequest) DiffReport {
	from, _ := a.Export("", 0) // the whole graph; cannot fail with these arguments
	to, _ := b.Export("", 0)
	d := DiffExports(from, to)
	if len(requests) == 0 {
		requests = b.SampleRequests(false)
	}
	for _, q := range requests {
		was, is := a.answered(q), b.answered(q)
		before, now := was.Suggestions, is.Suggestions
		c := AnswerChanged{Intent: q.Intent, Before: firstIDs(before), Now: firstIDs(now), Why: []Moved{}, ProfileBefore: was.Model.Profile, ProfileNow: is.Model.Profile}
		if slices.Equal(c.Before, c.Now) {
			continue
		}
		if len(q.Context) > 0 {
			c.After = q.Context[len(q.Context)-1]
		}
		ids := slices.Concat(c.Now, c.Before)
		for i, id := range ids {
			if slices.Index(ids, id) == i && slices.Index(c.Before, id) != slices.Index(c.Now, id) {
				c.Why = append(c.Why, moved(id, before, now))
			}
		}
		d.Answers = append(d.Answers, c)
	}
	return d
}

// newestIntents returns up to k distinct intents of the newest episodes.
func (m *Model) newestIntents(k int) []string {
	const looked = 1000 // bounds the search, because a history may repeat one intent
	var intents []string
	for i := m.Past.N - 1; i >= max(0, m.Past.N-looked) && len(intents) < k; i-- {
		if p := m.Past.Episode(i); p.Intent != "" && !p.Limited && !slices.Contains(intents, p.Intent) {
			intents = append(intents, p.Intent)
		}
	}
	return intents
}

// answered returns the answer of the model, or an empty one if it rejects the request.
func (m *Model) answered(q NextRequest) NextAnswer {
	q.Limit = answersRead
	a, err := m.Next(q)
	if err != nil {
		a = NextAnswer{Model: m.info}
	}
	return a
}

func firstIDs(s []Suggestion) []string {
	ids := []string{}
	for _, one := range s[:min(sampledAnswers, len(s))] {
		ids = append(ids, one.ID)
	}
	return ids
}

// moved compares the ranks, scores and terms of an id in two answers.
func moved(id string, before, now []Suggestion) Moved {
	one := func(s []Suggestion) (Suggestion, int) {
		i := slices.IndexFunc(s, func(s Suggestion) bool { return s.ID == id })
		if i < 0 {
			return Suggestion{}, 0
		}
		return s[i], i + 1
	}
	a, was := one(before)
	b, rank := one(now)
	m := Moved{ID: id, WasRank: was, Rank: rank, WasScore: a.Score, Score: b.Score, Terms: []TermChanged{}, Reason: cmp.Or(b.Reason, a.Reason)}
	if was > 0 && rank > 0 && a.Formula == b.Formula {
		m.Terms = changedTerms(a.Terms, b.Terms)
	}
	return m
}

func changedTerms(a, b []Term) []TermChanged {
	all := []TermChanged{}
	for _, t := range a {
		all = append(all, TermChanged{Name: t.Name, Was: t.Contribution})
	}
	for _, t := range b {
		i := slices.IndexFunc(all, func(c TermChanged) bool { return c.Name == t.Name })
		if i < 0 {
			i, all = len(all), append(all, TermChanged{Name: t.Name})
		}
		all[i].Now = t.Contribution
	}
	all = slices.DeleteFunc(all, func(c TermChanged) bool { return c.Was == c.Now })
	slices.SortStableFunc(all, func(x, y TermChanged) int {
		return cmp.Compare(math.Abs(y.Now-y.Was), math.Abs(x.Now-x.Was))
	})
	return all[:min(movedTerms, len(all))]
}
