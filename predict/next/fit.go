package next

import (
	"cmp"
	"slices"

	"waymark/numeric"
	"waymark/predict/choice"
)

// Weights are what each signal is worth. Plain is for situations without a request.
type Weights struct{ Plain, Asked []float64 }

const (
	parts    = 8 // of a signal: its own weight, 4 of evidence, 3 of use
	evidence = 1
	use      = 5

	positions = 6000 // about as many steps are fitted on, at most
	listed    = 48   // candidates of each
	folds     = 5
	blocks    = 10
	steps     = 80 // of the search for weights

	// Penalties of a signal's weight and of its differences by evidence; those by use are held
	// like the weight itself. Chosen on held-out training tasks of the smallest sets (500 to 900 steps).
	tight, tighter = 15, 45
)

// prior is what signals are worth before anything was learned: chosen by hand, near what the fits to
// training tasks of several sets have in common.
var prior = map[Signal]float64{Popularity: .7, Chain: .55, Bag: .1, Skips: .1, Branches: .1, Tail: .05, Server: .05,
	Alike: .1, Asked: .4, PastNext: .1, PastRest: .1, Words: .1}

// OfRequest tells whether a signal needs a request.
func (k Signal) OfRequest() bool { return k >= Asked && k != Residual && k < Signals }

// Prior are the weights of a history that is too short to fit any.
func Prior() Weights {
	asked := make([]float64, int(Signals)*parts)
	for k, w := range prior {
		asked[int(k)*parts] = w
	}
	plain := slices.Clone(asked)
	for k := range Signals {
		if k.OfRequest() {
			plain[int(k)*parts] = 0
		}
	}
	return Weights{plain, asked}
}

// Weight is what signal k is worth for a tool that the prefix used as said: 0 never, 1 before, 2 last.
func Weight(w []float64, k Signal, level, used uint8) float64 {
	w = w[int(k)*parts : int(k+1)*parts]
	return w[0] + w[evidence+int(level)] + w[use+int(used)]
}

// Used is how the prefix used the i-th tool of the signs: 0 never, 1 before, 2 last.
func (s *Signs) Used(i int) uint8 {
	switch uses, age := s.prefix.Used(s.Tools[i]); {
	case uses == 0:
		return 0
	case age == 0:
		return 2
	}
	return 1
}

// worth is the weight of each signal for tools of each use, in this situation.
func (s *Signs) worth(w []float64, out *[3][Signals]float64) {
	for used := range out {
		for k := range Signals {
			out[used][k] = Weight(w, k, s.Evidence[k], uint8(used))
		}
	}
}

// Score is Σ_k weight·signal of the i-th tool of the signs, each product a term that can be shown.
func (s *Signs) Score(w []float64, i int) float64 {
	used, sum := s.Used(i), 0.0
	for k, x := range s.Values[i] {
		if x != 0 {
			sum += float64(Weight(w, Signal(k), s.Evidence[k], used) * float64(x))
		}
	}
	return sum
}

// Fit learns weights from a history. Steps of tasks are predicted from other tasks: with times from
// tasks earlier than their block of a tenth, the last five blocks in turn; else from the tasks outside
// their fifth, chosen by [Task].Group. So no task sees itself, nor its like where requests repeat.
func Fit(c Catalog, tasks []*Task, timed bool) Weights {
	total := 0
	for _, t := range tasks {
		total += max(len(t.Tools)-1, 0)
	}
	share := float64(positions) / float64(max(total, 1))
	fold := make([]int, len(tasks))
	done := 0
	for i, t := range tasks {
		fold[i] = int(mix(t.Group) % folds)
		if timed {
			fold[i] = min(blocks*done/max(total, 1), blocks-1)
		}
		done += max(len(t.Tools)-1, 0)
	}
	var f fitting
	if timed {
		share *= 2
		h := NewHistory(c)
		next := 0
		for b := blocks / 2; b < blocks; b++ {
			for ; next < len(tasks) && fold[next] < b; next++ {
				h.Observe(tasks[next])
			}
			f.predict(h, tasks, fold, b, share)
		}
	} else {
		for b := range folds {
			h := NewHistory(c)
			for i, t := range tasks {
				if fold[i] != b {
					h.Observe(t)
				}
			}
			f.predict(h, tasks, fold, b, share)
		}
	}
	w := Prior()
	penalty := make([]float64, len(w.Plain))
	for i := range penalty {
		if penalty[i] = tight; i%parts >= evidence && i%parts < use {
			penalty[i] = tighter
		}
	}
	w.Plain = choice.Fit(&f.plain, w.Plain, penalty, steps).Weights
	w.Asked = choice.Fit(&f.asked, w.Asked, penalty, steps).Weights
	return w
}

// fitting gathers choices, each with and without the signals of the request.
type fitting struct {
	plain, asked choice.Choices
	signs        Signs
	index        []int32
	value        []float32
	order        []placed
}

type placed struct {
	row   int32
	score float64
}

// predict adds steps of the tasks of one fold as the history foresees them.
func (f *fitting) predict(h *History, tasks []*Task, fold []int, b int, share float64) {
	s := &f.signs
	for i, t := range tasks {
		if fold[i] != b {
			continue
		}
		var r *Request
		for n := 1; n < len(t.Tools); n++ {
			if float64(mix(uint64(i)<<20+uint64(n))>>11)/(1<<53) > share {
				continue
			}
			if r == nil && len(t.Request) > 0 {
				r = h.Ask(t.Request, t.Text)
			}
			h.Signs(t.Tools, t.Parents, n, r, s)
			f.choose(t.Tools[n])
		}
	}
}

// choose adds the situation of f.signs, where tool was taken, if it is among the candidates listed.
func (f *fitting) choose(tool int32) {
	s := &f.signs
	f.order = f.order[:0]
	for i := range s.Tools {
		v := &s.Values[i]
		quick := float64(v[Popularity]) + float64(v[Chain]) + float64(.5*float64(v[Bag])) + float64(.3*float64(v[Tail])) + float64(.5*float64(v[Words])) +
			float64(.3*float64(v[PastNext])) + float64(.3*float64(v[Branches])) + float64(v[Asked])
		f.order = append(f.order, placed{int32(i), quick})
	}
	slices.SortFunc(f.order, func(a, b placed) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(s.Tools[a.row], s.Tools[b.row]))
	})
	f.order = f.order[:min(len(f.order), listed)]
	taken := slices.IndexFunc(f.order, func(p placed) bool { return s.Tools[p.row] == tool })
	if taken < 0 {
		return
	}
	for _, p := range f.order {
		f.list(int(p.row), &f.plain, false)
		f.list(int(p.row), &f.asked, true)
	}
	f.plain.Taken(taken, 1)
	f.asked.Taken(taken, 1)
}

func (f *fitting) list(row int, c *choice.Choices, asked bool) {
	s := &f.signs
	used := int32(s.Used(row))
	f.index, f.value = f.index[:0], f.value[:0]
	for k, x := range s.Values[row] {
		if x == 0 || !asked && Signal(k).OfRequest() {
			continue
		}
		at := int32(k * parts)
		f.index = append(f.index, at, at+evidence+int32(s.Evidence[k]), at+use+used)
		f.value = append(f.value, x, x, x)
	}
	c.Candidate(f.index, f.value)
}

// mix spreads bits (the finaliser of MurmurHash3).
func mix(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// A Ranked tool with its score and probability.
type Ranked struct {
	Tool        int32
	Score       float64
	Probability float64
	Row         int // in the signs, -1 if nothing speaks for it
}

// Rank orders all tools for the situation in s: falling score, then more uses, then the smaller
// number. Tools that nothing speaks for have only their popularity.
func (h *History) Rank(s *Signs, w []float64, out []Ranked) []Ranked {
	out = out[:0]
	var worth [3][Signals]float64
	s.worth(w, &worth)
	for i, t := range s.Tools {
		weights, score := &worth[s.Used(i)], 0.0
		for k, x := range s.Values[i] {
			if x != 0 {
				score += float64(weights[k] * float64(x))
			}
		}
		out = append(out, Ranked{Tool: t, Score: score, Row: i})
	}
	fresh := Weight(w, Popularity, s.Evidence[Popularity], 0)
	for t := range int32(h.chain.Tools()) {
		if s.row[t] == 0 {
			out = append(out, Ranked{Tool: t, Score: float64(fresh * numeric.Ln(h.chain.Popularity(t))), Row: -1})
		}
	}
	slices.SortFunc(out, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(h.chain.Uses(b.Tool), h.chain.Uses(a.Tool)), cmp.Compare(a.Tool, b.Tool))
	})
	z := 0.0
	for i := range out {
		out[i].Probability = numeric.Exp(out[i].Score - out[0].Score)
		z += out[i].Probability
	}
	for i := range out {
		out[i].Probability /= z
	}
	return out
}
