package next

import (
	"math"
	"slices"

	"waymark/internal/numeric"
	"waymark/learn/calibrate"
	"waymark/learn/choice"
)

// Predictions are the predicted probabilities of the top-ranked tool at held-out steps, by weights fitted on the other steps, and
// whether it was the next: what a calibration is fitted on. Asked are steps of tasks with a request only.
type Predictions struct{ Plain, Asked []calibrate.Prediction }

const (
	steps = 80 // of the search for weights

	// Penalties of a signal's weight and of its differences by evidence; those by use are held
	// like the weight itself.
	tight, tighter = 15, 45

	young = 50   // up to this many steps the penalties are scaled up instead of being selected
	few   = 2000 // up to this many steps the penalties are selected by held-out likelihood
	many  = 5000 // steps, from which on half of them teach about as much as all
)

var looser = [...]float64{.4, 2.5, 10, 40}

// Fit learns weights from a history. Steps of tasks are predicted from other tasks: with times from
// tasks earlier than their block of a tenth, the last five blocks in turn; else from the tasks outside
// their fifth (their third in a long history), chosen by [Task].Group. So no task sees itself, nor its
// like where requests repeat. At most about 6,000 steps are predicted, from the newest tasks that have
// 200,000 together.
//
// The predictions are those of held-out steps: the predicted steps are quartered by group or block, and each quarter is
// predicted by weights fitted on the others. Where there are many steps, each half is predicted by weights fitted on the
// other, which is faster. Fit calls stop often, from several goroutines,
// and returns no weights soon after it returns true.
func Fit(c Catalog, tasks []*Task, timed bool, stop func() bool) (Weights, Predictions) {
	return FitFrom(priorBelief(), c, tasks, timed, stop)
}

// FitFrom is [Fit] with a prior of the caller's.
func FitFrom(prior Belief, c Catalog, tasks []*Task, timed bool, stop func() bool) (Weights, Predictions) {
	w, claims := gather(c, apart(newest(tasks)), timed, stop).learn(prior)
	if stop() {
		return Weights{}, Predictions{}
	}
	return w, claims
}

// fewGroups is how many groups of tasks it takes to predict each from the others. Where there are fewer, the same few
// tasks come again and again, and held out as groups they would teach that nothing known ever comes.
const fewGroups = 10

// apart makes each task its own group where there are few groups.
func apart(tasks []*Task) []*Task {
	groups := map[uint64]bool{}
	for _, t := range tasks {
		if groups[t.Group] = true; len(groups) == fewGroups {
			return tasks
		}
	}
	alone := make([]*Task, len(tasks))
	for i, t := range tasks {
		task := *t
		task.Group = uint64(i)
		alone[i] = &task
	}
	return alone
}

// learn fits the weights without and with a request.
func (g *trainingSet) learn(prior Belief) (Weights, Predictions) {
	w, claims := Weights{slices.Clone(prior.Mean.Plain), slices.Clone(prior.Mean.Asked)}, Predictions{}
	if g.choices.Len() == 0 {
		return w, claims
	}
	plain := g.fit(w.Plain, prior.Hold.Plain)
	claims.Plain = g.predictions(plain.others, false)
	if !slices.Contains(g.asked, true) {
		for k := range signalCount {
			if !k.OfRequest() {
				copy(w.Asked[int(k)*parts:int(k+1)*parts], plain.weights[int(k)*parts:])
			}
		}
		w.Plain = plain.weights
		return w, claims
	}
	asked := g.fit(w.Asked, prior.Hold.Asked)
	g.shrink(&asked, plain)
	claims.Asked = g.predictions(asked.others, true)
	return Weights{plain.weights, asked.weights}, claims
}

// newest are the last tasks that have newSteps steps together.
func newest(tasks []*Task) []*Task {
	total := 0
	for i := len(tasks) - 1; i >= 0; i-- {
		if total += len(tasks[i].Tools); total > newSteps {
			return tasks[i+1:]
		}
	}
	return tasks
}

// A fitted holds weights, and those fitted on a part.
type fitted struct {
	weights []float64
	penalty []float64
	halves  [2][]float64 // on either half alone
	others  [4][]float64 // without each quarter, to claim it
	near    bool         // fitted on what is listed alone
	rank    float64      // sum of the reciprocal ranks of each half by the weights fitted on the other
	loss    float64      // negative log-likelihood of the same
}

// fit finds the weights, in the way that serves either half best when fitted on the other. First it
// is asked whether steps count whose tool is not listed. They teach to look far, which finds tools hardly
// used before; where many come out of the blue, they teach distrust in what is known. What decides is the
// mean reciprocal rank. Then a short history chooses its penalties, by the likelihood; a very short one keeps
// nearer to the prior.
func (g *trainingSet) fit(prior, base []float64) fitted {
	n := g.choices.Len()
	if n < young {
		base = scalePenalties(base, math.Sqrt(young/float64(n)))
	}
	far := g.try([2][]float64{prior, prior}, prior, base, false)
	near := g.try(far.halves, prior, base, true)
	best := far
	if near.rank > far.rank {
		best = near
	}
	if n >= young && n <= few {
		for _, factor := range looser {
			p := make([]float64, len(base))
			for i, x := range base {
				p[i] = factor * x
			}
			if f := g.try(best.halves, prior, p, best.near); f.loss < best.loss {
				best = f
			}
		}
	}
	start := between(best.halves[0], best.halves[1], .5)
	on := func(takes func(quarter uint8) bool, start []float64) []float64 {
		return choice.FitFrom(g.choices, g.part(takes, best.near), start, prior, best.penalty, steps, g.stop).Weights
	}
	best.weights = on(every, start)
	for q := range best.others {
		if best.others[q] = best.halves[1-q&1]; g.choices.Len() < many {
			best.others[q] = on(func(quarter uint8) bool { return int(quarter) != q }, best.weights)
		}
	}
	return best
}

// scalePenalties multiplies penalties, but for the weights that say whether tools repeat: one task can show that.
func scalePenalties(base []float64, factor float64) []float64 {
	out := slices.Clone(base)
	for i := range out {
		switch Signal(i / parts) {
		case signalPopularity, signalRepeat, signalRepeatSoon, signalRepeatLate, signalAgain:
		default:
			out[i] *= factor
		}
	}
	return out
}

// every includes every quarter.
func every(uint8) bool { return true }

// half includes the quarters of a half.
func half(q int) func(quarter uint8) bool {
	return func(quarter uint8) bool { return int(quarter&1) == q }
}

// try fits on either half, from where each starts, and looks at the other.
func (g *trainingSet) try(start [2][]float64, prior, penalty []float64, near bool) fitted {
	f := fitted{near: near, penalty: penalty}
	for q := range f.halves {
		f.halves[q] = choice.FitFrom(g.choices, g.part(half(q), near), start[q], prior, penalty, steps, g.stop).Weights
	}
	f.loss = g.loss(f.halves, near)
	f.rank = g.reciprocal(f.halves)
	return f
}

// reciprocal is the sum of the reciprocal ranks of the tools taken, each half by the weights fitted on
// the other. Few of those above are among the samples, so what they stand for is the mean over all
// steps whose tool is listed, or is not: single steps would count as first by luck.
func (g *trainingSet) reciprocal(halves [2][]float64) float64 {
	above := make([]float64, len(g.quarters))
	var samples, n [2]float64
	group := func(i int) int { return min(g.first[i].taken, 0) + 1 }
	for i, quarter := range g.quarters {
		candidates, more := g.choices.Above(i, halves[1-quarter&1])
		above[i] = candidates
		samples[group(i)] += more
		n[group(i)]++
	}
	sum := 0.0
	for i, x := range above {
		sum += 1 / (1 + x + samples[group(i)]/n[group(i)])
	}
	return sum
}

// loss is that of each half by the weights fitted on the other.
func (g *trainingSet) loss(halves [2][]float64, near bool) float64 {
	return g.choices.Loss(halves[0], g.part(half(1), near)) + g.choices.Loss(halves[1], g.part(half(0), near))
}

// part is some of the quarters; near leaves out all that is not listed.
func (g *trainingSet) part(takes func(quarter uint8) bool, near bool) choice.Part {
	include := make([]bool, len(g.quarters))
	for i, quarter := range g.quarters {
		include[i] = takes(quarter) && !(near && g.first[i].taken < 0)
	}
	return choice.Part{Include: include, NoSamples: near}
}

// shrink interpolates the weights with those fitted without the request by held-out loss: a request
// is not heard where it only misleads. It returns how far they stay.
func (g *trainingSet) shrink(asked *fitted, plain fitted) (share float64) {
	best, least := 1.0, math.Inf(1)
	for share := 4; share >= 0; share-- {
		x := float64(float64(share) / 4)
		halves := [2][]float64{between(plain.halves[0], asked.halves[0], x), between(plain.halves[1], asked.halves[1], x)}
		if loss := g.loss(halves, asked.near); loss < least {
			best, least = x, loss
		}
	}
	asked.weights = between(plain.weights, asked.weights, best)
	for q := range asked.others {
		asked.others[q] = between(plain.others[q], asked.others[q], best)
	}
	return best
}

// between is (1-x)·a + x·b.
func between(a, b []float64, x float64) []float64 {
	out := make([]float64, len(a))
	numeric.Axpy(1-x, a, out)
	numeric.Axpy(x, b, out)
	return out
}

// predictions are the claims of each quarter by the weights fitted without it. Each block of time counts half as
// much as the next: what a model claims too surely changes with what it is asked.
func (g *trainingSet) predictions(others [4][]float64, asked bool) []calibrate.Prediction {
	var out []calibrate.Prediction
	for i, first := range g.first {
		if asked && !g.asked[i] {
			continue
		}
		scores := g.choices.Scores(i, others[g.quarters[i]])
		top := 0
		for j := range first.listed {
			if scores[j] > scores[top] {
				top = j
			}
		}
		all, z := slices.Max(scores), 0.0
		for _, s := range scores {
			z += numeric.Exp(s - all)
		}
		out = append(out, calibrate.Prediction{P: numeric.Exp(scores[top]-all) / z, Right: top == first.taken, Age: float64(g.age[i])})
	}
	return out
}
