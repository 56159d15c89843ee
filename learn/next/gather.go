package next

import (
	"cmp"
	mathbits "math/bits"
	"slices"

	"waymark/internal/parallel"
	"waymark/learn/choice"
)

const (
	positions = 6000    // about as many steps are fitted on, at most
	newSteps  = 200_000 // steps of the newest tasks are looked at, at most
	listed    = 40      // candidates of each, the best by a quick look
	tailed    = 12      // and so many drawn from the others that something speaks for
	unheard   = 4       // and from the tools without any signal
	folds     = 5
	fewer     = 3 // folds of a history of more than long steps
	long      = 50_000
	blocks    = 10
	chunks    = 8 // of a fold, computed concurrently
)

// trainingSet holds the candidate sets of held-out steps.
type trainingSet struct {
	choices  *choice.Choices
	quarters []uint8 // 0 … 3, for each choice; the even ones and the odd ones are the halves
	asked    []bool  // the task of the choice has a request
	age      []uint8 // blocks of time before the newest, 0 without times
	first    []listing
	stop     func() bool
}

// A listing says how many candidates of a choice are no samples, and which one was taken.
type listing struct{ listed, taken int }

func (g *trainingSet) append(other *trainingSet) {
	g.choices.Append(other.choices)
	g.quarters, g.asked = append(g.quarters, other.quarters...), append(g.asked, other.asked...)
	g.age, g.first = append(g.age, other.age...), append(g.first, other.first...)
}

func fresh() *trainingSet {
	return &trainingSet{choices: choice.New(int(signalCount), levels, classes)}
}

// A sampling says which steps of which tasks are predicted.
type sampling struct {
	tasks []*Task
	fold  []int
	share float64 // of the steps
	timed bool
	stop  func() bool // asked before every task
}

// gather predicts steps of the tasks from one another.
func gather(c Catalog, tasks []*Task, timed bool, stop func() bool) *trainingSet {
	total := 0
	for _, t := range tasks {
		total += max(len(t.Tools)-1, 0)
	}
	d := sampling{tasks, make([]int, len(tasks)), float64(positions) / float64(max(total, 1)), timed, stop}
	parts := folds
	if total > long {
		parts = fewer
	}
	done := 0
	for i, t := range tasks {
		d.fold[i] = int(mix(t.Group) % uint64(parts))
		if timed {
			d.fold[i] = min(blocks*done/max(total, 1), blocks-1)
		}
		done += max(len(t.Tools)-1, 0)
	}
	all := fresh()
	all.stop = stop
	if timed {
		d.share *= 2
		h := NewHistory(c)
		next := 0
		for b := blocks / 2; b < blocks; b++ {
			for ; next < len(tasks) && d.fold[next] < b && !stop(); next++ {
				h.Observe(tasks[next])
			}
			h.Settle(stop)
			all.append(d.predict(h, b))
		}
		return all
	}
	found := make([]*trainingSet, parts)
	parallel.Each(parts, func(b int) {
		h := NewHistory(c)
		for i, t := range tasks {
			if d.fold[i] != b && !stop() {
				h.Observe(t)
			}
		}
		h.Settle(stop)
		found[b] = d.predict(h, b)
	})
	for _, g := range found {
		all.append(g)
	}
	return all
}

// predict computes the candidate sets of the sampled steps of fold b from the history.
func (d *sampling) predict(h *History, b int) *trainingSet {
	var mine []int
	for i := range d.tasks {
		if d.fold[i] == b {
			mine = append(mine, i)
		}
	}
	found := make([]*trainingSet, chunks)
	parallel.Each(chunks, func(c int) {
		p := &predicting{trainingSet: fresh()}
		for _, i := range mine[c*len(mine)/chunks : (c+1)*len(mine)/chunks] {
			if d.stop() {
				break
			}
			quarter, age := uint8(b&3), uint8(blocks-1-b)
			if !d.timed {
				quarter, age = uint8(mix(d.tasks[i].Group+1)>>32&3), 0
			}
			p.task(h, d.tasks[i], i, quarter, age, d.share)
		}
		found[c] = p.trainingSet
	})
	all := fresh()
	for _, g := range found {
		all.append(g)
	}
	return all
}

// predicting is one worker of a fit: its part of the training set, and buffers.
type predicting struct {
	*trainingSet
	signs   FeatureValues
	request Request
	sources Sources
	index   []int32
	value   []float32
	order   []placed
}

// placed is a row of candidate values and its approximate score, by which the listed candidates are chosen.
type placed struct {
	row   int32
	score float64
}

// task adds the steps drawn of one task, which are asked about the way a context is: without what they
// came after.
func (p *predicting) task(h *History, t *Task, i int, quarter, age uint8, share float64) {
	var r *Request
	h.Guess(t.Tools, &p.sources)
	for n := 1; n < len(t.Tools); n++ {
		if float64(mix(uint64(i)<<20+uint64(n))>>11)/(1<<53) > share {
			continue
		}
		if r == nil && len(t.Request) > 0 {
			r = &p.request
			h.AskInto(t.Request, t.Texts(), r)
		}
		h.Compute(t.Tools, p.sources.Parents, n, r, &p.signs)
		mass := float32(1)
		if t.Mass != nil {
			mass = t.Mass[n]
		}
		p.choose(t.Tools[n], mass, h)
		p.quarters, p.asked, p.age = append(p.quarters, quarter), append(p.asked, r != nil), append(p.age, age)
	}
}

// choose adds the situation of p.signs, where tool was taken, as often as the mass says. Besides the candidates listed come some
// drawn evenly from the others, so that the probabilities are those among all tools, and the tool taken.
func (p *predicting) choose(tool int32, mass float32, h *History) {
	s := &p.signs
	p.order = p.order[:0]
	for i := range s.Tools {
		v := &s.Values[i]
		quick := float64(v[signalPopularity]) + float64(v[signalChain]) + float64(.5*float64(v[signalBag])) + float64(.3*float64(v[signalTail])) + float64(.5*float64(v[signalWords])) +
			float64(.3*float64(v[signalPastNext])) + float64(.3*float64(v[signalBranches])) + float64(v[signalAsked]) +
			float64(.3*float64(v[signalServer])) + float64(v[signalSameServer]) + float64(.5*float64(v[signalAlike])) + float64(v[signalWhole])
		p.order = append(p.order, placed{int32(i), quick})
	}
	slices.SortFunc(p.order, func(a, b placed) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(s.Tools[a.row], s.Tools[b.row]))
	})
	first := listing{min(len(p.order), listed), -1}
	for j, o := range p.order[:first.listed] {
		if s.Tools[o.row] == tool {
			first.taken = j
		}
		p.row(1, int(o.row))
	}
	at := first.taken
	if at < 0 {
		at = first.listed
		if row := s.row[tool]; row > 0 {
			p.row(1, int(row)-1)
		} else {
			p.unheard(1, h, tool)
		}
	}
	tail := p.order[first.listed:]
	tail = slices.DeleteFunc(tail, func(o placed) bool { return s.Tools[o.row] == tool })
	for j := range min(len(tail), tailed) {
		n := min(len(tail), tailed)
		p.row(float64(len(tail))/float64(n), int(tail[(2*j+1)*len(tail)/(2*n)].row))
	}
	p.quiet(tool, h)
	p.choices.Taken(at, float64(mass), s.Evidence[:])
	p.first = append(p.first, first)
}

// row adds a tool of the signs that stands for many.
func (p *predicting) row(many float64, row int) {
	p.index, p.value = p.index[:0], p.value[:0]
	values := &p.signs.Values[row]
	for has := p.signs.has[row]; has != 0; has &= has - 1 {
		if k := mathbits.TrailingZeros64(has); values[k] != 0 {
			p.index, p.value = append(p.index, int32(k)), append(p.value, values[k])
		}
	}
	p.choices.Sample(many, int(p.signs.Used(row)), p.index, p.value)
}

// unheard adds a tool that has only its popularity and importance.
func (p *predicting) unheard(many float64, h *History, tool int32) {
	p.choices.Sample(many, 0, []int32{int32(signalPopularity), int32(signalImportance)}, []float32{float32(h.popular(tool)), h.important(tool)})
}

// quiet draws from the tools that nothing speaks for, other than the one taken.
func (p *predicting) quiet(taken int32, h *History) {
	s := &p.signs
	var others []int32
	for t, row := range s.row {
		if row == 0 && int32(t) != taken {
			others = append(others, int32(t))
		}
	}
	n := min(len(others), unheard)
	for j := range n {
		p.unheard(float64(len(others))/float64(n), h, others[(2*j+1)*len(others)/(2*n)])
	}
}

// mix spreads bits (the finaliser of MurmurHash3).
func mix(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
