package rank

import (
	"slices"

	"waymark/internal/numeric"
)

// Table holds the candidates of a situation and the features of each.
type Table struct {
	Tools  []int32
	Values []float32 // the features of candidate i start at i·featureCount
}

func (t *Table) row(i int) []float32 { return t.Values[i*int(featureCount) : (i+1)*int(featureCount)] }

const (
	mostFollowers = 40
	mostNeeds     = 40
	mostOfAll     = 256
)

// ln returns ln(x + 10⁻⁴), which is finite for a share of 0.
func ln(x float64) float64 { return numeric.Ln(x + 1e-4) }

// tableInput is the input of a table.
type tableInput struct {
	context []int32    // tools used so far
	request *request   // nil: no request
	hidden  int32      // tool that is treated as one without history; -1: none
	of      *Situation // nil in a fit
}

func (q *tableInput) allows(tool int32) bool {
	return q.of == nil || q.of.Allowed == nil || q.of.Allowed(tool)
}

func (q *tableInput) near(tool int32) float64 {
	if q.of == nil {
		return 0
	}
	return q.of.Near[tool]
}

// candidateLimit returns the maximum number of candidates of one kind: n, or mostOfAll for the reference alone.
func (s *Situation) candidateLimit(n int) int {
	if s != nil && s.all {
		return mostOfAll
	}
	return n
}

// table computes the table of a question: the sorted candidates and the features of each.
func (h *History) table(q tableInput) *Table {
	var around *Around
	if q.of != nil {
		around = q.of.Around
	}
	if around == nil {
		around = h.structure().Around(q.context)
		defer around.Close()
	}
	wide := q.of != nil && q.of.all // the reference alone uses the table: sequence features and Place are not needed
	var s *tail
	var tools []int32
	switch {
	case wide:
		for _, n := range around.Near(q.request != nil) {
			if t := valueAt(around.Tool, n, -1); t >= 0 && q.allows(t) {
				tools = append(tools, t)
			}
		}
	case len(q.context) > 0:
		s = h.tail(&q)
		tools = s.candidates
	}
	tools = slices.DeleteFunc(tools, func(t int32) bool { return t == q.hidden }) // only texts find a hidden tool
	if most := mostNeeds; q.request != nil {
		if len(q.context) > 0 {
			most = 10
		}
		tools = append(tools, q.request.candidates(&q, most)...)
	}
	slices.Sort(tools)
	tools = slices.Compact(tools)
	lost, lostServer := 0.0, int32(-1)
	if q.hidden >= 0 && q.request != nil {
		lost, lostServer = q.request.of(q.hidden).need, h.texts.tools[q.hidden].Server
	}
	var places []float64
	if q.request != nil && !wide && len(tools) > 0 {
		places = q.request.ahead(tools, q.hidden)
	}
	t := &Table{Tools: tools, Values: make([]float32, len(tools)*int(featureCount))}
	for i, tool := range tools {
		c := cells{t.row(i), tool == q.hidden, lost, lostServer}
		c.past(Popularity, numeric.Ln((float64(h.uses[tool])+.5)/(h.steps+1)), numeric.Ln(.5/(h.steps+1)))
		c.past(Tasks, numeric.Ln(1+float64(h.within[tool])), 0)
		if s != nil {
			s.rows(tool, c)
		}
		if q.request != nil {
			if places != nil {
				c.set(Place, places[i])
			}
			q.request.rows(tool, q.near(tool), c)
			if s != nil {
				c.set(Left, q.request.size-float64(len(s.used)))
			}
		}
		around.rows(q.request != nil, tool, c)
		h.hypergraph(q.context, tool, c)
		for k := range c.values {
			if h.texts.without != "" && Features[k].Group == h.texts.without {
				c.values[k] = 0
			}
		}
	}
	return t
}

// hypergraph computes the features of the hypergraph of tools and capabilities.
func (h *History) hypergraph(context []int32, tool int32, c cells) {
	t := &h.texts.tools[tool]
	c.set(HyperRank, t.HyperRank)
	if t.Cluster == 0 || len(context) == 0 || c.hidden {
		return
	}
	same := 0
	for _, u := range context {
		if h.texts.tools[u].Cluster == t.Cluster {
			same++
		}
	}
	c.set(Cluster, float64(same)/float64(len(context)))
}

// vectorWeight is the weight of word vectors and of an embeddings endpoint in match, matchNeed that of need in the
// feature Match. Both were chosen for searches.
const vectorWeight, matchNeed = .3, .2

// match combines the matches of a text by words, by word vectors and by an embeddings endpoint, all in [0, 1]:
//
//	1 - (1 - text)·(1 - .3·near)·(1 - .3·endpoint)
func match(text, near, endpoint float64) float64 {
	return 1 - float64(float64((1-text)*(1-float64(vectorWeight*near)))*(1-float64(vectorWeight*endpoint)))
}

// cells holds the features of one candidate.
type cells struct {
	values []float32
	hidden bool

	hiddenNeed   float64 // need of the hidden tool of the question, and the server of that tool
	hiddenServer int32
}

func (c cells) set(k Column, x float64) { c.values[k] = float32(x) }

// past sets a feature that depends on the history of the tool itself; unused is the value of a tool without history.
func (c cells) past(k Column, x, unused float64) {
	if c.hidden {
		x = unused
	}
	c.set(k, x)
}

// rows computes the features of a tool that depend on the request.
func (r *request) rows(tool int32, endpoint float64, c cells) {
	h := r.history
	c.set(HasRequest, 1)
	own := r.of(tool)
	e := own
	if c.hidden {
		e = &r.unused
	}
	c.set(Ridge, e.ridge)
	c.set(Votes, e.votes)
	c.set(Copies, e.copies)
	c.set(Best, e.best)
	c.set(NearSet, e.nearSet)
	c.set(Associated, e.linear)
	c.set(Strongest, e.strongest)
	c.set(BesideMost, e.besideMost)
	c.set(BesideMean, e.besideMean)
	text, near := r.text.Of(tool), r.text.Near(tool)
	c.set(Text, text)
	c.set(TextShare, text/max(r.most.text, 1e-6))
	c.set(Vectors, near)
	c.set(VectorsShare, near/max(r.most.near, 1e-6))
	c.set(Match, 1-float64((1-match(text, near, endpoint))*(1-float64(matchNeed*e.need))))
	clause, clauseNear := text, near
	for i, m := range r.clauses {
		if i == 0 {
			clause, clauseNear = 0, 0
		}
		clause, clauseNear = max(clause, m.Of(tool)), max(clauseNear, m.Near(tool))
	}
	c.set(ClauseText, clause)
	c.set(ClauseVectors, clauseNear)
	named := 0
	for _, s := range h.texts.names[tool] {
		if slices.Contains(r.stems, s) {
			named++
		}
	}
	c.set(Name, float64(named)/max(1, float64(len(h.texts.names[tool]))))
	if v := h.texts.tools[tool].Server; v >= 0 {
		server := r.server[v]
		if v == c.hiddenServer {
			server = max(0, server-c.hiddenNeed)
		}
		c.set(ServerNeed, server)
	}
	c.set(Required, r.required[tool])
	c.set(RequiredText, r.requiredText[tool])
	c.set(Direct, r.direct[tool])
	if list := h.texts.closure[tool]; len(list) > 0 {
		sum := 0.0
		for _, t := range list {
			sum += r.of(t).need
		}
		c.set(OwnRequired, sum/float64(len(list)))
	}
	if len(r.near) > 0 {
		c.set(Nearest, r.near[0].Similarity)
	}
	c.set(Known, r.known)
	c.set(Size, r.size)
	c.set(Total, max(0, r.total-c.hiddenNeed))
	c.set(BestText, r.most.text)
	c.set(Length, numeric.Ln(1+float64(len(r.stems))))
}

// tail holds the evidence from the tools used so far, as request holds that from the words of the request. The maps are
// by tool; their feature in [Features] says what each value is.
type tail struct {
	history    *History
	context    []int32
	used       []int32 // distinct tools, the last one first
	blend      map[int32]float64
	rest       float64 // share of blend that is left to popularity
	order      [orders]followers
	skip       followers
	later      map[int32]float64
	laterMost  map[int32]float64
	linked     map[int32]float64
	tailNext   map[int32]float64
	tailRest   map[int32]float64
	nearNext   map[int32]float64
	servers    map[int32]bool
	candidates []int32
}

const (
	mostUsed    = 12    // distinct tools of the context that count
	mostTail    = 8     // tools among them that past tasks are searched by
	pastTasks   = 25    // past tasks that vote
	everywhere  = 1_500 // a tool with at least this many tasks is no search term
	linkFade    = .6
	recencyFade = .85
)

func (h *History) tail(q *tableInput) *tail {
	context, r := q.context, q.request
	last := context[len(context)-1]
	s := &tail{history: h, context: context, blend: map[int32]float64{}, later: map[int32]float64{}, laterMost: map[int32]float64{},
		linked: map[int32]float64{}, nearNext: map[int32]float64{}, servers: map[int32]bool{}}
	for _, t := range context {
		if v := h.texts.tools[t].Server; v >= 0 {
			s.servers[v] = true
		}
	}
	reversed := slices.Clone(context)
	slices.Reverse(reversed)
	s.used = distinct(reversed)
	recent := s.used[:min(mostUsed, len(s.used))]
	s.mixFollowers()
	for _, p := range recent {
		f := h.after.of(key(p))
		for i, t := range f.tools {
			v := float64(f.n[i]) / (float64(f.total) + 1)
			s.later[t] += v / float64(len(recent))
			s.laterMost[t] = max(s.laterMost[t], v)
		}
	}
	weight := 1.0
	for _, p := range reversed[:min(mostUsed, len(reversed))] {
		f := h.links.of(key(p))
		for i, t := range f.tools {
			s.linked[t] += float64(weight * float64(f.n[i]) / float64(f.total))
		}
		weight *= linkFade
	}
	s.recall()
	if r != nil {
		total := 1e-9
		for _, v := range r.near[:min(12, len(r.near))] {
			total += v.Similarity
			steps := h.tasks[h.asked[v.Row]].Steps
			for i := 1; i < len(steps); i++ {
				if steps[i-1] == last {
					s.nearNext[steps[i]] += v.Similarity
				}
			}
		}
		for t := range s.nearNext {
			s.nearNext[t] /= total
		}
	}
	s.choose(q)
	return s
}

// known returns the confidence in a row of counts, in [0, 1): n/(n + .8·distinct + .3).
func (f followers) known() float64 {
	return float64(f.total) / (float64(f.total) + float64(.8*float64(len(f.tools))) + .3)
}

// over returns the chance that a task ends after a context. It mixes the shares of ends after the last four, three, two
// and one tools, each weighted by its confidence, and gives the rest to the share of all steps that end a task.
func (h *History) over(context []int32) (p float64) {
	rest := 1.0
	for o := min(orders, len(context)); o > 0; o-- {
		if f := h.ends[o-1].of(chain(context, o)); f.total > 0 {
			p += float64(rest * f.known() * f.count(1) / float64(f.total))
			rest *= 1 - f.known()
		}
	}
	return p + float64(rest*float64(len(h.tasks))/max(1, h.steps))
}

// mixFollowers mixes the counts of the tools that followed the last four, three, two and one tools: each row is weighted
// by its confidence and leaves the rest to the next shorter one.
func (s *tail) mixFollowers() {
	h, rest := s.history, 1.0
	for o := orders; o > 0; o-- {
		if len(s.context) < o {
			continue
		}
		f := h.order[o-1].of(chain(s.context, o))
		s.order[o-1] = f
		if f.total == 0 {
			continue
		}
		share := f.known()
		for i, t := range f.tools {
			s.blend[t] += float64(float64(rest*share) * float64(f.n[i]) / float64(f.total))
		}
		rest *= 1 - share
	}
	s.rest = rest
	if i := len(s.context) - 2; i >= 0 {
		s.skip = h.skip.of(key(s.context[i]))
	}
}

// recall collects votes of the past tasks that share rare tools with the context: for the next tool and for all their
// tools.
func (s *tail) recall() {
	h := s.history
	found, weight := make([]float64, len(h.tasks)), 1.0
	var tasks []Ranked // Tool is the number of a task
	for _, p := range s.used[:min(mostTail, len(s.used))] {
		if users := h.users[p]; len(users) > 0 && len(users) < everywhere {
			v := float64(weight * numeric.Ln(1+float64(len(h.tasks))/float64(len(users))))
			for _, k := range users {
				if found[k] == 0 {
					tasks = append(tasks, Ranked{Tool: k})
				}
				found[k] += v
			}
		}
		weight *= recencyFade
	}
	for i, k := range tasks {
		tasks[i].Score = found[k.Tool]
	}
	tasks = best(tasks, pastTasks)
	s.tailNext, s.tailRest = map[int32]float64{}, map[int32]float64{}
	last, total := s.context[len(s.context)-1], 1e-9
	for _, k := range tasks {
		steps := h.tasks[k.Tool].Steps
		v := float64(k.Score*k.Score) / (1 + float64(.05*float64(len(steps))))
		total += v
		for _, t := range distinct(steps) {
			s.tailRest[t] += v
		}
		for i := 0; i+1 < len(steps); i++ {
			if steps[i] == last {
				w := v
				if i > 0 && len(s.context) > 1 && steps[i-1] == s.context[len(s.context)-2] {
					w *= 2
				}
				s.tailNext[steps[i+1]] += w
			}
		}
	}
	for _, m := range []map[int32]float64{s.tailNext, s.tailRest} {
		for t := range m {
			m[t] /= total
		}
	}
}

// choose selects the candidates: the best by a rough weighted sum of all evidence, and the most used tools.
func (s *tail) choose(q *tableInput) {
	h := s.history
	sums := map[int32]float64{}
	for _, w := range []struct {
		of     map[int32]float64
		weight float64
	}{{s.blend, 1}, {s.later, .2}, {s.linked, .2}, {s.tailNext, .3}, {s.tailRest, .1}, {s.nearNext, .3}} {
		for t, v := range w.of {
			sums[t] += float64(w.weight * v)
		}
	}
	for _, t := range s.used {
		sums[t] += .05
	}
	list := make([]Ranked, 0, len(sums))
	for t, v := range sums {
		if !q.allows(t) {
			continue
		}
		list = append(list, Ranked{t, v + float64(.3*s.rest*float64(h.uses[t])/(h.steps+1))})
	}
	for _, c := range best(list, mostFollowers) {
		s.candidates = append(s.candidates, c.Tool)
	}
	for _, t := range h.popular {
		if q.allows(t) {
			s.candidates = append(s.candidates, t)
		}
	}
}

// rows computes the features of a tool that depend on the context.
func (s *tail) rows(tool int32, c cells) {
	h, n := s.history, len(s.context)
	last := s.context[n-1]
	unigram := func(uses float64) float64 { return float64(s.rest * (uses + .5) / (h.steps + 500)) }
	c.past(Blend, ln(s.blend[tool]+unigram(float64(h.uses[tool]))), ln(unigram(0)))
	none := ln(0)
	c.past(Order1, ln(s.order[0].share(tool)), none)
	c.past(Order2, ln(s.order[1].share(tool)), none)
	c.past(Order3, ln(s.order[2].share(tool)), none)
	c.past(Skip, ln(s.skip.share(tool)), none)
	c.past(Later, ln(s.later[tool]), none)
	c.past(LaterMost, ln(s.laterMost[tool]), none)
	c.past(Linked, ln(s.linked[tool]), none)
	c.past(TailNext, ln(s.tailNext[tool]), none)
	c.past(TailRest, ln(s.tailRest[tool]), none)
	c.past(NearNext, ln(s.nearNext[tool]), none)
	if tool == last {
		c.set(Last, 1)
	}
	if n > 1 && tool == s.context[n-2] {
		c.set(Before, 1)
	}
	uses := 0
	for i, t := range s.context {
		if t == tool {
			uses++
			c.set(Recency, 1/float64(n-i))
		}
	}
	c.set(Used, float64(uses))
	c.set(Position, float64(n))
	c.set(Distinct, float64(len(s.used)))
	c.set(Evidence1, numeric.Ln(1+float64(s.order[0].total)))
	c.set(Evidence2, numeric.Ln(1+float64(s.order[1].total)))
	if a, b := h.texts.places[last], h.texts.places[tool]; a != nil && b != nil {
		c.set(Alike, numeric.Dot(a, b))
	}
	if v := h.texts.tools[tool].Server; v >= 0 {
		if v == h.texts.tools[last].Server {
			c.set(SameServer, 1)
		}
		if s.servers[v] {
			c.set(ServerUsed, 1)
		}
	}
}
