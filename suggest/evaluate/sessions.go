package evaluate

import (
	"math"
	"slices"
	"sort"
)

// sessions is the k-nearest-neighbours recommender over past episodes, with the context weighted by
// how recent a step is (V-SKNN; Ludewig and Jannach, User Modeling and User-Adapted Interaction 28,
// 2018). With the context c₁ … cₙ and its distinct tools C,
//
//	likeness(e) = Σ_{p ∈ C ∩ e} (position of p's last call)/n  /  √(|C|·|e|)
//	score(t)    = Σ over the nearest e with t of likeness(e)
//
// The latest 200 episodes with each tool of the context compete, as users of it do: what is asked for
// every step has to be cheap.
type sessions struct {
	sets    [][]int32
	holding [][]int32 // by tool: the episodes with it, in order
}

const (
	nearestSessions = 100
	recentSessions  = 200
)

func newSessions(tools int) *sessions { return &sessions{holding: make([][]int32, tools)} }

// add remembers an episode as a set of tools. Episodes come in order of time.
func (s *sessions) add(set []int32) {
	for _, t := range set {
		s.holding[t] = append(s.holding[t], int32(len(s.sets)))
	}
	s.sets = append(s.sets, set)
}

// score is session-based nearest neighbours: the likeness of an episode is the sum of the weights of the
// tools it shares with the context, later ones weighing more, over √(tools of the context · tools of the
// episode). The nearest vote for their tools by likeness. Of each tool only the recentSessions newest
// episodes are looked at.
func (s *sessions) score(w *working) {
	if len(w.near) < len(s.sets) {
		w.near = make([]float64, len(s.sets))
	}
	w.nearest = w.nearest[:0]
	different := 0
	for i := len(w.context) - 1; i >= 0; i-- {
		p := w.context[i]
		if slices.Contains(w.context[i+1:], p) {
			continue // its last call counts
		}
		different++
		if p == unknown {
			continue
		}
		weight := float64(i+1) / float64(len(w.context))
		holding := s.holding[p]
		for _, e := range holding[max(0, len(holding)-recentSessions):] {
			if w.near[e] == 0 {
				w.nearest = append(w.nearest, e)
			}
			w.near[e] += weight
		}
	}
	w.best = w.best[:0]
	for _, e := range w.nearest {
		likeness := w.near[e] / math.Sqrt(float64(different*len(s.sets[e])))
		w.near[e] = 0
		w.best = keep(w.best, scored{e, likeness}, nearestSessions)
	}
	for _, b := range w.best {
		for _, t := range s.sets[b.of] {
			w.add(t, b.score)
		}
	}
}

// keep inserts an episode into the most alike, best first, of two as like the later; at most limit stay.
func keep(best []scored, x scored, limit int) []scored {
	better := func(a, b scored) bool { return a.score > b.score || a.score == b.score && a.of > b.of }
	if len(best) == limit {
		if !better(x, best[limit-1]) {
			return best
		}
		best = best[:limit-1]
	}
	i := sort.Search(len(best), func(i int) bool { return better(x, best[i]) })
	return slices.Insert(best, i, x)
}
