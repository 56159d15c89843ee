package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
	"waymark/suggest/history"
)

// How rebuilds are judged. The bounds keep it about as long as one build.
const (
	judgedShare = 0.2   // of the newest episodes are held out
	mostJudged  = 5_000 // newest episodes of which some are held out; older ones are history
	mostAsked   = 500   // tasks of those held out that are asked about a kind of question, evenly
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
	fresh, sources := map[string]bool{}, make([]string, len(t.Episodes)) // fresh: to the published model
	for i := range t.Episodes {
		sources[i] = t.Episodes[i].Source
		fresh[t.Episodes[i].ID] = i >= t.Known
	}
	train := func(ctx context.Context, _ *Data, past []*Example) ([]Predictor, error) {
		var known, since []*Example
		for _, x := range past {
			if fresh[x.Episode.ID] {
				since = append(since, x)
			} else {
				known = append(known, x)
			}
		}
		m, err := t.model(ctx, t.New, past, nil)
		if err != nil {
			return nil, err
		}
		models := []Predictor{judged(m)}
		if t.differs(len(since)) {
			if m, err = t.model(ctx, *t.Old, known, since); err != nil {
				return nil, err
			}
			models = append(models, judged(m))
		}
		return models, nil
	}
	gate := &Gate{Source: history.FindNewSource(sources, t.Judged)}
	r, err := Evaluate(ctx, &Data{Name: "a rebuild", Examples: examples}, train, Options{judge: true})
	if errors.Is(err, ErrNothingToTest) {
		return gate, nil
	}
	if err != nil {
		return nil, fmt.Errorf("judge a rebuild: %w", err)
	}
	for _, x := range r.Rows {
		to := map[[2]string]*Change{
			{QuestionNext, "mrr"}: &gate.Next, {QuestionNextIntent, "mrr"}: &gate.NextIntent, {QuestionTools, "ndcg@10"}: &gate.Intent,
		}[[2]string{x.Question, x.Metric}]
		if to == nil {
			continue
		}
		*to = Change{Metric: x.Metric, Episodes: x.Tasks, Questions: x.Asked, Published: x.Value, New: x.Value}
		if was := x.Seed; was != nil { // else it is the same model
			to.Published, to.Gain, to.Interval = was.Value, was.Lead.Mean, was.Lead.Interval
		}
	}
	return gate, nil
}

// judged answers as the engine does, but for plans and searches, which a gate does not compare.
func judged(m *suggest.Model) Predictor {
	p := engine(m, "")
	p.Plan, p.Search = nil, nil
	return p
}

// split holds episodes out.
func (t *Trial) split() ([]Example, error) {
	cut := max(0, len(t.Episodes)-mostJudged) // models are judged with as much history as they have in service
	var all []Example
	for _, e := range t.Episodes[:cut] {
		all = append(all, Example{Episode: e, Split: Train})
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
