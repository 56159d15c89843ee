package evaluate

import (
	"context"
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
	old := *t.Old
	old.Learn, t.New.Learn = true, true
	examples, err := t.split()
	if err != nil {
		return nil, err
	}
	fresh, sources := map[string]bool{}, make([]string, len(t.Episodes)) // fresh: to the published model
	for i := range t.Episodes {
		sources[i] = t.Episodes[i].Source
		fresh[t.Episodes[i].ID] = i >= t.Known
	}
	train := func(ctx context.Context, d *Data, past []*Example) ([]Predictor, error) {
		var known, since []*Example
		for _, x := range past {
			if fresh[x.Episode.ID] {
				since = append(since, x)
			} else {
				known = append(known, x)
			}
		}
		now, err := modelOf(ctx, d, t.New, past, nil)
		if err != nil {
			return nil, err
		}
		was := now // where nothing else was known, by the same options
		if len(since) > 0 || old.WithoutSpectral != t.New.WithoutSpectral || old.WithoutLearned != t.New.WithoutLearned || old.Thesaurus != t.New.Thesaurus || t.New.Vectors != nil {
			if was, err = modelOf(ctx, d, old, known, since); err != nil {
				return nil, err
			}
		}
		return []Predictor{judged(now), judged(was)}, nil
	}
	gate := &Gate{Source: history.FindNewSource(sources, t.Judged)}
	r, err := Evaluate(ctx, &Data{Name: "a rebuild", Tools: t.Tools, Capabilities: t.Capabilities, Examples: examples}, train, Options{judge: true})
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
		*to = Change{Metric: x.Metric, Episodes: x.Tasks, Questions: x.Asked, Published: x.Seed.Value, New: x.Value,
			Gain: x.Seed.Lead.Mean, Interval: x.Seed.Lead.Interval}
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
