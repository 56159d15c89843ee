package sample

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/episodic"
)

// statistics of the history.
type statistics struct {
	episodes, steps, known, failures                      int
	single, branching, repeating, capability              int
	failed, unrated, ordered, grouped, tools, transitions int
	first, last                                           time.Time
	topTen                                                float64
	out                                                   map[string]map[string]uint64
}

func measure(episodes []episodic.Episode) statistics {
	s := statistics{episodes: len(episodes), out: map[string]map[string]uint64{}}
	s.first, s.last = episodes[0].Time, episodes[len(episodes)-1].Time
	calls := map[string]int{}
	add := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	for _, e := range episodes {
		used := map[string]bool{}
		branches, capability, grouped, repeats := false, false, false, false
		for i, st := range e.Steps {
			s.steps++
			add(&s.known, st.Outcome.Known())
			add(&s.failures, st.Outcome == episodic.Failure)
			repeats = repeats || used[st.Tool]
			used[st.Tool] = true
			calls[st.Tool]++
			capability = capability || strings.HasPrefix(st.Tool, "cap:")
			grouped = grouped || st.Group != ""
			for _, earlier := range e.Steps[:i] {
				if st.DependsOn != nil && earlier.Outcome != episodic.Failure && reflect.DeepEqual(st.DependsOn, earlier.DependsOn) {
					branches = true
				}
			}
		}
		add(&s.single, len(e.Steps) == 1)
		add(&s.branching, branches || grouped)
		add(&s.repeating, repeats)
		add(&s.capability, capability)
		add(&s.grouped, grouped)
		add(&s.ordered, e.Steps[0].DependsOn == nil)
		add(&s.failed, e.Outcome == episodic.Failure)
		add(&s.unrated, !e.Outcome.Known())
		for _, tr := range e.Transitions() {
			from, to := e.Steps[tr.From].Tool, e.Steps[tr.To].Tool
			if s.out[from] == nil {
				s.out[from] = map[string]uint64{}
			}
			s.out[from][to] += tr.Halves
		}
	}
	for _, to := range s.out {
		s.transitions += len(to)
	}
	s.tools = len(calls)
	var counts []int
	for _, n := range calls {
		counts = append(counts, n)
	}
	slices.SortFunc(counts, func(a, b int) int { return cmp.Compare(b, a) })
	top := 0
	for _, n := range counts[:10] {
		top += n
	}
	s.topTen = float64(top) / float64(s.steps)
	return s
}

// A transition out of a tool, with its share of all of them.
type transition struct {
	from, to string
	halves   uint64
	share    float64
}

// next lists what followed a tool, most frequent first; calls of the tool itself do not count.
func (s statistics) next(from string) []transition {
	var list []transition
	sum := uint64(0)
	for to, halves := range s.out[from] {
		if to != from {
			list = append(list, transition{from: from, to: to, halves: halves})
			sum += halves
		}
	}
	for i := range list {
		list[i].share = float64(list[i].halves) / float64(sum)
	}
	slices.SortFunc(list, compareTransitions)
	return list
}

func compareTransitions(a, b transition) int {
	return cmp.Or(cmp.Compare(b.halves, a.halves), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
}

// log prints the statistics, seen with go test -v.
func (s statistics) log(t *testing.T) {
	n := float64(s.episodes)
	share := func(k int) float64 { return float64(k) / n }
	t.Logf("%d episodes, %s to %s, %d steps, mean length %.2f", s.episodes,
		s.first.Format(time.DateOnly), s.last.Format(time.DateOnly), s.steps, float64(s.steps)/n)
	t.Logf("%d tools and capabilities used, %d different transitions, top ten tools %.3f of calls", s.tools, s.transitions, s.topTen)
	t.Logf("steps: known outcome %.3f, of these failed %.3f", float64(s.known)/float64(s.steps), float64(s.failures)/float64(s.known))
	t.Logf("episodes: single tool %.3f, branching %.3f, repeating %.3f, with capability %.3f, order only %.3f, with group %.3f, failed %.3f, outcome unknown %.3f",
		share(s.single), share(s.branching), share(s.repeating), share(s.capability), share(s.ordered), share(s.grouped), share(s.failed), share(s.unrated))
	var all []transition
	for from := range s.out {
		all = append(all, s.next(from)...)
	}
	slices.SortFunc(all, compareTransitions)
	for _, tr := range all[:min(25, len(all))] {
		t.Logf("%6.1f  %.2f  %s → %s", float64(tr.halves)/2, tr.share, tr.from, tr.to)
	}
}
