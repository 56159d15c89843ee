// Package mine finds the sub-DAGs of calls that many tasks have in common.
//
// A task is a DAG of calls. Failed calls are removed, and the predecessors of a failed call then directly
// precede its successors:
//
//	alert ─▶ metrics(failed) ─▶ logs ─▶ issue        becomes   alert ─▶ logs ─▶ issue
//
// Two calls are close if one comes after the other with at most one other call between them. Calls that
// are connected by closeness are an occurrence of the set of their tools. Sets are grown call by
// call from their rarest tool, all sets of one size before the next, as long as enough tasks of enough
// sessions contain them: pattern growth over connected sets, as in gSpan (Yan and Han, "gSpan:
// Graph-based substructure pattern mining", ICDM 2002), with the sorted tools as canonical code in
// place of a DFS code. That is possible because the order is not part of the set: it is derived from the
// occurrences afterwards, as in the mining of partial orders from strings (Pei et al., "Discovering
// frequent closed partial orders from strings", IEEE TKDE 18, 2006) and of embedded DAGs (Termier et
// al., "DIGDAG", KDD workshop on mining and learning with graphs, 2007):
//
//	a, b, c, d   a, c, b, d   a, [b, c], d    ⟹    a ─▶ b ─▶ d
//	                                                a ─▶ c ─▶ d
//
// One call comes after another if nine tenths of the occurrences have that order. The resulting pattern
// must be connected, chance must not explain any part of it, and it must be closed: no larger pattern has
// (nearly) the same tasks.
//
// [Patterns] is a pure kernel: tools are numbers, and the result depends only on the tasks, in any
// order, and on the options. [Propose] turns the patterns into capabilities, for people to approve:
//
//	episodes ─▶ tasks ─▶ patterns ─▶ arguments, parameters, words ─▶ rubric ─▶ proposals, ranked
//
// No text is written by a model: names and intents are the words that the tasks have in common,
// descriptions come from a template, and every score is computed from the history and states its basis.
package mine

import (
	"cmp"
	"slices"
	"sync/atomic"

	"waymark/internal/numeric"
	"waymark/score"
)

// Options define which patterns are found and what is proposed. The zero value selects the defaults.
type Options struct {
	Support   int     // fewest tasks, default 3
	Sessions  int     // fewest sessions, default 2
	Least     int     // fewest calls, default and minimum 2
	Most      int     // most calls, default and maximum [MostCalls]
	Tolerance float64 // a pattern is closed if no larger one has at least 1 - Tolerance of its tasks; default .2, -1: 0
	Patterns  int     // most patterns, default 256
	Work      int     // limit of occurrences examined for each rarest tool, default 2²¹; 100 bytes of memory each
	Stop      func() bool
	Progress  func(done float64) // from 0 to 1, from any goroutine

	Rubric *score.Rubric // scores the proposals, default [Bundled]; it may use only the dimensions of [Bundled]
	Newest int           // newest episodes that are mined, default 200,000: each call of them takes about 100 bytes
}

// filled returns the options with defaults for the fields that are not set.
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
	After    [][]int // of each call, its direct predecessors
	Support  int     // tasks that contain it, in its order
	Sessions int     // sessions of these tasks
	Together int     // tasks in which its calls are close together, in any order
	All      int     // tasks that call all its tools
	Found    []Occurrence

	order order // of its calls
}

// Occurrence is one occurrence of a pattern in a task.
type Occurrence struct {
	Task  int     // its index in the list of tasks
	Calls []uint8 // of each call of the pattern, the index in the task
}

// Result holds the patterns found.
type Result struct {
	Patterns []Pattern // sorted by the calls that they would save, (n - 1)·support, then by tools

	// Partial is true if the limit of work was reached or more patterns were found than requested. The patterns are
	// correct, but some may be missing.
	Partial bool
}

// Patterns finds the patterns that tasks have in common. tools is the number of tools. It ends early once Stop
// returns true; the result is then incomplete and not to be used.
func Patterns(tasks []Task, tools int, o Options) Result {
	m := &miner{Options: o.filled(), tasks: tasks, rank: make([]int32, tools), has: make([][]int32, tools), calls: make([]int, tools)}
	roots := m.rankTools()
	grown := make([][]set, len(roots))
	cut := make([]bool, len(roots))
	var done atomic.Int64
	numeric.Each(len(roots), func(i int) {
		i = len(roots) - 1 - i // the most frequent take longest
		grown[i], cut[i] = m.grow(roots[i], nil)
		m.reportProgress(.7 * float64(done.Add(1)) / float64(len(roots)))
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

// explains reports whether pattern p makes pattern small redundant, because (nearly) all tasks of small are tasks
// of p. A larger p must have all tools of small: even if both have their own order, the larger one describes what
// the tasks have in common. For two of equal size it is enough to share half of the tools: they are pieces of one
// routine that is longer than the largest pattern.
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

// choose looks up the occurrences of candidates, those that save the most calls first, and keeps candidates that no
// other explains, up to the limits of patterns and of lookups. more is true if candidates were left.
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
		m.reportProgress(.7 + .3*float64(i+1)/float64(len(candidates)))
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

func (m *miner) reportProgress(done float64) {
	if m.Progress != nil {
		m.Progress(done)
	}
}

// belonging returns the sets with an order in which every tool belongs: at most 1 pair of any tool and any set
// of that size is expected to be next to each other so often by chance. Sets of exactly the same tasks count as one
// case.
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
		if size < m.Least || s.ordered < m.Support || s.tools[0] == s.tools[size-1] { // one tool repeated
			continue
		}
		possible := float64(len(cases[size-1])) * float64(tools)
		chance := func(tool int32) bool {
			rest := at[key(without(s.tools, []int32{tool}))] // nil: the rest is not a connected set
			return rest != nil && expected(possible, rest.tasks, s.tasks, float64(rest.slots)/float64(rest.tasks), float64(m.calls[tool])/float64(m.all)) > 0
		}
		if !slices.ContainsFunc(s.tools, chance) {
			belong = append(belong, s)
		}
	}
	return belong
}

// key returns a map key for a set of tools.
func key(tools []int32) (k [MostCalls]int32) {
	for i, t := range tools {
		k[i] = t + 1
	}
	return k
}

// closed removes the sets that are (nearly) always part of a larger set, in any order.
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

// nearly reports whether part is at least a share of 1 - Tolerance of all.
func (m *miner) nearly(part, all int) bool { return float64(part) >= (1-m.Tolerance)*float64(all) }

// pattern looks up the occurrences of a set: in each task, the closest calls that have its order.
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
	if len(sets) == 0 || len(sets[len(sets)-1].tools) < len(c.tools) { // the limit of work was reached
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

// expected returns the logarithm of an upper bound on the number of sets that have such a part by chance. n tasks have
// the rest of the set, and k of them have the part next to it; slots is the mean number of calls next to the rest in
// these tasks, and share is the tool's share of all calls. Among that many candidates, the expected number is
//
//	candidates · exp(-n · KL(k/n ‖ p)),    p = 1 - (1 - share)^slots
//
// by the Chernoff bound; KL is the divergence of the observed from the expected share. If the observed share
// is not above the expected one, the bound is the number of candidates.
func expected(candidates float64, n, k int, slots, share float64) float64 {
	all := numeric.Ln(max(1, candidates))
	if n == 0 || share >= 1 {
		return all
	}
	p := 1 - numeric.Exp(float64(slots*numeric.Ln(1-share)))
	q := min(1, float64(k)/float64(n))
	if q <= p || p <= 0 {
		if p <= 0 && q > 0 {
			return -all - 1 // no other call is next to the rest at all
		}
		return all
	}
	kl := float64(q * numeric.Ln(q/p))
	if q < 1 {
		kl += float64((1 - q) * numeric.Ln((1-q)/(1-p)))
	}
	return all - float64(float64(n)*kl)
}
