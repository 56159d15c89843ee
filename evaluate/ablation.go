package evaluate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Ablater is a predictor that can leave out each of its parts in turn. Ablate prepares that, and may take
// as long as training; tell is told the share that is done, and once halt is true it ends soon.
type Ablater interface {
	Ablate(halt func() bool, tell func(done float64)) (Ablation, error)
}

// Ablation answers with all parts and without each. What a question has to do with is worked out once and
// serves all answers.
type Ablation interface {
	// Next is the rank of a tool among what may come next, 0 if it is not ranked, and its rank without each
	// part that has a say. Refitted: what is left was fitted anew.
	Next(q Question, target string) (rank int, without map[string]int, refitted bool, err error)
	// Needs visits the tools that an intent needs, best first, and the plan, nil if that is not known: with
	// all parts, where without is "", then without each that has a say.
	Needs(intent string, visit func(without string, tools []string, p *Plan)) (refitted bool, err error)
}

// How much an ablation asks: enough to tell what matters, and about as long as the questions themselves.
const (
	ablatedPositions = 4000
	ablatedIntents   = 400
	ablatedFolds     = 5 // where each test is held out in turn: as many histories are learned from
)

// ablated is what was asked of one kind of question: by test with all parts and without each. A part
// that has no say in any question of a test is not among its parts.
type ablated struct {
	question string
	refitted bool
	all      samples
	without  map[string]samples
}

// ablations leaves out each part of the predictor.
func (r *run) ablations(train Trainer) error {
	if r.o.WithoutAblation {
		return nil
	}
	next := bounded(r.next.tests, ablatedPositions, func(t *task) int { return len(t.seq) - 1 })
	intents := bounded(r.intents.tests, ablatedIntents, func(*task) int { return 1 })
	asked := []*asking{
		{question: QuestionNext, tests: next},
		{question: QuestionNextIntent, tests: slices.DeleteFunc(slices.Clone(next), func(t *task) bool { return strings.TrimSpace(t.Episode.Intent) == "" })},
		{question: QuestionDAG, tests: intents},
	}
	for _, a := range asked {
		a.parts = make([]map[string]samples, len(a.tests))
		a.refitted = make([]bool, len(a.tests))
	}
	folds := r.ablationFolds()
	for i, f := range folds {
		tell := r.share("what each signal is worth", i, len(folds))
		p := r.subjectOf
		if !slices.Equal(f.history, r.whole) {
			var err error
			if p, err = r.train(train, f.history); err != nil {
				return err
			}
		}
		ablater, ok := p.Ranker.(Ablater)
		if !ok {
			return nil
		}
		b, err := ablater.Ablate(func() bool { return r.ctx.Err() != nil }, func(done float64) { tell(done / 2) })
		if err == nil {
			err = r.ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("leave parts out: %w", err)
		}
		for k, a := range asked {
			if err := a.ask(r, b, f); err != nil {
				return fmt.Errorf("leave parts out: %w", err)
			}
			tell(.5 + float64(k+1)/float64(2*len(asked)))
		}
	}
	for _, a := range asked {
		if x := a.together(); x != nil {
			r.without = append(r.without, *x)
		}
	}
	return nil
}

// ablationFold is a history and the groups of tests that are asked of what it was turned into; nil: all.
type ablationFold struct {
	history       []*task
	next, intents func(*task) bool
}

// ablationFolds are the histories of all tests, or, where each test is held out in turn, a few that leave
// out a share of them each.
func (r *run) ablationFolds() []ablationFold {
	all, none := func(*task) bool { return true }, func(*task) bool { return false }
	var folds []ablationFold
	same := slices.Equal(r.next.history, r.intents.history) && r.next.leave == r.intents.leave
	for kind, p := range []part{r.next, r.intents} {
		if len(p.tests) == 0 {
			continue
		}
		shares := []ablationFold{{p.history, all, all}}
		if p.leave {
			number := map[string]int{}
			for _, t := range p.history {
				if _, ok := number[t.group]; !ok {
					number[t.group] = len(number)
				}
			}
			shares = nil
			for k := range min(ablatedFolds, len(number)) {
				mine := func(t *task) bool { n, ok := number[t.group]; return ok && n%ablatedFolds == k }
				history := slices.DeleteFunc(slices.Clone(p.history), mine)
				shares = append(shares, ablationFold{history, mine, mine})
			}
		}
		for _, f := range shares {
			switch {
			case same && kind == 1 && len(r.next.tests) > 0:
				continue // asked with the next tool
			case same:
			case kind == 0:
				f.intents = none
			default:
				f.next = none
			}
			folds = append(folds, f)
		}
	}
	return folds
}

// asking is one kind of question being asked, by test.
type asking struct {
	question string
	tests    []*task
	parts    []map[string]samples // of one episode each; "" has all parts
	refitted []bool
}

// ask puts the questions of the tests of a fold.
func (a *asking) ask(r *run, b Ablation, f ablationFold) error {
	takes := f.next
	if a.question == QuestionDAG {
		takes = f.intents
	}
	return parallel(r.ctx, len(a.tests), func(i int) (err error) {
		t := a.tests[i]
		if !takes(t) {
			return nil
		}
		if a.question == QuestionDAG {
			a.parts[i], a.refitted[i], err = askNeeds(b, t)
		} else {
			a.parts[i], a.refitted[i], err = askParts(b, t, a.question == QuestionNextIntent)
		}
		if err != nil {
			return fmt.Errorf("episode %q: %w", t.Episode.ID, err)
		}
		return nil
	})
}

// askParts asks what comes next at every position of a test. Where a part has no say, the rank without it
// is the rank with it.
func askParts(b Ablation, t *task, withIntent bool) (map[string]samples, bool, error) {
	var q Question
	if withIntent {
		q.Intent = t.Episode.Intent
	}
	var ranks []int
	parts, refitted := parted{}, false
	for i := 1; i < len(t.seq); i++ {
		q.Context = t.seq[:i:i]
		rank, without, anew, err := b.Next(q, t.seq[i])
		if err != nil {
			return nil, false, err
		}
		refitted = refitted || anew
		parts.at(ranks, rank, without)
		ranks = append(ranks, rank)
	}
	all := map[string]samples{}
	parts[""] = ranks
	for part, ranks := range parts {
		s := newSamples([]string{"mrr"}, 1)
		for _, rank := range ranks {
			s.add("mrr", 0, reciprocal(rank))
		}
		all[part] = s
	}
	return all, refitted, nil
}

// parted are the ranks at every position of a test without each part.
type parted map[string][]int

// at takes down the ranks of a target at the position after those in before, where rank is the one with
// all parts.
func (p parted) at(before []int, rank int, without map[string]int) {
	for part, at := range without {
		if _, ok := p[part]; !ok {
			p[part] = slices.Clone(before)
		}
		p[part] = append(p[part], at)
	}
	for part, ranks := range p {
		if _, ok := without[part]; !ok {
			p[part] = append(ranks, rank)
		}
	}
}

// askNeeds asks what the intent of a test needs. The reciprocal rank is that of the first tool needed.
func askNeeds(b Ablation, t *task) (map[string]samples, bool, error) {
	all := map[string]samples{}
	refitted, err := b.Needs(t.Episode.Intent, func(without string, tools []string, p *Plan) {
		s := newSamples([]string{"mrr", "ndcg@10", "node_f1", "link_f1"}, 1)
		s.add("mrr", 0, reciprocal(1+slices.IndexFunc(tools, func(id string) bool { return contains(t.set, id) })))
		s.add("ndcg@10", 0, NDCG(tools, t.set, 10))
		if p != nil {
			s.add("node_f1", 0, F1(distinct(p.Tools), t.set))
			if len(t.links) > 0 {
				s.add("link_f1", 0, F1(properLinks(p.Links), t.links))
			}
		}
		all[without] = s
	})
	return all, refitted, err
}

// together joins what the tests say; nil if none was asked.
func (a *asking) together() *ablated {
	asked := 0
	names := map[string]bool{}
	x := &ablated{question: a.question, without: map[string]samples{}}
	for i, parts := range a.parts {
		if parts != nil {
			asked++
		}
		x.refitted = x.refitted || a.refitted[i]
		for part := range parts {
			names[part] = true
		}
	}
	if asked == 0 || len(names) < 2 {
		return nil
	}
	for _, part := range slices.Sorted(maps.Keys(names)) {
		joined := samples{}
		at := 0
		for _, parts := range a.parts {
			if parts == nil {
				continue
			}
			of, ok := parts[part]
			if !ok {
				of = parts[""]
			}
			for metric, s := range of {
				if _, ok := joined[metric]; !ok {
					joined[metric] = newSample(asked)
				}
				joined[metric].Sum[at], joined[metric].Count[at] = s.Sum[0], s.Count[0]
			}
			at++
		}
		if part == "" {
			x.all = joined
		} else {
			x.without[part] = joined
		}
	}
	return x
}

// report says what each part is worth, by name. All means share the draws of one bootstrap.
func (a *ablated) report(seed uint64) []AblationReport {
	metrics := a.all.measured()
	names := slices.Sorted(maps.Keys(a.without))
	var list []Sample
	for _, m := range metrics {
		list = append(list, a.all[m])
		for _, part := range names {
			list = append(list, a.without[part][m])
		}
	}
	draws := replicate(list, seed)
	reports := make([]AblationReport, len(names))
	for k, m := range metrics {
		at := k * (1 + len(names))
		for i, part := range names {
			x := &reports[i]
			x.Without, x.Question, x.Refitted, x.Questions = part, a.question, a.refitted, a.all["mrr"].values()
			s := a.without[part][m]
			value := s.Mean()
			loss := paired(a.all[m].Mean()-value, draws[at], draws[at+1+i])
			switch one := (AblatedMetric{value, loss}); m {
			case "mrr":
				x.MRR, x.Loss = value, loss
			case "ndcg@10":
				x.NDCG10 = &one
			case "node_f1":
				x.NodeF1 = &one
			case "link_f1":
				x.LinkF1 = &one
			}
		}
	}
	return reports
}

// AblationOf are the parts at one kind of question, the one with the largest loss first.
func (r *Report) AblationOf(question string) []AblationReport {
	parts := slices.DeleteFunc(slices.Clone(r.Ablation), func(x AblationReport) bool { return x.Question != question })
	slices.SortStableFunc(parts, func(a, b AblationReport) int { return cmp.Compare(b.Loss.Mean, a.Loss.Mean) })
	return parts
}
