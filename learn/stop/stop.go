// Package stop predicts whether a task is over.
//
//	tasks ─▶ how often a task ended here: after this tool, these two, these three,     ┐
//	         the same tools in any order, so many steps                                ├─▶ P(over)
//	prefix ─▶ the shares of what it looks like ─▶ logistic regression ─▶ calibration   ┘
//
// Every share rests on the one that says less, with the weight of one observation: with e(c) of n(c)
// tasks over in context c and b(c) the context that says less,
//
//	P(c) = (e(c) + P(b(c))) / (n(c) + 1),    P of no context: (tasks + ½) / (steps + 1)
//
// The regression begins at the mean of the log-odds of these shares, and corrects it by each. While it is fitted, a past task is looked at with
// counts of other parts of the history, and the calibration rests on claims of regressions that have not
// seen the task either. Tools are numbers. Equal tasks in equal order give the same bits.
package stop

import (
	"slices"

	"waymark/internal/codec"
	"waymark/internal/numeric"
	"waymark/internal/parallel"
	"waymark/learn/calibrate"
	"waymark/learn/logit"
)

// A Task is one that is over: its tools in the order in which they were used. Tasks of one group never
// vouch for each other while the weights are fitted.
type Task struct {
	Tools []int32
	Group uint64
}

// Weights are what is fitted; the counts are made anew from the tasks.
type Weights struct {
	shares *logit.Model
	kept   *calibrate.Curve
}

// The contexts of a prefix, and the one that each rests on.
const (
	byLast = iota
	byTwo
	byThree
	bySet
	byLength
	byPlace // last tool and about how many steps
	contexts
)

var below = [contexts]int{byLast: -1, byTwo: byLast, byThree: byTwo, bySet: byLast, byLength: -1, byPlace: byLast}

const (
	features = contexts + 2 // with ln(steps) and ln(1 + n) of the last tool
	folds    = 5
	most     = 20_000 // steps that the weights are fitted on, about
	longest  = 64     // steps that are told apart
	penalty  = 3      // of the regression, per squared slope
	few      = 2      // a context seen less often says nothing, and takes no room
)

// count says of one context how often a task was over there, and how often it was seen.
type count struct{ over, seen int32 }

func (c count) less(o count) count { return count{c.over - o.over, c.seen - o.seen} }

// counts are by hash of the context (rows) and over all contexts of all beginnings of tasks (all).
type counts struct {
	rows map[uint64]count
	all  count
}

// add counts every beginning of a task; only the last, the whole task, is over.
func (c *counts) add(tools []int32) {
	visit(tools, func(n int, keys *[contexts]uint64) {
		over := int32(0)
		if n == len(tools) {
			over = 1
		}
		for _, k := range keys {
			r := c.rows[k]
			c.rows[k] = count{r.over + over, r.seen + 1}
		}
		c.all.over += over
		c.all.seen++
	})
}

// visit calls f with the contexts of every beginning of a task, n its steps.
func visit(tools []int32, f func(n int, keys *[contexts]uint64)) {
	var keys [contexts]uint64
	met := make(map[int32]bool, len(tools))
	set := uint64(0) // a sum: the order does not matter
	back := func(i int) int32 {
		if i < 0 {
			return -1
		}
		return tools[i]
	}
	for i, t := range tools {
		if !met[t] {
			met[t] = true
			set += key(bySet, t)
		}
		n := int32(min(i+1, longest))
		keys[byLast] = key(byLast, t)
		keys[byTwo] = key(byTwo, t, back(i-1))
		keys[byThree] = key(byThree, t, back(i-1), back(i-2))
		keys[bySet] = set ^ key(bySet, t, t)
		keys[byLength] = key(byLength, n)
		keys[byPlace] = key(byPlace, t, min(n, 4)+n/8)
		f(i+1, &keys)
	}
}

// key hashes a context. The kind is part of it, so contexts of different kinds share one table.
func key(kind int, x ...int32) uint64 {
	h := uint64(kind)*0x9e3779b97f4a7c15 + 0x1f
	for _, v := range x {
		h = mix(h ^ (uint64(uint32(v)) + 0x9e3779b97f4a7c15))
	}
	return h
}

// mix spreads bits (the finaliser of MurmurHash3).
func mix(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// look fills f with the features of a prefix of n steps. without is left out of the counts.
func (c *counts) look(n int, keys *[contexts]uint64, without *counts, f *[features]float64) {
	all := c.all
	if without != nil {
		all = all.less(without.all)
	}
	base := (float64(all.over) + .5) / (float64(all.seen) + 1)
	var p [contexts]float64
	for k, key := range keys {
		row := c.rows[key]
		if without != nil {
			row = row.less(without.rows[key])
		}
		if row.seen < few {
			row = count{}
		}
		rest := base
		if b := below[k]; b >= 0 {
			rest = p[b]
		}
		p[k] = (float64(row.over) + rest) / (float64(row.seen) + 1)
		f[k] = numeric.Ln(p[k] / (1 - p[k]))
		if k == byLast {
			f[contexts+1] = numeric.Ln(1 + float64(row.seen))
		}
	}
	f[contexts] = numeric.Ln(float64(n))
}

// mean is the mean log-odds of the shares.
func mean(f *[features]float64) float64 { return numeric.Sum(f[:contexts]) / contexts }

// probability corrects the mean of the log-odds by what was fitted: without history the correction is 0.
func probability(m *logit.Model, f *[features]float64) float64 {
	return logit.Sigmoid(mean(f) + m.Z(f[:]))
}

// Fit learns how much each share says. It asks stop from several goroutines and returns nil once it is
// true; nil asks nothing.
func Fit(tasks []Task, stop func() bool) *Weights {
	if stop == nil {
		stop = func() bool { return false }
	}
	fold := func(t *Task) int { return int(mix(t.Group) % folds) }
	whole := counts{rows: map[uint64]count{}}
	var part [folds]counts
	steps := 0
	for i := range part {
		part[i].rows = map[uint64]count{}
	}
	for i := range tasks {
		if stop() {
			return nil
		}
		whole.add(tasks[i].Tools)
		part[fold(&tasks[i])].add(tasks[i].Tools)
		steps += len(tasks[i].Tools)
	}
	every := uint64(max(1, (steps+most-1)/most))
	half := [2]logit.Data{{P: features}, {P: features}} // what is claimed of one is learned from the other
	for i := range tasks {
		t := &tasks[i]
		if mix(t.Group+1)%every != 0 {
			continue
		}
		d := &half[mix(t.Group+2)>>32&1]
		visit(t.Tools, func(n int, keys *[contexts]uint64) {
			var f [features]float64
			whole.look(n, keys, &part[fold(t)], &f)
			over := 0.0
			if n == len(t.Tools) {
				over = 1
			}
			d.Add(f[:], over)
			d.Z = append(d.Z, float32(mean(&f)))
		})
	}
	fitted := [3]*logit.Model{}
	parallel.Each(3, func(i int) {
		d := half[i%2]
		if i == 2 {
			d.X, d.Y, d.Z = slices.Concat(d.X, half[1].X), slices.Concat(d.Y, half[1].Y), slices.Concat(d.Z, half[1].Z)
		}
		fitted[i] = logit.FitUntil(d, penalty, stop)
	})
	var claims []calibrate.Prediction
	for h, d := range half {
		m := fitted[1-h]
		if m == nil || fitted[2] == nil {
			return nil
		}
		var f [features]float64
		for i, y := range d.Y {
			for k := range f {
				f[k] = float64(d.X[i*features+k])
			}
			claims = append(claims, calibrate.Prediction{P: probability(m, &f), Right: y == 1})
		}
	}
	return &Weights{fitted[2], calibrate.Fit(claims)}
}

// A Model knows how tasks ended.
type Model struct {
	*Weights
	counts
}

// New counts the tasks that w was fitted on.
func New(tasks []Task, w *Weights) *Model {
	m := &Model{w, counts{rows: map[uint64]count{}}}
	for i := range tasks {
		m.add(tasks[i].Tools)
	}
	kept := map[uint64]count{} // a map does not shrink
	for k, row := range m.rows {
		if row.seen >= few {
			kept[k] = row
		}
	}
	m.rows = kept
	return m
}

// Over is the probability that a task is over after these tools, of which there is at least one.
func (m *Model) Over(tools []int32) float64 {
	p := 0.0
	visit(tools, func(n int, keys *[contexts]uint64) {
		if n == len(tools) {
			var f [features]float64
			m.look(n, keys, nil, &f)
			p = m.kept.At(probability(m.shares, &f))
		}
	})
	return p
}

// Write writes the weights for [Read].
func (w *Weights) Write(to *codec.Writer) {
	w.shares.Write(to)
	w.kept.Write(to)
}

// Read reads what [Weights.Write] wrote. What is damaged fails r.
func Read(r *codec.Reader) *Weights { return &Weights{logit.Read(r, features), calibrate.Read(r)} }
