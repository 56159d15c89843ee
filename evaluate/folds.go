package evaluate

import (
	"context"
	"fmt"
	"slices"

	"waymark/learn/calibrate"
	"waymark/suggest"
)

// In a history of fewer tasks than this a fifth is too few questions to tell luck from a lead, and building is
// cheap: the other fifths are held out in turn as well.
const shortHistory = 400

// folds lists the ways to hold out episodes: as given and, in a short history, each quarter of the train part.
func folds(examples []example) [][]example {
	all := [][]example{examples}
	if len(examples) >= shortHistory {
		return all
	}
	var rest []int
	timed := true
	for i, x := range examples {
		if x.Split == Train {
			rest = append(rest, i)
		}
		timed = timed && !x.Episode.Time.IsZero()
	}
	const quarters = 4
	for q := range quarters {
		fold := slices.Clone(examples)
		for i := range fold {
			fold[i].Split = Train
		}
		for n, i := range rest {
			if timed && n*quarters/len(rest) == q || !timed && n%quarters == q {
				fold[i].Split = Test
			}
		}
		all = append(all, fold)
	}
	return all
}

// decided reports whether profile learned leads by more than chance at every kind of question that was asked.
func decided(c suggest.Choice) bool {
	for _, j := range []suggest.Judged{c.Next, c.NextIntent, c.Intent} {
		if j.Questions > 0 && j.Interval[0] <= 0 {
			return false
		}
	}
	return true
}

// judgeFolds judges the first fold. Where that leaves open whether profile learned leads, it judges the other folds as well
// and decides by all.
func (t *Trial) judgeFolds(ctx context.Context, all [][]example) (jurors []*foldJudge, choice suggest.Choice, err error) {
	for i, examples := range all {
		j, err := t.foldJudge(ctx, examples, i, len(all))
		if err != nil {
			return nil, choice, err
		}
		jurors = append(jurors, j)
		if i > 0 && i < len(all)-1 {
			continue
		}
		choice, err = choose(ctx, jurors)
		if err != nil || decided(choice) {
			return jurors, choice, err
		}
	}
	return jurors, choice, nil
}

// choose takes the better profile for each kind of question, by the answers of all fold judges.
func choose(ctx context.Context, jurors []*foldJudge) (suggest.Choice, error) {
	var c suggest.Choice
	for kind, to := range [kinds]*suggest.Judged{&c.Next, &c.NextIntent, &c.Intent} {
		seed, err := answersOf(ctx, jurors, kind, suggest.ProfileSeed)
		if err != nil {
			return c, err
		}
		fitted, err := answersOf(ctx, jurors, kind, suggest.ProfileLearned)
		if err != nil {
			return c, err
		}
		if len(seed.Sum) == 0 {
			continue
		}
		*to = judged(judgedBy[kind], seed.Sample, fitted.Sample, seed.unseen)
		if to.Profile == suggest.ProfileSeed && kind != kindIntent {
			to.Kept = calibrate.FitScores(kept(seed.claims))
		}
	}
	return c, nil
}

// answersOf is how well a profile did at a kind of question of all fold judges that have one.
func answersOf(ctx context.Context, jurors []*foldJudge, kind int, profile string) (all answered, err error) {
	for _, j := range jurors {
		next, needs := j.model.Teaches()
		if kind == kindIntent && !needs || kind != kindIntent && !next || len(j.tests(kind)) == 0 {
			continue
		}
		a, err := j.ask(ctx, kind, profile)
		if err != nil {
			return all, fmt.Errorf("judge profiles: %w", err)
		}
		all.Sum, all.Count = append(all.Sum, a.Sum...), append(all.Count, a.Count...)
		all.claims = append(all.claims, a.claims...)
		for _, t := range j.tests(kind) {
			all.unseen = append(all.unseen, !j.known[groupOf(&t.Episode)])
		}
	}
	return all, nil
}
