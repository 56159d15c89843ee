package evaluate

import (
	"cmp"
	"crypto/sha1"
	_ "embed"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
)

// FirstContact says how a predictor answers what its history does not resemble. A part that cannot be measured is nil.
//
// Grouped comes from histories without any request of the same template, and, where there is no
// request, without any task of the same row of tools: five folds of the history, of which the first is asked.
// Random comes from as many tasks held out one by one, whatever resembles them.
type FirstContact struct {
	Repeated float64        `json:"repeated"` // share of the tasks of which another one has the template
	Grouped  *ContactScores `json:"grouped"`
	Random   *ContactScores `json:"random"`
	Unseen   *UnseenScores  `json:"unseen_tools"`
	Needs    *NeedsScores   `json:"needs"`
	Foreign  *ForeignScores `json:"foreign"`
	Curve    []CurvePoint   `json:"curve"`
}

// ContactScores are means over the questions that some tasks make; a nil rate has no questions.
type ContactScores struct {
	Tasks      int      `json:"tasks"`
	MRR        *float64 `json:"next_mrr"`
	Ready      *float64 `json:"next_ready"` // share of first suggestions that the task did next or could have done now: all they depend on is done
	MRRIntent  *float64 `json:"next_intent_mrr"`
	NDCG10     *float64 `json:"ndcg@10"`
	NodeF1     *float64 `json:"node_f1"`
	Confidence *float64 `json:"first_confidence"` // mean of the first suggestions
}

// UnseenScores are the steps whose tool no task of the history used.
type UnseenScores struct {
	Steps int     `json:"steps"`
	Of    int     `json:"of"`
	Hit5  float64 `json:"hit@5"`
}

// NeedsScores are searches for tools by their own texts: the name as words, and the first sentence.
type NeedsScores struct {
	Queries int     `json:"queries"`
	Hit1    float64 `json:"hit@1"`
	Hit5    float64 `json:"hit@5"`
}

// ForeignScores are plans for wishes that software rarely serves, beside those for requests of the history.
type ForeignScores struct {
	Requests   int     `json:"requests"`
	Recognised float64 `json:"recognised"`
	Mistaken   float64 `json:"mistaken"` // share of the tested requests that were taken for foreign
}

// CurvePoint is what the first tasks of a history alone teach.
type CurvePoint struct {
	History int `json:"history"`
	ContactScores
}

// searcher finds tools for a need, best first.
type searcher interface {
	Search(query string, limit int) ([]string, error)
}

// doubter says whether a plan for an intent carries the warning that nothing serves it.
type doubter interface {
	Foreign(intent string) (bool, error)
}

// Bounds that keep first contact about as long as the evaluation itself.
const (
	contactTasks = 200 // asked about by each part
	contactTools = 300 // searched for by their texts
	contactFolds = 5
)

var curveSizes = []int{10, 30, 100, 300}

//go:embed foreign.txt
var foreignText string

// firstContact asks a predictor about what its history does not resemble.
func (r *run) firstContact(train Trainer) error {
	if !r.o.FirstContact || r.next.leave || r.intents.leave {
		return nil
	}
	all := slices.Concat(r.next.history, r.next.tests)
	if len(all) < 2*contactFolds {
		return nil
	}
	f := &FirstContact{}
	r.report.FirstContact = f
	groups := map[string]int{}
	for _, t := range all {
		groups[templateOf(t)]++
	}
	for _, t := range all {
		if groups[templateOf(t)] > 1 {
			f.Repeated += 1 / float64(len(all))
		}
	}
	steps := []func() error{
		func() (err error) { f.Grouped, err = r.fold(train, all, templateOf); return err },
		func() (err error) {
			f.Random, err = r.fold(train, all, func(t *task) string { return t.Episode.ID })
			return err
		},
		func() error { return r.curve(train, f) },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			return err
		}
		r.share("first contact", i, len(steps))(1)
	}
	r.unseen(f)
	if err := r.ownTexts(f); err != nil {
		return err
	}
	return r.foreign(f)
}

// templateOf is what near copies of a task have in common.
func templateOf(t *task) string {
	if request := template(t.Episode.Intent); request != "" {
		return request
	}
	return "\x00" + strings.Join(t.seq, "\x00")
}

// fold holds out a fifth of the groups, by a hash of their names, and asks about it.
func (r *run) fold(train Trainer, all []*task, group func(*task) string) (*ContactScores, error) {
	var history, tests []*task
	for _, t := range all {
		if hashed(group(t))%contactFolds == 0 {
			tests = append(tests, t)
		} else {
			history = append(history, t)
		}
	}
	if len(tests) == 0 || len(history) == 0 {
		return nil, nil
	}
	p, err := r.train(train, history)
	if err != nil {
		return nil, err
	}
	return r.contact(p, evenly(tests, contactTasks))
}

// evenly takes at most n tasks, evenly.
func evenly(tasks []*task, n int) []*task {
	if len(tasks) <= n {
		return tasks
	}
	taken := make([]*task, n)
	for i := range taken {
		taken[i] = tasks[i*len(tasks)/n]
	}
	return taken
}

// contact asks a predictor all questions that some tasks make.
func (r *run) contact(p Predictor, tests []*task) (*ContactScores, error) {
	c := &ContactScores{Tasks: len(tests)}
	plain, asked := newNextAnswers(len(tests)), newNextAnswers(len(tests))
	ranked, plans := make([][]string, len(tests)), make([]Plan, len(tests))
	intents := part{}
	var asking []int
	for i, t := range tests {
		if strings.TrimSpace(t.Episode.Intent) != "" {
			asking = append(asking, i)
			intents.tests = append(intents.tests, t)
		}
	}
	err := parallel(r.ctx, len(tests), func(i int) error {
		if err := plain.ask(p.Ranker, tests[i], i, false); err != nil {
			return err
		}
		if strings.TrimSpace(tests[i].Episode.Intent) == "" {
			return nil
		}
		return asked.ask(p.Ranker, tests[i], i, true)
	})
	if err == nil {
		err = parallel(r.ctx, len(asking), func(k int) (err error) {
			intent := tests[asking[k]].Episode.Intent
			if ranked[k], err = p.Find(intent, 10); err == nil {
				plans[k], err = p.Plan(intent)
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("first contact: %w", err)
	}
	set := func(to **float64, s Sample) {
		if s.values() > 0 {
			mean := s.Mean()
			*to = &mean
		}
	}
	set(&c.MRR, plain.samples()["mrr"])
	set(&c.MRRIntent, asked.samples()["mrr"])
	first := newSamples([]string{"ready", "confidence"}, 1)
	for i := range tests {
		for k, claim := range plain.claims[i] {
			first.add("confidence", 0, claim.Confidence)
			first.add("ready", 0, hitIf(claim.Right || plain.ready[i][k]))
		}
	}
	set(&c.Ready, first["ready"])
	set(&c.Confidence, first["confidence"])
	if n := len(asking); n > 0 {
		sub := &run{intents: intents}
		set(&c.NDCG10, sub.found(ranked[:n])["ndcg@10"])
		set(&c.NodeF1, sub.planned(plans[:n])["node_f1"])
	}
	return c, nil
}

func hitIf(right bool) float64 {
	if right {
		return 1
	}
	return 0
}

// curve trains on the first tasks of the history alone.
func (r *run) curve(train Trainer, f *FirstContact) error {
	tests := evenly(r.next.tests, contactTasks)
	for _, n := range curveSizes {
		if n >= len(r.next.history) || len(tests) == 0 {
			return nil
		}
		p, err := r.train(train, r.next.history[:n])
		if err != nil {
			return err
		}
		c, err := r.contact(p, tests)
		if err != nil {
			return err
		}
		f.Curve = append(f.Curve, CurvePoint{n, *c})
	}
	return nil
}

// unseen looks at the steps of the tests whose tool the history never used.
func (r *run) unseen(f *FirstContact) {
	if r.mine.next == nil {
		return
	}
	used := map[string]bool{}
	for _, t := range r.next.history {
		for _, id := range t.set {
			used[id] = true
		}
	}
	u := &UnseenScores{}
	for e, ranks := range r.mine.next.ranks {
		for i, rank := range ranks {
			u.Of++
			if !used[r.next.tests[e].seq[i+1]] {
				u.Steps++
				u.Hit5 += hit(rank, 5)
			}
		}
	}
	u.Hit5 = ratio(u.Hit5, float64(u.Steps))
	f.Unseen = u
}

// ownTexts searches for tools by their own texts. Tools of equal text are equally right.
func (r *run) ownTexts(f *FirstContact) error {
	s, ok := r.subjectOf.Finder.(searcher)
	if !ok || len(r.d.Tools) == 0 {
		return nil
	}
	var queries []string
	right := map[string][]string{}
	for _, t := range r.d.Tools {
		for _, q := range []string{nameWords(&t), firstSentence(t.Description)} {
			if q != "" {
				right[q] = append(right[q], t.ID)
				queries = append(queries, q)
			}
		}
	}
	if len(queries) == 0 {
		return nil
	}
	step := max(1, len(queries)/contactTools)
	asked := make([]string, 0, contactTools+1)
	for i := 0; i < len(queries); i += step {
		asked = append(asked, queries[i])
	}
	places := make([]int, len(asked))
	err := parallel(r.ctx, len(asked), func(i int) error {
		ids, err := s.Search(asked[i], 5)
		places[i] = 1 + slices.IndexFunc(ids, func(id string) bool { return slices.Contains(right[asked[i]], id) })
		return err
	})
	n := &NeedsScores{Queries: len(asked)}
	for _, place := range places {
		n.Hit1 += hit(place, 1) / float64(len(asked))
		n.Hit5 += hit(place, 5) / float64(len(asked))
	}
	f.Needs = n
	return err
}

// foreign asks for plans that nothing serves.
func (r *run) foreign(f *FirstContact) error {
	d, ok := r.subjectOf.Planner.(doubter)
	if !ok {
		return nil
	}
	share := func(requests []string) (float64, error) {
		flags := make([]float64, len(requests))
		err := parallel(r.ctx, len(requests), func(i int) error {
			foreign, err := d.Foreign(requests[i])
			flags[i] = hitIf(foreign)
			return err
		})
		sum := 0.0
		for _, x := range flags {
			sum += x
		}
		return ratio(sum, float64(len(requests))), err
	}
	strange := strings.Split(strings.TrimSpace(foreignText), "\n")
	var own []string
	for _, t := range evenly(r.intents.tests, contactTasks) {
		own = append(own, t.Episode.Intent)
	}
	s := &ForeignScores{Requests: len(strange)}
	var err error
	if s.Recognised, err = share(strange); err == nil {
		s.Mistaken, err = share(own)
	}
	f.Foreign = s
	return err
}

// nameWords is the name of a tool as words.
func nameWords(t *catalog.Tool) string {
	return strings.Join(words(cmp.Or(t.Name, t.ID)), " ")
}

func firstSentence(text string) string {
	if i := strings.IndexAny(text, ".\n"); i > 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}

// hashed spreads names evenly, the same way on every machine.
func hashed(name string) uint32 {
	sum := sha1.Sum([]byte(name))
	return binary.BigEndian.Uint32(sum[:4])
}
