// Package next predicts the next tool from everything a history tells, by weights fitted on it.
//
//	tasks ─▶ History ─▶ signals of (prefix, request) ─▶ Σ weight·signal ─▶ ranking, probabilities
//	            └─▶ held-out positions ─▶ Fit ─▶ weights ┘
//
// A [History] counts tasks one by one. For an unfinished task it returns, for each tool that
// anything speaks for, a value per [Signal]; [Fit] finds what each signal is worth by predicting steps
// of tasks from the others, so nothing is weighed by what it has seen. A score is a sum of terms
// weight·signal, and the softmax of the scores is a probability.
//
// How much a signal is worth depends on the evidence behind it and on whether the tool was used
// already. So a weight is a sum of three that are fitted together, each regularised towards its prior mean, those of
// evidence most strongly:
//
//	w = w(signal) + w(signal, evidence) + w(signal, use)      evidence 0 … 3; use: fresh, used, last
//
// Tools are numbers 0 … T-1, words of requests numbers of the caller's choice. Everything here is pure
// and gives the same bits for the same tasks in the same order.
package next

import (
	"slices"

	"waymark/internal/numeric"
	"waymark/learn/choice"
	"waymark/learn/sequence"
)

// A Task is one past episode.
type Task struct {
	Tools   []int32                // in topological order
	Parents [][]int32              // earlier steps each step depends on
	Request []Word                 // ascending, without repetition; nil if nothing was said
	Text    func() []sequence.Vote // tools whose texts are like the request; called for the tasks that weights are fitted on
	Mass    []float32              // of each step how often it counts when weights are fitted; nil: once
	Worked  []Outcome              // how each step went; nil: nobody knows
	Group   uint64                 // tasks of one group never vouch for each other when weights are fitted: the same request twice
}

// Texts returns the tools whose texts are like the request.
func (t *Task) Texts() []sequence.Vote {
	if t.Text == nil {
		return nil
	}
	return t.Text()
}

// An Outcome of a step.
type Outcome uint8

// What is known of a step.
const (
	unknown Outcome = iota
	success
	failure
)

// A Word of a request: a term or pair of terms, and 1 + ln of how often it occurs.
type Word struct {
	ID   int32
	Mass float32
}

const (
	order  = 8    // of the chain
	kappa  = .1   // mass of the popularity under votes
	skips  = 6    // steps back with a table of their own
	bits   = 20   // weights of the residual model
	pastN  = 30   // nearest requests that vote
	found  = 2000 // requests that a word finds, at most
	common = 4    // words in more than a quarter of the requests do not choose neighbours
	reach  = 60   // steps back that count as done before
	bagMax = 12   // different tools of the prefix that speak
	wide   = 40   // candidates of the residual model
	decayS = .7   // of skips, per step
	decayB = .8   // of branches, per branch
	branch = 8    // open branches that speak
)

// A Catalog is what is known of the tools besides their history.
type Catalog struct {
	Server   []int32           // server of each tool, numbers 0 … S-1
	Requires [][]int32         // tools each tool depends on, as somebody wrote down; may be nil
	Alike    [][]sequence.Vote // tools whose texts are like each tool's, with the similarity; may be nil

	// Properties that each tool takes as inputs and gives as outputs, as numbers 0 … P-1, ascending; may be nil.
	Takes, Gives [][]int32

	// Older counts what came right after each tool in tasks older than those observed; nil where there are none.
	Older []sequence.Followers
}

// A History is everything counted. Observing and asking must not happen at once.
type History struct {
	catalog    Catalog
	perServer  serverTable
	chain      *sequence.Chain
	rows       sequence.Table
	after      followerTable
	steps      int32 // positions counted, first steps left out
	neighbours *sequence.Neighbours
	using      []int32 // tasks that use a tool
	tasks      []*Task
	requests   requestTable
	branching  int // tasks that branch
	study      *FeatureValues
	plans      *sequence.Neighbours
	byProperty propertyTable
	structure  *structure // nil before [History.Settle]
	went       []tally    // by tool, how its steps went; nil while no outcome is known
	wentAfter  [][]tally  // by the tool before, ascending
}

// A propertyTable has by property of arguments and results the tools that take it.
type propertyTable struct {
	requiredBy [][]int32
	takers     [][]int32 // of each property, the tools that take it
	rare       []float64 // ln(1 + T/n) of each property, n its takers
}

// A requestTable has what the requests of the tasks add.
type requestTable struct {
	asked     int // tasks with a request
	words     map[int32]*wordRow
	norms     []float64 // of the tasks' requests
	remeasure int       // when as many tasks are known
	residual  *choice.Model
}

// A serverTable counts by server.
type serverTable struct {
	servers  int
	ofServer [][]int32            // tools of each server
	toServer []sequence.Followers // servers after a server
	atServer []int32
}

// A followerTable counts by tool what came after it and where it came again.
type followerTable struct {
	bag    []sequence.Followers // next steps while a tool was done before
	skip   [skips][]sequence.Followers
	first  []sequence.Followers // first dependent steps of a tool's step
	more   []sequence.Followers // further dependent steps
	again  []int32              // positions where the tool was done and came again
	done   []int32              // positions where the tool was done
	latest [][]int32            // beside the followers of each tool: the task in which it last came
}

// wordRow is what is known of one word: the tasks whose requests have it, oldest first, and how often each
// tool was used in such tasks.
type wordRow struct {
	tasks []mention
	tools sequence.Followers
}

// A mention of a word in the request of a task.
type mention struct {
	task int32
	mass float32
}

// NewHistory is an empty history of the tools of a catalog.
func NewHistory(c Catalog) *History {
	T := len(c.Server)
	h := &History{catalog: c, chain: sequence.NewChain(T, order), neighbours: sequence.NewNeighbours(T), using: make([]int32, T),
		study: &FeatureValues{},
		after: followerTable{bag: make([]sequence.Followers, T), first: make([]sequence.Followers, T), more: make([]sequence.Followers, T),
			again: make([]int32, T), done: make([]int32, T), latest: make([][]int32, T)},
		requests: requestTable{words: map[int32]*wordRow{}, residual: choice.NewModel(bits)}}
	for _, row := range c.Older {
		for _, f := range row.Counts {
			h.chain.Used(f.Tool, f.N)
		}
	}
	h.properties()
	if c.Requires != nil {
		h.plans, h.byProperty.requiredBy = plans(c.Requires), make([][]int32, T)
		for t, needs := range c.Requires {
			for _, need := range needs {
				h.byProperty.requiredBy[need] = append(h.byProperty.requiredBy[need], int32(t))
			}
		}
	}
	for i := range h.after.skip {
		h.after.skip[i] = make([]sequence.Followers, T)
	}
	for _, s := range c.Server {
		h.perServer.servers = max(h.perServer.servers, int(s)+1)
	}
	h.perServer.ofServer = make([][]int32, h.perServer.servers)
	for t, s := range c.Server {
		h.perServer.ofServer[s] = append(h.perServer.ofServer[s], int32(t))
	}
	h.perServer.toServer, h.perServer.atServer = make([]sequence.Followers, h.perServer.servers), make([]int32, h.perServer.servers)
	return h
}

// Len is the number of tasks observed.
func (h *History) Len() int { return len(h.tasks) }

// Observe learns from a task and counts it. The task is kept and must not change.
func (h *History) Observe(task *Task) {
	h.trainResidual(task)
	s := h.study
	p := &s.prefix
	tools := task.Tools
	for i := 1; i < len(tools); i++ {
		t := tools[i]
		p.Set(tools, task.Parents, i)
		s.keys = p.Contexts(s.keys)
		for _, k := range s.keys {
			h.rows.Add(k, t, 1)
		}
		for d := 1; d <= min(skips, i); d++ {
			h.after.skip[d-1][tools[i-d]].Add(t, 1)
		}
		h.date(tools[i-1], t)
		for j, u := range p.Distinct {
			if p.Age[j] >= reach {
				break
			}
			h.after.bag[u].Add(t, 1)
			h.after.done[u]++
			if u == t {
				h.after.again[u]++
			}
		}
		to := h.catalog.Server[t]
		h.perServer.toServer[h.catalog.Server[tools[i-1]]].Add(to, 1)
		h.perServer.atServer[to]++
		h.steps++
		for _, from := range task.Parents[i] {
			if p.Children[from] == 0 {
				h.after.first[tools[from]].Add(t, 1)
			} else {
				h.after.more[tools[from]].Add(t, 1)
			}
		}
	}
	h.observeTimes(task)
	h.chain.Observe(tools)
	h.neighbours.Observe(tools, task.Parents)
	different := slices.Clone(tools)
	slices.Sort(different)
	different = slices.Compact(different)
	for _, t := range different {
		h.using[t]++
	}
	h.observeRequest(task, different)
	if branches(task.Parents) {
		h.branching++
	}
	h.tasks = append(h.tasks, task)
	h.measure()
}

// observeRequest counts the words of a task's request, each with the distinct tools of the task. It must be called
// before the task is appended: the task's number is the length of the list.
func (h *History) observeRequest(task *Task, different []int32) {
	for _, w := range task.Request {
		row := h.requests.words[w.ID]
		if row == nil {
			row = &wordRow{}
			h.requests.words[w.ID] = row
		}
		row.tasks = append(row.tasks, mention{int32(len(h.tasks)), w.Mass})
		for _, t := range different {
			row.tools.Add(t, 1)
		}
	}
	if len(task.Request) > 0 {
		h.requests.asked++
	}
}

// Pack gives up what only [History.Observe] needs, which must not be called after it.
func (h *History) Pack() {
	h.requests.residual.Pack()
	h.study = nil
}

// idf is ln((N+1)/(n+1)) + 1 of a word that n of the N tasks' requests have.
func (h *History) idf(word int32) float64 {
	n := 0
	if row := h.requests.words[word]; row != nil {
		n = len(row.tasks)
	}
	return numeric.Ln(float64(len(h.tasks)+1)/float64(n+1)) + 1
}
