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
	Without  string             // group of features that is left out, to measure its contribution
	Stop     func() bool        // ends the fit soon after it returns true; nil: never
	Progress func(done float64) // receives the fraction done, from 0 to 1; may be nil
}

// Model ranks tools. It is immutable and safe for concurrent use.
type Model struct {
	history *History
	*Fitted
}

// Fitted holds all that a fit learned. Everything else in a model is counted from the history.
type Fitted struct {
	find  ranker // conditional model of the tools that a request asks for
	needs ranker // unconditional model of the chance that a task for the request uses a tool
	next  ranker // conditional model of the next tool

	planner *planner
}

// Ranked is a tool or another number with its score, which in an Answer is its log-odds.
type Ranked struct {
	Tool  int32
	Score float64
}

// Fit learns from the tasks. Tasks of one Group are not used as evidence for each other, unless they are a habit
// ([recurring]). Fit returns nil soon after o.Stop returns true.
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
	find, next := x.rows(o)
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
		m.needs, m.planner = Prior().needs, newPlanner() // foreign requests alone would teach that no tool is ever needed
		return m
	}
	halves, ok := m.needs.fitHalves(find.needs(finders), priorNeeds, o.Stop)
	o.Progress(.9)
	if !ok || !m.fitPlans(x.plans, finders, halves, x.pairs, o) {
		return nil
	}
	return m
}

// On returns the model that applies f to the given tasks and tools. It returns nil soon after stop returns true.
func (f *Fitted) On(texts *Texts, tasks []*Task, stop func() bool) *Model {
	h := Count(texts.read(tasks), tasks, stop)
	if h == nil {
		return nil
	}
	return &Model{h, f}
}

// Prior returns the rankers that are used before any fit: they rank by their prior starts, with uncalibrated chances.
func Prior() *Fitted {
	unfitted := func(from start) ranker {
		return ranker{start: from, trees: &learn.Trees{}, curves: [2]*learn.Curve{{}, {}}}
	}
	f := &Fitted{find: unfitted(priorFind), needs: unfitted(priorNext), next: unfitted(priorNext), planner: newPlanner()}
	f.needs.start.recalls = true
	return f
}

// WithPrior returns a model with the same history and the rankers of [Prior].
func (m *Model) WithPrior() *Model { return &Model{m.history, Prior()} }

// Effect returns the effect of a tool: the annotated one, else that of its first verb.
func (m *Model) Effect(tool int32) Effect { return m.history.texts.actions[tool].effect }

// fewQuestions is the number of questions below which the ranker of the next tool is fitted again on all of them. With
// more questions, the fold that served to choose the number of trees and to calibrate stays held out.
const fewQuestions = 2_500

// ranker computes the log-odds of a row of the table: the calibrated start and the score of the trees.
type ranker struct {
	start start
	trees *learn.Trees

	// familiar is the similarity to the nearest past request that all but a tenth of the recorded requests reach; 0
	// disables it. Trees know little of a request that is less similar: their score is multiplied by
	// (similarity/familiar)².
	familiar float64

	sure   *learn.Logit    // model of the chance that a request asks for a tool; nil: the chance of the score
	curves [2]*learn.Curve // calibration of the chances; the second one is for the next tool with a request
}

// begin calibrates the start and sets it as the margin of the rows.
func (r *ranker) begin(x *examples, from start) {
	r.start = from.calibrate(x)
	x.Margin = make([]float32, x.Len())
	for i := range x.Margin {
		x.Margin[i] = float32(r.start.of(x.row(i)))
		if x.Questions != nil { // a row that stands for n candidates competes as n rows with its score
			x.Margin[i] += float32(numeric.Ln(float64(x.times[i])))
		}
	}
}

// setFound computes the feature Found of the rows of a question. times is the number of candidates per row; nil: 1
// each.
func (r *ranker) setFound(values, times []float32) {
	score := make([]float64, len(values)/int(featureCount))
	for i := range score {
		score[i] = r.score(values[i*int(featureCount) : (i+1)*int(featureCount)])
	}
	sum, most := 0.0, slices.Max(append(score, -1e9))
	for i, s := range score {
		score[i] = numeric.Exp(s - most)
		sum += float64(float64(valueAt(times, int32(i), 1)) * score[i])
	}
	for i, s := range score {
		values[i*int(featureCount)+int(Found)] = float32(ln(s / sum))
	}
}

// fitHalves fits a ranker of requests after one for each half of the tasks. The ranker halves[h] is not fitted on half
// h, so its scores there are not memorised. The halves choose the number of trees and calibrate the chances.
func (r *ranker) fitHalves(x *examples, from start, stop func() bool) (halves [2]*ranker, ok bool) {
	r.begin(x, from)
	if x.Questions != nil {
		r.familiarise(x)
	}
	var claims []learn.Prediction
	var whole learn.TreeOptions
	for h := range halves {
		part := &ranker{start: r.start, familiar: r.familiar}
		held := x.mask(func(i int) bool { return x.folds[i]%2 == h })
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

// fit fits the ranker of the next tool.
func (r *ranker) fit(x *examples, stop func() bool) bool {
	r.begin(x, priorNext)
	var o learn.TreeOptions
	held := x.mask(func(i int) bool { return x.folds[i] == 0 }) // the number of trees is chosen on one fold
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

// leastClaim is the chance below which a single row is not used for calibration.
const leastClaim = .01

// claims returns the chances of held-out rows or, with questions, of the best row of each recorded one, [0] without a
// request and [1] with one, and whether these rows were right. Questions of kind cold are left out.
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

// shares returns the chances of tools of which exactly one comes next: e^score/Σ e^score.
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

// trust returns the weight of the trees, in [0, 1], for a request with the given similarity to the nearest past one.
func trust(nearest float32, familiar float64) float64 {
	similarity := float64(nearest)
	if similarity >= familiar {
		return 1
	}
	return float64(similarity*similarity) / float64(familiar*familiar)
}

// contribute adds the contribution of the trees to parts, by feature, and returns the bias of the trees.
func (r *ranker) contribute(parts []float64, row []float32) float64 {
	own, trust := make([]float64, featureCount), trust(row[Nearest], r.familiar)
	bias := float64(trust * r.trees.Contributions(own, row))
	for k, v := range own {
		parts[k] += float64(trust * v)
	}
	return bias
}

// familiarise sets familiar from the recorded requests. Without any it is 1: only a request in the words of a
// past one is familiar.
func (r *ranker) familiarise(x *examples) {
	var similarity []float64
	for q, k := range x.kinds {
		if k == recorded {
			from, _ := x.Question(q)
			similarity = append(similarity, float64(x.row(from)[Nearest]))
		}
	}
	r.familiar = 1
	if slices.Sort(similarity); len(similarity) > 0 {
		r.familiar = similarity[len(similarity)/10]
	}
}

// recurring is the share of all tasks above which near copies of one request are a habit: they will be asked again, so
// they may be evidence for one another.
const recurring = .05

// foldTasks assigns a fold to each task. Tasks of one group get the same fold, unless they are a habit.
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

// Prepare does work in advance that the first explanation would wait for.
func (m *Model) Prepare() {
	for _, r := range []*ranker{&m.find, &m.needs, &m.next} {
		r.trees.Prepare()
	}
}

// Over returns the chance that a task ends after a context.
func (m *Model) Over(context []int32) float64 { return m.history.over(context) }

// Answer is a ranking, the likeliest first, with the data that it was computed from.
type Answer struct {
	Ranked    []Ranked
	Chances   []float64 // calibrated, falling
	exclusive bool      // exactly one of the tools comes next; otherwise each tool has a chance of its own
	claim     float64   // if exclusive: the uncalibrated chance of the likeliest tool
	curve     *learn.Curve
	ranker    *ranker
	slope     float64 // weight of the feature that the score starts from
	finder    *ranker // of a plan that starts from Found, the ranker of this feature
	table     *Table
	near      []learn.Neighbour // past requests that vote
	more      map[int32]float64 // by tool, the change of the score by outcomes

	explained map[int32]Explanation // by tool, the explanations computed so far
}

// Next ranks the tools that may come next in a situation. Without a context it is [Model.Find].
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
	a.exclusive = true
	a.chances()
	return a
}

// Adjust adds slope·adds + ln(factor) to the score of each tool: adds is in units of the reference, and factor
// multiplies the odds.
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

// Chance returns the calibrated chance of a score. For the next tool only the chance of the likeliest is calibrated;
// the other tools share the rest in their former proportions.
func (a *Answer) Chance(score float64) float64 {
	if len(a.Ranked) == 0 {
		return 0
	}
	if !a.exclusive {
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
	if a.Chances = a.Chances[:0]; a.exclusive && len(a.Ranked) > 0 {
		a.claim = shares(a.Ranked)[0]
	}
	for _, r := range a.Ranked {
		a.Chances = append(a.Chances, a.Chance(r.Score))
	}
}

// Reference ranks by the reference alone; its score serves as log-odds. The candidates are all tools that the reference
// may rank high, not only those of a fitted ranker.
func (m *Model) Reference(s Situation) *Answer {
	s.all = true
	return m.ask(s, &ranker{start: start{slope: 1, by: Reference}, trees: &learn.Trees{}, curves: [2]*learn.Curve{{}, {}}})
}

// Find ranks the tools that a request asks for. The context, if any, only affects candidates and features, such as
// nearness.
func (m *Model) Find(s Situation) *Answer { return m.ask(s, &m.find) }

func (m *Model) ask(s Situation, by *ranker) *Answer {
	a := &Answer{ranker: by, curve: by.curves[0], slope: by.start.slope, explained: map[int32]Explanation{}}
	var r *request
	if s.Intent != "" {
		r = m.history.request(s.Intent, &s)
		defer r.close()
		a.near = r.voters()
	}
	a.table = m.history.table(tableInput{s.Context, r, -1, &s})
	for i, tool := range a.table.Tools {
		a.Ranked = append(a.Ranked, Ranked{tool, by.score(a.table.row(i))})
	}
	a.Ranked = best(a.Ranked, len(a.Ranked))
	a.chances()
	return a
}

// Used returns the number of voting past requests that used a tool, and the number of all voting requests.
func (m *Model) Used(a *Answer, tool int32) (used, of int) {
	for _, v := range a.near {
		if slices.Contains(m.history.tasks[m.history.asked[v.Row]].needs(), tool) {
			used++
		}
	}
	return used, len(a.near)
}

// Recalled reports whether past requests contribute more to the feature match of a tool than its text does.
func (a *Answer) Recalled(tool int32) bool {
	return matchNeed*need(a.Value(tool, Ridge), a.Value(tool, Votes)) > max(a.Value(tool, Text), vectorWeight*a.Value(tool, Vectors))
}

// Low returns a one-sided 90 % lower bound of a calibrated chance; see [learn.Curve.Low].
func (a *Answer) Low(chance float64) float64 { return a.curve.Low(chance) }

// Value returns a feature of a tool; 0 if the tool is no candidate.
func (a *Answer) Value(tool int32, k Column) float64 {
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

// best returns the k best, by falling score and then by number. It reorders the list.
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
	Row                Column             // feature that the score starts from: reference or match
	Score, Slope, Bias float64            // value of the feature, and the calibration
	Outcomes           float64            // change of the score by outcomes; see [Answer.Adjust]
	Groups             map[string]float64 // contribution of the trees, by group of features; see [Groups]
}

// Explain returns the parts of the score of a tool, computed once and kept; false if the tool is no candidate.
func (a *Answer) Explain(tool int32) (e Explanation, ok bool) {
	i, ok := slices.BinarySearch(a.table.Tools, tool)
	if !ok {
		return e, false
	}
	if e, ok := a.explained[tool]; ok {
		return e, true
	}
	e.Groups = map[string]float64{}
	parts := make([]float64, featureCount)
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

// Chance converts log-odds to a probability.
func Chance(score float64) float64 { return 1 / (1 + numeric.Exp(-score)) }

// Followed returns how often any tool followed a tool; [Model.FollowedBy] returns how often a given one did.
func (m *Model) Followed(tool int32) float64 { return float64(m.history.order[0].of(key(tool)).total) }

// FollowedBy is described at [Model.Followed].
func (m *Model) FollowedBy(tool, next int32) float64 {
	return m.history.order[0].of(key(tool)).count(next)
}
