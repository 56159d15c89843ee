package sequence

import "slices"

// A Prefix is the part of a task that is done: tools in topological order and, for each step, the
// earlier steps it came from. [Prefix.Set] works the rest out; a Prefix can be set again and again
// without allocating.
type Prefix struct {
	Tools    []int32   // tool of each step, never empty
	Parents  [][]int32 // earlier steps each step depends on
	Children []int32   // how many steps of the prefix depend on each step
	Leaves   []int32   // steps nobody depends on yet, ascending: the open branches
	Distinct []int32   // the different tools, last used first
	Age      []int32   // of each distinct tool: steps since its last use, 0 for the last step's
	Uses     []int32   // of each distinct tool: how often it was used

	scratch []int32
	where   map[int32]int
}

// Set makes p the first n steps of a task, 1 ≤ n ≤ len(tools). The slices are kept, not copied.
func (p *Prefix) Set(tools []int32, parents [][]int32, n int) {
	p.Tools, p.Parents = tools[:n], parents[:n]
	p.Children = append(p.Children[:0], make([]int32, n)...)
	for _, from := range p.Parents {
		for _, j := range from {
			p.Children[j]++
		}
	}
	p.Leaves = p.Leaves[:0]
	for j, c := range p.Children {
		if c == 0 {
			p.Leaves = append(p.Leaves, int32(j))
		}
	}
	if p.where == nil {
		p.where = map[int32]int{}
	}
	clear(p.where)
	p.Distinct, p.Age, p.Uses = p.Distinct[:0], p.Age[:0], p.Uses[:0]
	for j := n - 1; j >= 0; j-- {
		t := p.Tools[j]
		if i, seen := p.where[t]; seen {
			p.Uses[i]++
			continue
		}
		p.where[t] = len(p.Distinct)
		p.Distinct, p.Age, p.Uses = append(p.Distinct, t), append(p.Age, int32(n-1-j)), append(p.Uses, 1)
	}
}

// Used is how often the prefix used the tool, and how many steps ago last; -1 if never.
func (p *Prefix) Used(tool int32) (uses, age int32) {
	if i, seen := p.where[tool]; seen {
		return p.Uses[i], p.Age[i]
	}
	return 0, -1
}

// Last is the tool of the last step.
func (p *Prefix) Last() int32 { return p.Tools[len(p.Tools)-1] }

// Back is the tool k steps before the end, Back(1) the last; -1 before the beginning.
func (p *Prefix) Back(k int) int32 {
	if k > len(p.Tools) {
		return -1
	}
	return p.Tools[len(p.Tools)-k]
}

// Source is the step that step j came from (of several the latest named), -1 if none.
func (p *Prefix) Source(j int32) int32 {
	if j < 0 || len(p.Parents[j]) == 0 {
		return -1
	}
	return p.Parents[j][len(p.Parents[j])-1]
}

// Tool is the tool of step j, -1 for the step -1.
func (p *Prefix) Tool(j int32) int32 {
	if j < 0 {
		return -1
	}
	return p.Tools[j]
}

// The contexts of a prefix, in the order of [Prefix.Contexts]. Each includes the last tool but for
// the two that skip it.
const (
	bySource   = iota // the step it came from, and how many it came from (up to 3)
	byAncestry        // that step and the one before
	ByLeaves          // the tools of the open branches, as a multiset
	byBranch          // the tool of the latest other open branch
	SkipOne           // the tool before the last, whatever is last
	SkipTwo           // the tool before that
	byRun             // length of the run of the last tool (up to 6), the tool before the run
	byPlace           // about how many steps are done
	BySet             // the set of all tools
	byFirst           // the first tool
	byThree           // the last three different tools
	byFour            // the last four different tools
	byWidth           // number of open branches (up to 5), the step it came from
	byPair            // the last two different tools, whichever is last
	byRoots           // number of roots (up to 5) and of open branches (up to 3)
	byLayer           // number of steps with the same sources just before (up to 5), the tool before those
	kinds
)

// Contexts appends the key of each kind of context to keys[:0].
func (p *Prefix) Contexts(keys []uint64) []uint64 {
	const kind = 64 // beyond the orders of a chain
	n := int32(len(p.Tools))
	end, last := n-1, p.Last()
	source := p.Source(end)
	grand := p.Source(source)

	leaves := p.scratch[:0]
	branch, roots := int32(-1), int32(0)
	for i := len(p.Leaves) - 1; i >= 0; i-- {
		j := p.Leaves[i]
		if branch < 0 && j != end {
			branch = j
		}
		leaves = append(leaves, p.Tools[j])
	}
	slices.Sort(leaves)
	leaves = append(leaves[:min(len(leaves), 6)], last)
	byLeaves := Key(kind+ByLeaves, leaves...)
	set := append(leaves[:0], p.Distinct...)
	slices.Sort(set)
	set = append(set, last)
	bySet := Key(kind+BySet, set...)
	p.scratch = set

	for _, from := range p.Parents {
		if len(from) == 0 {
			roots++
		}
	}
	run, layer := int32(1), int32(1)
	for run < n && p.Tools[end-run] == last {
		run++
	}
	for layer < n && slices.Equal(p.Parents[end-layer], p.Parents[end]) {
		layer++
	}
	var d [4]int32
	for i := range d {
		if d[i] = -1; i < len(p.Distinct) {
			d[i] = p.Distinct[i]
		}
	}
	open := int32(len(p.Leaves))
	from := p.Tool(source)
	return append(keys[:0],
		Key(kind+bySource, last, from, min(int32(len(p.Parents[end])), 3)),
		Key(kind+byAncestry, last, from, p.Tool(grand)),
		byLeaves,
		Key(kind+byBranch, last, p.Tool(branch)),
		Key(kind+SkipOne, p.Back(2)),
		Key(kind+SkipTwo, p.Back(3)),
		Key(kind+byRun, last, min(run, 6), p.Back(int(run)+1)),
		Key(kind+byPlace, last, Place(len(p.Tools))),
		bySet,
		Key(kind+byFirst, p.Tools[0], last),
		Key(kind+byThree, d[0], d[1], d[2]),
		Key(kind+byFour, d[0], d[1], d[2], d[3]),
		Key(kind+byWidth, last, min(open, 5), from),
		Key(kind+byPair, min(d[0], d[1]), max(d[0], d[1])),
		Key(kind+byRoots, last, min(roots, 5), min(open, 3)),
		Key(kind+byLayer, last, min(layer, 5), p.Back(int(layer)+1)),
	)
}

// Place is the number of steps done, ever more roughly: 0 … 5 exact, then 6-8, 9-13, 14-24, more.
func Place(n int) int32 {
	switch {
	case n < 6:
		return int32(n)
	case n < 9:
		return 6
	case n < 14:
		return 7
	case n < 25:
		return 8
	}
	return 9
}
