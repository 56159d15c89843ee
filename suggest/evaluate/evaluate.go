// Package evaluate measures how well suggestions predict recorded tasks.
//
//	Data ──split──▶ history ──train──▶ predictors ──questions──▶ values by task ──bootstrap──▶ one table: Report
//	                   └────▶ baselines ────────────────────────────────┘
//
// Each past task yields several questions. In topological order (ties as recorded) it is a sequence
// t₀ t₁ … tₙ; for every i ≥ 1 the question is "what comes after t₀ … tᵢ₋₁", and the correct answer is tᵢ.
// The intent alone yields two more: "which tools does this need" and "in which order". The training data
// for a question never contains its own task.
//
// Everything here is deterministic: random draws are seeded, ties are broken by id, sums have a fixed order
// for any number of processors. [Evaluate] computes the table, [Judge] decides whether a rebuild loses.
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
	Examples     []Example // in the order of recording; if none is in the train split, each is held out in turn
}

// Example is a past task and its split.
type Example struct {
	Episode episodic.Episode
	Split   string // [Train] is history, anything else is tested
}

// The splits.
const (
	Train = "train"
	Test  = "test"
)

// Link is an ordered pair: To comes after From, or depends on it.
type Link struct{ From, To string }

func (a Link) compare(b Link) int {
	return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
}

// Question is a situation: the tools called so far, in order, and the intent. Either may be empty.
type Question struct {
	Context []string
	Intent  string
}

// Candidate is one suggested id. Confidence is a probability if the predictor states one, else 0.
type Candidate struct {
	ID         string
	Confidence float64
}

// Plan holds the tools that an intent needs and the links between them. Foreign is true if no tool serves the intent.
type Plan struct {
	Tools   []string
	Links   []Link
	Foreign bool
}

// Predictor is a model trained on a history. Each function returns the best results first; a nil function is not
// measured. All functions are called by several goroutines at once.
type Predictor struct {
	Name   string
	Next   func(Question) ([]Candidate, error)
	Find   func(intent string) ([]string, error) // the tools that a whole task needs
	Plan   func(intent string) (Plan, error)
	Search func(query string) ([]string, error) // tools for a single need

	withIntent bool // Next is called only with an intent
	simple     bool // a baseline
}

// Trainer trains on a catalog and a history, in the order of recording. It returns the predictor under test first, then
// those that it is compared with.
type Trainer func(ctx context.Context, d *Data, history []*Example) ([]Predictor, error)

// seed initialises every random generator.
const seed = 1

// Options of an evaluation.
type Options struct {
	Profile      string                // named in the report
	FirstContact bool                  // also asks about joined sessions, single needs and foreign requests
	Progress     func(done, total int) // may be nil; calls never overlap

	judge bool // skips baselines and asks about at most mostAsked tasks
}

// ErrNothingToTest is returned if no example yields a question.
var ErrNothingToTest = errors.New("nothing to test: no test episode has two steps or an intent")

// Evaluate measures the predictors that train makes from the history in d, and the baselines. It stops soon after ctx
// ends. The report depends only on d, the options and train.
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

// fold is a history and the test that its predictors are asked about; nil: all tests.
type fold struct {
	history []*task
	test    *task
}

// divide splits the examples into history and tests; without a history each test is held out in turn. A task of one
// step yields no question for the next tool, a task without an intent none for tools or a plan.
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

// evenly returns at most n tasks, evenly spaced.
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
