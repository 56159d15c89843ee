package mine

import (
	"bytes"
	"cmp"
	"slices"
)

// perMatch bounds the steps of the search for one pattern in one task.
const perMatch = 4096

// matcher looks for one set of tools in tasks.
type matcher struct {
	*miner
	tools []int32 // by rank
	want  order
	p     *prepared
	calls []uint8
	need  []int32 // tools still missing
	out   [4]uint64
	steps int
	best  []uint8 // by role; nil: none yet
	fits  bool    // best is in the wanted order
}

// match finds the calls of the set in a task, by role: in the wanted order where there are such, then
// the closest together, then the first.
func (m *matcher) match(t int32) (calls []uint8, inOrder bool) {
	m.p, m.best, m.fits, m.steps, m.out = &m.tasks[t], nil, false, 0, [4]uint64{}
	for i, tool := range m.p.Tools {
		if tool != m.tools[0] {
			continue
		}
		m.calls, m.need = append(m.calls[:0], uint8(i)), append(m.need[:0], m.tools[1:]...)
		m.extend()
		m.leave(uint8(i), true) // every set with this call was seen
	}
	return m.best, m.fits
}

// leave marks a call as not to be taken, or lifts the mark. There are at most 256 calls in a task, four words
// of bits.
func (m *matcher) leave(y uint8, out bool) {
	if out {
		m.out[y/64] |= 1 << (y % 64)
	} else {
		m.out[y/64] &^= 1 << (y % 64)
	}
}

// extend tries every call close to those taken whose tool is missing: first all sets with it, then all
// without, so that each set is met once.
func (m *matcher) extend() {
	if len(m.need) == 0 {
		m.consider()
		return
	}
	if m.steps++; m.steps > perMatch {
		return
	}
	var left []uint8
	for c := range len(m.calls) {
		for _, y := range m.p.near[m.calls[c]] {
			if m.out[y/64]&(1<<(y%64)) != 0 || slices.Contains(m.calls, y) {
				continue
			}
			i := slices.Index(m.need, m.p.Tools[y])
			if i < 0 {
				continue
			}
			tool := m.need[i]
			m.need = slices.Delete(m.need, i, i+1)
			m.calls = append(m.calls, y)
			m.extend()
			m.calls = m.calls[:len(m.calls)-1]
			m.need = slices.Insert(m.need, i, tool)
			m.leave(y, true)
			left = append(left, y)
		}
	}
	for _, y := range left {
		m.leave(y, false)
	}
}

// consider replaces the best set by one that is better: in the wanted order, then of the shortest span, then
// the first.
func (m *matcher) consider() {
	calls := slices.Clone(m.calls)
	slices.Sort(calls)
	roles := m.roles(m.p, calls)
	fits := m.p.orderOf(roles)&m.want == m.want
	if m.best != nil {
		if m.fits && !fits {
			return
		}
		if m.fits == fits {
			was := slices.Sorted(slices.Values(m.best))
			last := len(calls) - 1
			if cmp.Or(cmp.Compare(calls[last]-calls[0], was[last]-was[0]), bytes.Compare(calls, was)) >= 0 {
				return
			}
		}
	}
	m.best, m.fits = roles, fits
}

// holding lists the tasks that have all the tools, as often as the set has them.
func (m *miner) holding(tools []int32) []int32 {
	tasks := m.has[tools[0]] // the rarest
	for i, tool := range tools[1:] {
		if tool != tools[i] {
			tasks = intersect(tasks, m.has[tool])
		}
	}
	if !slices.ContainsFunc(tools[1:], func(tool int32) bool { return slices.Index(tools, tool) < len(tools)-1 }) {
		return tasks
	}
	need := map[int32]int{}
	for _, tool := range tools {
		need[tool]++
	}
	var all []int32
	for _, t := range tasks {
		count := map[int32]int{}
		for _, tool := range m.tasks[t].Tools {
			count[tool]++
		}
		if !slices.ContainsFunc(tools, func(tool int32) bool { return count[tool] < need[tool] }) {
			all = append(all, t)
		}
	}
	return all
}

// intersect searches the rest of b for each element of a, so a should be the shorter list.
func intersect(a, b []int32) []int32 {
	both := make([]int32, 0, min(len(a), len(b)))
	for _, x := range a {
		i, ok := slices.BinarySearch(b, x)
		if b = b[i:]; ok {
			both = append(both, x)
		}
	}
	return both
}
