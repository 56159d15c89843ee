package evaluate

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"waymark/catalog"
	"waymark/suggest/semantic"
)

// task is an example prepared for evaluation: the material of its questions and the correct answers.
type task struct {
	*Example
	seq    []string // tools in topological order
	set    []string // distinct tools, sorted
	links  []Link   // distinct pairs of different tools, sorted
	before []string // the tools of another task that precedes this one in the session
}

func (t *task) hasIntent() bool { return strings.TrimSpace(t.Episode.Intent) != "" }

// newTask sorts the steps topologically and derives the sets that the metrics compare.
func newTask(x *Example) *task {
	e := &x.Episode
	t := &task{Example: x}
	before := e.Before()
	for _, i := range e.Order() {
		t.seq = append(t.seq, e.Steps[i].Tool)
		for _, b := range before[i] {
			t.links = append(t.links, Link{e.Steps[b].Tool, e.Steps[i].Tool})
		}
	}
	t.set, t.links = distinct(t.seq), properLinks(t.links)
	return t
}

// distinct returns the distinct elements of ids, sorted.
func distinct(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// properLinks returns the distinct links between different tools, sorted.
func properLinks(links []Link) []Link {
	links = slices.DeleteFunc(slices.Clone(links), func(l Link) bool { return l.From == l.To })
	slices.SortFunc(links, Link.compare)
	return slices.Compact(links)
}

// The kinds of questions.
const (
	QuestionNext       = "next"        // given the context
	QuestionNextIntent = "next_intent" // given context and intent
	QuestionTools      = "tools"       // for an intent
	QuestionDAG        = "dag"         // for an intent
	QuestionSessions   = "sessions"    // given a context that begins with another task
	QuestionNeeds      = "needs"       // for the name or the first sentence of a tool
	QuestionForeign    = "foreign"     // for requests that software rarely serves, and for those of the history
)

// questions are the kinds in the order of the report.
var questions = []string{QuestionNext, QuestionNextIntent, QuestionSessions, QuestionTools, QuestionDAG, QuestionNeeds, QuestionForeign}

// kinds holds, by kind of question, the metrics in the order of the report and the function that asks about a test.
var kinds = map[string]struct {
	metrics []string
	ask     func(a asking, t *task) error
}{
	QuestionNext:       {nextMetrics, func(a asking, t *task) error { return askNext(a, t, "") }},
	QuestionNextIntent: {nextMetrics, func(a asking, t *task) error { return askNext(a, t, t.Episode.Intent) }},
	QuestionTools:      {[]string{"recall@5", "ndcg@10", "map@10"}, askTools},
	QuestionDAG:        {[]string{"node_f1", "link_f1", "accuracy"}, askPlan},
	QuestionSessions:   {[]string{"alone", "joined", "joined_intent"}, askSession},
	QuestionNeeds:      {[]string{"hit@1", "hit@5"}, askNeed},
	QuestionForeign:    {[]string{"seen", "own_kept"}, askForeign},
}

var nextMetrics = []string{"hit@1", "hit@3", "hit@5", "mrr"}

// question is a kind of question with its tests and the answers of each predictor.
type question struct {
	name    string
	tests   []*task
	lock    sync.Mutex
	answers []*answers // by predictor
}

// answers holds the metric values of one predictor and the claims of its first suggestions, both by test.
type answers struct {
	name     string
	baseline bool
	samples  map[string]Sample
	claims   [][]Prediction
}

// asking is a predictor that is asked about one test. A predictor without the function for a question gets no values.
type asking struct {
	*Predictor
	*answers
	test int
}

func (a asking) add(metric string, value float64) {
	a.samples[metric].Sum[a.test] += value
	a.samples[metric].Count[a.test]++
}

// ask asks each predictor about the tests, or about only one of them. Each test writes to an index of its own.
func (q *question) ask(ctx context.Context, predictors []Predictor, only *task, tick func()) error {
	q.lock.Lock()
	for len(q.answers) < len(predictors) {
		p := &predictors[len(q.answers)]
		a := &answers{p.Name, p.simple, map[string]Sample{}, make([][]Prediction, len(q.tests))}
		for _, m := range kinds[q.name].metrics {
			a.samples[m] = newSample(len(q.tests))
		}
		q.answers = append(q.answers, a)
	}
	q.lock.Unlock()
	return each(ctx, len(q.tests), func(i int) error {
		t := q.tests[i]
		if only != nil && t != only {
			return nil
		}
		defer tick()
		for k := range predictors {
			if err := kinds[q.name].ask(asking{&predictors[k], q.answers[k], i}, t); err != nil {
				return fmt.Errorf("%s of %q: %w", q.name, t.Episode.ID, err)
			}
		}
		return nil
	})
}

// steps asks for each step of a test but the first. The context is before, the tools of another task, and then the
// previous steps. note receives the rank of the step among the suggestions, 0 if it is not among them.
func (a asking) steps(t *task, before []string, intent string, note func(rank int, found []Candidate)) error {
	if a.Next == nil || a.withIntent && intent == "" {
		return nil
	}
	for i := 1; i < len(t.seq); i++ {
		found, err := a.Next(Question{slices.Concat(before, t.seq[:i]), intent})
		if err != nil {
			return err
		}
		note(1+slices.IndexFunc(found, func(c Candidate) bool { return c.ID == t.seq[i] }), found)
	}
	return nil
}

func askNext(a asking, t *task, intent string) error {
	return a.steps(t, nil, intent, func(rank int, found []Candidate) {
		a.add("hit@1", hit(rank, 1))
		a.add("hit@3", hit(rank, 3))
		a.add("hit@5", hit(rank, 5))
		a.add("mrr", reciprocal(rank))
		if len(found) > 0 {
			a.claims[a.test] = append(a.claims[a.test], Prediction{found[0].Confidence, rank == 1})
		}
	})
}

func askTools(a asking, t *task) error {
	if a.Find == nil {
		return nil
	}
	ranked, err := a.Find(t.Episode.Intent)
	a.add("recall@5", recall(ranked, t.set, 5))
	a.add("ndcg@10", NDCG(ranked, t.set, 10))
	a.add("map@10", averagePrecision(ranked, t.set, 10))
	return err
}

// askPlan compares the sets of tools and, if the task has links, the sets of links. A plan with a Node-F1 of at least
// .99 counts as exact.
func askPlan(a asking, t *task) error {
	if a.Plan == nil {
		return nil
	}
	plan, err := a.Plan(t.Episode.Intent)
	node := F1(distinct(plan.Tools), t.set)
	a.add("node_f1", node)
	a.add("accuracy", share(node >= .99))
	if len(t.links) > 0 {
		a.add("link_f1", F1(properLinks(plan.Links), t.links))
	}
	return err
}

// Bounds that keep the questions of first contact shorter than the rest of an evaluation.
const (
	mostContact = 200 // tasks asked about
	mostTexts   = 300 // texts of tools searched for
)

// joined returns each task in a session that begins with another task, the one half the list away.
func joined(tasks []*task) []*task {
	var tests []*task
	for i, t := range tasks {
		if other := tasks[(i+len(tasks)/2)%len(tasks)]; other != t {
			x := *t
			x.before = other.seq
			tests = append(tests, &x)
		}
	}
	return tests
}

// askSession asks for each step of a test with its own context, and again with the other task before it.
func askSession(a asking, t *task) error {
	note := func(metric string) func(int, []Candidate) {
		return func(rank int, _ []Candidate) { a.add(metric, hit(rank, 1)) }
	}
	err := cmp.Or(a.steps(t, nil, "", note("alone")), a.steps(t, t.before, "", note("joined")))
	if err == nil && t.hasIntent() {
		err = a.steps(t, t.before, t.Episode.Intent, note("joined_intent"))
	}
	return err
}

// ownTexts returns requests made of the names of tools, as words, and of their first sentences. Tools with equal texts
// are equally correct.
func ownTexts(tools []catalog.Tool) []*task {
	var all []*task
	at := map[string]*task{}
	for i := range tools {
		sentence, _, _ := strings.Cut(strings.ReplaceAll(tools[i].Description, "\n", "."), ".")
		name := strings.Join(semantic.Parts(cmp.Or(tools[i].Name, tools[i].ID)), " ")
		for _, text := range []string{name, strings.TrimSpace(sentence)} {
			if text == "" {
				continue
			}
			if at[text] == nil {
				at[text] = request(text)
				all = append(all, at[text])
			}
			at[text].set = append(at[text].set, tools[i].ID)
		}
	}
	return evenly(all, mostTexts)
}

// request returns a task that has only an intent.
func request(intent string) *task {
	x := &Example{}
	x.Episode.ID, x.Episode.Intent = intent, intent
	return &task{Example: x}
}

func askNeed(a asking, t *task) error {
	if a.Search == nil {
		return nil
	}
	ids, err := a.Search(t.Episode.Intent)
	rank := 1 + slices.IndexFunc(ids, func(id string) bool { return slices.Contains(t.set, id) })
	a.add("hit@1", hit(rank, 1))
	a.add("hit@5", hit(rank, 5))
	return err
}

//go:embed foreign.txt
var foreignText string

// foreign returns requests that software rarely serves.
func foreign() (all []*task) {
	for line := range strings.Lines(foreignText) {
		all = append(all, request(strings.TrimSpace(line)))
	}
	return all
}

// askForeign checks that a foreign request is recognised as foreign, and that a request of the history is not.
func askForeign(a asking, t *task) error {
	if a.Plan == nil || a.simple {
		return nil
	}
	plan, err := a.Plan(t.Episode.Intent)
	if len(t.seq) == 0 {
		a.add("seen", share(plan.Foreign))
	} else {
		a.add("own_kept", share(!plan.Foreign))
	}
	return err
}

// share returns 1 if holds is true, else 0.
func share(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
