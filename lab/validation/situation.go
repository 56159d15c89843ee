package main

import (
	"cmp"
	"fmt"
	"slices"

	"waymark/episodic"
	"waymark/evaluate"
	"waymark/internal/numeric"
	"waymark/suggest"
)

func doublings(count uint64) float64 { return numeric.Log2(float64(count) + 1) }

// situation is one question of a held-out episode, with everything that could be the answer.
type situation struct {
	episode       int // of the sample
	after, active bool
	density       float64
	candidates    []candidate // in order of id
	target        int         // the candidate that came next, -1 where it is none

	// For an intent alone.
	gold []string // the tools that were needed, sorted
	ids  []string // of the candidates
}

// questions are the situations of one kind, of so many episodes.
type questions struct {
	kind       string
	episodes   int
	situations []situation
}

// The kinds of questions.
const (
	kindNext   = "next"
	kindIntent = "next+intent"
	kindTools  = "tools"
)

// position is a step of a held-out episode: what came next after the first at tools.
type position struct {
	episode, at int
	tools       []string
}

// positions lists no more than most, spread evenly over all episodes.
func positions(episodes []*episodic.Episode, takes func(e *episodic.Episode) bool, most int) []position {
	var all []position
	for i, e := range episodes {
		if !takes(e) {
			continue
		}
		tools := sequence(e)
		for at := 1; at < len(tools); at++ {
			all = append(all, position{i, at, tools})
		}
	}
	var some []position
	for i, p := range all {
		if sampled(i, len(all), most) {
			some = append(some, p)
		}
	}
	return some
}

// nextQuestions asks what came next at no more than most positions.
func nextQuestions(m *suggest.Model, kind string, episodes []*episodic.Episode, most int) (*questions, error) {
	q := &questions{kind: kind, episodes: len(episodes)}
	takes := asked
	if kind == kindNext {
		takes = func(*episodic.Episode) bool { return true }
	}
	for _, p := range positions(episodes, takes, most) {
		intent := ""
		if kind == kindIntent {
			intent = episodes[p.episode].Intent
		}
		s, err := newSituation(m, p.tools[:p.at], intent)
		if err != nil {
			return nil, fmt.Errorf("episode %q, position %d: %w", episodes[p.episode].ID, p.at, err)
		}
		s.episode, s.target, s.ids = p.episode, slices.Index(s.ids, p.tools[p.at]), nil
		q.situations = append(q.situations, s)
	}
	return q, nil
}

// toolQuestions asks what no more than most intents need.
func toolQuestions(m *suggest.Model, episodes []*episodic.Episode, most int) (*questions, error) {
	episodes = slices.DeleteFunc(slices.Clone(episodes), func(e *episodic.Episode) bool { return !asked(e) })
	q := &questions{kind: kindTools, episodes: len(episodes)}
	for i, e := range episodes {
		if !sampled(i, len(episodes), most) {
			continue
		}
		s, err := newSituation(m, nil, e.Intent)
		if err != nil {
			return nil, fmt.Errorf("intent of episode %q: %w", e.ID, err)
		}
		s.episode, s.gold = i, sequence(e)
		slices.Sort(s.gold)
		s.gold = slices.Compact(s.gold)
		q.situations = append(q.situations, s)
	}
	return q, nil
}

func newSituation(m *suggest.Model, context []string, intent string) (situation, error) {
	known, err := m.Situation(context[max(0, len(context)-suggest.MaxContext):], intent)
	if err != nil {
		return situation{}, err
	}
	s := situation{after: known.Context > 0, active: intent != "", density: m.Info().Density}
	for i := range known.Candidates {
		s.candidates = append(s.candidates, newCandidate(&known.Candidates[i]))
		s.ids = append(s.ids, known.Candidates[i].ID)
	}
	return s, nil
}

// rank of the target among the candidates, 0 where it is none or beyond what an answer can hold.
func (s *situation) rank(k *constants) int {
	if s.target < 0 || k.out(&s.candidates[s.target]) {
		return 0
	}
	score := k.score(&s.candidates[s.target], s)
	if score == 0 {
		return 0
	}
	rank := 1
	for i := range s.candidates {
		if c := &s.candidates[i]; !k.out(c) && i != s.target {
			if other := k.score(c, s); other > score || other == score && i < s.target {
				rank++
			}
		}
	}
	if rank > suggest.MaxLimit {
		return 0
	}
	return rank
}

// found ranks the tools for an intent, at most limit.
func (s *situation) found(k *constants, score func(c *candidate) float64, limit int) []int {
	scores := make([]float64, len(s.candidates))
	var order []int
	for i := range s.candidates {
		if c := &s.candidates[i]; !k.out(c) {
			if scores[i] = score(c); scores[i] > 0 {
				order = append(order, i)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order[:min(limit, len(order))]
}

// measured is what constants are worth on questions, by metric.
type measured map[string]evaluate.Sample

// metrics of the kind; the first decides.
func (q *questions) metrics() []string {
	switch q.kind {
	case kindTools:
		return []string{"NDCG@10", "recall@5"}
	}
	return []string{"MRR", "hit@1"}
}

// measure asks all questions.
func (q *questions) measure(k *constants) measured {
	m := measured{}
	for _, name := range q.metrics() {
		m[name] = evaluate.Sample{Sum: make([]float64, q.episodes), Count: make([]float64, q.episodes)}
	}
	for i := range q.situations {
		s := &q.situations[i]
		add := func(metric string, value float64) {
			m[metric].Sum[s.episode] += value
			m[metric].Count[s.episode]++
		}
		switch q.kind {
		case kindTools:
			var ranked []string
			for _, c := range s.found(k, func(c *candidate) float64 { return k.hybrid(c, s) }, 10) {
				ranked = append(ranked, s.ids[c])
			}
			add("NDCG@10", evaluate.NDCG(ranked, s.gold, 10))
			add("recall@5", evaluate.Recall(ranked, s.gold, 5))
		default:
			rank := s.rank(k)
			add("MRR", reciprocal(rank))
			add("hit@1", hit(rank))
		}
	}
	return m
}

func reciprocal(rank int) float64 {
	if rank == 0 {
		return 0
	}
	return 1 / float64(rank)
}

func hit(rank int) float64 {
	if rank == 1 {
		return 1
	}
	return 0
}
