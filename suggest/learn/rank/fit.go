package rank

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"waymark/internal/numeric"
	"waymark/suggest/learn"
)

// Options of a fit.
type Options struct {
	Without  string             // a group of rows that is left out, to see what it is worth
	Stop     func() bool        // ends the fit soon after it returns true; nil: never
	Progress func(done float64) // receives the fraction done, from 0 to 1; may be nil
}

// Model ranks tools. It is immutable and safe for concurrent use.
type Model struct {
	history *History
	*Fitted
}

// Fitted is what a fit learned. All else that a model knows is counted.
type Fitted struct {
	find  ranker // conditional: what a request asks for
	needs ranker // one by one: whether a task for the request uses a tool
	next  ranker // conditional: what comes next

	planner *planner
}

// Ranked is a tool with its log-odds.
type Ranked struct {
	Tool  int32
	Score float64
}

// Fit learns from the tasks. Tasks of one Group are no evidence for one another, unless they are a habit ([recurring]).
// It returns nil soon after o.Stop returns true.
func Fit(texts *Texts, tasks []*Task, o Options) *Model {
	if o.Stop == nil {
		o.Stop = func() bool { return false }
	}
	if o.Progress == nil {
		o.Progress = func(float64) {}
	}
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(t *Task) bool { return len(t.Steps) == 0 })
	texts = texts.read(tasks)
	texts.without = o.Without
	foldTasks(tasks)
	var without [folds]*History
	for f := range folds {
		var kept []*Task
		for _, t := range tasks {
			if t.fold != f {
				kept = append(kept, t)
			}
		}
		if without[f] = Count(texts, kept, o.Stop); without[f] == nil {
			return nil
		}
	}
	m := &Model{history: Count(texts, tasks, o.Stop), Fitted: &Fitted{}}
	if m.history == nil {
		return nil
	}
	x := mixture{texts: texts, tasks: tasks, random: rand.New(rand.NewPCG(1, 0)), words: newRewording(texts, tasks, m.history), pairs: [2]*cases{{}, {}}}
	o.Progress(.2)
	if !x.draw(without, m.history, o) {
		return nil
	}
	find, needs, next := x.rows(o)
	o.Progress(.5)
	if !m.next.fit(next, o.Stop) {
		return nil
	}
	finders, ok := m.find.fitHalves(find, priorFind, o.Stop)
	if !ok {
		return nil
	}
	o.Progress(.7)
	if !slices.ContainsFunc(tasks, func(t *Task) bool { return t.Intent != "" }) {
		m.needs, m.planner = Prior().needs, newPlanner() // foreign requests alone teach that nothing is ever needed
		return m
	}
	numeric.Each(len(needs.Questions), func(q int) {
		from, to := needs.question(q)
		finders[needs.folds[from]%2].setFound(needs.Values[from*int(rows):to*int(rows)], needs.times[from:to])
	})
	needs.Questions = nil
	halves, ok := m.needs.fitHalves(needs, priorNeeds, o.Stop)
	o.Progress(.9)
	if !ok || !m.fitPlans(x.plans, finders, halves, x.pairs, o) {
		return nil
	}
	return m
}

// On returns the model of what was fitted before, on tasks and tools as they are. It returns nil soon after stop returns true.
func (f *Fitted) On(texts *Texts, tasks []*Task, stop func() bool) *Model {
	h := Count(texts.read(tasks), tasks, stop)
	if h == nil {
		return nil
	}
	return &Model{h, f}
}

// Prior is what answers while nothing is fitted: the reference, and chances that are only guessed.
func Prior() *Fitted {
	unfitted := func(from start) ranker {
		return ranker{start: from, trees: &learn.Trees{}, curves: [2]*learn.Curve{{}, {}}}
	}
	f := &Fitted{find: unfitted(priorFind), needs: unfitted(priorNext), next: unfitted(priorNext), planner: newPlanner()}
	f.needs.start.recalls = true
	return f
}

// WithPrior is the model with what answers while nothing is fitted.
func (m *Model) WithPrior() *Model { return &Model{m.history, Prior()} }

// Effect is that of a tool, as annotated or by its first verb.
func (m *Model) Effect(tool int32) Effect { return m.history.texts.actions[tool].effect }

// fewQuestions is how many questions leave open whether all of them are needed for the trees. Of more, a fold is kept to
// choose the number of trees and to calibrate.
const fewQuestions = 2_500

// ranker gives a row of the table its log-odds: the calibrated reference and what trees add to it.
type ranker struct {
	start start
	trees *learn.Trees

	// familiar is how like the nearest past request of a tenth of the recorded requests is at most, 0 where that does not matter.
	// Of a request that is less like any, trees know little: they count by (likeness/familiar)².
	familiar float64

	sure   *learn.Logit    // of what a request asks for: the chance of a tool; nil: by its score
	curves [2]*learn.Curve // from claimed chances to those that held; for what comes next with a request a second one
}

// begin calibrates the start and lets the trees go on from it.
func (r *ranker) begin(x *examples, from start) {
	r.start = from.calibrate(x)
	x.Margin = make([]float32, x.Len())
	for i := range x.Margin {
		x.Margin[i] = float32(r.start.of(x.row(i)))
		if x.Questions != nil { // as many rows with equal scores compete
			x.Margin[i] += float32(numeric.Ln(float64(x.times[i])))
		}
	}
}

// setFound computes the row Found of the rows of a question; times says how many each stands for, nil for one.
func (r *ranker) setFound(values, times []float32) {
	score := make([]float64, len(values)/int(rows))
	for i := range score {
		score[i] = r.score(values[i*int(rows) : (i+1)*int(rows)])
	}
	sum, most := 0.0, slices.Max(append(score, -1e9))
	for i, s := range score {
		score[i] = numeric.Exp(s - most)
		sum += float64(float64(valueAt(times, int32(i), 1)) * score[i])
	}
	for i, s := range score {
		values[i*int(rows)+int(Found)] = float32(ln(s / sum))
	}
}

// fitHalves fits a ranker for requests, and before it one on each half of the tasks: what halves[h] says of half h is no
// memory. The number of trees is chosen and chances are calibrated on that.
func (r *ranker) fitHalves(x *examples, from start, stop func() bool) (halves [2]*ranker, ok bool) {
	r.begin(x, from)
	if x.Questions != nil {
		r.familiarise(x)
	}
	var claims []learn.Prediction
	var whole learn.TreeOptions
	for h := range halves {
		part := &ranker{start: r.start, familiar: r.familiar}
		held := x.which(func(i int) bool { return x.folds[i]%2 == h })
		if part.trees = learn.FitTrees(&x.Rows, held, learn.TreeOptions{}, stop); part.trees == nil {
			return halves, false
		}
		if x.Questions == nil {
			own := part.claims(x, held)[0]
			part.curves[0] = learn.FitCurve(own)
			claims = append(claims, own...)
		}
		halves[h] = part
		whole.Trees += (part.trees.Len() + 1) / 2
	}
	r.curves, r.trees = [2]*learn.Curve{learn.FitCurve(claims), {}}, &learn.Trees{}
	if x.Questions != nil {
		r.fitSure(x, halves)
	}
	if whole.Trees > 0 {
		r.trees = learn.FitTrees(&x.Rows, nil, whole, stop)
	}
	return halves, r.trees != nil
}

// fit fits the ranker of what comes next.
func (r *ranker) fit(x *examples, stop func() bool) bool {
	r.begin(x, priorNext)
	var o learn.TreeOptions
	held := x.which(func(i int) bool { return x.folds[i] == 0 }) // the number of trees is chosen on one fold
	r.trees = learn.FitTrees(&x.Rows, held, o, stop)
	if r.trees == nil {
		return false
	}
	claims := r.claims(x, held)
	r.curves[0], r.curves[1] = learn.FitCurve(claims[0]), learn.FitCurve(claims[1])
	few := len(x.folds) < fewQuestions
	if o.Trees = r.trees.Len(); few && o.Trees > 0 {
		r.trees = learn.FitTrees(&x.Rows, nil, o, stop)
	}
	return r.trees != nil
}

// leastClaim is the chance below which rows say little of how sure the ranker is.
const leastClaim = .01

// claims are the chances that the ranker gives to what was held out, and what became of them.
func (r *ranker) claims(x *examples, held []bool) (claims [2][]learn.Prediction) {
	for i, held := range held {
		switch {
		case !held || x.kinds[i] == cold:
		case x.Questions == nil:
			if p := Chance(r.score(x.row(i))); p >= leastClaim {
				claims[0] = append(claims[0], learn.Prediction{P: p, Right: x.Right[i] > 0})
			}
		case x.kinds[i] == recorded:
			list, sum := r.ordered(x, i)
			first := list[0].Tool
			k := int(x.row(int(first))[HasRequest])
			claims[k] = append(claims[k], learn.Prediction{P: 1 / sum, Right: x.Right[first] > 0})
		}
	}
	return claims
}

// shares are the chances of tools of which one comes next, by their log-odds: e^score/Σ e^score.
func shares(list []Ranked) []float64 {
	p, sum := make([]float64, len(list)), 0.0
	for i, r := range list {
		p[i] = numeric.Exp(r.Score - list[0].Score)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func (r *ranker) score(row []float32) float64 {
	return r.start.of(row) + float64(trust(row[Nearest], r.familiar)*r.trees.Score(row))
}

// trust is how far trees count for a request with that likeness of the nearest one, in [0, 1].
func trust(nearest float32, familiar float64) float64 {
	likeness := float64(nearest)
	if likeness >= familiar {
		return 1
	}
	return float64(likeness*likeness) / float64(familiar*familiar)
}

// contribute adds what the trees make of each row to parts, and returns what they add to any tool.
func (r *ranker) contribute(parts []float64, row []float32) float64 {
	own, trust := make([]float64, rows), trust(row[Nearest], r.familiar)
	bias := float64(trust * r.trees.Contributions(own, row))
	for k, v := range own {
		parts[k] += float64(trust * v)
	}
	return bias
}

// familiarise notes how like past requests the recorded ones are. Without any, no request is familiar.
func (r *ranker) familiarise(x *examples) {
	var likeness []float64
	for q, k := range x.kinds {
		if k == recorded {
			from, _ := x.question(q)
			likeness = append(likeness, float64(x.row(from)[Nearest]))
		}
	}
	r.familiar = 1
	if slices.Sort(likeness); len(likeness) > 0 {
		r.familiar = likeness[len(likeness)/10]
	}
}

// recurring is the part of all tasks from which on near copies of one request are a habit: they will come again, so they
// are evidence for one another.
const recurring = .05

// foldTasks gives each task its fold: tasks of a group have the same one, unless they are a habit.
func foldTasks(tasks []*Task) {
	size := map[uint64]int{}
	for _, t := range tasks {
		size[t.Group]++
	}
	met := map[uint64]uint64{}
	for _, t := range tasks {
		t.fold = int(t.Group % folds)
		if float64(size[t.Group]) > recurring*float64(len(tasks)) {
			t.fold = int((t.Group%folds + met[t.Group]) % folds)
			met[t.Group]++
		}
	}
}

// Prepare does what the first explanation would wait for.
func (m *Model) Prepare() {
	for _, r := range []*ranker{&m.find, &m.needs, &m.next} {
		r.trees.Prepare()
	}
}

// Over is the chance that a task ends after a context.
func (m *Model) Over(context []int32) float64 { return m.history.over(context) }

// Answer is a ranking, the likeliest first, with what it comes from.
type Answer struct {
	Ranked  []Ranked
	Chances []float64 // calibrated, falling
	sequel  bool      // one of the tools comes next; otherwise each has a chance of its own
	claim   float64   // of a sequel, the uncalibrated chance of the likeliest
	curve   *learn.Curve
	ranker  *ranker
	slope   float64 // of the reference
	finder  *ranker // of a plan, that of its row Found, if it starts from that
	table   *Table
	near    []learn.Neighbour // past requests that vote
	more    map[int32]float64 // by tool, what outcomes add

	explained map[int32]Explanation // by tool, those that were asked for
}

// Next ranks what may come next in a situation. Without a context that is what the request asks for.
func (m *Model) Next(s Situation) *Answer {
	if len(s.Context) == 0 {
		return m.Find(s)
	}
	a := m.ask(s, &m.next)
	if len(a.Ranked) == 0 {
		return a
	}
	if s.Intent != "" {
		a.curve = m.next.curves[1]
	}
	a.sequel = true
	a.chances()
	return a
}

// Adjust adds what outcomes say of each tool to the reference: slope·outcomes(tool), and a factor of the odds.
func (a *Answer) Adjust(outcomes func(tool int32) (adds, factor float64)) {
	a.more = map[int32]float64{}
	for i := range a.Ranked {
		adds, factor := outcomes(a.Ranked[i].Tool)
		more := float64(a.slope*adds) + numeric.Ln(factor)
		a.more[a.Ranked[i].Tool] = more
		a.Ranked[i].Score += more
	}
	slices.SortFunc(a.Ranked, better)
	a.chances()
}

// Chance returns the calibrated chance that goes with a score. Of what comes next, the chance of the likeliest is
// calibrated, and the others divide what is left as they did before.
func (a *Answer) Chance(score float64) float64 {
	if len(a.Ranked) == 0 {
		return 0
	}
	if !a.sequel {
		return a.ranker.chance(score, a.table.row(0))
	}
	p := float64(a.claim * numeric.Exp(score-a.Ranked[0].Score))
	first := a.curve.At(a.claim)
	if p >= a.claim || a.claim == 1 {
		return first
	}
	return min(first, float64(p*(1-first))/(1-a.claim))
}

func (a *Answer) chances() {
	if a.Chances = a.Chances[:0]; a.sequel && len(a.Ranked) > 0 {
		a.claim = shares(a.Ranked)[0]
	}
	for _, r := range a.Ranked {
		a.Chances = append(a.Chances, a.Chance(r.Score))
	}
}

// Reference ranks by the reference alone, whose score is the log-odds: all that it may rank high, not only what a ranker that
// was fitted would look at.
func (m *Model) Reference(s Situation) *Answer {
	s.all = true
	return m.ask(s, &ranker{start: start{slope: 1, by: Reference}, trees: &learn.Trees{}, curves: [2]*learn.Curve{{}, {}}})
}

// Find ranks the tools that a request asks for by themselves. The context, if any, only says what is near.
func (m *Model) Find(s Situation) *Answer { return m.ask(s, &m.find) }

func (m *Model) ask(s Situation, by *ranker) *Answer {
	a := &Answer{ranker: by, curve: by.curves[0], slope: by.start.slope, explained: map[int32]Explanation{}}
	var r *request
	if s.Intent != "" {
		r = m.history.request(s.Intent, &s)
		defer r.close()
		a.near = r.voters()
	}
	a.table = m.history.table(asked{s.Context, r, -1, &s})
	for i, tool := range a.table.Tools {
		a.Ranked = append(a.Ranked, Ranked{tool, by.score(a.table.row(i))})
	}
	a.Ranked = best(a.Ranked, len(a.Ranked))
	a.chances()
	return a
}

// Used returns how many of the past requests that vote in an answer used a tool, and their number.
func (m *Model) Used(a *Answer, tool int32) (used, of int) {
	for _, v := range a.near {
		if slices.Contains(m.history.tasks[m.history.asked[v.Row]].needs(), tool) {
			used++
		}
	}
	return used, len(a.near)
}

// Recalled reports whether past requests make more of the row match of a tool than its text.
func (a *Answer) Recalled(tool int32) bool {
	return matchNeed*need(a.Value(tool, Ridge), a.Value(tool, Votes)) > max(a.Value(tool, Text), vectorWeight*a.Value(tool, Vectors))
}

// Low is what a chance is at least, in 90 % of the cases that were held out.
func (a *Answer) Low(chance float64) float64 { return a.curve.Low(chance) }

// Value returns a row of the table for a tool; 0 for one that is no candidate.
func (a *Answer) Value(tool int32, k Row) float64 {
	if i, ok := slices.BinarySearch(a.table.Tools, tool); ok {
		return float64(a.table.row(i)[k])
	}
	return 0
}

func better(a, b Ranked) int {
	switch { // scores are never NaN
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return cmp.Compare(a.Tool, b.Tool)
}

// best returns the k best, by falling score and then by number. It changes the list.
func best(list []Ranked, k int) []Ranked {
	top := list[:min(k, len(list))]
	slices.SortFunc(top, better)
	for _, x := range list[len(top):] {
		top = numeric.Keep(top, k, x, better)
	}
	return top
}

// Explanation is a score as a sum: Bias + Slope·Score + Outcomes + Σ Groups.
type Explanation struct {
	Row                Row                // that the score starts from: the reference, or the match
	Score, Slope, Bias float64            // its value, and the calibration
	Outcomes           float64            // what outcomes add; see [Answer.Adjust]
	Groups             map[string]float64 // what the trees add, by group of rows; see [Groups]
}

// Explain returns the parts of the score of a tool, which are computed once; false if the tool is no candidate.
func (a *Answer) Explain(tool int32) (e Explanation, ok bool) {
	i, ok := slices.BinarySearch(a.table.Tools, tool)
	if !ok {
		return e, false
	}
	if e, ok := a.explained[tool]; ok {
		return e, true
	}
	e.Groups = map[string]float64{}
	parts := make([]float64, rows)
	row := a.table.row(i)
	e.Row, e.Slope, e.Bias = a.ranker.start.by, a.slope, a.ranker.start.bias
	if a.finder != nil {
		e.Row = a.finder.start.by
		e.Bias += float64(a.ranker.start.slope * (float64(row[Found]) - a.finder.score(row) + a.finder.start.bias + a.finder.contribute(parts, row)))
		for k := range parts {
			parts[k] *= a.ranker.start.slope
		}
	}
	e.Score = float64(row[e.Row])
	e.Bias += a.ranker.contribute(parts, row)
	e.Outcomes = a.more[tool]
	if start := a.ranker.start; start.recalls {
		e.Groups[Features[Votes].Group] = start.of(row) - start.bias - float64(start.slope*e.Score)
	}
	for k, v := range parts {
		e.Groups[Features[k].Group] += v
	}
	a.explained[tool] = e
	return e, true
}

// Chance returns the probability of log-odds.
func Chance(score float64) float64 { return 1 / (1 + numeric.Exp(-score)) }

// Followed returns how often something followed a tool, and FollowedBy how often another did.
func (m *Model) Followed(tool int32) float64 { return float64(m.history.order[0].of(key(tool)).total) }

// FollowedBy is described at [Model.Followed].
func (m *Model) FollowedBy(tool, next int32) float64 {
	return m.history.order[0].of(key(tool)).count(next)
}
