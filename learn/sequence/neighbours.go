package sequence

import (
	"cmp"
	"math"
	"slices"

	"waymark/internal/numeric"
)

// Neighbours remembers tasks and asks those most like the one under way what they did next: what
// session-based recommenders call nearest neighbours (Jannach and Ludewig, RecSys 2017), with the
// place in the task found by alignment. It sees near-copies through inserted, left out and
// exchanged steps, which no context of fixed length does. With w(t) = ln((N+1)/(n(t)+1))·0.9^age(t),
// N the number of tasks, n(t) those that use t and age the steps since the prefix used it last,
//
//	sim(e) = Σ_{t in prefix and e} w(t) / (Σ_{t in prefix} w(t) · (|e|+3)^0.3)
//
// and the nearest tasks vote in four ways, see [Votes]. In a long history a tool finds only the newest
// 2,000 tasks that use it.
type Neighbours struct {
	tasks []task
	uses  [][]int32 // tasks using a tool, ascending
}

// task is a remembered task with its length factor, which does not depend on the prefix.
type task struct {
	tools   []int32
	parents [][]int32
	length  float64 // (|e|+3)^0.3
}

const (
	nearest    = 40   // tasks that vote
	newest     = 2000 // tasks that a tool finds
	asked      = 20   // different tools of the prefix that choose them
	tail       = 6    // steps compared at the end of the prefix
	fade       = .8   // of a step further back in the tail
	later      = .6   // of a step further on in the frontier
	minWeight  = .05
	lengthPart = .3
)

// NewNeighbours remembers nothing yet; tools are numbered 0 … tools-1.
func NewNeighbours(tools int) *Neighbours { return &Neighbours{uses: make([][]int32, tools)} }

// Len is the number of tasks remembered.
func (n *Neighbours) Len() int { return len(n.tasks) }

// Observe remembers a task: its tools in topological order and the earlier steps each came from.
// The slices are kept and must not change.
func (n *Neighbours) Observe(tools []int32, parents [][]int32) {
	id := int32(len(n.tasks))
	n.tasks = append(n.tasks, task{tools, parents, numeric.Exp(float64(lengthPart * numeric.Ln(float64(len(tools)+3))))})
	for _, t := range tools {
		if u := n.uses[t]; len(u) == 0 || u[len(u)-1] != id {
			n.uses[t] = append(u, id)
		}
	}
}

// A Vote is a share of the votes for a tool.
type Vote struct {
	Tool  int32
	Share float64
}

// Votes are what the nearest tasks say, each list in order of the tools. The shares of one
// list are comparable; they add up to at most 1 only in Overlap.
type Votes struct {
	// Tail: the step after the place where the neighbour's last steps agree best with those of the
	// prefix (it ends in the same tool). Weight sim⁴ times the agreement.
	Tail []Vote
	// Overlap: the step after the place up to which the neighbour used most nearly the same tools,
	// whatever their order: the largest Jaccard index of the two multisets, + .25 where both end in
	// the same tool and + .15 where the tool before agrees too. Weight its 6th power.
	Overlap []Vote
	// Frontier: steps the prefix has not done yet while it has all they depend on, the first in the
	// neighbour's order counting most.
	Frontier []Vote
	// Rest: all steps the prefix has not done yet.
	Rest []Vote

	Similarity float64 // of the nearest task
	Agreement  float64 // largest value of Overlap's index
}

// A Search holds the reusable buffers of [Neighbours.Votes], for one goroutine at a time; its zero value is ready.
type Search struct {
	similarity []float64
	touched    []int32
	near       []neighbour
	need       []int32
	open       []bool
	sums       [4]sums
	votes      Votes
}

// neighbour is a remembered task and its similarity to the prefix.
type neighbour struct {
	task       int32
	similarity float64
}

// Votes asks the tasks nearest to the prefix. The answer is good until the next call with the same s.
func (n *Neighbours) Votes(p *Prefix, s *Search) *Votes {
	s.grow(len(n.tasks), len(n.uses))
	s.votes.Similarity, s.votes.Agreement = 0, 0
	n.find(p, s)
	total, agreed := 0.0, 0.0
	for _, near := range s.near {
		e := &n.tasks[near.task]
		square := float64(near.similarity * near.similarity)
		weight := float64(square * square)
		total += weight
		s.votes.Similarity = max(s.votes.Similarity, near.similarity)
		agreed += s.vote(p, e, weight)
	}
	scales := [4]float64{total, agreed + .01, total, total}
	for i, list := range []*[]Vote{&s.votes.Tail, &s.votes.Overlap, &s.votes.Frontier, &s.votes.Rest} {
		*list = s.sums[i].take((*list)[:0], scales[i])
	}
	return &s.votes
}

// find leaves the nearest tasks in s.near, nearest first, the newer first among equals.
func (n *Neighbours) find(p *Prefix, s *Search) {
	s.near = s.near[:0]
	whole := 0.0
	for i, t := range p.Distinct[:min(len(p.Distinct), asked)] {
		w := float64(numeric.Ln(float64(len(n.tasks)+1)/float64(len(n.uses[t])+1)) * numeric.Exp(float64(float64(p.Age[i])*lnNine)))
		if w <= minWeight {
			continue
		}
		whole += w
		for _, e := range n.uses[t][max(0, len(n.uses[t])-newest):] {
			if s.similarity[e] == 0 {
				s.touched = append(s.touched, e)
			}
			s.similarity[e] += w
		}
	}
	for _, e := range s.touched {
		x := neighbour{e, s.similarity[e] / float64(whole*n.tasks[e].length)}
		s.similarity[e] = 0
		s.near = Keep(s.near, x, nearest, closer)
	}
	s.touched = s.touched[:0]
}

const lnNine = -0.10536051565782628 // ln 0.9

func closer(a, b neighbour) int {
	return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(b.task, a.task))
}

// vote adds the votes of one neighbour and returns the weight of its vote by overlap.
func (s *Search) vote(p *Prefix, e *task, weight float64) float64 {
	steps := len(p.Tools)
	last, before := p.Last(), p.Back(2)
	for _, t := range p.Tools {
		s.need[t]++
	}
	byTail, tailBest := -1, 0.0
	byOverlap, overlapBest := -1, 0.0
	common := 0
	for j := 0; j+1 < len(e.tools); j++ {
		t := e.tools[j]
		if s.need[t] > 0 {
			common++
		}
		s.need[t]--
		index := float64(common) / float64(steps+j+1-common)
		if t == last {
			if index += .25; j > 0 && e.tools[j-1] == before {
				index += .15
			}
			if a := agreement(p.Tools, e.tools[:j+1]); byTail < 0 || a > tailBest {
				byTail, tailBest = j, a
			}
		}
		if byOverlap < 0 || index > overlapBest {
			byOverlap, overlapBest = j, index
		}
	}
	for j := 0; j+1 < len(e.tools); j++ {
		s.need[e.tools[j]]++
	}
	if byTail >= 0 && tailBest > 0 {
		s.sums[0].add(e.tools[byTail+1], float64(weight*tailBest))
	}
	sixth := 0.0
	if byOverlap >= 0 {
		cube := float64(overlapBest*overlapBest) * overlapBest
		sixth = float64(cube * cube)
		s.sums[1].add(e.tools[byOverlap+1], sixth)
		s.votes.Agreement = max(s.votes.Agreement, overlapBest)
	}
	if len(s.open) < len(e.tools) {
		s.open = make([]bool, 2*len(e.tools))
	}
	order := 1.0
	for j, t := range e.tools {
		if s.need[t] > 0 {
			s.need[t]--
			continue
		}
		ready := !slices.ContainsFunc(e.parents[j], func(from int32) bool { return s.open[from] })
		if ready {
			s.sums[2].add(t, float64(weight*order))
			order *= later
		}
		s.sums[3].add(t, weight/float64(len(e.tools)))
		s.open[j] = true
	}
	clear(s.open[:len(e.tools)])
	for _, t := range p.Tools {
		s.need[t] = 0
	}
	return sixth
}

// agreement compares the ends of two rows that end in the same tool, and a little where they stand.
func agreement(a, b []int32) float64 {
	sum, weight := 0.0, 1.0
	for k := 1; k <= min(tail, len(a), len(b)); k++ {
		if a[len(a)-k] == b[len(b)-k] {
			sum += weight
		}
		weight *= fade
	}
	return sum - float64(.02*math.Abs(float64(len(b)-len(a))))
}

// grow makes room for a history that has grown since the last question; a quarter more tasks than needed, so
// that not every new task allocates.
func (s *Search) grow(tasks, tools int) {
	if len(s.similarity) < tasks {
		s.similarity = make([]float64, tasks+tasks/4)
	}
	if len(s.need) < tools {
		s.need = make([]int32, tools)
		for i := range s.sums {
			s.sums[i] = sums{value: make([]float64, tools)}
		}
	}
}

// sums adds up values of tools, remembering which it met.
type sums struct {
	value []float64
	met   []int32
}

func (s *sums) add(tool int32, x float64) {
	if s.value[tool] == 0 {
		s.met = append(s.met, tool)
	}
	s.value[tool] += x
}

// take appends the sums over the scale to votes and starts again from nothing.
func (s *sums) take(votes []Vote, scale float64) []Vote {
	slices.Sort(s.met)
	for _, t := range s.met {
		if v := s.value[t]; v > 0 {
			votes = append(votes, Vote{t, v / scale})
		}
		s.value[t] = 0
	}
	s.met = s.met[:0]
	return votes
}
