package plan

import (
	"cmp"
	"slices"

	"waymark/internal/numeric"
)

// pair is an ordered pair of tools.
type pair struct{ a, b int32 }

func byPair(p, q pair) int { return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b)) }

// relation says how often two tools a and b were used in the same task, b directly after a, and b
// anywhere after a.
type relation struct{ both, linked, before float64 }

// less subtracts the counts of a part of the history. Rounding of sums in another order must not leave less
// than zero.
func (r relation) less(o relation) relation {
	return relation{max(r.both-o.both, 0), max(r.linked-o.linked, 0), max(r.before-o.before, 0)}
}

// folds is in how many parts the groups are taken for counts. While fitting, a request is counted against
// the other parts: against all groups but its own, a tool's count would tell that it is wanted, being
// one less than for everybody else.
const folds = 10

// counts are sums over groups. A group adds 1 to n and its shares to the rest; recent and recentN weigh each
// group by its age, see Model.count.
type counts struct {
	n       float64
	uses    []float64 // tool → groups that used it
	recent  []float64
	recentN float64
	served  []float64         // server → groups that used it
	failed  float64           // groups that failed
	misled  []float64         // tool → groups that used it and failed
	pairs   map[pair]relation // both ways
}

func newCounts(tools, servers int) counts {
	return counts{misled: make([]float64, tools), uses: make([]float64, tools), recent: make([]float64, tools), served: make([]float64, servers), pairs: map[pair]relation{}}
}

// relations are the relations of all pairs of tools used together, by a and then b.
type relations struct {
	start []int32 // of tool a's in b and is
	b     []int32
	is    []relation
}

// newRelations sorts the pairs into compressed rows, which are smaller than a map and are read in order by
// coUsed.
func newRelations(pairs map[pair]relation, tools int) relations {
	sorted := make([]pair, 0, len(pairs))
	for p := range pairs {
		sorted = append(sorted, p)
	}
	slices.SortFunc(sorted, byPair)
	r := relations{start: make([]int32, tools+1), b: make([]int32, len(sorted)), is: make([]relation, len(sorted))}
	for i, p := range sorted {
		r.start[p.a+1] = int32(i + 1)
		r.b[i], r.is[i] = p.b, pairs[p]
	}
	for t := range tools {
		r.start[t+1] = max(r.start[t+1], r.start[t])
	}
	return r
}

// of is a binary search in the row of a; zero for tools that were never used together.
func (r *relations) of(a, b int32) relation {
	from, to := r.start[a], r.start[a+1]
	if i, ok := slices.BinarySearch(r.b[from:to], b); ok {
		return r.is[from+int32(i)]
	}
	return relation{}
}

// count adds up all groups, and each tenth part of them by itself. In recent counts a group weighs half as
// much as one that is n/4 + 1 groups newer. The history counts as one of chains if nine of ten tasks with
// several tools are.
func (m *Model) count() {
	n := len(m.texts.tools)
	m.counts = newCounts(n, len(m.texts.mates))
	for k := range m.part {
		m.part[k] = newCounts(n, len(m.texts.mates))
	}
	half := float64(float64(len(m.groups))/4) + 1
	chains, linked := 0, 0
	for i := range m.groups {
		g := &m.groups[i]
		w := numeric.Exp2(-(float64(len(m.groups) - 1 - i)) / half)
		m.counts.add(g, w, m.texts)
		m.part[i%folds].add(g, w, m.texts)
		for _, t := range g.tasks {
			if len(distinctTools(t.Steps)) > 1 {
				linked++
				if chain(t) {
					chains++
				}
			}
		}
	}
	m.chains = chains*10 >= linked*9
	m.related = newRelations(m.pairs, n)
	m.pairs = nil
	m.close()
}

// close follows the known needs of every tool.
func (m *Model) close() {
	m.closure = make([][]int32, len(m.texts.tools))
	for t := range m.needs {
		seen := []int32{int32(t)}
		for i := 0; i < len(seen) && len(seen) < 64; i++ {
			for _, u := range m.needs[seen[i]] {
				if !slices.Contains(seen, u) {
					seen = append(seen, u)
				}
			}
		}
		m.closure[t] = seen[1:]
	}
}

// add counts a group, with weight w in recent. Each task of the group adds its share to the relations of its
// pairs of tools: O(tools²) of a task.
func (c *counts) add(g *group, w float64, texts *Texts) {
	c.n++
	c.recentN += w
	c.failed += g.failed
	for _, l := range g.misled {
		c.misled[l.Label] += l.Value
	}
	for _, l := range g.tools {
		c.uses[l.Label] += l.Value
		c.recent[l.Label] += float64(w * l.Value)
	}
	for _, l := range texts.hostsOf(g.tools) {
		c.served[l.Label] += l.Value
	}
	share := 1 / float64(len(g.tasks))
	for _, t := range g.tasks {
		set := distinctTools(t.Steps)
		before, linked := precedes(t), linksOf(t)
		for _, a := range set {
			for _, b := range set {
				if a == b {
					continue
				}
				p := pair{a, b}
				r := c.pairs[p]
				r.both += share
				r.before += float64(share * b2f(before[p]))
				r.linked += float64(share * b2f(linked[p]))
				c.pairs[p] = r
			}
		}
	}
}

// precedes are pairs of tools whose first uses stand in that order.
func precedes(t *Task) map[pair]bool {
	var order []int32
	for _, u := range t.Steps {
		if !slices.Contains(order, u) {
			order = append(order, u)
		}
	}
	p := map[pair]bool{}
	for i, a := range order {
		for _, b := range order[i+1:] {
			p[pair{a, b}] = true
		}
	}
	return p
}

// linksOf are the dependencies of a task between different tools, from the tool depended on.
func linksOf(t *Task) map[pair]bool {
	links := map[pair]bool{}
	for i, after := range t.After {
		for _, j := range after {
			if a, b := t.Steps[j], t.Steps[i]; a != b {
				links[pair{a, b}] = true
			}
		}
	}
	return links
}
