package main

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	sample "waymark/cmd/waymark/sampledata"
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

// TestShares holds the sample to the mix that it was made for. The bands are what a reader is
// promised, not what came out.
func TestShares(t *testing.T) {
	episodes, err := sample.Lines[episodic.Episode]("episodes.jsonl")
	require.NoError(t, err)
	s := measure(episodes)
	s.log(t)
	n := float64(s.episodes)
	for _, c := range []struct {
		name     string
		share    float64
		min, max float64
	}{
		{"steps without outcome", 1 - float64(s.known)/float64(s.steps), .20, .30},
		{"single-tool episodes", float64(s.single) / n, .11, .19},
		{"branching episodes", float64(s.branching) / n, .15, .45},
		{"episodes with a repeat", float64(s.repeating) / n, .15, .50},
		{"episodes with a capability", float64(s.capability) / n, .06, .10},
		{"failed episodes", float64(s.failed) / n, .04, .15},
		{"episodes without outcome", float64(s.unrated) / n, .10, .25},
		{"episodes with order only", float64(s.ordered) / n, .40, .70},
		{"episodes with a group", float64(s.grouped) / n, .02, .20},
		{"calls of the ten tools most used", s.topTen, .25, .55},
	} {
		assert.True(t, c.min <= c.share && c.share <= c.max, "%s: %.3f is not in [%.2f, %.2f]", c.name, c.share, c.min, c.max)
	}
}

// TestLessons asks for what an engineer would expect to be learned.
func TestLessons(t *testing.T) {
	episodes, err := sample.Lines[episodic.Episode]("episodes.jsonl")
	require.NoError(t, err)
	s := measure(episodes)
	for _, c := range []struct{ from, to string }{
		{"forge:list_pull_requests", "forge:get_pull_request"},
		{"forge:get_pull_request_diff", "forge:review_pull_request"},
		{"forge:create_branch", "forge:commit_files"},
		{"forge:commit_files", "forge:create_pull_request"},
		{"forge:update_branch", "forge:get_checks"},
		{"forge:list_releases", "forge:compare_refs"},
		{"metrics:list_alerts", "metrics:query_metrics"},
		{"metrics:get_alert", "metrics:query_metrics"},
		{"metrics:query_metrics", "metrics:search_logs"},
		{"metrics:search_logs", "tracker:create_issue"},
		{"tracker:create_issue", "chat:post_message"},
		{"cloud:rollback_deployment", "cloud:get_deployment"},
		{"cloud:deploy_service", "cloud:get_deployment"},
		{"calendar:find_free_slots", "calendar:create_event"},
		{"mail:save_attachment", "files:extract_text"},
		{"chat:list_channels", "chat:post_message"},
		{"warehouse:list_tables", "warehouse:describe_table"},
		{"warehouse:describe_table", "warehouse:run_query"},
		{"web:search", "web:fetch_page"},
		{"wiki:search_pages", "wiki:get_page"},
		{"crm:search_customers", "crm:get_customer"},
		{"billing:create_invoice", "billing:send_invoice"},
		{"billing:list_payments", "billing:refund_payment"},
		{"cap:draft_release_notes", "chat:post_message"},
	} {
		next := s.next(c.from)
		require.NotEmpty(t, next, c.from)
		assert.Equal(t, c.to, next[0].to, "after %s", c.from)
		share := next[0].share
		assert.True(t, share > .2 && share < .96, "after %s comes %s in %.2f of cases: clear, not certain", c.from, c.to, share)
	}
}
