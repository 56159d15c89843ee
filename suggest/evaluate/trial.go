package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
	"waymark/suggest/history"
)

// How rebuilds are judged. The bounds keep it about as long as one build.
const (
	judgedShare     = 0.2   // of the newest episodes are held out
	mostJudged      = 5_000 // newest episodes of which some are held out; older ones are history
	judgedPositions = 2_000 // steps asked for
	judgedIntents   = 500   // intents asked for
	leastJudged     = 15    // tasks held out: fewer say nothing
)

// LeastTasks is from how many tasks on a history can be judged.
const LeastTasks = leastJudged * 5 // of which a fifth is held out

// Recipe is what a model is made of besides episodes.
type Recipe struct {
	Tools        []catalog.Tool
	Capabilities []catalog.Capability
	Options      suggest.MeasureOptions
}

// Trial is a rebuild to be judged: what it would be made of, and what the published model is made of.
type Trial struct {
	New      Recipe
	Old      *Recipe
	Episodes []episodic.Episode // oldest first
	Known    int                // as many of them the measures of the published model come from
	Judged   int                // as many of them were recorded when a rebuild was last judged
}

// Judge holds out episodes of a history and asks the published model and the new one, both without these episodes, for
// the next tools and for the tools that the intents needed: the gate says whether the new one loses. It is nil where
// nothing is published or little is known.
//
// Held out are the newest episodes; where much is new to the published model, the newest of what it
// knew and as many of what came since: neither what the past was good at nor what is new counts alone.
// All older episodes are history, as they are in service. Judge depends on nothing but its arguments.
func Judge(ctx context.Context, t Trial) (*Gate, error) {
	if enough := float64(len(t.Episodes)) * judgedShare; enough < leastJudged || t.Old == nil {
		return nil, nil
	}
	examples, err := t.split()
	if err != nil {
		return nil, err
	}
	tests := newTestSets(examples)
	now, err := t.rebuilt(ctx, tests, examples)
	if err != nil {
		return nil, err
	}
	was := now // the same model, if nothing that is measured is new to it
	if !t.same(examples) {
		if was, err = t.published(ctx, tests, examples); err != nil {
			return nil, err
		}
	}
	gate, err := compare(ctx, was, now)
	if err != nil {
		return nil, err
	}
	sources := make([]string, len(t.Episodes))
	for i := range t.Episodes {
		sources[i] = t.Episodes[i].Source
	}
	gate.Source = history.FindNewSource(sources, t.Judged)
	return gate, nil
}

// example is one episode of a trial.
type example struct {
	Example
	fresh bool // new to the published model
}

// split holds episodes out.
func (t *Trial) split() ([]example, error) {
	var all []example
	newest, knownOf := t.Episodes, t.Known
	if cut := len(newest) - mostJudged; cut > 0 { // models are judged with as much history as they have in service
		for i, e := range newest[:cut] {
			all = append(all, example{Example{Episode: e, Split: Train, Next: true, Intent: true}, t.Old != nil && i >= t.Known})
		}
		newest, knownOf = newest[cut:], max(0, t.Known-cut)
	}
	parts := [][]episodic.Episode{newest}
	if known, since := newest[:knownOf], newest[knownOf:]; t.Old != nil &&
		float64(min(len(known), len(since)))*judgedShare >= leastJudged {
		parts = [][]episodic.Episode{known, since}
	}
	least := len(parts[len(parts)-1])
	for _, part := range parts {
		least = min(least, len(part))
	}
	for i, part := range parts {
		examples, err := HoldOut(part, judgedShare*float64(least)/float64(len(part)))
		if err != nil {
			return nil, err
		}
		for _, x := range examples {
			all = append(all, example{Example: x, fresh: i > 0})
		}
	}
	if len(parts) == 1 && t.Old != nil {
		since := map[string]bool{}
		for _, e := range newest[knownOf:] {
			since[e.ID] = true
		}
		for i := len(all) - len(newest); i < len(all); i++ {
			all[i].fresh = since[all[i].Episode.ID]
		}
	}
	return all, nil
}

// rebuilt is the new model without the tasks held out.
func (t *Trial) rebuilt(ctx context.Context, tests *testSets, examples []example) (*judgedModel, error) {
	options := t.New.Options
	options.Learn = true
	data := &Data{Tools: t.New.Tools, Capabilities: t.New.Capabilities}
	m, err := trained(ctx, data, tests.history(examples), options)
	if err != nil {
		return nil, fmt.Errorf("judge the new model: %w", err)
	}
	return &judgedModel{testSets: tests, model: m}, nil
}

// same reports whether the published model is measured on the same as the new one.
func (t *Trial) same(examples []example) bool {
	if slices.ContainsFunc(examples, func(x example) bool { return x.fresh && x.Split == Train }) {
		return false
	}
	return equal(t.Old.Options, t.New.Options) && alike(t.Old.Tools, t.New.Tools) && alike(t.Old.Capabilities, t.New.Capabilities)
}

// alike reports whether two lists hold the same; one list is alike itself at no cost.
func alike[T any](a, b []T) bool {
	if len(a) != len(b) || len(a) == 0 || &a[0] == &b[0] {
		return len(a) == len(b)
	}
	for i := range a {
		if !equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// equal compares values as they are stored.
func equal[T any](a, b T) bool {
	x, err := json.Marshal(a)
	if err == nil {
		var y []byte
		if y, err = json.Marshal(b); err == nil {
			return bytes.Equal(x, y)
		}
	}
	panic("evaluate: a part of a catalog cannot be encoded: " + err.Error()) // plain structs of checked values
}

// published is the model in force as it would be without the tasks held out: it counts everything, and
// was measured on what was known then.
func (t *Trial) published(ctx context.Context, tests *testSets, examples []example) (*judgedModel, error) {
	s := history.NewState()
	put := func(r Recipe) {
		for _, x := range r.Tools {
			s.PutTool(x)
		}
		for _, x := range r.Capabilities {
			s.PutCapability(x)
		}
	}
	record := func(fresh bool) {
		for i := range examples {
			if x := &examples[i]; x.fresh == fresh && x.Split == Train {
				s.Record(&x.Episode)
			}
		}
	}
	put(*t.Old)
	record(false)
	options := t.Old.Options
	options.Learn = true
	measures, err := suggest.Measure(ctx, s.Freeze(), options)
	if err != nil {
		return nil, fmt.Errorf("judge the published model: %w", err)
	}
	kept := map[string]bool{}
	for _, x := range t.New.Tools {
		kept[x.ID] = true
	}
	for _, x := range t.New.Capabilities {
		kept[x.ID] = true
	}
	for _, x := range t.Old.Tools {
		if !kept[x.ID] {
			s.Remove(x.ID)
		}
	}
	for _, x := range t.Old.Capabilities {
		if !kept[x.ID] {
			s.Remove(x.ID)
		}
	}
	put(t.New)
	record(true)
	m, err := suggest.NewModel(s.Freeze(), measures, suggest.Stamp{Version: "published"})
	if err != nil {
		return nil, fmt.Errorf("judge the published model: %w", err)
	}
	return &judgedModel{testSets: tests, model: m}, nil
}

// testSets are the questions that the tasks held out make.
type testSets struct{ next, nextIntent, intents []*task }

// newTestSets bounds the questions of each kind, since each model is asked all of them. nextIntent are
// those of next that have an intent, so that both are judged on the same tasks.
func newTestSets(examples []example) *testSets {
	all := make([]*task, len(examples))
	for i := range examples {
		all[i] = newTask(&examples[i].Example)
	}
	tests := split(all, func(*task) bool { return true }, false).tests
	j := &testSets{
		next:    bounded(tests, judgedPositions, func(t *task) int { return len(t.seq) - 1 }),
		intents: bounded(tests, judgedIntents, func(t *task) int { return min(1, len(strings.TrimSpace(t.Episode.Intent))) }),
	}
	j.nextIntent = slices.DeleteFunc(slices.Clone(j.next), func(t *task) bool { return strings.TrimSpace(t.Episode.Intent) == "" })
	return j
}

// history are the episodes that are not held out.
func (j *testSets) history(examples []example) []*Example {
	var history []*Example
	for i := range examples {
		if examples[i].Split == Train {
			history = append(history, &examples[i].Example)
		}
	}
	return history
}

// bounded takes tests spread evenly over all that have any question, about as many as have so many
// questions together.
func bounded(tests []*task, questions int, of func(t *task) int) []*task {
	total := 0
	tests = slices.DeleteFunc(slices.Clone(tests), func(t *task) bool { return of(t) < 1 })
	for _, t := range tests {
		total += of(t)
	}
	if total <= questions {
		return tests
	}
	var taken []*task
	for i, t := range tests {
		if i*questions/total != (i+1)*questions/total {
			taken = append(taken, t)
		}
	}
	return taken
}

// The kinds of questions that are judged, each by itself, and the metric of each.
const (
	kindNext = iota
	kindNextIntent
	kindIntent
	kinds
)

var judgedBy = [kinds]string{"mrr", "mrr", "ndcg@10"}

// judgedModel asks one model. What was asked once is remembered.
type judgedModel struct {
	*testSets
	model    *suggest.Model
	answered [kinds]*Sample
}

// ask gives how well the model does at a kind of question, by task.
func (j *judgedModel) ask(ctx context.Context, kind int) (Sample, error) {
	if s := j.answered[kind]; s != nil {
		return *s, nil
	}
	var s Sample
	var err error
	a := suggester{model: j.model}
	switch kind {
	case kindNext:
		s, err = askNext(ctx, a, j.next, false)
	case kindNextIntent:
		s, err = askNext(ctx, a, j.nextIntent, true)
	default:
		s, err = askIntents(ctx, a, j.intents)
	}
	if err != nil {
		return s, fmt.Errorf("judge a rebuild: %w", err)
	}
	j.answered[kind] = &s
	return s, nil
}

// tests of a kind of question.
func (j *testSets) tests(kind int) []*task {
	return [kinds][]*task{j.next, j.nextIntent, j.intents}[kind]
}

// askNext asks for every step of the tests.
func askNext(ctx context.Context, k Ranker, tests []*task, intent bool) (Sample, error) {
	a := newNextAnswers(len(tests))
	err := parallel(ctx, len(tests), func(i int) error { return a.ask(k, tests[i], i, intent) })
	return a.samples()["mrr"], err
}

// askIntents asks for the tools that the intents of the tests need.
func askIntents(ctx context.Context, k Finder, tests []*task) (Sample, error) {
	r := &run{intents: part{tests: tests}}
	ranked := make([][]string, len(tests))
	err := parallel(ctx, len(tests), func(i int) (err error) {
		ranked[i], err = k.Find(tests[i].Episode.Intent, 10)
		return err
	})
	return r.found(ranked)["ndcg@10"], err
}
