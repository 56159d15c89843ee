package mine

import (
	"bytes"
	"cmp"
	"slices"
)

// set is a set of tools (a tool may be in it twice) that enough tasks have.
type set struct {
	tools    []int32 // by rank, rising
	tasks    int
	sessions int
	slots    int    // calls close to its occurrences, over all tasks
	wide     int    // calls from the first to the last of the closest occurrence, over all tasks
	witness  uint64 // the same for sets of the same tasks
	ways     []seen // the orders in which it occurs; none of single tools
}

// found are the occurrences of one set: calls, size a piece and rising, of tasks.
type found struct {
	tools []int32
	task  []int32
	calls []uint8
	slots int // calls close to them
}

// perTask is how many occurrences of one set are kept of one task, the closest together first.
const perTask = 8

// miner holds what does not change while sets are grown.
type miner struct {
	Options
	tasks []prepared
	rank  []int32 // by tool: its place by number of tasks, the rarest first; -1: too rare
	has   [][]int32
}

// growth is the growing of sets from their rarest tool.
type growth struct {
	*miner
	within  []int32 // nil: any tools; else only these, as often as they stand here
	work    int     // occurrences looked at
	partial bool    // the limit of work was met
}

// grow finds all sets whose rarest tool is root, up to the limit of work.
func (m *miner) grow(root int32) (sets []set, partial bool) {
	g := growth{miner: m}
	level := []found{m.single(root)}
	sets = append(sets, m.count(&level[0]))
	for size := 1; size < m.Most && len(level) > 0 && !m.stopped(); size++ {
		grown := g.extend(root, level, size)
		level = level[:0]
		for i := range grown {
			if f := &grown[i]; m.settle(f, size+1) {
				s := m.count(f)
				if s.tasks >= m.Support && s.sessions >= m.Sessions {
					s.ways = m.waysOf(f, size+1)
					sets, level = append(sets, s), append(level, *f)
				}
			}
		}
	}
	return sets, g.partial
}

// lookUp grows one set again, for its occurrences.
func (m *miner) lookUp(tools []int32) *found {
	g := growth{miner: m, within: tools}
	level := []found{m.single(tools[0])}
	for size := 1; size < len(tools); size++ {
		grown := g.extend(tools[0], level, size)
		level = level[:0]
		for i := range grown {
			if m.settle(&grown[i], size+1) {
				level = append(level, grown[i])
			}
		}
	}
	if len(level) == 0 { // the limit of work was met
		return &found{}
	}
	return &level[0]
}

// single lists the occurrences of one tool, at most perTask of them in a task.
func (m *miner) single(root int32) found {
	f := found{tools: []int32{root}}
	for _, t := range m.has[root] {
		kept := 0
		for i, tool := range m.tasks[t].Tools {
			if tool == root && kept < perTask {
				f.task, f.calls = append(f.task, t), append(f.calls, uint8(i))
				kept++
			}
		}
	}
	return f
}

// extend adds to every occurrence every call close to it, of root's rank or above. Where that is more
// work than there may be, only the sets of the most tasks are grown.
func (m *growth) extend(root int32, level []found, size int) []found {
	level = slices.Clone(level)
	slices.SortStableFunc(level, func(a, b found) int { return cmp.Compare(len(b.task), len(a.task)) })
	at := map[string]int{}
	var grown []found
	for l := range level {
		f := &level[l]
		if m.work+f.slots > m.Work {
			m.partial = true
			continue
		}
		child := map[int32]int{} // by tool: which of grown this set becomes
		var some []int32         // what may be added
		if m.within != nil {
			some = without(m.within, f.tools)
		}
		for o, t := range f.task {
			p := &m.tasks[t]
			calls := f.calls[o*size : (o+1)*size]
			for c, x := range calls {
				for _, y := range p.near[x] {
					tool := p.Tools[y]
					if m.rank[tool] < m.rank[root] || m.within != nil && !slices.Contains(some, tool) ||
						slices.Contains(calls, y) || closeToOne(p, calls[:c], y) {
						continue
					}
					m.work++
					g, ok := child[tool]
					if !ok {
						tools := m.with(f.tools, tool)
						if g, ok = at[key(tools)]; !ok {
							g = len(grown)
							at[key(tools)] = g
							grown = append(grown, found{tools: tools})
						}
						child[tool] = g
					}
					grown[g].task = append(grown[g].task, t)
					grown[g].calls = insert(grown[g].calls, calls, y)
				}
			}
		}
	}
	return grown
}

// without is what is left of tools after each of some was taken out once.
func without(tools, some []int32) []int32 {
	rest := slices.Clone(tools)
	for _, t := range some {
		if i := slices.Index(rest, t); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		}
	}
	return rest
}

// closeToOne reports whether y was met already, from one of the calls.
func closeToOne(p *prepared, calls []uint8, y uint8) bool {
	for _, x := range calls {
		if _, ok := slices.BinarySearch(p.near[x], y); ok {
			return true
		}
	}
	return false
}

func (m *miner) with(tools []int32, tool int32) []int32 {
	i, _ := slices.BinarySearchFunc(tools, tool, func(a, b int32) int { return cmp.Compare(m.rank[a], m.rank[b]) })
	return slices.Insert(slices.Clone(tools), i, tool)
}

// insert appends calls with y in its place.
func insert(to, calls []uint8, y uint8) []uint8 {
	i, _ := slices.BinarySearch(calls, y)
	to = append(to, calls[:i]...)
	to = append(to, y)
	return append(to, calls[i:]...)
}

// settle sorts occurrences by task, the closest together first, each once and few a task. It reports
// whether enough tasks are left.
func (m *miner) settle(f *found, size int) bool {
	n := len(f.task)
	if n < m.Support {
		return false
	}
	index := make([]int32, n)
	for i := range index {
		index[i] = int32(i)
	}
	of := func(i int32) []uint8 { return f.calls[int(i)*size : (int(i)+1)*size] }
	slices.SortFunc(index, func(a, b int32) int {
		x, y := of(a), of(b)
		return cmp.Or(cmp.Compare(f.task[a], f.task[b]), cmp.Compare(x[size-1]-x[0], y[size-1]-y[0]), bytes.Compare(x, y))
	})
	kept := found{tools: f.tools, task: make([]int32, 0, n), calls: make([]uint8, 0, n*size)}
	same, distinct := 0, 0
	for _, i := range index {
		if last := len(kept.task) - 1; last < 0 || kept.task[last] != f.task[i] {
			same = 0
			distinct++
		} else if same == perTask || bytes.Equal(kept.calls[last*size:], of(i)) {
			continue
		}
		same++
		kept.task, kept.calls = append(kept.task, f.task[i]), append(kept.calls, of(i)...)
	}
	*f = kept
	return distinct >= m.Support
}

// count counts tasks, sessions and the calls beside.
func (m *miner) count(f *found) set {
	size := len(f.tools)
	s := set{tools: f.tools}
	sessions := map[int32]bool{}
	for o, t := range f.task {
		p := &m.tasks[t]
		if o == 0 || t != f.task[o-1] {
			s.tasks++
			s.witness = mix(s.witness ^ uint64(t+1))
			s.wide += int(f.calls[(o+1)*size-1] - f.calls[o*size])
			if len(sessions) < m.Sessions {
				sessions[p.Session] = true
			}
		}
		calls := f.calls[o*size : (o+1)*size]
		for c, x := range calls {
			for _, y := range p.near[x] {
				if !slices.Contains(calls, y) && !closeToOne(p, calls[:c], y) {
					s.slots++
				}
			}
		}
	}
	s.sessions, f.slots = len(sessions), s.slots
	return s
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// waysOf are the orders of a set, by the closest occurrence of each task.
func (m *miner) waysOf(f *found, size int) []seen {
	count := map[order]int{}
	for o, t := range f.task {
		if o > 0 && t == f.task[o-1] {
			continue
		}
		p := &m.tasks[t]
		calls := m.roles(p, f.calls[o*size:(o+1)*size])
		count[p.orderOf(calls)]++
	}
	occurred := make([]seen, 0, len(count))
	for o, n := range count {
		occurred = append(occurred, seen{o, n})
	}
	return ways(occurred, size, m.Support)
}

// roles are the calls in the order of the tools of their set; calls of one tool as they came.
func (m *miner) roles(p *prepared, calls []uint8) []uint8 {
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b uint8) int { return cmp.Compare(m.rank[p.Tools[a]], m.rank[p.Tools[b]]) })
	return calls
}

func (m *miner) stopped() bool { return m.Stop != nil && m.Stop() }
