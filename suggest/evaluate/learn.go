// Package evaluate measures how well suggestions fit what really happened.
//
//	Data ──split──▶ history ──Train──▶ Predictor ──positions──▶ ranks ──▶ metrics, intervals, calibration
//	                   │                                                        │
//	                   └──────▶ baselines ──the same positions──▶ ranks ────────┴──▶ Report
//
// A past task becomes several questions. Put into topological order (ties as recorded) it is a
// sequence t₀ t₁ … tₙ; for every i ≥ 1 the question is "what comes after t₀ … tᵢ₋₁", and the answer is
// right where it is tᵢ. Its intent alone is two more: "which tools does this need" and "in which
// order". No question is ever answered with a history that holds its own task, or an attempt at the
// same task.
//
// Everything here is deterministic: draws are seeded, ties are broken by id, sums have a fixed order
// whatever the number of processors. [Evaluate] does it all; the metrics stand for themselves.
package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
)

// Data is a catalog and a history to evaluate on.
type Data struct {
	Name         string
	Tools        []catalog.Tool
	Capabilities []catalog.Capability
	Examples     []Example // as recorded; without any of the train split, each is held out in turn
	Needs        []Link    // dependencies between tools as authors drew them, not derived from Examples
	Official     bool      // planning benchmark in the form of TaskBench, with its own metric: see [OfficialScores]
}

// Example is a past task with the part it plays.
type Example struct {
	Episode episodic.Episode
	Split   string // [Train] is history, anything else is tested
	Task    string // attempts at one task share it; "" means that the episode is the only one
	Next    bool   // asked for the next tool
	Intent  bool   // asked for tools and a plan, if it has an intent
}

// The splits.
const (
	Train = "train"
	Test  = "test"
)

// Link says that To comes after From, or needs it.
type Link struct{ From, To string }

func (a Link) compare(b Link) int {
	return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
}

// Question is a situation: what was done so far, in order, and what for. Either may be empty.
type Question struct {
	Context []string
	Intent  string
}

// Candidate is one answer. Confidence is a probability where the predictor claims one, else 0.
type Candidate struct {
	ID         string
	Confidence float64
}

// Plan is the tools that an intent needs and the links between them. A tool may occur twice.
type Plan struct {
	Tools []string
	Links []Link
}

// Ranker ranks what may come next, best first: at most limit candidates, all it has if limit is 0.
type Ranker interface {
	Rank(q Question, limit int) ([]Candidate, error)
}

// Finder ranks the tools an intent needs, best first: at most limit, all it has if limit is 0.
type Finder interface {
	Find(intent string, limit int) ([]string, error)
}

// Planner draws up a plan for an intent.
type Planner interface {
	Plan(intent string) (Plan, error)
}

// Predictor is what a history was turned into. A nil part is not measured. All parts are used by
// several goroutines at once.
type Predictor struct {
	Ranker
	Finder
	Planner
}

// Trainer turns a catalog and a history, in the order of recording, into a predictor.
type Trainer func(ctx context.Context, d *Data, history []*Example) (Predictor, error)

// HoldOut splits a workspace's own history by time: the latest share of the episodes is the test, what
// came before it the history. Where an episode has no time, order says little (an import takes files as
// they come, one kind of task after the other), and the test is spread evenly over all of them, near copies of one
// request together.
func HoldOut(episodes []episodic.Episode, share float64) ([]Example, error) {
	if !(share > 0 && share < 1) {
		return nil, fmt.Errorf("hold out a share of %v: must lie between 0 and 1", share)
	}
	n := int(math.Round(share * float64(len(episodes))))
	if n == 0 || n == len(episodes) {
		return nil, fmt.Errorf("hold out a share of %v of %d episodes: one side would be empty", share, len(episodes))
	}
	examples := make([]Example, len(episodes))
	timed := true
	for i, e := range episodes {
		examples[i] = Example{Episode: e, Split: Train, Next: true, Intent: true}
		timed = timed && !e.Time.IsZero()
	}
	if timed {
		slices.SortStableFunc(examples, func(a, b Example) int { return a.Episode.Time.Compare(b.Episode.Time) })
	}
	if !timed {
		spread(examples, n)
		return examples, nil
	}
	for i := len(examples) - n; i < len(examples); i++ {
		examples[i].Split = Test
	}
	return examples, nil
}

// ErrNothingToTest says that no example can be asked about.
var ErrNothingToTest = errors.New("nothing to test: no test episode has two steps or an intent")

// task is an example made ready: what is asked, what is right.
type task struct {
	*Example
	group string   // attempts at one task
	seq   []string // tools in topological order
	pairs []Link   // of every dependency, in topological order of its target; loops included
	set   []string // distinct tools, sorted
	links []Link   // distinct pairs of different tools, sorted
	chain bool     // at least two steps, each after the one before
	after [][]int  // by position in seq, the positions it depends on
}

// ready reports whether a tool could be used after the first i steps: a step that is not done uses it, and all that
// this step depends on is done.
func (t *task) ready(i int, tool string) bool {
	for j := i; j < len(t.seq); j++ {
		if t.seq[j] == tool && !slices.ContainsFunc(t.after[j], func(k int) bool { return k >= i }) {
			return true
		}
	}
	return false
}

// newTask puts the steps in topological order and derives what metrics compare: the sequence, the set of
// tools, and the links between different tools, sorted. chain is whether each step depends on exactly the one
// before it.
func newTask(x *Example) *task {
	e := &x.Episode
	t := &task{Example: x, group: cmp.Or(x.Task, e.ID)}
	before := e.Before()
	order := e.Order()
	t.chain = len(order) > 1
	place := make([]int, len(order))
	for at, i := range order {
		place[i] = at
	}
	for at, i := range order {
		t.seq = append(t.seq, e.Steps[i].Tool)
		var after []int
		for _, b := range before[i] {
			after = append(after, place[b])
		}
		t.after = append(t.after, after)
		for _, b := range before[i] {
			t.pairs = append(t.pairs, Link{e.Steps[b].Tool, e.Steps[i].Tool})
		}
		if at == 0 {
			t.chain = t.chain && len(before[i]) == 0
		} else {
			t.chain = t.chain && len(before[i]) == 1 && before[i][0] == order[at-1]
		}
	}
	t.set = distinct(t.seq)
	for _, p := range t.pairs {
		if p.From != p.To {
			t.links = append(t.links, p)
		}
	}
	slices.SortFunc(t.links, Link.compare)
	t.links = slices.Compact(t.links)
	return t
}

// distinct returns the different elements of ids, sorted.
func distinct(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// part is a history with the tests that are asked of it, as folds.
type part struct {
	tests   []*task
	history []*task
	leave   bool // every test is held out in turn, with its whole group
}

// split takes the examples of one kind of question apart.
func split(all []*task, takes func(*task) bool, successfulOnly bool) part {
	var p part
	for _, t := range all {
		switch {
		case !takes(t):
		case t.Split == Train:
			p.history = append(p.history, t)
		case !successfulOnly || t.Episode.Outcome == episodic.Success:
			p.tests = append(p.tests, t)
		}
	}
	if len(p.history) == 0 {
		p.leave, p.history = true, p.tests
	}
	return p
}

// without returns the history of a test: all of it, or, where each is held out in turn, what is not of
// its group.
func (p part) without(group string) []*task {
	if !p.leave {
		return p.history
	}
	return slices.DeleteFunc(slices.Clone(p.history), func(t *task) bool { return t.group == group })
}
