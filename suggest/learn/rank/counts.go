package rank

import (
	"cmp"
	"hash/fnv"
	"slices"
	"sync"

	"waymark/internal/numeric"
	"waymark/suggest/learn"
)

// counts maps a key to the tools that were counted under it, such as the tools that followed a tool or were used beside
// it. It is immutable; the tools of a row are sorted.
type counts struct {
	rows  map[uint64]row
	tools []int32
	n     []float32
}

type row struct {
	from, to int32
	total    float32
}

// followers is one row of counts.
type followers struct {
	tools []int32
	n     []float32
	total float32
}

// of returns the row of a key, which is empty if no tool was counted under it.
func (c *counts) of(key uint64) followers {
	r := c.rows[key]
	return followers{c.tools[r.from:r.to], c.n[r.from:r.to], r.total}
}

// count returns how often a tool was counted.
func (f followers) count(tool int32) float64 {
	if i, ok := slices.BinarySearch(f.tools, tool); ok {
		return float64(f.n[i])
	}
	return 0
}

// share returns count/(total + 1): one additional observation of another tool lowers the shares of rare rows.
func (f followers) share(tool int32) float64 { return f.count(tool) / (float64(f.total) + 1) }

// observation is one item to be counted.
type observation struct {
	key  uint64
	tool int32
	n    float32
}

func newCounts(all []observation) counts {
	slices.SortFunc(all, func(a, b observation) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.tool, b.tool), cmp.Compare(a.n, b.n))
	})
	c := counts{rows: map[uint64]row{}}
	for i := 0; i < len(all); {
		r := row{from: int32(len(c.tools))}
		key := all[i].key
		for ; i < len(all) && all[i].key == key; i++ {
			if last := len(c.tools) - 1; last >= int(r.from) && c.tools[last] == all[i].tool {
				c.n[last] += all[i].n
			} else {
				c.tools, c.n = append(c.tools, all[i].tool), append(c.n, all[i].n)
			}
			r.total += all[i].n
		}
		r.to = int32(len(c.tools))
		c.rows[key] = r
	}
	return c
}

// key returns the key of the last tools of a context, given the last one first.
func key(tools ...int32) uint64 {
	x := uint64(len(tools))
	for _, t := range tools {
		x = (x ^ uint64(uint32(t))) * 0x9e3779b97f4a7c15
		x ^= x >> 29
	}
	return x
}

const (
	orders     = 4     // maximum length of a chain of tools that is counted
	window     = 25    // how many steps back a tool counts as before another
	mostSet    = 60    // a task with more distinct tools does not count as using them together
	penalty    = .5    // λ of the ridge regression
	newestRows = 4_000 // requests that the regression is fitted on
)

// History holds the counts and models computed from a list of tasks. It is immutable.
type History struct {
	texts *Texts
	tasks []*Task // those that count, in order

	order       [orders]counts // by the last 1 to 4 tools, the next tool
	skip        counts         // by a tool, the tool two steps later
	after       counts         // by a tool, the tools later in the task
	ends        [orders]counts // by the last 1 to 4 tools, how often the task went on (0) or ended (1)
	links       counts         // by a tool, the tools that its output went to
	beside      counts         // by a tool, the other tools of the same tasks
	words       counts         // by a word of the request, the tools that the request is evidence for
	association []float64      // by entry of words, the association of the word with the tool
	word        []float32      // by word, the number of tasks with it
	uses        []float32      // by tool, the number of steps
	within      []float32      // by tool, the number of tasks
	users       [][]int32      // by tool, the tasks that use it
	popular     []int32        // the tools with the most steps
	steps       float64
	asked       []int32            // tasks with a request
	same        map[uint64][]int32 // by wording, indices into asked
	nearest     *learn.Nearest
	ridge       *learn.Ridge
	times       map[uint64]int // by set of tools, the number of tasks that use exactly these
	chains      bool           // nearly all tasks with several tools are chains
	used        []int32        // tools that at least one task used, sorted
	column      []int32        // by tool, its index in used, which is its label in the regression; -1: unused
	structure   func() *Structure
}

// Count counts tasks. The steps of tasks must be tool numbers below the length of the catalog. It returns nil if stop
// ends it.
func Count(texts *Texts, tasks []*Task, stop func() bool) *History {
	h := &History{texts: texts, tasks: tasks, times: map[uint64]int{}, same: map[uint64][]int32{}}
	chains, several := 0, 0
	n := len(texts.tools)
	h.uses, h.within, h.users, h.word = make([]float32, n), make([]float32, n), make([][]int32, n), make([]float32, texts.vocabulary.Len())
	var order, ends [orders][]observation
	var skip, after, links, beside, words []observation
	for k, task := range tasks {
		q := task.Steps
		for i, t := range q {
			h.uses[t]++
			for o := 1; o <= orders && o <= i; o++ {
				order[o-1] = append(order[o-1], observation{chain(q[:i], o), t, 1})
			}
			over := int32(0)
			if i+1 == len(q) {
				over = 1
			}
			for o := 1; o <= orders && o <= i+1; o++ {
				ends[o-1] = append(ends[o-1], observation{chain(q[:i+1], o), over, 1})
			}
			if i >= 2 {
				skip = append(skip, observation{key(q[i-2]), t, 1})
			}
			for _, p := range distinct(q[max(0, i-window):i]) {
				after = append(after, observation{key(p), t, 1})
			}
		}
		for _, l := range task.Links {
			links = append(links, observation{key(l[0]), l[1], 1})
		}
		h.times[key(task.set...)]++
		if len(task.set) > 1 {
			several++
			if chainedTask(task) {
				chains++
			}
		}
		set := distinct(q)
		for _, t := range set {
			h.within[t]++
			h.users[t] = append(h.users[t], int32(k))
		}
		if len(set) <= mostSet {
			for _, a := range set {
				for _, b := range set {
					if a != b {
						beside = append(beside, observation{key(a), b, 1})
					}
				}
			}
		}
		h.steps += float64(len(q))
		if task.Intent == "" {
			continue
		}
		h.same[task.wording] = append(h.same[task.wording], int32(len(h.asked)))
		h.asked = append(h.asked, int32(k))
		for _, f := range task.vector.I {
			h.word[f]++
			for _, t := range task.needs() {
				words = append(words, observation{uint64(f), t, 1})
			}
		}
	}
	for o := range order {
		h.order[o], h.ends[o] = newCounts(order[o]), newCounts(ends[o])
	}
	h.skip, h.after, h.links, h.beside, h.words = newCounts(skip), newCounts(after), newCounts(links), newCounts(beside), newCounts(words)
	h.associate()
	h.popular = h.mostUsed()
	h.chains = float64(chains) >= chained*float64(several)
	h.structure = sync.OnceValue(func() *Structure { return newStructure(n, &h.order[0]) })
	if !h.regress(stop) {
		return nil
	}
	return h
}

// mostPopular is the number of most used tools that are candidates after every context.
const mostPopular = 10

func (h *History) mostUsed() (tools []int32) {
	var list []Ranked
	for t, n := range h.uses {
		if n > 0 {
			list = append(list, Ranked{int32(t), float64(n)})
		}
	}
	for _, r := range best(list, mostPopular) {
		tools = append(tools, r.Tool)
	}
	return tools
}

// associate computes how much more often than by chance the tasks with a word use a tool,
//
//	ln((n(word, tool) + 2·p) / ((n(word) + 2)·p)),   p = share of tasks that use the tool.
func (h *History) associate() {
	h.association = make([]float64, len(h.words.tools))
	for f, r := range h.words.rows {
		all := float64(h.word[f]) + 2
		for i := r.from; i < r.to; i++ {
			p := (float64(h.within[h.words.tools[i]]) + .5) / float64(len(h.tasks)+1)
			a := numeric.Ln((float64(h.words.n[i]) + float64(2*p)) / float64(all*p))
			h.association[i] = max(leastAssoc, min(mostAssoc, a))
		}
	}
}

// wording returns a key of the words of a request.
func wording(stems []string) uint64 {
	h := fnv.New64a()
	for _, s := range stems {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// chain returns the key of the last o tools.
func chain(q []int32, o int) uint64 {
	var last [orders]int32
	for i := range o {
		last[i] = q[len(q)-1-i]
	}
	return key(last[:o]...)
}

// distinct returns the distinct elements of q, in order of first appearance.
func distinct[T comparable](q []T) []T {
	set := make([]T, 0, len(q))
	for _, t := range q {
		if !slices.Contains(set, t) {
			set = append(set, t)
		}
	}
	return set
}

// regress fits the regression of tools on the words of the newest requests, and the index of all requests.
func (h *History) regress(stop func() bool) bool {
	asked := h.asked[max(0, len(h.asked)-newestRows):]
	h.column = make([]int32, len(h.uses))
	for t, n := range h.uses {
		if h.column[t] = -1; n > 0 {
			h.column[t] = int32(len(h.used))
			h.used = append(h.used, int32(t))
		}
	}
	labelsOf := make([][]int32, len(asked))
	vectors := make([]learn.Vector, len(h.asked))
	for i, k := range asked {
		for _, t := range h.tasks[k].needs() {
			labelsOf[i] = append(labelsOf[i], h.column[t])
		}
	}
	for i, k := range h.asked {
		vectors[i] = h.tasks[k].vector
	}
	h.nearest = learn.NewNearest(vectors, h.texts.vocabulary.Len())
	newest := vectors[len(vectors)-len(asked):]
	h.ridge = learn.FitRidge(newest, h.texts.vocabulary.Len(), labelsOf, len(h.used), penalty, stop)
	return h.ridge != nil
}
