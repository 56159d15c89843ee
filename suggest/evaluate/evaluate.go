// Package evaluate measures how well suggestions fit what really happened.
//
//	Data ──split──▶ history ──train──▶ predictors ──questions──▶ values by task ──bootstrap──▶ one table: Report
//	                   └────▶ baselines ────────────────────────────────┘
//
// A past task becomes several questions. Put into topological order (ties as recorded) it is a
// sequence t₀ t₁ … tₙ; for every i ≥ 1 the question is "what comes after t₀ … tᵢ₋₁", and the answer is
// right where it is tᵢ. Its intent alone is two more: "which tools does this need" and "in which
// order". No question is ever answered with a history that holds its own task.
//
// Everything here is deterministic: draws are seeded, ties are broken by id, sums have a fixed order
// whatever the number of processors. [Evaluate] makes the table, [Judge] decides whether a rebuild loses.
package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/numeric"
)

// Data is a catalog and a history to evaluate on.
type Data struct {
	Name         string
	Tools        []catalog.Tool
	Capabilities []catalog.Capability
	Examples     []Example // as recorded; without any of the train split, each is held out in turn
}

// Example is a past task with the part it plays.
type Example struct {
	Episode episodic.Episode
	Split   string // [Train] is history, anything else is tested
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

// Candidate is one answer. Confidence is a probability where the predictor states one, else 0.
type Candidate struct {
	ID         string
	Confidence float64
}

// Plan is the tools that an intent needs and the links between them. Foreign: nothing serves the intent.
type Plan struct {
	Tools   []string
	Links   []Link
	Foreign bool
}

// Predictor is what a history was turned into. Each function lists the best first; a nil one is not measured. All are
// called by several goroutines at once.
type Predictor struct {
	Name   string
	Next   func(Question) ([]Candidate, error)
	Find   func(intent string) ([]string, error) // the tools that a whole task needs
	Plan   func(intent string) (Plan, error)
	Search func(query string) ([]string, error) // tools for a single need

	withIntent bool // Next is only asked with an intent
	simple     bool // a baseline
}

// Trainer turns a catalog and a history, in the order of recording, into the predictor under test and those that it is
// compared with.
type Trainer func(ctx context.Context, d *Data, history []*Example) ([]Predictor, error)

// seed is that of every draw.
const seed = 1

// Options of an evaluation.
type Options struct {
	Profile      string                // of the report
	FirstContact bool                  // also asks about what the history does not resemble, and about joined sessions
	Progress     func(done, total int) // nil: nobody looks. Calls never overlap

	judge bool // without baselines, and of at most mostAsked tasks
}

// ErrNothingToTest says that no example can be asked about.
var ErrNothingToTest = errors.New("nothing to test: no test episode has two steps or an intent")

// Evaluate measures what train makes of the history in d, and the baselines beside it. It stops soon after ctx ends.
// The report depends on nothing but d, the options and train.
func Evaluate(ctx context.Context, d *Data, train Trainer, o Options) (*Report, error) {
	asked, folds, r := divide(d, o)
	if r.TestEpisodes == 0 {
		return nil, fmt.Errorf("evaluate on %s: %w", d.Name, ErrNothingToTest)
	}
	var lock sync.Mutex
	done, total := 0, 0
	for _, q := range asked {
		total += len(q.tests)
	}
	tick := func() {
		if o.Progress != nil {
			lock.Lock()
			defer lock.Unlock()
			done++
			o.Progress(done, total)
		}
	}
	text := newToolIndex(d.Tools)
	if err := each(ctx, len(folds), func(i int) error {
		examples := make([]*Example, len(folds[i].history))
		for j, t := range folds[i].history {
			examples[j] = t.Example
		}
		predictors, err := train(ctx, d, examples)
		if err != nil {
			return fmt.Errorf("evaluate on %s: train on %d episodes: %w", d.Name, len(examples), err)
		}
		if !o.judge {
			predictors = append(predictors, baselines(folds[i].history, text)...)
		}
		for _, q := range asked {
			if err := q.ask(ctx, predictors, folds[i].test, tick); err != nil {
				return fmt.Errorf("evaluate on %s: %w", d.Name, err)
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for _, q := range asked {
		r.add(q, seed)
	}
	return r, nil
}

// fold is a history and the test that is asked of what it was turned into; nil: all are.
type fold struct {
	history []*task
	test    *task
}

// divide splits the examples into history and tests; without a history each test is held out in turn. A task of one step
// asks no next tool, one without an intent no plan.
func divide(d *Data, o Options) (asked []*question, folds []fold, r *Report) {
	var past, tests, steps, intents, both, sessions, needs, strange []*task
	for i := range d.Examples {
		if t := newTask(&d.Examples[i]); t.Split == Train {
			past = append(past, t)
		} else {
			tests = append(tests, t)
		}
	}
	r = &Report{
		Dataset: d.Name, Profile: o.Profile, TrainEpisodes: len(past), LeaveOneOut: len(past) == 0,
		Rows: []Row{}, Lost: []Row{}, TooFew: []Row{}, Baselines: map[string]map[string]float64{},
	}
	for i, t := range tests {
		if len(t.seq) >= 2 {
			steps = append(steps, t)
		}
		if t.hasIntent() {
			intents = append(intents, t)
		}
		if len(t.seq) >= 2 || t.hasIntent() {
			if r.TestEpisodes++; r.LeaveOneOut {
				folds = append(folds, fold{slices.Concat(tests[:i], tests[i+1:]), t})
			}
		}
	}
	if !r.LeaveOneOut {
		folds = []fold{{history: past}}
	}
	if o.judge {
		steps, intents = evenly(steps, mostAsked), evenly(intents, mostAsked)
	}
	for _, t := range steps {
		if t.hasIntent() {
			both = append(both, t)
		}
	}
	if o.FirstContact && !r.LeaveOneOut {
		sessions, needs = joined(evenly(steps, mostContact)), ownTexts(d.Tools)
		strange = append(foreign(), evenly(intents, mostContact)...)
	}
	for i, tests := range [][]*task{steps, both, sessions, intents, intents, needs, strange} {
		if len(tests) > 0 {
			asked = append(asked, &question{name: questions[i], tests: tests})
		}
	}
	return asked, folds, r
}

// evenly takes at most n tasks, evenly.
func evenly(tasks []*task, n int) []*task {
	if len(tasks) <= n {
		return tasks
	}
	taken := make([]*task, n)
	for i := range taken {
		taken[i] = tasks[i*len(tasks)/n]
	}
	return taken
}

// each calls f for 0 … n-1 on all processors until one fails or ctx ends, and returns the error of the smallest number.
func each(ctx context.Context, n int, f func(i int) error) error {
	errs := make([]error, n)
	var failed atomic.Bool
	numeric.Each(n, func(i int) {
		if !failed.Load() && ctx.Err() == nil {
			if errs[i] = f(i); errs[i] != nil {
				failed.Store(true)
			}
		}
	})
	return cmp.Or(ctx.Err(), cmp.Or(errs...))
}
