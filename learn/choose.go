package learn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"waymark/episodic"
	"waymark/suggest"
)

// How profiles are judged. The bounds keep it about as long as one build.
const (
	judgedShare     = 0.2   // of the newest episodes are held out
	MostJudged      = 5_000 // newest episodes that take part
	judgedPositions = 2_000 // steps asked for
	judgedIntents   = 500   // intents asked for
	leastJudged     = 20    // tasks held out: fewer say nothing
)

// Judge holds out the newest episodes of a history, oldest first, learns from those before them, and
// asks both profiles what came next and what the intents needed. It depends on nothing but its
// arguments. A history too short to learn from or to judge by gives an empty choice, which is no error.
func Judge(ctx context.Context, d *Data, episodes []episodic.Episode, o suggest.MeasureOptions) (suggest.Choice, error) {
	episodes = episodes[max(0, len(episodes)-MostJudged):]
	if float64(len(episodes))*judgedShare < leastJudged {
		return suggest.Choice{}, nil
	}
	examples, err := HoldOut(episodes, judgedShare)
	if err != nil {
		return suggest.Choice{}, err
	}
	all := make([]*task, len(examples))
	for i := range examples {
		all[i] = newTask(&examples[i])
	}
	p := split(all, func(*task) bool { return true }, false)
	history := make([]*Example, len(p.history))
	for i, t := range p.history {
		history[i] = t.Example
	}
	o.Learn = true
	m, err := trained(ctx, d, history, o, suggest.Choice{})
	if err != nil {
		return suggest.Choice{}, fmt.Errorf("judge profiles: %w", err)
	}
	seed, fitted := suggester{m, suggest.ProfileSeed}, suggester{m, suggest.ProfileLearned}
	var v suggest.Choice
	steps := bounded(p.tests, judgedPositions, func(t *task) int { return len(t.seq) - 1 })
	intents := bounded(p.tests, judgedIntents, func(t *task) int { return min(1, len(strings.TrimSpace(t.Episode.Intent))) })
	asked := slices.DeleteFunc(slices.Clone(steps), func(t *task) bool { return strings.TrimSpace(t.Episode.Intent) == "" })
	next, needs := m.Teaches()
	if next {
		if v.Next, err = judgeNext(ctx, seed, fitted, steps, false); err != nil {
			return v, err
		}
		if v.NextIntent, err = judgeNext(ctx, seed, fitted, asked, true); err != nil {
			return v, err
		}
	}
	if needs && len(intents) > 0 {
		v.Intent, err = judgeIntents(ctx, seed, fitted, intents)
	}
	return v, err
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

// judgeNext asks both for every step of the tests.
func judgeNext(ctx context.Context, seed, fitted Ranker, tests []*task, withIntent bool) (suggest.Judged, error) {
	var answered [2]*nextAnswers
	for i, k := range []Ranker{seed, fitted} {
		answered[i] = newNextAnswers(len(tests))
		err := parallel(ctx, len(tests), func(j int) error { return answered[i].ask(k, tests[j], j, withIntent) })
		if err != nil {
			return suggest.Judged{}, fmt.Errorf("judge profiles: %w", err)
		}
	}
	if len(tests) == 0 {
		return suggest.Judged{}, nil
	}
	return judged("mrr", answered[0].samples(), answered[1].samples()), nil
}

// judgeIntents asks both for the tools that the intents of the tests need.
func judgeIntents(ctx context.Context, seed, fitted Finder, tests []*task) (suggest.Judged, error) {
	r := &run{intents: part{tests: tests}}
	var found [2]samples
	for i, k := range []Finder{seed, fitted} {
		ranked := make([][]string, len(tests))
		err := parallel(ctx, len(tests), func(j int) (err error) {
			ranked[j], err = k.Find(tests[j].Episode.Intent, 10)
			return err
		})
		if err != nil {
			return suggest.Judged{}, fmt.Errorf("judge profiles: %w", err)
		}
		found[i] = r.found(ranked)
	}
	return judged("ndcg@10", found[0], found[1]), nil
}

func judged(metric string, seed, fitted samples) suggest.Judged {
	a, b := seed[metric], fitted[metric]
	j := suggest.Judged{
		Profile: suggest.ProfileSeed, Metric: metric, Episodes: len(a.Sum), Questions: a.values(), Seed: a.Mean(), Learned: b.Mean(),
	}
	lead := PairedBootstrap(b, a, 1)
	if j.Lead, j.Interval = lead.Mean, lead.Interval; j.Episodes >= leastJudged && j.Interval[0] > 0 {
		j.Profile = suggest.ProfileLearned
	}
	return j
}
