package episodic

import (
	"fmt"
	"slices"
	"time"
)

// Performed is one more step of an episode that is recorded while its task runs, or the outcome of the episode.
// Episode, Source and Time are those of the episode and are the same for all its steps.
type Performed struct {
	Episode string    `json:"episode"`
	Source  string    `json:"source,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	Number  int       `json:"number,omitempty"` // position of the call in the episode by start, from 1
	AtMS    int64     `json:"at_ms,omitempty"`  // start of the call, in milliseconds after Time
	Step    *Step     `json:"step,omitempty"`
	Outcome Outcome   `json:"outcome,omitempty"` // of the episode, if known already
}

// Grown is the recorded part of a running episode. Steps are reported when they end and are stored in the order
// in which they began: a step is inserted among the steps of its group by its number or, without such a group,
// appended. So every step comes after its predecessors, whichever call ended first.
type Grown struct {
	Episode
	Numbers []int `json:"numbers,omitempty"` // by step; see Performed.Number
	LastMS  int64 `json:"last_ms,omitempty"` // latest end of a step, in milliseconds after Time
}

// Has reports whether the episode has a step with this id.
func (g *Grown) Has(step string) bool {
	return slices.ContainsFunc(g.Steps, func(s Step) bool { return s.ID == step })
}

// Room returns an error if a step cannot be added: the episode is full, or lacks a step that this one depends on.
func (g *Grown) Room(s *Step) error {
	if len(g.Steps) >= MaxSteps {
		return fmt.Errorf("episode %q has %d steps, the limit", g.ID, len(g.Steps))
	}
	for _, id := range s.DependsOn {
		if !g.Has(id) {
			return fmt.Errorf("step %q depends on %q, which episode %q does not have", s.ID, id, g.ID)
		}
	}
	return nil
}

// Add inserts a step at its position and returns the position.
func (g *Grown) Add(p *Performed) int {
	at := g.place(p)
	g.Steps, g.Numbers = slices.Insert(g.Steps, at, *p.Step), slices.Insert(g.Numbers, at, p.Number)
	g.LastMS = max(g.LastMS, p.AtMS+p.Step.DurationMS)
	return at
}

// place returns the index at which to insert a step: within the last group of its name, by number, if no step of
// that group or after it is a dependency of the step, and the first step after the group did not begin before it.
// Otherwise place returns the end.
func (g *Grown) place(p *Performed) int {
	end := len(g.Steps)
	if p.Step.Group == "" {
		return end
	}
	for end > 0 && g.Steps[end-1].Group != p.Step.Group {
		end--
	}
	begin := end
	for begin > 0 && g.Steps[begin-1].Group == p.Step.Group {
		begin--
	}
	if begin == end || end < len(g.Steps) && g.Numbers[end] < p.Number || slices.ContainsFunc(g.Steps[begin:], func(s Step) bool { return slices.Contains(p.Step.DependsOn, s.ID) }) {
		return len(g.Steps)
	}
	for end > begin && g.Numbers[end-1] > p.Number {
		end--
	}
	return end
}

// Clone returns a copy to which steps can be added without changing the original.
func (g *Grown) Clone() *Grown {
	c := *g
	c.Steps, c.Numbers = slices.Clone(g.Steps), slices.Clone(g.Numbers)
	return &c
}
