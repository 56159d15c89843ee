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

// Parameters for judging rebuilds. The bounds limit the duration to about that of one build.
const (
	judgedShare = 0.2   // share of the newest episodes that is held out
	mostJudged  = 5_000 // newest episodes from which some are held out; older ones are history
	mostAsked   = 500   // held-out tasks asked about per kind of question, evenly spaced
	leastJudged = 15    // least number of held-out tasks: fewer are no evidence
)

// LeastTasks is the least number of tasks with which a history can be judged.
const LeastTasks = leastJudged * 5 // of which a fifth is held out

// Trial is a rebuild to be judged: the inputs of the new and of the published model. Both use the current catalog,
// because a change of the catalog takes effect without a build.
type Trial struct {
	Tools        []catalog.Tool
	Capabilities []catalog.Capability
	New          suggest.MeasureOptions
	Old          *suggest.MeasureOptions // of the published model; nil if none is published
	Episodes     []episodic.Episode      // oldest first
	Known        int                     // number of first episodes that the published model was measured on
	Judged       int                     // number of first episodes that were recorded when a rebuild was last judged
}

// Judge holds out episodes of a history, builds the published model and the new one without them, and asks both for the
// next tools and for the tools that the intents needed. The gate reports whether the new one loses. It is nil if no
// model is published or the history is too short.
//
// The newest episodes are held out. If enough of them are new to the published model, Judge holds out the
// newest of those that it knew and as many of the later ones, so that neither old nor new tasks decide alone.
// All older episodes are history, as in production. Judge depends only on its arguments.
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
	fresh, sources := map[string]bool{}, make([]string, len(t.Episodes)) // fresh: new to the published model
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
		was := now // equal if both have the same history and the same options
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

// judged returns the predictor of the engine without plans and searches, which a gate does not compare.
func judged(m *suggest.Model) Predictor {
	p := engine(m, "")
	p.Plan, p.Search = nil, nil
	return p
}

// split divides the episodes into history and held-out tests.
func (t *Trial) split() ([]Example, error) {
	cut := max(0, len(t.Episodes)-mostJudged) // models are judged with as much history as they have in production
	var all []Example
	for _, e := range t.Episodes[:cut] {
		all = append(all, Example{Episode: e, Split: Train})
	}
	newest, known := t.Episodes[cut:], max(0, t.Known-cut)
	parts := [][]episodic.Episode{newest[:known], newest[known:]}
	least := min(known, len(newest)-known)
	if float64(least)*judgedShare < leastJudged { // too few on one side to hold out equally many of both
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
