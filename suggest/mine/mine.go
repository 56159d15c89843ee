// Package mine finds the sub-DAGs of calls that task after task has in common.
//
// A task is a DAG of calls. Failed calls are left out, and what came before one is then right before
// what came after it:
//
//	alert ─▶ metrics(failed) ─▶ logs ─▶ issue        becomes   alert ─▶ logs ─▶ issue
//
// Two calls are close where one comes after the other with at most one other between. A set of calls,
// each close to another of the set, is an occurrence of the set of its tools. Sets are grown call by
// call from their rarest tool, all sets of one size before the next, as long as enough tasks of enough
// sessions have them: pattern growth over connected sets, as gSpan does (Yan and Han, "gSpan:
// Graph-based substructure pattern mining", ICDM 2002), with the sorted tools as canonical code in
// place of a DFS code. That is possible because the order is not part of the set: it is read from the
// occurrences afterwards, as in the mining of partial orders from strings (Pei et al., "Discovering
// frequent closed partial orders from strings", IEEE TKDE 18, 2006) and of embedded DAGs (Termier et
// al., "DIGDAG", KDD workshop on mining and learning with graphs, 2007):
//
//	a, b, c, d   a, c, b, d   a, [b, c], d    ⟹    a ─▶ b ─▶ d
//	                                                a ─▶ c ─▶ d
//
// One call comes after another where nine tenths of the occurrences say so. What is left must be one
// piece, no part of it may be there by chance, and it must be closed: no larger pattern has
// (nearly) the same tasks.
//
// [Patterns] is a pure kernel: tools are numbers, and the result depends on the tasks alone, in
// whatever order they come, and on the options. [Propose] makes capabilities of what it finds, for people to approve:
//
//	episodes ─▶ tasks ─▶ patterns ─▶ arguments, parameters, words ─▶ rubric ─▶ proposals, ranked
//
// Nothing of it is written by a model: names and intents are the words that the tasks have in common,
// descriptions come from a template, and every score is computed from the history and says from what.
package mine

import (
	"cmp"
	"slices"
	"sync/atomic"

	"waymark/internal/numeric"
	"waymark/score"
)

// Options say what counts as a pattern, and what is proposed of them. The zero value asks for the defaults.
type Options struct {
	Support   int     // fewest tasks, default 3
	Sessions  int     // fewest sessions, default 2
	Least     int     // calls, default and at least 2
	Most      int     // calls, default and at most [MostCalls]
	Tolerance float64 // closed means: no larger pattern has more than 1 - Tolerance of its tasks; default .2, -1: 0
	Patterns  int     // most patterns, default 256
	Work      int     // occurrences looked at for each rarest tool, default 2²¹; 100 bytes of memory each
	Stop      func() bool
	Progress  func(done float64) // from 0 to 1, from any goroutine

	Rubric *score.Rubric // of proposals, [Bundled] unless given; dimensions as there
	Newest int           // episodes proposals are made from, default 200,000: each call of them takes about 100 bytes
}

// filled puts the defaults in the place of what is not given.
func (o Options) filled() Options {
	o.Support = cmp.Or(max(o.Support, 0), 3)
	o.Sessions = min(cmp.Or(max(o.Sessions, 0), 2), o.Support)
	o.Least = max(o.Least, 2)
	o.Most = min(cmp.Or(max(o.Most, 0), MostCalls), MostCalls)
	o.Tolerance = max(cmp.Or(o.Tolerance, .2), 0)
	o.Patterns = cmp.Or(max(o.Patterns, 0), 256)
	o.Work = cmp.Or(max(o.Work, 0), 1<<21)
	o.Rubric = cmp.Or(o.Rubric, Bundled)
	o.Newest = cmp.Or(max(o.Newest, 0), 200_000)
	return o
}

// Pattern is a DAG of calls that tasks have in common.
type Pattern struct {
	Tools    []int32 // in topological order, ties by number
	After    [][]int // of each call, the calls right before it
	Support  int     // tasks that have it, in its order
	Sessions int     // of them
	Together int     // tasks in which its calls stand close together, in whatever order
	All      int     // tasks that call all its tools
	Found    []Occurrence

	order order // of its calls
}

// Occurrence is a pattern in one task.
type Occurrence struct {
	Task  int     // its place in the list of tasks
	Calls []uint8 // of the pattern, their places in the task
}

// Result is what was found.
type Result struct {
	Patterns []Pattern // by calls that it would save, (n - 1)·support, then by tools

	// Partial: the limit of work was met, or more patterns than wanted were found. What is there is right; something may
	// be missing.
	Partial bool
}

// Patterns finds what tasks have in common. tools is how many there are. It ends early, with what it
// then has no use for, once Stop says so.
func Patterns(tasks []Task, tools int, o Options) Result {
	m := &miner{Options: o.filled(), tasks: tasks, rank: make([]int32, tools), has: make([][]int32, tools), calls: make([]int, tools)}
	roots := m.rankTools()
	grown := make([][]set, len(roots))
	cut := make([]bool, len(roots))
	var done atomic.Int64
	numeric.Each(len(roots), func(i int) {
		i = len(roots) - 1 - i // the most frequent take longest
		grown[i], cut[i] = m.grow(roots[i], nil)
		m.tell(.7 * float64(done.Add(1)) / float64(len(roots)))
	})
	r := Result{Partial: slices.Contains(cut, true)}
	candidates := m.closed(m.belonging(slices.Concat(grown...), len(roots)))
	slices.SortFunc(candidates, func(a, b *set) int { // what saves the most calls first
		return cmp.Or(cmp.Compare((len(b.tools)-1)*b.ordered, (len(a.tools)-1)*a.ordered), cmp.Compare(a.wide, b.wide), slices.Compare(a.tools, b.tools))
	})
	var more bool
	r.Patterns, more = m.choose(candidates)
	r.Partial = r.Partial || more
	return r
}

// explains reports whether (nearly) all tasks of a pattern are tasks of another one that has all its
// tools and more: where both have an order of their own, the larger one says what the tasks have in
// common. Of two as large it is enough to share half of the tools: they are pieces of one routine that is
// longer than a pattern may be.
func (m *miner) explains(p, small *Pattern) bool {
	if len(p.Tools) < len(small.Tools) {
		return false
	}
	common := len(p.Tools) - len(without(p.Tools, small.Tools))
	if common < len(small.Tools) && (len(p.Tools) > len(small.Tools) || 2*common < len(small.Tools)) {
		return false
	}
	both := 0
	for _, o := range small.Found {
		if _, ok := slices.BinarySearchFunc(p.Found, o.Task, func(found Occurrence, task int) int { return cmp.Compare(found.Task, task) }); ok {
			both++
		}
	}
	return m.nearly(both, small.Support)
}

// choose looks candidates up, the one that saves most first, and keeps those that no other explains,
// until there are as many as wanted or too many were looked up. more: some were left.
func (m *miner) choose(candidates []*set) (chosen []Pattern, more bool) {
	const tries = 8
	for i, c := range candidates {
		if more = len(chosen) == m.Patterns || i == tries*m.Patterns || m.stopped(); more {
			break
		}
		p := m.pattern(c)
		if p.Support < m.Support || p.Sessions < m.Sessions || slices.ContainsFunc(chosen, func(c Pattern) bool { return m.explains(&c, &p) }) {
			continue
		}
		chosen = slices.DeleteFunc(chosen, func(c Pattern) bool { return len(p.Tools) > len(c.Tools) && m.explains(&p, &c) })
		chosen = append(chosen, p)
		m.tell(.7 + .3*float64(i+1)/float64(len(candidates)))
	}
	slices.SortFunc(chosen, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare((len(b.Tools)-1)*b.Support, (len(a.Tools)-1)*a.Support), slices.Compare(a.Tools, b.Tools),
			slices.CompareFunc(a.After, b.After, slices.Compare))
	})
	return chosen, more
}

// rankTools lists the tools that enough tasks call, the rarest first.
func (m *miner) rankTools() []int32 {
	for t := range m.tasks {
		for _, tool := range m.tasks[t].Tools {
			m.calls[tool]++
			m.all++
			if has := m.has[tool]; len(has) == 0 || has[len(has)-1] != int32(t) {
				m.has[tool] = append(has, int32(t))
			}
		}
	}
	var roots []int32
	for tool, has := range m.has {
		m.rank[tool] = -1
		if len(has) >= m.Support {
			roots = append(roots, int32(tool))
		}
	}
	slices.SortFunc(roots, func(a, b int32) int { return cmp.Or(cmp.Compare(len(m.has[a]), len(m.has[b])), cmp.Compare(a, b)) })
	for i, tool := range roots {
		m.rank[tool] = int32(i)
	}
	return roots
}

func (m *miner) tell(done float64) {
	if m.Progress != nil {
		m.Progress(done)
	}
}

// belonging are the sets with an order in which every part belongs: beside the rest of the set it stands more often
// than chance makes any tool stand beside any set of that size (expected number at most 1). Sets of the
// very same tasks are one case, not many.
func (m *miner) belonging(sets []set, tools int) (belong []*set) {
	at := make(map[[MostCalls]int32]*set, len(sets))
	var cases [MostCalls + 1]map[uint64]bool
	for i := range cases {
		cases[i] = map[uint64]bool{}
	}
	for i := range sets {
		s := &sets[i]
		at[key(s.tools)] = s
		cases[len(s.tools)][s.witness] = true
	}
	for i := range sets {
		s := &sets[i]
		size := len(s.tools)
		if size < m.Least || s.ordered < m.Support || s.tools[0] == s.tools[size-1] { // one tool again and again
			continue
		}
		possible := float64(len(cases[size-1])) * float64(tools)
		chance := func(tool int32) bool {
			rest := at[key(without(s.tools, []int32{tool}))] // nil: it does not hold together by itself
			return rest != nil && expected(possible, rest.tasks, s.tasks, float64(rest.slots)/float64(rest.tasks), float64(m.calls[tool])/float64(m.all)) > 0
		}
		if !slices.ContainsFunc(s.tools, chance) {
			belong = append(belong, s)
		}
	}
	return belong
}

// key names a set of tools.
func key(tools []int32) (k [MostCalls]int32) {
	for i, t := range tools {
		k[i] = t + 1
	}
	return k
}

// closed leaves out what (nearly) always is part of something larger, in whatever order.
func (m *miner) closed(all []*set) []*set {
	having := map[int32][]*set{} // by tool
	for _, s := range all {
		for _, t := range slices.Compact(slices.Clone(s.tools)) {
			having[t] = append(having[t], s)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s *set) bool {
		return slices.ContainsFunc(having[s.tools[0]], func(larger *set) bool { // the rarest tool
			return len(larger.tools) > len(s.tools) && m.nearly(larger.ordered, s.tasks) && len(without(s.tools, larger.tools)) == 0
		})
	})
}

// nearly reports whether part of the tasks are as good as all.
func (m *miner) nearly(part, all int) bool { return float64(part) >= (1-m.Tolerance)*float64(all) }

// pattern looks a set up: in each task the calls in its order that stand closest together.
func (m *miner) pattern(c *set) (p Pattern) {
	roles := c.order.topological(c.tools)
	p.order = c.order.moved(roles)
	reduced := p.order.reduced()
	for i, r := range roles {
		p.Tools, p.After = append(p.Tools, c.tools[r]), append(p.After, nil)
		for j := range i {
			if reduced.has(j, i) {
				p.After[i] = append(p.After[i], j)
			}
		}
	}
	for _, t := range m.has[c.tools[0]] {
		if len(without(c.tools, m.tasks[t].Tools)) == 0 {
			p.All++
		}
	}
	sets, _ := m.grow(c.tools[0], c.tools)
	if len(sets) == 0 || len(sets[len(sets)-1].tools) < len(c.tools) { // the limit of work was met
		return p
	}
	last, sessions := int32(-1), map[int32]bool{}
	for _, f := range sets[len(sets)-1].found {
		if f.task != last {
			p.Together++
		}
		last = f.task
		calls := m.roles(f, len(roles))
		done := m.tasks[f.task].orderOf(calls)
		if n := len(p.Found); n > 0 && p.Found[n-1].Task == int(f.task) || !done.holds(&c.order) {
			continue
		}
		o := Occurrence{Task: int(f.task)}
		for _, r := range roles {
			o.Calls = append(o.Calls, calls[r])
		}
		p.Found = append(p.Found, o)
		sessions[m.tasks[f.task].Session] = true
	}
	p.Support, p.Sessions = len(p.Found), len(sessions)
	return p
}

// expected is at most how many sets with a part like this there are by chance: of n tasks that have the
// rest of the set, k have the part beside it, where slots calls stand beside the rest and a share of all
// calls are of that tool. Among that many candidates the number expected is
//
//	candidates · exp(-n · KL(k/n ‖ p)),    p = 1 - (1 - share)^slots
//
// by the bound of Chernoff; KL is the divergence of the observed from the expected share. The result is
// its logarithm, and no less than that of all candidates where there are no more than expected.
func expected(candidates float64, n, k int, slots, share float64) float64 {
	all := numeric.Ln(max(1, candidates))
	if n == 0 || share >= 1 {
		return all
	}
	p := 1 - numeric.Exp(float64(slots*numeric.Ln(1-share)))
	q := min(1, float64(k)/float64(n))
	if q <= p || p <= 0 {
		if p <= 0 && q > 0 {
			return -all - 1 // no other call stands beside it at all
		}
		return all
	}
	kl := float64(q * numeric.Ln(q/p))
	if q < 1 {
		kl += float64((1 - q) * numeric.Ln((1-q)/(1-p)))
	}
	return all - float64(float64(n)*kl)
}
