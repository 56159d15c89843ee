package episodic

import (
	"fmt"
	"slices"
	"time"
)

// Performed is one step more of an episode that grows while it is done, or what became of the episode.
// Episode, Source and Time are those of the episode, the same in all that is performed in it.
type Performed struct {
	Episode string    `json:"episode"`
	Source  string    `json:"source,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	Number  int       `json:"number,omitempty"` // the how manieth call of the episode to begin, from 1
	AtMS    int64     `json:"at_ms,omitempty"`  // when it began, after Time
	Step    *Step     `json:"step,omitempty"`
	Outcome Outcome   `json:"outcome,omitempty"` // of the episode, if known by now
}

// Grown is an episode as far as it is done. Steps are told when they end, and stand in the order in which
// they began: a step joins the steps of its group, if there are any, in the place of its number; else it
// is the last. So every step stands after the ones it came after, whatever ended first.
type Grown struct {
	Episode
	Numbers []int `json:"numbers,omitempty"` // of the steps
	LastMS  int64 `json:"last_ms,omitempty"` // the last sign of life, after Time
}

// Has reports whether a step is there.
func (g *Grown) Has(step string) bool {
	return slices.ContainsFunc(g.Steps, func(s Step) bool { return s.ID == step })
}

// Room says why an episode has no place for a step: it is full, or does not have what the step depends on.
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

// Add puts a step in its place and returns that.
func (g *Grown) Add(p *Performed) int {
	at := g.place(p)
	g.Steps, g.Numbers = slices.Insert(g.Steps, at, *p.Step), slices.Insert(g.Numbers, at, p.Number)
	g.LastMS = max(g.LastMS, p.AtMS+p.Step.DurationMS)
	return at
}

// place finds the last group of the step's name, where that stands after all that the step depends on and
// nothing that follows it began before the step.
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

// Clone is a copy to try steps on.
func (g *Grown) Clone() *Grown {
	c := *g
	c.Steps, c.Numbers = slices.Clone(g.Steps), slices.Clone(g.Numbers)
	return &c
}
