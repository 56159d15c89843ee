package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/episodic"
)

// How capabilities are mined from past plans.
const (
	leastEpisodes = 3
	longest       = 5
	mostMined     = 300
)

// capability is a run of tools that recurs in past plans, as if somebody had stored it.
type capability struct {
	catalog.Capability
	run      []string // its tools in order, at least two different ones
	episodes int      // that hold it
	outcomes []observation
}

// observation is a known outcome of a call.
type observation struct {
	context []string // the call came right after the last of it
	id      string
	outcome episodic.Outcome
	time    time.Time
}

// mine finds the runs of 2 to 5 tools, one right after the other in topological order, that at least three
// plans hold. A run inside a longer one that as many plans hold is left out, as is a second run of
// the same tools; of the others the most frequent remain. The intent of a capability is that of the newest
// plan it was found in.
func mine(history []*episodic.Episode) []capability {
	const sep = "\x00"
	found := map[string]*capability{}
	for _, e := range history {
		tools := sequence(e)
		seen := map[string]bool{}
		for i := range tools {
			for n := 2; n <= longest && i+n <= len(tools); n++ {
				run := tools[i : i+n]
				key := strings.Join(run, sep)
				if seen[key] || len(distinct(run)) < 2 {
					continue
				}
				seen[key] = true
				c := found[key]
				if c == nil {
					c = &capability{run: run}
					found[key] = c
				}
				c.episodes++
				c.Intent = cmp.Or(e.Intent, c.Intent)
				if e.Outcome.Known() {
					c.outcomes = append(c.outcomes, observation{outcome: e.Outcome, time: e.Time})
				}
			}
		}
	}
	inside := map[string]int{} // the most plans of any longer run
	var all []*capability
	for _, c := range found { // sorted below; order does not matter
		if c.episodes < leastEpisodes {
			continue
		}
		all = append(all, c)
		for _, part := range [2][]string{c.run[1:], c.run[:len(c.run)-1]} {
			key := strings.Join(part, sep)
			inside[key] = max(inside[key], c.episodes)
		}
	}
	all = slices.DeleteFunc(all, func(c *capability) bool { return inside[strings.Join(c.run, sep)] == c.episodes })
	slices.SortFunc(all, func(a, b *capability) int {
		return cmp.Or(cmp.Compare(b.episodes*len(b.run), a.episodes*len(a.run)), slices.Compare(a.run, b.run))
	})
	var mined []capability
	sets := map[string]bool{}
	for _, c := range all {
		c.Tools = distinct(c.run)
		if key := strings.Join(c.Tools, sep); len(mined) < mostMined && !sets[key] {
			sets[key] = true
			c.ID = fmt.Sprintf("mined-%03d", len(mined))
			c.Name = strings.Join(c.run, " then ")
			for i := range c.outcomes {
				c.outcomes[i].id = c.ID
			}
			mined = append(mined, *c)
		}
	}
	return mined
}

func distinct(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// executed says where in the history each capability was run, as short tasks of their own:
// what came right before it, the capability, what came right after.
func executed(history []*episodic.Episode, mined []capability) []*episodic.Episode {
	var all []*episodic.Episode
	for _, e := range history {
		tools := sequence(e)
		for i := range tools {
			for j := range mined {
				c := &mined[j]
				if !startsWith(tools[i:], c.run) {
					continue
				}
				var steps []episodic.Step
				if i > 0 {
					steps = append(steps, episodic.Step{Tool: tools[i-1]})
				}
				steps = append(steps, episodic.Step{Tool: c.ID})
				if end := i + len(c.run); end < len(tools) {
					steps = append(steps, episodic.Step{Tool: tools[end]})
				}
				if len(steps) < 2 {
					continue
				}
				for k := range steps {
					steps[k].ID = fmt.Sprint(k + 1)
				}
				all = append(all, &episodic.Episode{ID: fmt.Sprintf("%s/%d/%s", e.ID, i, c.ID), Steps: steps, Time: e.Time})
			}
		}
	}
	return all
}

func startsWith(tools, run []string) bool {
	return len(tools) >= len(run) && slices.Equal(tools[:len(run)], run)
}
