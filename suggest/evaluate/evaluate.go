package evaluate

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Evaluate measures what train makes of the history in d, and the baselines beside it. A nil train
// measures the baselines alone. It stops soon after ctx ends. The report depends on nothing but d, the
// options and train, apart from the times.
func Evaluate(ctx context.Context, d *Data, train Trainer, o Options) (*Report, error) {
	if o.Seed == 0 {
		o.Seed = 1
	}
	r := &run{ctx: ctx, d: d, o: o, report: &Report{Dataset: d.Name, Profile: o.Profile, Baselines: map[string]Baseline{}}}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	var steps []func() error
	if train != nil { // first, for it may refuse
		steps = append(steps, func() error { return r.judgeRanker(train) }, func() error { return r.firstContact(train) })
	}
	steps = append(steps, r.nextBaselines, r.intentBaselines)
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("evaluate on %s: %w", d.Name, err)
		}
	}
	r.summarise()
	return r.report, nil
}

// run is an evaluation under way.
type run struct {
	ctx     context.Context
	d       *Data
	o       Options
	next    part // next tool
	intents part // intent → tools, plan
	report  *Report

	// What was measured, beside next.tests or intents.tests.
	nextMethods   []method
	intentMethods []method
	mine          answers   // of the predictor
	whole         []*task   // the history that was timed
	subjectOf     Predictor // what it was turned into

	progress sync.Mutex
}

// method is a baseline with its samples by metric.
type method struct {
	name    string
	samples samples
}

// answers of the predictor.
type answers struct {
	next, nextIntent     *nextAnswers
	stops                [][]Prediction
	tools, dag, official samples
}

// nextAnswers are, by test, the rank of the target at every position (0: not ranked) and what the
// first suggestion claimed.
type nextAnswers struct {
	ranks  [][]int
	claims [][]Prediction
	ready  [][]bool // whether the first suggestion could have come now
}

func newNextAnswers(tests int) *nextAnswers {
	return &nextAnswers{make([][]int, tests), make([][]Prediction, tests), make([][]bool, tests)}
}

// prepare divides the examples into history and tests, apart for the next tool and for intents: a data set
// may be made for one of them only. A task of one step asks no next tool, one without an intent no plan.
func (r *run) prepare() error {
	all := make([]*task, len(r.d.Examples))
	for i := range r.d.Examples {
		all[i] = newTask(&r.d.Examples[i])
	}
	r.next = split(all, func(t *task) bool { return t.Next }, r.o.SuccessfulTests)
	r.intents = split(all, func(t *task) bool { return t.Intent }, r.o.SuccessfulTests)
	r.next.tests = slices.DeleteFunc(slices.Clone(r.next.tests), func(t *task) bool { return len(t.seq) < 2 })
	r.intents.tests = slices.DeleteFunc(slices.Clone(r.intents.tests), func(t *task) bool { return strings.TrimSpace(t.Episode.Intent) == "" })
	if len(r.next.tests)+len(r.intents.tests) == 0 {
		return fmt.Errorf("evaluate on %s: %w", r.d.Name, ErrNothingToTest)
	}
	r.report.LeaveOneOut = r.next.leave && r.intents.leave
	r.report.TrainEpisodes = union(r.next.trained(), r.intents.trained())
	r.report.TestEpisodes = union(r.next.tests, r.intents.tests)
	return nil
}

// trained is the history that is no test.
func (p part) trained() []*task {
	if p.leave {
		return nil
	}
	return p.history
}

func union(a, b []*task) int {
	seen := map[*task]bool{}
	for _, t := range slices.Concat(a, b) {
		seen[t] = true
	}
	return len(seen)
}

// groups lists the tests of each history: all tests, or, where each is held out in turn, those of a
// group.
func (p part) groups() [][]int {
	if !p.leave {
		all := make([]int, len(p.tests))
		for i := range all {
			all[i] = i
		}
		return [][]int{all}
	}
	var groups [][]int
	at := map[string]int{}
	for i, t := range p.tests {
		g, ok := at[t.group]
		if !ok {
			g = len(groups)
			at[t.group] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// nextBaselines asks every baseline at every position.
func (r *run) nextBaselines() error {
	answered := make([]*nextAnswers, len(nextBaselines))
	for m := range answered {
		answered[m] = newNextAnswers(len(r.next.tests))
	}
	mixed, hasIntents := newNextAnswers(len(r.next.tests)), r.hasIntents()
	tick := r.counter("baselines of the next tool", len(r.next.tests))
	groups := r.next.groups()
	err := parallel(r.ctx, len(groups), func(g int) error {
		if len(groups[g]) == 0 {
			return nil
		}
		history := r.next.without(r.next.tests[groups[g][0]].group)
		c := newCounts(history)
		var past *intentIndex
		if hasIntents {
			past = newIntentIndex(history)
		}
		return parallel(r.ctx, len(groups[g]), func(i int) error {
			test := groups[g][i]
			t := r.next.tests[test]
			for m, b := range nextBaselines {
				if err := answered[m].ask(baseline{c, b.rank}, t, test, false); err != nil {
					return err
				}
			}
			if hasIntents {
				if err := mixed.ask(newMixture(c, past, t), t, test, true); err != nil {
					return err
				}
			}
			tick()
			return nil
		})
	})
	if err != nil || len(r.next.tests) == 0 {
		return err
	}
	for m, b := range nextBaselines {
		r.nextMethods = append(r.nextMethods, method{b.name, answered[m].samples()})
	}
	if hasIntents {
		s := samples{}
		collect(s, withIntent, mixed.samples())
		r.nextMethods = append(r.nextMethods, method{byMixture, s})
	}
	return nil
}

// hasIntents reports whether any test of the next tool has one.
func (r *run) hasIntents() bool {
	return slices.ContainsFunc(r.next.tests, func(t *task) bool { return t.Episode.Intent != "" })
}

// ask puts every position of a test to a ranker.
func (a *nextAnswers) ask(k Ranker, t *task, test int, withIntent bool) error {
	ranks := make([]int, 0, len(t.seq)-1)
	claims := make([]Prediction, 0, len(t.seq)-1)
	var ready []bool
	var q Question
	if withIntent {
		q.Intent = t.Episode.Intent
	}
	for i := 1; i < len(t.seq); i++ {
		q.Context = t.seq[:i:i]
		candidates, err := k.Rank(q, 0)
		if err != nil {
			return fmt.Errorf("episode %q, position %d: %w", t.Episode.ID, i, err)
		}
		rank := 1 + slices.IndexFunc(candidates, func(c Candidate) bool { return c.ID == t.seq[i] })
		ranks = append(ranks, rank)
		if len(candidates) > 0 {
			claims = append(claims, Prediction{candidates[0].Confidence, rank == 1})
			ready = append(ready, t.ready(i, candidates[0].ID))
		}
	}
	a.ranks[test], a.claims[test], a.ready[test] = ranks, claims, ready
	return nil
}

// samples adds up the metrics by test episode, which is the unit that the bootstrap draws.
func (a *nextAnswers) samples() samples {
	s := newSamples(nextMetrics, len(a.ranks))
	for e, ranks := range a.ranks {
		for _, rank := range ranks {
			s.add("hit@1", e, hit(rank, 1))
			s.add("hit@3", e, hit(rank, 3))
			s.add("hit@5", e, hit(rank, 5))
			s.add("mrr", e, reciprocal(rank))
		}
	}
	return s
}

// The metrics, by their names in a report.
var (
	nextMetrics     = []string{"hit@1", "hit@3", "hit@5", "mrr"}
	toolMetrics     = []string{"recall@5", "ndcg@10", "map@10"}
	dagMetrics      = []string{"node_f1", "link_f1", "accuracy"}
	officialMetrics = []string{"n_f1", "l_f1", "accuracy"}
)

// samples are the values of each metric, by its name.
type samples map[string]Sample

func newSamples(metrics []string, episodes int) samples {
	s := samples{}
	for _, m := range metrics {
		s[m] = newSample(episodes)
	}
	return s
}

func (s samples) add(metric string, episode int, value float64) {
	s[metric].Sum[episode] += value
	s[metric].Count[episode]++
}

// found judges rankings of tools for the intents of the tests.
func (r *run) found(ranked [][]string) samples {
	s := newSamples(toolMetrics, len(ranked))
	for e, list := range ranked {
		gold := r.intents.tests[e].set
		s.add("recall@5", e, Recall(list, gold, 5))
		s.add("ndcg@10", e, NDCG(list, gold, 10))
		s.add("map@10", e, averagePrecision(list, gold, 10))
	}
	return s
}

// planned judges plans for the intents of the tests.
func (r *run) planned(plans []Plan) samples {
	s := newSamples(dagMetrics, len(plans))
	for e, p := range plans {
		t := r.intents.tests[e]
		node := F1(distinct(p.Tools), t.set)
		s.add("node_f1", e, node)
		s.add("accuracy", e, hitAbove(node))
		if len(t.links) > 0 {
			s.add("link_f1", e, F1(properLinks(p.Links), t.links))
		}
	}
	return s
}

// judged judges plans by the official metric: chains only, lists rather than sets.
func (r *run) judged(plans []Plan) samples {
	s := newSamples(officialMetrics, len(plans))
	for e, p := range plans {
		if t := r.intents.tests[e]; t.chain {
			node := F1(p.Tools, t.seq)
			s.add("n_f1", e, node)
			s.add("l_f1", e, F1(p.Links, t.pairs))
			s.add("accuracy", e, hitAbove(node))
		}
	}
	return s
}

func hitAbove(f1 float64) float64 {
	if f1 >= exactly {
		return 1
	}
	return 0
}

// properLinks are the distinct links between different tools, sorted.
func properLinks(links []Link) []Link {
	links = slices.DeleteFunc(slices.Clone(links), func(l Link) bool { return l.From == l.To })
	slices.SortFunc(links, Link.compare)
	return slices.Compact(links)
}

// intentBaselines asks every baseline about every intent.
func (r *run) intentBaselines() error {
	if len(r.intents.tests) == 0 {
		return nil
	}
	b := newIntentBaselines(r.d, r.intents.history)
	if !r.intents.leave {
		if err := b.tune(r.ctx); err != nil {
			return err
		}
	}
	names, all, err := b.answers(r.ctx, r.intents.tests, r.intents.leave, r.counter("baselines of intents", len(r.intents.tests)))
	if err != nil {
		return err
	}
	for m, name := range names {
		ranked, plans := make([][]string, len(all[m])), make([]Plan, len(all[m]))
		for i, a := range all[m] {
			ranked[i], plans[i] = a.ranked, a.plan
		}
		s := samples{}
		if name != byCopy {
			collect(s, "", r.found(ranked))
		}
		collect(s, "", r.planned(plans))
		if r.d.Official {
			collect(s, official, r.judged(plans))
		}
		r.intentMethods = append(r.intentMethods, method{name, s})
	}
	return nil
}

// official sets the official metrics of a method apart from those of the same name.
const official = "official "

func collect(into samples, prefix string, from samples) {
	for name, s := range from {
		into[prefix+name] = s
	}
}

// fold is one history and the tests that are asked of what it was turned into.
type fold struct {
	history       []*task
	next, intents []int
}

// folds lists the histories. Both kinds of question share one where they have the same.
func (r *run) folds() []fold {
	same := slices.Equal(r.next.history, r.intents.history) && r.next.leave == r.intents.leave
	var folds []fold
	at := map[string]int{}
	for kind, p := range []part{r.next, r.intents} {
		if len(p.tests) == 0 {
			continue
		}
		for _, tests := range p.groups() {
			key := p.tests[tests[0]].group
			if !p.leave {
				key = "" // no group has this name
			}
			if !same {
				key = fmt.Sprint(kind, key)
			}
			i, ok := at[key]
			if !ok {
				i = len(folds)
				at[key] = i
				folds = append(folds, fold{history: p.without(p.tests[tests[0]].group)})
			}
			if kind == 0 {
				folds[i].next = tests
			} else {
				folds[i].intents = tests
			}
		}
	}
	return folds
}

// train turns a history into a predictor.
func (r *run) train(train Trainer, history []*task) (Predictor, error) {
	examples := make([]*Example, len(history))
	for i, t := range history {
		examples[i] = t.Example
	}
	p, err := train(r.ctx, r.d, examples)
	if err != nil {
		return Predictor{}, fmt.Errorf("train on %d episodes: %w", len(history), err)
	}
	return p, nil
}

// judgeRanker asks the predictor everything.
func (r *run) judgeRanker(train Trainer) error {
	whole := r.next.history
	if len(r.next.tests) == 0 {
		whole = r.intents.history
	}
	began := r.now()
	p, err := r.train(train, whole) // what is timed knows the tests where each is held out in turn
	if err != nil {
		return err
	}
	r.built(began)
	r.whole, r.subjectOf = whole, p
	folds := r.folds()
	n := len(r.next.tests)
	x := &rankerAnswers{
		next: newNextAnswers(n), nextIntent: newNextAnswers(n), stops: make([][]Prediction, n), hasIntents: r.hasIntents(),
		ranked: make([][]string, len(r.intents.tests)), plans: make([]Plan, len(r.intents.tests)),
	}
	tick := r.counter("questions", len(r.next.tests)+len(r.intents.tests))
	err = parallel(r.ctx, len(folds), func(i int) error {
		f, p := folds[i], p
		if !slices.Equal(f.history, whole) {
			var err error
			if p, err = r.train(train, f.history); err != nil {
				return err
			}
		}
		if p.Ranker != nil {
			err := parallel(r.ctx, len(f.next), func(j int) error {
				defer tick()
				return x.askNext(p.Ranker, r.next.tests[f.next[j]], f.next[j])
			})
			if err != nil {
				return err
			}
		}
		return parallel(r.ctx, len(f.intents), func(j int) error {
			defer tick()
			return x.askIntent(p, r.intents.tests[f.intents[j]], f.intents[j])
		})
	})
	if err != nil {
		return err
	}
	r.keepAnswers(p, x)
	return r.latency(p)
}

// rankerAnswers are the answers of the ranker under test, by test. Tests are asked in parallel, each writes its own place.
type rankerAnswers struct {
	next, nextIntent *nextAnswers // without and with the intent
	stops            [][]Prediction
	ranked           [][]string // tools for an intent
	plans            []Plan
	hasIntents       bool // some test of the next tool has an intent
}

// askNext asks for every next tool of a test, also with its intent and, of a Stopper, whether the task is over.
func (x *rankerAnswers) askNext(p Ranker, t *task, at int) (err error) {
	if s, ok := p.(Stopper); ok {
		x.stops[at], err = x.next.askStops(s, t, at)
	} else {
		err = x.next.ask(p, t, at, false)
	}
	if err == nil && x.hasIntents {
		err = x.nextIntent.ask(p, t, at, true)
	}
	return err
}

// askIntent asks for the tools and the plan of a test's intent.
func (x *rankerAnswers) askIntent(p Predictor, t *task, at int) (err error) {
	if p.Finder != nil {
		if x.ranked[at], err = p.Find(t.Episode.Intent, 0); err != nil {
			return fmt.Errorf("tools for episode %q: %w", t.Episode.ID, err)
		}
	}
	if p.Planner != nil {
		if x.plans[at], err = p.Plan(t.Episode.Intent); err != nil {
			return fmt.Errorf("plan for episode %q: %w", t.Episode.ID, err)
		}
	}
	return nil
}

// keepAnswers keeps what the data set has tests for and the ranker can answer; the report leaves out the rest.
func (r *run) keepAnswers(p Predictor, x *rankerAnswers) {
	if p.Ranker != nil && len(r.next.tests) > 0 {
		r.mine.next, r.mine.stops = x.next, x.stops
		if x.hasIntents {
			r.mine.nextIntent = x.nextIntent
		}
	}
	if len(r.intents.tests) == 0 {
		return
	}
	if p.Finder != nil {
		r.mine.tools = r.found(x.ranked)
	}
	if p.Planner != nil {
		r.mine.dag = r.planned(x.plans)
		if r.d.Official {
			r.mine.official = r.judged(x.plans)
		}
	}
}

// counter reports how many of total are done each time it is called.
func (r *run) counter(phase string, total int) func() {
	var done atomic.Int64
	return func() {
		n := int(done.Add(1))
		if r.o.Progress != nil {
			r.progress.Lock()
			defer r.progress.Unlock()
			r.o.Progress(phase, n, total)
		}
	}
}

// share reports the share that is done of the i-th of n parts of a phase.
func (r *run) share(phase string, i, n int) func(done float64) {
	return func(done float64) {
		if r.o.Progress != nil {
			r.progress.Lock()
			defer r.progress.Unlock()
			r.o.Progress(phase, int(1000*(float64(i)+done)/float64(n)), 1000)
		}
	}
}

// parallel calls f for 0 … n-1 on all processors until one fails or ctx ends. Of several errors it
// returns that of the smallest number.
func parallel(ctx context.Context, n int, f func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	var wait sync.WaitGroup
	errs := make([]error, n)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !failed.Load() && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if errs[i] = f(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
