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
	recipe := t.New
	recipe.Options.Learn = true
	m, err := trained(ctx, recipe, train)
	if err != nil {
		return nil, fmt.Errorf("judge the new model: %w", err)
	}
	models := []Predictor{engine(m, "")}
	if len(since) > 0 || !equal(*t.Old, t.New) { // otherwise it is the same model
		if m, err = t.published(ctx, known, since); err != nil {
			return nil, fmt.Errorf("judge the published model: %w", err)
		}
		models = append(models, engine(m, ""))
	}
	gate := &Gate{}
	steps := bounded(tests, judgedPositions, func(t *task) int { return len(t.seq) - 1 })
	without := func(t *task) bool { return !t.hasIntent() }
	intents := slices.DeleteFunc(tests, without)
	for _, k := range []struct {
		question, metric string
		tests            []*task
		to               *Change
	}{
		{QuestionNext, "mrr", steps, &gate.Next},
		{QuestionNextIntent, "mrr", slices.DeleteFunc(slices.Clone(steps), without), &gate.NextIntent},
		{QuestionTools, "ndcg@10", bounded(intents, judgedIntents, func(*task) int { return 1 }), &gate.Intent},
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

// equal compares values as they are stored.
func equal(a, b Recipe) bool {
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
func (t *Trial) published(ctx context.Context, known, since []*Example) (*suggest.Model, error) {
	s := history.NewState()
	put := func(r *Recipe, do func(tool *catalog.Tool, capability *catalog.Capability)) {
		for i := range r.Tools {
			do(&r.Tools[i], nil)
		}
		for i := range r.Capabilities {
			do(nil, &r.Capabilities[i])
		}
	}
	add := func(tool *catalog.Tool, capability *catalog.Capability) {
		if tool != nil {
			s.PutTool(*tool)
		} else {
			s.PutCapability(*capability)
		}
	}
	put(t.Old, add)
	for _, x := range known {
		s.Record(&x.Episode)
	}
	options := t.Old.Options
	options.Learn = true
	measures, err := suggest.Measure(ctx, s.Freeze(), options)
	if err != nil {
		return nil, err
	}
	id := func(tool *catalog.Tool, capability *catalog.Capability) string {
		if tool != nil {
			return tool.ID
		}
		return capability.ID
	}
	kept := map[string]bool{}
	put(&t.New, func(x *catalog.Tool, c *catalog.Capability) { kept[id(x, c)] = true })
	put(t.Old, func(x *catalog.Tool, c *catalog.Capability) {
		if !kept[id(x, c)] {
			s.Remove(id(x, c))
		}
	})
	put(&t.New, add)
	for _, x := range since {
		s.Record(&x.Episode)
	}
	return suggest.NewModel(s.Freeze(), measures, suggest.Stamp{Version: "published"})
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
