package mine

import (
	"bytes"
	"cmp"
	"slices"
)

// set is a set of tools (a tool may be in it twice) that enough tasks contain.
type set struct {
	tools    []int32      // by rank, ascending
	found    []occurrence // by task, the closest together first; dropped after larger sets are grown from them
	tasks    int
	sessions int    // counted up to Options.Sessions only
	slots    int    // calls close to its occurrences, summed over all tasks
	wide     int    // distance from the first to the last call of the closest occurrence, summed over all tasks
	witness  uint64 // hash of the tasks, the same for sets of the same tasks
	order    order  // that the closest occurrences agree on
	ordered  int    // tasks that have it in that order; 0: the order is not connected
}

// occurrence holds calls of a task, ascending, one for each tool of the set; the other elements are 0.
type occurrence struct {
	task  int32
	calls [MostCalls]uint8
}

// perTask is the number of occurrences of one set that are kept per task, the closest ones.
const perTask = 8

// miner holds the data that does not change while sets are grown.
type miner struct {
	Options
	tasks []Task
	rank  []int32   // by tool: its place by number of tasks, the rarest first; -1: too rare
	has   [][]int32 // by tool, the tasks that call it
	calls []int     // number of calls, by tool
	all   int       // number of all calls
}

// growth is the growing of sets from their rarest tool.
type growth struct {
	*miner
	within  []int32 // nil: any tools; else only these, each as often as it is listed
	work    int     // occurrences examined
	partial bool    // the limit of work was reached
}

// grow finds all sets whose rarest tool is root, from any tools or only from those within, up to the limit of work. The
// sets have their occurrences only if within is given.
func (m *miner) grow(root int32, within []int32) (sets []set, partial bool) {
	g := growth{miner: m, within: within}
	single := set{tools: []int32{root}}
	for _, t := range m.has[root] {
		for i, tool := range m.tasks[t].Tools {
			if tool == root {
				single.found = append(single.found, occurrence{t, [MostCalls]uint8{uint8(i)}})
			}
		}
	}
	for level := []set{single}; !m.stopped(); level = g.extend(root, level) {
		level = slices.DeleteFunc(level, func(s set) bool { return len(s.found) < m.Support })
		for i := range level {
			m.count(&level[i])
		}
		level = slices.DeleteFunc(level, func(s set) bool { return s.tasks < m.Support || s.sessions < m.Sessions })
		for _, s := range level {
			if within == nil {
				s.found = nil
			}
			sets = append(sets, s)
		}
		if len(level) == 0 || len(level[0].tools) == m.Most {
			break
		}
	}
	return sets, g.partial
}

// extend adds to every occurrence every call close to it whose tool has root's rank or a higher one. Sets with
// the most occurrences come first; those that would exceed the limit of work are not grown.
func (g *growth) extend(root int32, level []set) (grown []set) {
	size := len(level[0].tools)
	slices.SortStableFunc(level, func(a, b set) int { return cmp.Compare(len(b.found), len(a.found)) })
	at := map[[MostCalls]int32]int{}
	for _, s := range level {
		if g.work+s.slots > g.Work {
			g.partial = true
			continue
		}
		child := map[int32]int{} // by tool: index in grown of this set with the tool added
		some := without(g.within, s.tools)
		for _, o := range s.found {
			p := &g.tasks[o.task]
			for y := range p.beside(o.calls[:size]) {
				tool := p.Tools[y]
				if g.rank[tool] < g.rank[root] || g.within != nil && !slices.Contains(some, tool) {
					continue
				}
				g.work++
				c, ok := child[tool]
				if !ok {
					i, _ := slices.BinarySearchFunc(s.tools, tool, func(a, b int32) int { return cmp.Compare(g.rank[a], g.rank[b]) })
					tools := slices.Insert(slices.Clone(s.tools), i, tool)
					if c, ok = at[key(tools)]; !ok {
						c = len(grown)
						at[key(tools)] = c
						grown = append(grown, set{tools: tools})
					}
					child[tool] = c
				}
				larger := o
				i, _ := slices.BinarySearch(o.calls[:size], y)
				copy(larger.calls[i+1:], o.calls[i:size])
				larger.calls[i] = y
				grown[c].found = append(grown[c].found, larger)
			}
		}
	}
	return grown
}

// without returns tools after each of some is removed once.
func without(tools, some []int32) []int32 {
	rest := slices.Clone(tools)
	for _, t := range some {
		if i := slices.Index(rest, t); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		}
	}
	return rest
}

// count sorts occurrences by task, the closest together first, keeps a few distinct ones per task, and counts them.
func (m *miner) count(s *set) {
	size := len(s.tools)
	width := func(o *occurrence) int { return int(o.calls[size-1]) - int(o.calls[0]) }
	slices.SortFunc(s.found, func(a, b occurrence) int {
		return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(width(&a), width(&b)), bytes.Compare(a.calls[:], b.calls[:]))
	})
	kept, same := s.found[:0], 0
	sessions, occurred := map[int32]bool{}, map[order]int{}
	for _, o := range slices.Compact(s.found) {
		p := &m.tasks[o.task]
		if n := len(kept); n > 0 && kept[n-1].task == o.task {
			if same++; same > perTask {
				continue
			}
		} else {
			same = 1
			s.tasks++
			s.witness = (s.witness ^ uint64(o.task+1)) * 1099511628211 // FNV-1a of the tasks
			s.wide += width(&o)
			occurred[p.orderOf(m.roles(o, size))]++
			if len(sessions) < m.Sessions {
				sessions[p.Session] = true
			}
		}
		kept = append(kept, o)
		for range p.beside(o.calls[:size]) {
			s.slots++
		}
	}
	s.found, s.sessions = slices.Clip(kept), len(sessions)
	s.order, s.ordered = consensus(occurred, size)
}

// roles returns the calls in the order of the tools of their set; calls of one tool keep their order.
func (m *miner) roles(o occurrence, size int) []uint8 {
	calls, tools := slices.Clone(o.calls[:size]), m.tasks[o.task].Tools
	slices.SortStableFunc(calls, func(a, b uint8) int { return cmp.Compare(m.rank[tools[a]], m.rank[tools[b]]) })
	return calls
}

func (m *miner) stopped() bool { return m.Stop != nil && m.Stop() }
