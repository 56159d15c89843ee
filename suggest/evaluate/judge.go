package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
	"waymark/suggest/history"
)

// How rebuilds are judged. The bounds keep it about as long as one build.
const (
	judgedShare = 0.2   // of the newest episodes are held out
	mostJudged  = 5_000 // newest episodes of which some are held out; older ones are history
	mostAsked   = 500   // tasks of those held out that are asked about, evenly
	leastJudged = 15    // tasks held out: fewer say nothing
)

// LeastTasks is from how many tasks on a history can be judged.
const LeastTasks = leastJudged * 5 // of which a fifth is held out

// Trial is a rebuild to be judged: what the new and the published model are made of. Both have the catalog of now: a change
// of it counts without a build.
type Trial struct {
	Tools        []catalog.Tool
	Capabilities []catalog.Capability
	New          suggest.MeasureOptions
	Old          *suggest.MeasureOptions // of the published model; nil: nothing is published
	Episodes     []episodic.Episode      // oldest first
	Known        int                     // as many of them the measures of the published model come from
	Judged       int                     // as many of them were recorded when a rebuild was last judged
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
	fresh := map[string]bool{} // to the published model
	for i := range t.Episodes[t.Known:] {
		fresh[t.Episodes[t.Known+i].ID] = true
	}
	var tests []*task
	var train, known, since []*Example
	for i := range examples {
		switch x := &examples[i]; {
		case x.Split != Train:
			tests = append(tests, newTask(x))
			continue
		case fresh[x.Episode.ID]:
			since = append(since, x)
		default:
			known = append(known, x)
		}
		train = append(train, &examples[i])
	}
	m, err := t.model(ctx, t.New, train, nil)
	if err != nil {
		return nil, fmt.Errorf("judge the new model: %w", err)
	}
	models := []Predictor{engine(m, "")}
	if t.differs(len(since)) {
		if m, err = t.model(ctx, *t.Old, known, since); err != nil {
			return nil, fmt.Errorf("judge the published model: %w", err)
		}
		models = append(models, engine(m, ""))
	}
	gate := &Gate{}
	without := func(t *task) bool { return !t.hasIntent() }
	steps := evenly(slices.DeleteFunc(slices.Clone(tests), func(t *task) bool { return len(t.seq) < 2 }), mostAsked)
	for _, k := range []struct {
		question, metric string
		tests            []*task
		to               *Change
	}{
		{QuestionNext, "mrr", steps, &gate.Next},
		{QuestionNextIntent, "mrr", slices.DeleteFunc(slices.Clone(steps), without), &gate.NextIntent},
		{QuestionTools, "ndcg@10", evenly(slices.DeleteFunc(tests, without), mostAsked), &gate.Intent},
	} {
		if len(k.tests) == 0 {
			continue
		}
		q, all := newQuestion(k.question, k.tests), make([]int, len(k.tests))
		for i := range all {
			all[i] = i
		}
		if err := q.ask(ctx, models, all, func() {}); err != nil {
			return nil, fmt.Errorf("judge a rebuild: %w", err)
		}
		now, was := q.answers[0].samples[k.metric], q.answers[len(models)-1].samples[k.metric]
		_, gain := bootstrap(1, now, was)
		*k.to = Change{
			Metric: k.metric, Episodes: len(k.tests), Questions: now.values(),
			Published: was.Mean(), New: now.Mean(), Gain: gain[0].Mean, Interval: gain[0].Interval,
		}
	}
	sources := make([]string, len(t.Episodes))
	for i := range t.Episodes {
		sources[i] = t.Episodes[i].Source
	}
	gate.Source = history.FindNewSource(sources, t.Judged)
	return gate, nil
}

// split holds episodes out.
func (t *Trial) split() ([]Example, error) {
	cut := max(0, len(t.Episodes)-mostJudged) // models are judged with as much history as they have in service
	var all []Example
	for _, e := range t.Episodes[:cut] {
		all = append(all, Example{Episode: e, Split: Train, Next: true, Intent: true})
	}
	newest, known := t.Episodes[cut:], max(0, t.Known-cut)
	parts := [][]episodic.Episode{newest[:known], newest[known:]}
	least := min(known, len(newest)-known)
	if float64(least)*judgedShare < leastJudged { // too few of one side to hold out as many of each
		parts, least = [][]episodic.Episode{newest}, len(newest)
	}
	for _, part := range parts {
		examples, err := HoldOut(part, judgedShare*float64(least)/float64(len(part)))
		if err != nil {
			return nil, err
		}
		all = append(all, examples...)
	}
	return all, nil
}

// differs reports whether the published model is another one than the new one, with so many episodes that it was not
// measured with.
func (t *Trial) differs(since int) bool {
	was, err := json.Marshal(t.Old)
	now, failed := json.Marshal(t.New)
	if err != nil || failed != nil {
		panic("evaluate: options cannot be encoded") // plain structs
	}
	return since > 0 || !bytes.Equal(was, now)
}

// model counts all episodes and is measured on the known ones.
func (t *Trial) model(ctx context.Context, o suggest.MeasureOptions, known, since []*Example) (*suggest.Model, error) {
	s := history.WithCatalog(t.Tools, t.Capabilities)
	for _, x := range known {
		s.Record(&x.Episode)
	}
	o.Learn = true
	measures, err := suggest.Measure(ctx, s.Freeze(), o)
	if err != nil {
		return nil, err
	}
	for _, x := range since {
		s.Record(&x.Episode)
	}
	return suggest.NewModel(s.Freeze(), measures, suggest.Stamp{Version: "judged"})
}
