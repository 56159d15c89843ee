package evaluate

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// The baselines of the next tool, in the order of a table.
//
//	popularity  how often the tool was called
//	markov1     n(last → t); then popularity for the tools not ranked yet
//	markov2     n(last two → t); then markov1, then popularity
//	cooc        Σ over the distinct tools p of the context of n(p,t)/√(n(p)·n(t)), n = episodes with
//	            them; t = p counts where an episode has it twice
//	edges       Σ over the last 12 steps p of .6^distance · P(t | p), P from the dependencies; then
//	            popularity
//	session     Σ over the 100 past episodes nearest to the context of their likeness; see [sessions]
//
// Equal scores: the more popular first, then the id. A tool without a score is not ranked.
var nextBaselines = []struct {
	name string
	rank func(*counts, *working)
}{
	{"popularity", func(c *counts, w *working) { w.layer(c.popular) }},
	{"markov1", func(c *counts, w *working) { c.markov1(w) }},
	{"markov2", func(c *counts, w *working) {
		if n := len(w.context); n > 1 {
			w.layer(c.second[[2]int32{w.context[n-2], w.context[n-1]}])
		}
		c.markov1(w)
	}},
	{"cooc", (*counts).cooccurrence},
	{"edges", func(c *counts, w *working) {
		c.edges(w)
		w.layer(c.popular)
	}},
	{"session", func(c *counts, w *working) {
		c.past.score(w)
		w.layer(w.ranked(c))
	}},
}

// scored is the number of a tool, an episode or a document, with what speaks for it.
type scored struct {
	of    int32
	score float64
}

// counts are what the baselines know of a history. Tools are numbers, in order of their ids.
type counts struct {
	ids      []string
	at       map[string]int32
	place    []int32    // by tool: its place among the most popular
	popular  []scored   // called at all, most often first
	first    [][]scored // by tool: what came right after it, most often first
	second   map[[2]int32][]scored
	depends  [][]scored // by tool: P(t | tool) from the dependencies
	with     []float64  // by tool: episodes with it
	together [][]scored // by tool: episodes with it and another one, or with it twice
	past     *sessions
	pool     sync.Pool
}

// newCounts counts a history. Every tool of the history is known.
func newCounts(history []*task) *counts {
	c := &counts{at: map[string]int32{}, second: map[[2]int32][]scored{}}
	for _, t := range history {
		c.ids = append(c.ids, t.set...)
	}
	c.ids = distinct(c.ids)
	for i, id := range c.ids {
		c.at[id] = int32(i)
	}
	n := len(c.ids)
	c.place, c.with = make([]int32, n), make([]float64, n)
	uses := make([]float64, n)
	first, second, depends, together := tally{}, tally{}, tally{}, tally{}
	c.past = newSessions(n)
	for _, t := range history {
		seq := c.numbers(t.seq)
		for i, tool := range seq {
			uses[tool]++
			if i > 0 {
				first[[3]int32{seq[i-1], tool}]++
			}
			if i > 1 {
				second[[3]int32{seq[i-2], seq[i-1], tool}]++
			}
		}
		for _, p := range t.pairs {
			depends[[3]int32{c.at[p.From], c.at[p.To]}]++
		}
		set := c.numbers(t.set)
		for _, a := range set {
			c.with[a]++
			for _, b := range set {
				if a != b {
					together[[3]int32{a, b}]++
				}
			}
		}
		slices.Sort(seq)
		for i := 1; i < len(seq); i++ {
			if seq[i] == seq[i-1] && (i < 2 || seq[i] != seq[i-2]) {
				together[[3]int32{seq[i], seq[i]}]++
			}
		}
		c.past.add(set)
	}
	c.rankByUse(uses)
	c.first, c.depends, c.together = c.rows(first), c.rows(depends), c.rows(together)
	for key, count := range second { // sorted below; order does not matter
		pair := [2]int32{key[0], key[1]}
		c.second[pair] = append(c.second[pair], scored{key[2], count})
	}
	for _, row := range c.second {
		slices.SortFunc(row, c.better)
	}
	makeShares(c.depends)
	c.pool.New = func() any { return newWorking(n) }
	return c
}

// rankByUse fills in the order of tools by use, ties by number.
func (c *counts) rankByUse(uses []float64) {
	for i, u := range uses {
		c.popular = append(c.popular, scored{int32(i), u})
	}
	slices.SortFunc(c.popular, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.of, b.of))
	})
	for i, s := range c.popular {
		c.place[s.of] = int32(i)
	}
}

// makeShares divides each row by its sum.
func makeShares(rows [][]scored) {
	for _, row := range rows {
		total := 0.0
		for _, s := range row {
			total += s.score
		}
		for i := range row {
			row[i].score /= total
		}
	}
}

// tally counts tuples of tools.
type tally map[[3]int32]float64

// rows turns counts of pairs into one list a tool, most frequent first.
func (c *counts) rows(pairs tally) [][]scored {
	rows := make([][]scored, len(c.ids))
	for key, count := range pairs { // sorted below; order does not matter
		rows[key[0]] = append(rows[key[0]], scored{key[1], count})
	}
	for _, row := range rows {
		slices.SortFunc(row, c.better)
	}
	return rows
}

// better orders by score, then popularity, then id.
func (c *counts) better(a, b scored) int {
	switch { // cmp.Compare also looks for NaN, which is half of the time of a ranking
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	}
	return int(c.place[a.of] - c.place[b.of])
}

func (c *counts) numbers(ids []string) []int32 {
	numbers := make([]int32, len(ids))
	for i, id := range ids {
		numbers[i] = c.at[id]
	}
	return numbers
}

// unknown is a tool of a context that the history never had.
const unknown = -1

// working is the memory of one question.
type working struct {
	context []int32
	stamp   []uint32 // tool was listed in this epoch
	epoch   uint32
	list    []int32   // best first
	score   []float64 // by tool; zero between questions
	touched []int32
	best    []scored
	near    []float64 // by past episode; zero between questions
	nearest []int32
}

func newWorking(tools int) *working {
	return &working{stamp: make([]uint32, tools), score: make([]float64, tools)}
}

// layer appends the tools of a row that are not listed yet.
func (w *working) layer(row []scored) {
	for _, s := range row {
		if w.stamp[s.of] != w.epoch {
			w.stamp[s.of] = w.epoch
			w.list = append(w.list, s.of)
		}
	}
}

func (w *working) add(tool int32, score float64) {
	if w.score[tool] == 0 {
		w.touched = append(w.touched, tool)
	}
	w.score[tool] += score
}

// ranked takes the scores that were added, best first.
func (w *working) ranked(c *counts) []scored {
	w.best = w.best[:0]
	for _, t := range w.touched {
		if w.score[t] > 0 {
			w.best = append(w.best, scored{t, w.score[t]})
		}
		w.score[t] = 0
	}
	w.touched = w.touched[:0]
	slices.SortFunc(w.best, c.better)
	return w.best
}

func (w *working) last() int32 {
	if len(w.context) == 0 {
		return unknown
	}
	return w.context[len(w.context)-1]
}

// markov1 ranks by what followed the last tool; popular tools fill the list.
func (c *counts) markov1(w *working) {
	if last := w.last(); last != unknown {
		w.layer(c.first[last])
	}
	w.layer(c.popular)
}

// cooccurrence adds up the cosine of two tools over the distinct tools of the context: episodes with both
// over √(episodes with the one · episodes with the other).
func (c *counts) cooccurrence(w *working) {
	for i, p := range w.context {
		if p == unknown || slices.Contains(w.context[:i], p) {
			continue
		}
		for _, s := range c.together[p] {
			w.add(s.of, s.score/math.Sqrt(c.with[p]*c.with[s.of]))
		}
	}
	w.layer(w.ranked(c))
}

const (
	edgeReach = 12  // steps back that still count
	edgeDecay = 0.6 // a step
)

// edges adds up how often a tool depended on one of the last edgeReach steps, each step back counting
// edgeDecay times the next.
func (c *counts) edges(w *working) {
	weight := 1.0
	for i := range min(edgeReach, len(w.context)) {
		if p := w.context[len(w.context)-1-i]; p != unknown {
			for _, s := range c.depends[p] {
				w.add(s.of, float64(weight*s.score))
			}
		}
		weight *= edgeDecay
	}
	w.layer(w.ranked(c))
}

// baseline is one way to rank by counts.
type baseline struct {
	*counts
	rank func(*counts, *working)
}

// Rank is [Ranker].
func (b baseline) Rank(q Question, limit int) ([]Candidate, error) {
	w := b.pool.Get().(*working)
	defer b.pool.Put(w)
	w.context, w.list = w.context[:0], w.list[:0]
	for _, id := range q.Context {
		n, ok := b.at[id]
		if !ok {
			n = unknown
		}
		w.context = append(w.context, n)
	}
	if w.epoch++; w.epoch == 0 {
		clear(w.stamp)
		w.epoch = 1
	}
	b.rank(b.counts, w)
	if limit > 0 {
		w.list = w.list[:min(limit, len(w.list))]
	}
	cs := make([]Candidate, len(w.list))
	for i, t := range w.list {
		cs[i].ID = b.ids[t]
	}
	return cs, nil
}
