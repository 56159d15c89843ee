package rank

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"waymark/internal/numeric"
	"waymark/learn/trees"
)

// Options of a fit.
type Options struct {
	Find, Needs, Next trees.Options
	Stop              func() bool // ends the fit soon after it returns true; nil: never
	Foreign           []string    // requests that no tool serves
}

// Model ranks tools. It is immutable and safe for concurrent use.
type Model struct {
	history *History
	find    ranker // conditional: what a request asks for, without a context
	needs   ranker // one by one: whether a task for the request uses a tool
	next    ranker // conditional: what comes next
}

// Ranked is a tool with its log-odds.
type Ranked struct {
	Tool  int32
	Score float64
}

// Fit learns from the tasks. Tasks of one Group are never evidence for one another. It returns nil soon after o.Stop
// returns true.
func Fit(tools []Tool, tasks []*Task, o Options) *Model {
	if o.Stop == nil {
		o.Stop = func() bool { return false }
	}
	texts := NewTexts(tools, tasks)
	var without [folds]*History
	for f := range folds {
		var kept []*Task
		for _, t := range tasks {
			if fold(t) != f {
				kept = append(kept, t)
			}
		}
		if without[f] = Count(texts, kept, o.Stop); without[f] == nil {
			return nil
		}
	}
	m := &Model{history: Count(texts, tasks, o.Stop)}
	if m.history == nil {
		return nil
	}
	x := mixture{texts: texts, tasks: tasks, random: rand.New(rand.NewPCG(1, 0)), words: newRewording(texts, tasks)}
	if !x.draw(without, m.history, o) {
		return nil
	}
	find, needs, next := x.rows(o)
	for _, f := range []struct {
		ranker   *ranker
		examples *examples
		options  trees.Options
	}{{&m.find, find, o.Find}, {&m.needs, needs, o.Needs}, {&m.next, next, o.Next}} {
		if !f.ranker.fit(f.examples, f.options, o.Stop) {
			return nil
		}
	}
	return m
}

// fewQuestions is how many questions leave open whether trees help. For fewer, a fold says how many trees: none is an answer.
const fewQuestions = 2_500

// ranker gives a row of the table its log-odds: the calibrated reference and what trees add to it.
type ranker struct {
	start start
	trees *trees.Model
}

func (r *ranker) fit(x *examples, o trees.Options, stop func() bool) bool {
	r.start = calibrate(x)
	x.Margin = make([]float32, x.Len())
	for i := range x.Margin {
		x.Margin[i] = float32(r.start.of(x.Values[i*int(rows) : (i+1)*int(rows)]))
	}
	if len(x.held) < fewQuestions || x.Questions == nil && len(x.held) < mostNeeds*fewQuestions {
		o.Trees = trees.Choose(&x.Rows, x.held, o, stop)
		if o.Trees == 0 {
			r.trees = &trees.Model{}
			return !stop()
		}
	}
	r.trees = trees.Fit(&x.Rows, o, stop)
	return r.trees != nil
}

func (r *ranker) score(row []float32) float64 { return r.start.of(row) + r.trees.Score(row) }

func fold(t *Task) int { return int(t.Group % folds) }

// Next ranks what may come next in a situation, the likeliest first.
func (m *Model) Next(s Situation) (list []Ranked) {
	m.ask(s, func(r *ranker, t *Table) { list = ranked(r, t) })
	return list
}

// ask computes the table of a situation for the ranker that answers it.
func (m *Model) ask(s Situation, use func(*ranker, *Table)) {
	var r *request
	if s.Intent != "" {
		r = m.history.request(s.Intent)
		defer r.close()
	}
	model := &m.next
	if len(s.Context) == 0 {
		model = &m.find
	}
	use(model, m.history.table(asked{s.Context, r, -1}))
}

// Find ranks the tools that a request asks for, the likeliest first.
func (m *Model) Find(intent string) []Ranked { return m.Next(Situation{Intent: intent}) }

// Needs ranks the tools that a request needs, each with the log-odds that a task for it uses the tool.
func (m *Model) Needs(intent string) []Ranked {
	r := m.history.request(intent)
	defer r.close()
	return ranked(&m.needs, m.history.table(asked{nil, r, -1}))
}

func ranked(r *ranker, t *Table) []Ranked {
	list := make([]Ranked, len(t.Tools))
	for i, tool := range t.Tools {
		list[i] = Ranked{tool, r.score(t.row(i))}
	}
	return best(list, len(list))
}

// best returns the k best, by falling score and then by number.
func best(list []Ranked, k int) []Ranked {
	slices.SortFunc(list, func(a, b Ranked) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Tool, b.Tool)) })
	return list[:min(k, len(list))]
}

// Explanation is a score as a sum: the calibrated reference and, by group of rows, what the trees add to it.
type Explanation struct {
	Reference float64
	Groups    map[string]float64
	Base      float64 // of the trees: their mean over the rows of the fit
}

// Explain returns the parts of the score of a tool in a situation; false if the tool is no candidate.
func (m *Model) Explain(s Situation, tool int32) (e Explanation, ok bool) {
	e.Groups = map[string]float64{}
	m.ask(s, func(r *ranker, t *Table) {
		i, found := slices.BinarySearch(t.Tools, tool)
		if !found {
			return
		}
		parts := make([]float64, rows)
		e.Reference, e.Base, ok = r.start.of(t.row(i)), r.trees.Contributions(parts, t.row(i)), true
		for k, v := range parts {
			e.Groups[Features[k].Group] += v
		}
	})
	return e, ok
}

// Chance returns the probability of log-odds.
func Chance(score float64) float64 { return 1 / (1 + numeric.Exp(-score)) }
