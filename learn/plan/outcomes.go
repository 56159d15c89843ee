package plan

import (
	"math"
	"slices"

	"waymark/learn/labels"
	"waymark/learn/logit"
)

// outcomeNames are the features that outcomes of past tasks make.
var outcomeNames = []string{"succeeded", "vote succeeded"}

const (
	usual      = 3  // prior pseudo-count of uses, at the success rate of all tasks
	usualVotes = .5 // and so much likeness of nearest requests
	leastEach  = 10 // requests that failed, and that did not, for outcomes to be asked
	clearGain  = 2  // standard errors of the mean gain, at least
)

// outcomes are how much more often than others the tasks succeeded that used a tool, in log-odds: all of them, and
// those of the nearest requests.
func (q *request) outcomes(t int32) (all, nearest float64) {
	m := q.m
	if m.failed == 0 {
		return 0, 0
	}
	n, failed, uses, misled := m.n, m.failed, m.uses[t], m.misled[t]
	if c := q.left; c != nil {
		n, failed, uses, misled = n-c.n, failed-c.failed, uses-c.uses[t], misled-c.misled[t]
	}
	rate := (n - failed + 1) / (n + 2)
	against := func(won, of, imagined float64) float64 {
		return odds((max(won, 0)+float64(imagined*rate))/(max(of, 0)+imagined)) - odds(rate)
	}
	var won, of float64
	for _, nb := range q.near {
		g := &m.groups[nb.Row]
		used := valueOf(g.tools, t)
		of += float64(nb.Similarity * used)
		won += float64(nb.Similarity * (used - valueOf(g.misled, t)))
	}
	return against(uses-misled, uses, usual), against(won, of, usualVotes)
}

// valueOf is the value of a label, 0 where the list lacks it. Lists have a handful of entries.
func valueOf(list []labels.Label, t int32) float64 {
	for _, l := range list {
		if l.Label == t {
			return l.Value
		}
	}
	return 0
}

// selectOutcomes decides whether outcomes are used: whether failed requests are excluded from training, and tools
// that failed are less likely. They do where that ranks the tools of requests that succeeded clearly better.
func (f *fit) selectOutcomes() {
	if f.failed == 0 {
		return
	}
	if f.outcomeGain() > clearGain {
		for _, q := range f.all {
			if g := &f.groups[q.own]; g.failed < 1 {
				for t, used := range q.mine {
					q.mine[t] = (used - valueOf(g.misled, t)) / (1 - g.failed)
				}
			}
		}
		return
	}
	f.failed = 0
	for i := range f.groups {
		f.groups[i].failed, f.groups[i].misled = 0, nil
	}
	places := columns(baseNames, outcomeNames)
	for _, q := range f.all {
		for _, x := range q.table.f {
			for _, k := range places {
				x[k] = 0
			}
		}
	}
}

// outcomeGain is what counting outcomes gains either half of the requests that succeeded, by weights fitted to the other
// half, in average precision: the mean gain in standard errors of it. Requests that failed belong to both halves.
func (f *fit) outcomeGain() float64 {
	var halves [2][]*request
	var failed []*request
	for k, q := range f.sample {
		if f.groups[q.own].failed > .5 {
			failed = append(failed, q)
		} else {
			halves[k%2] = append(halves[k%2], q)
		}
	}
	if len(failed) < leastEach || min(len(halves[0]), len(halves[1])) < leastEach {
		return math.Inf(-1)
	}
	var gains []float64
	for h, asked := range halves {
		heeding := f.regress(f.scores(halves[1-h]), penalty)
		d := f.scores(append(failed[:len(failed):len(failed)], halves[1-h]...))
		clearColumns(&d, columns(baseNames, outcomeNames))
		alike := f.regress(d, penalty)
		if heeding == nil || alike == nil {
			return math.Inf(-1)
		}
		gain := make([]float64, len(asked))
		f.each(len(asked), func(i int) { gain[i] = asked[i].precision(heeding) - asked[i].precision(alike) })
		gains = append(gains, gain...)
	}
	return standard(gains)
}

// columns are the places of some names among all.
func columns(all, some []string) []int {
	at := make([]int, len(some))
	for i, name := range some {
		at[i] = slices.Index(all, name)
	}
	return at
}

// clearColumns makes features say nothing: what never varies gets no slope.
func clearColumns(d *logit.Data, columns []int) {
	if len(columns) == 0 {
		return
	}
	d.Unshare()
	for i := range d.Y {
		for _, k := range columns {
			d.X[i*d.P+k] = 0
		}
	}
}
