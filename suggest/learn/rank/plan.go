package rank

import (
	"slices"

	"waymark/internal/numeric"
	"waymark/suggest/learn"
)

// Plan holds the tools that a task for a request needs.
type Plan struct {
	*Answer          // all candidates with the chance that a task uses them
	Steps    []Step  // the steps of the plan, each after the steps that it depends on
	Fits     float64 // chance that at least one tool fits the request
	Complete float64 // chance that no tool is missing, if any tool fits
}

// planner chooses the tools of a plan and puts them in order.
type planner struct {
	worth, complete, before, link judge
	sure                          *learn.Curve // calibration of complete
	familiar                      float64      // of the ranker of requests, see ranker.familiar
}

// newPlanner returns a planner without trees: its judges use only the feature that they start from.
func newPlanner() *planner {
	p := &planner{sure: &learn.Curve{}}
	for i, start := range [...]int{setExpected, setHas, pairOrder, pairLinked} {
		*p.judges()[i] = judge{&learn.Trees{}, start}
	}
	return p
}

func (p *planner) judges() [4]*judge {
	return [...]*judge{&p.worth, &p.complete, &p.before, &p.link}
}

// judge computes the chance of a row: its log-odds are the feature start plus the score of the trees.
type judge struct {
	trees *learn.Trees
	start int
}

func (j *judge) score(row []float32) float64  { return float64(row[j.start]) + j.trees.Score(row) }
func (j *judge) chance(row []float32) float64 { return Chance(j.score(row)) }

// cases holds the training rows of a judge; held marks the held-out rows, on which the number of trees is chosen.
type cases struct {
	learn.Rows
	held []bool
}

func (c *cases) add(row []float32, right float64, held bool) {
	c.Values, c.Right = append(c.Values, row...), append(c.Right, float32(right))
	c.held = append(c.held, held)
}

func (c *cases) append(o *cases) {
	c.Values, c.Right, c.held = append(c.Values, o.Values...), append(c.Right, o.Right...), append(c.held, o.held...)
}

// setTrees and pairTrees are the tree options of the judges, chosen by cross-validation on training data.
var setTrees, pairTrees = learn.TreeOptions{Depth: 4, Trees: 150, LeafWeight: 3}, learn.TreeOptions{Depth: 4, Trees: 80, LeafWeight: 10}

// fit chooses the number of trees on the held-out rows, then fits that many trees on all rows. It returns false soon
// after stop returns true.
func (j *judge) fit(c *cases, o learn.TreeOptions, stop func() bool) bool {
	c.Features = len(c.Values) / max(1, c.Len())
	c.Margin = make([]float32, c.Len())
	for i := range c.Margin {
		c.Margin[i] = c.Values[i*c.Features+j.start]
	}
	if c.Len() == 0 {
		return true
	}
	if j.trees = learn.FitTrees(&c.Rows, c.held, o, stop); j.trees == nil {
		return false
	}
	if o.Trees = j.trees.Len(); o.Trees > 0 {
		j.trees = learn.FitTrees(&c.Rows, nil, o, stop)
	}
	return j.trees != nil
}

// fitPlans fits the judges. Those of sets learn from requests, each with the chances of a ranker that was not fitted on
// it (that of the other half); those of pairs learn to order and link tools from all tasks that a fit asks again.
func (m *Model) fitPlans(exams []trainingCase, finders, halves [2]*ranker, pairs [2]*cases, o Options) bool {
	p := newPlanner()
	m.planner = p
	type example struct {
		sets  []toolSet
		right []int32
	}
	examples := make([]example, len(exams))
	numeric.Each(len(exams), func(i int) {
		if o.Stop() {
			return
		}
		e := &exams[i]
		r := e.history.request(e.request, nil)
		defer r.close()
		t := e.history.table(tableInput{nil, r, -1, nil})
		right := distinct(e.questions[0].right)
		slices.Sort(right)
		finders[e.half()].setFound(t.Values, nil)
		examples[i] = example{newDraft(r, t, halves[e.half()], nil).choose(), right}
	})
	if o.Stop() {
		return false
	}
	worth, complete := &cases{}, &cases{}
	for i, x := range examples {
		for _, s := range x.sets {
			has := one(overlap(x.right, s.tools) == float64(len(x.right)))
			worth.add(s.row, similar(s.tools, x.right), exams[i].held())
			complete.add(s.row, has, exams[i].held())
		}
	}
	if !p.worth.fit(worth, setTrees, o.Stop) || !p.complete.fit(complete, setTrees, o.Stop) {
		return false
	}
	p.familiar = m.find.familiar
	var claims []learn.Prediction
	for i, x := range examples {
		if k := p.best(x.sets); k >= 0 && exams[i].held() {
			s := x.sets[k]
			claims = append(claims, learn.Prediction{P: p.complete.chance(s.row), Right: overlap(x.right, s.tools) == float64(len(x.right))})
		}
	}
	p.sure = learn.FitCurve(claims)
	return p.before.fit(pairs[0], pairTrees, o.Stop) && p.link.fit(pairs[1], pairTrees, o.Stop)
}

// best returns the index of the set with the highest expected F1, -1 if no set may be chosen. If the request was made
// before, only the sets of the tasks with its words may be. Without any near request only the set of the likeliest tools
// may be. If the nearest request is less similar than familiar, a set must be that one or contain the tools that the
// clauses name, and the trees count by trust, as in ranker.
func (p *planner) best(sets []toolSet) int {
	at, most := -1, 0.0
	repeats := slices.ContainsFunc(sets, func(s toolSet) bool { return s.row[setBest] == 1 })
	for i := range sets {
		row := sets[i].row
		may := row[setLikely] == 1 || row[setNearest] > 0 && (float64(row[setNearest]) >= p.familiar || sets[i].named)
		if repeats {
			may = row[setBest] == 1
		}
		if !may {
			continue
		}
		v := float64(row[p.worth.start]) + float64(trust(row[setNearest], p.familiar)*p.worth.trees.Score(row))
		if at < 0 || v > most {
			at, most = i, v
		}
	}
	return at
}

// Plan returns the tools that a task for the request of s needs, in order.
func (m *Model) Plan(s Situation) *Plan {
	r := m.history.request(s.Intent, &s)
	defer r.close()
	a := &Answer{ranker: &m.needs, curve: m.needs.curves[0], slope: m.needs.start.slope, near: r.voters(), explained: map[int32]Explanation{}}
	a.table = m.history.table(tableInput{nil, r, -1, &s})
	m.find.setFound(a.table.Values, nil)
	if m.needs.start.by == Found {
		a.finder = &m.find
		a.slope *= m.find.start.slope
	}
	for i, tool := range a.table.Tools {
		a.Ranked = append(a.Ranked, Ranked{tool, m.needs.score(a.table.row(i))})
	}
	a.Ranked = best(a.Ranked, len(a.Ranked))
	a.chances()
	plan := &Plan{Answer: a}
	d := newDraft(r, a.table, &m.needs, s.Allowed)
	sets := d.choose()
	k := m.planner.best(sets)
	if k < 0 {
		return plan
	}
	plan.Complete = m.planner.sure.At(m.planner.complete.chance(sets[k].row))
	plan.Steps = m.planner.arrange(m.history, r, sets[k].tools, d.chance, d.total)
	for i := range a.table.Tools {
		plan.Fits = max(plan.Fits, m.find.chance(m.find.score(a.table.row(i)), a.table.row(i)))
	}
	return plan
}

// addPairs adds the features of about mostPairs pairs of tools of the recorded task of an exam.
func (e *trainingCase) addPairs(r *request) {
	t := e.task
	if t == nil || len(t.set) < 2 || len(t.set) > mostPaired {
		return
	}
	tools := distinct(t.Steps)
	all, n := e.history.pairs(tools, r), len(tools)
	step := max(1, (n*n-n)/mostPairs)
	for k := 0; k < len(all); k++ {
		if i, j := k/n, k%n; i != j && (k+int(t.Group%97))%step == 0 {
			e.pairs[0].add(all[k], one(i < j), e.held())
			e.pairs[1].add(all[k], one(slices.Contains(t.Links, [2]int32{tools[i], tools[j]})), e.held())
		}
	}
}
