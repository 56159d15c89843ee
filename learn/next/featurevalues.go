package next

import (
	"math"
	"slices"

	"waymark/learn/choice"
	"waymark/learn/sequence"
)

// FeatureValues are the signal values of one prefix: a row for each candidate tool, and
// the evidence level of each signal. It also holds the reusable buffers of the computation; its zero value is
// ready, it belongs to one goroutine at a time, and is filled anew by each [History.Compute].
type FeatureValues struct {
	Tools    []int32
	Values   [][signalCount]float32
	Evidence [signalCount]uint8 // 0 … 3

	has []uint64 // of each row, a bit for each signal that may be other than 0

	prefix sequence.Prefix
	keys   []uint64
	search sequence.Search
	blend  sequence.Blend
	row    []int32 // of a tool, counted from 1
	use    []uint8 // of each tool in Tools, see [FeatureValues.Used]
	buffer featureBuffers
}

// featureBuffers are reused from question to question.
type featureBuffers struct {
	scores     []float64
	odds       []float64
	sum        []float64
	met        []int32
	need       []int32
	likely     []sequence.Vote
	features   []choice.Feature
	own        []choice.Feature
	candidates []choice.Candidate
	near       []sequence.Vote
	known      []bool // of a property
	knew       []int32
}

// reset empties the rows of the last prefix. Only the tools that had a row are cleared, not one entry for
// each tool.
func (s *FeatureValues) reset(tools int) {
	for _, t := range s.Tools {
		s.row[t] = 0
	}
	s.Tools, s.Values, s.has, s.Evidence = s.Tools[:0], s.Values[:0], s.has[:0], [signalCount]uint8{}
	if len(s.row) < tools {
		s.row, s.buffer.sum, s.buffer.need = make([]int32, tools), make([]float64, tools), make([]int32, tools)
	}
}

// set sets signal k of a tool and gives the tool a row of zeros if it has none.
func (s *FeatureValues) set(k Signal, tool int32, x float64) {
	i := s.row[tool]
	if i == 0 {
		s.Tools, s.has = append(s.Tools, tool), append(s.has, 0)
		i = int32(len(s.Tools))
		s.Values = slices.Grow(s.Values, 1)[:i]
		clear(s.Values[i-1][:])
		s.row[tool] = i
	}
	s.put(int(i)-1, k, float32(x))
}

// put sets signal k of a row.
func (s *FeatureValues) put(row int, k Signal, x float32) {
	s.Values[row][k] = x
	s.has[row] |= 1 << k
}

var _ [64 - signalCount]struct{} // a bit of has for each signal

// add collects votes for a tool, which flush turns into a signal.
func (s *FeatureValues) add(tool int32, x float64) {
	if s.buffer.sum[tool] == 0 {
		s.buffer.met = append(s.buffer.met, tool)
	}
	s.buffer.sum[tool] += x
}

// flush turns the votes added into the signal k, by f, and starts again from nothing.
func (s *FeatureValues) flush(k Signal, f func(tool int32, votes float64) float64) {
	for _, t := range s.buffer.met {
		if v := s.buffer.sum[t]; v > 0 {
			s.set(k, t, f(t, v))
		}
		s.buffer.sum[t] = 0
	}
	s.buffer.met = s.buffer.met[:0]
}

// pool adds the shares of a row of followers, shrunk by one count.
func (s *FeatureValues) pool(row *sequence.Followers, weight float64) {
	if row.Total == 0 {
		return
	}
	weight /= float64(row.Total) + 1
	for _, c := range row.Counts {
		s.add(c.Tool, float64(weight*float64(c.N)))
	}
}

// level is the evidence of a count: up to 2, 12, 80, more.
func level(n int) uint8 {
	switch {
	case n <= 2:
		return 0
	case n <= 12:
		return 1
	case n <= 80:
		return 2
	}
	return 3
}

// Compute fills s for the first n steps of a task, n ≥ 1, and its request, nil if nothing was said.
func (h *History) Compute(tools []int32, parents [][]int32, n int, r *Request, s *FeatureValues) {
	s.reset(h.chain.Tools())
	p := &s.prefix
	p.Set(tools, parents, n)
	h.suffixes(p, s)
	h.contexts(p, s)
	h.graph(p, s)
	h.bags(p, s)
	h.copies(p, s)
	h.repeats(p, s)
	h.catalogue(p, s)
	h.authored(p, s)
	h.structural(p, s)
	h.schemas(p, s)
	h.lately(p, s)
	h.whole(p, s)
	h.request(p, r, s)
	h.residue(p, r, s)
	for i, t := range s.Tools {
		s.put(i, signalPopularity, float32(h.popular(t)))
		s.put(i, signalImportance, h.important(t))
	}
	h.worked(p, s)
	s.use = append(s.use[:0], make([]uint8, len(s.Tools))...)
	for i, t := range p.Distinct { // repeats gave each of them a row
		if s.use[s.row[t]-1] = 1; i == 0 {
			s.use[s.row[t]-1] = 2
		}
	}
	s.Evidence[signalPopularity], s.Evidence[signalImportance] = s.Evidence[signalOrder1], s.Evidence[signalOrder1]
}

// over is ln(1 + v/(κ·P₀)).
func (h *History) over(tool int32, v float64) float64 {
	return ln(1 + v/float64(kappa*h.chain.Popularity(tool)))
}

var orders = [order + 1]Signal{1: signalOrder1, 2: signalOrder2, 3: signalOrder3, 4: signalOrder4, 6: signalOrder6, 8: signalOrder8}

// suffixes computes, for each order k of the chain, ln(1 + (n - discount)/(escape·q)): the count after the
// last k steps against what the model of lower order expects, P₀ for k = 1. signalChain is the log ratio of
// the blended probability to that of a tool that never followed.
func (h *History) suffixes(p *sequence.Prefix, s *FeatureValues) {
	b := &s.blend
	h.chain.Blend(p.Tools, b)
	for k := 1; k <= b.Order; k++ {
		if orders[k] == 0 {
			continue
		}
		row := h.chain.Row(p.Tools, k)
		s.Evidence[orders[k]] = level(int(row.Total))
		escape := sequence.Escape(row)
		for _, c := range row.Counts {
			q := h.chain.Popularity(c.Tool)
			if k > 1 {
				q = b.First(c.Tool)
			}
			s.set(orders[k], c.Tool, ln(1+(float64(c.N)-sequence.Discount)/float64(escape*q)))
		}
	}
	s.Evidence[signalChain] = uint8(max(0, min(b.Order-1, 5)) / 2)
	for _, t := range b.Tools {
		s.set(signalChain, t, ln(b.P(t)/float64(b.Ratio*h.chain.Popularity(t))))
	}
}

// contexts computes the same ratio for contexts other than suffixes. Those that leave out the last step are
// measured against P₀, the others against the chain of order 1, which is given the last step.
func (h *History) contexts(p *sequence.Prefix, s *FeatureValues) {
	s.keys = p.Contexts(s.keys)
	for kind, key := range s.keys {
		row := h.rows.Row(key)
		if row.Total == 0 {
			continue
		}
		k := signalSameSource + Signal(kind)
		s.Evidence[k] = level(int(row.Total))
		escape := sequence.Escape(row)
		for _, c := range row.Counts {
			q := s.blend.First(c.Tool)
			if kind == sequence.SkipOne || kind == sequence.SkipTwo {
				q = h.chain.Popularity(c.Tool)
			}
			s.set(k, c.Tool, ln(1+(float64(c.N)-sequence.Discount)/float64(escape*q)))
		}
	}
}

// graph computes the signals of dependent steps of the open and inner branches.
func (h *History) graph(p *sequence.Prefix, s *FeatureValues) {
	weight := 1.0
	for i := len(p.Leaves) - 1; i >= max(0, len(p.Leaves)-branch); i-- {
		s.pool(&h.after.first[p.Tools[p.Leaves[i]]], weight)
		weight *= decayB
	}
	s.Evidence[signalBranches] = uint8(min(len(p.Leaves)-1, 3))
	s.flush(signalBranches, h.over)
	weight = 1
	inner := 0
	for j := len(p.Tools) - 1; j >= 0 && inner < branch; j-- {
		if p.Children[j] == 0 {
			continue
		}
		more, first := &h.after.more[p.Tools[j]], &h.after.first[p.Tools[j]]
		share := float64(more.Total) / float64(more.Total+first.Total+1) // how often there is a further one
		s.pool(more, weight*share)
		weight *= decayB
		inner++
	}
	s.Evidence[signalInner] = uint8(min(inner, 3))
	s.flush(signalInner, h.over)
}

// bags computes the co-occurrence signals of the prefix, by distance and regardless of position.
func (h *History) bags(p *sequence.Prefix, s *FeatureValues) {
	weight := 1.0
	for d := 1; d <= min(skips, len(p.Tools)); d++ {
		s.pool(&h.after.skip[d-1][p.Back(d)], weight)
		weight *= decayS
	}
	s.Evidence[signalSkips] = level(int(h.after.skip[0][p.Last()].Total))
	s.flush(signalSkips, h.over)
	speak := p.Distinct[:min(len(p.Distinct), bagMax)]
	for _, t := range speak {
		s.pool(&h.after.bag[t], 1/float64(len(speak)))
	}
	s.Evidence[signalBag] = level(2 * len(p.Tools))
	s.flush(signalBag, h.over)
	root := math.Sqrt(float64(len(speak)))
	for _, t := range speak {
		row := &h.after.bag[t]
		mass := 2 * float64(len(row.Counts))
		for _, c := range row.Counts {
			s.add(c.Tool, ln(1+float64(c.N)/(float64(mass*h.chain.Popularity(c.Tool))+2))/root)
		}
	}
	s.Evidence[signalBagProduct] = uint8(min(len(speak)-1, 3))
	s.flush(signalBagProduct, func(_ int32, v float64) float64 { return v })
}

// copies computes the signals of the nearest past tasks. The evidence rises with the similarity of the
// nearest one: its levels begin at 0.21, 0.42 and 0.63.
func (h *History) copies(p *sequence.Prefix, s *FeatureValues) {
	v := h.neighbours.Votes(p, &s.search)
	near := uint8(max(0, min(v.Similarity*4.8, 3)))
	s.Evidence[signalTail], s.Evidence[signalRest], s.Evidence[signalFrontier] = near, near, near
	s.Evidence[signalOverlap] = uint8(max(0, min(float64(v.Agreement*4)-1.2, 3)))
	for _, list := range []struct {
		k     Signal
		votes []sequence.Vote
	}{{signalTail, v.Tail}, {signalRest, v.Rest}, {signalOverlap, v.Overlap}, {signalFrontier, v.Frontier}} {
		for _, x := range list.votes {
			s.set(list.k, x.Tool, h.over(x.Tool, x.Share))
		}
	}
}

// repeats computes, for each tool already used, the logarithm of the share of positions at which such a tool
// came again (smoothed by ½ of 2), and how long ago it was used: the last step itself, one of the three
// before it, or earlier.
func (h *History) repeats(p *sequence.Prefix, s *FeatureValues) {
	for i, t := range p.Distinct {
		s.set(signalAgain, t, ln((float64(h.after.again[t])+.5)/(float64(h.after.done[t])+2)))
		switch age := p.Age[i]; {
		case age == 0:
			s.set(signalRepeat, t, 1)
			s.Evidence[signalRepeat] = uint8(min(p.Uses[i]-1, 3))
		case age <= 3:
			s.set(signalRepeatSoon, t, 1)
		default:
			s.set(signalRepeatLate, t, 1)
		}
	}
	long := level(len(p.Tools))
	s.Evidence[signalAgain], s.Evidence[signalRepeatSoon], s.Evidence[signalRepeatLate] = long, long, long
}

// catalogue computes the signals of servers and text similarity.
func (h *History) catalogue(p *sequence.Prefix, s *FeatureValues) {
	last := p.Last()
	server := h.catalog.Server[last]
	row := &h.perServer.toServer[server]
	s.Evidence[signalServer], s.Evidence[signalSameServer] = level(int(row.Total)), level(int(row.Total))
	if h.perServer.servers > 1 {
		for _, c := range row.Counts {
			base := (float64(h.perServer.atServer[c.Tool]) + .5) / (float64(h.steps) + float64(.5*float64(h.perServer.servers)))
			x := ln(1 + float64(c.N)/(2*base))
			for _, t := range h.perServer.ofServer[c.Tool] {
				s.set(signalServer, t, x)
			}
		}
		for _, t := range h.perServer.ofServer[server] {
			s.set(signalSameServer, t, 1)
		}
	}
	s.Evidence[signalAlike] = level(int(h.after.skip[0][last].Total))
	if h.catalog.Alike != nil {
		for _, x := range h.catalog.Alike[last] {
			s.set(signalAlike, x.Tool, 4*x.Share)
		}
	}
}

// request computes what the words of the request say: text similarity, what the nearest past requests did
// after the same last step (signalPastNext), what they did that this task has not done yet (signalPastRest,
// counted as a multiset difference), and the tools that tasks with the same words used. A past task weighs
// similarity².
func (h *History) request(p *sequence.Prefix, r *Request, s *FeatureValues) {
	if r == nil {
		return
	}
	last := p.Last()
	for _, x := range r.text {
		s.set(signalAsked, x.Tool, 4*x.Share)
	}
	s.Evidence[signalAsked] = level(int(h.after.skip[0][last].Total))
	if len(r.near) > 0 {
		near := uint8(min(r.near[0].similarity*5, 3))
		s.Evidence[signalPastNext], s.Evidence[signalPastRest] = near, near
	}
	for _, x := range r.near {
		weight := float64(x.similarity*x.similarity) / r.total
		tools := h.tasks[x.task].Tools
		for j := 0; j+1 < len(tools); j++ {
			if tools[j] == last {
				s.add(tools[j+1], weight)
			}
		}
	}
	s.flush(signalPastNext, h.over)
	for _, x := range r.near {
		tools := h.tasks[x.task].Tools
		weight := float64(x.similarity*x.similarity) / r.total / math.Sqrt(float64(len(tools)))
		for _, t := range p.Tools {
			s.buffer.need[t]++
		}
		for _, t := range tools {
			if s.buffer.need[t] > 0 {
				s.buffer.need[t]--
				continue
			}
			s.add(t, weight)
		}
		for _, t := range p.Tools {
			s.buffer.need[t] = 0
		}
	}
	s.flush(signalPastRest, h.over)
	for _, x := range r.words {
		s.set(signalWords, x.Tool, x.Share)
		if uses, _ := p.Used(x.Tool); uses > 0 {
			s.set(signalWordsUsed, x.Tool, x.Share)
		}
	}
}

// residue is what the residual model adds for the tools the chain holds most likely, and the first
// that the request's words speak for.
func (h *History) residue(p *sequence.Prefix, r *Request, s *FeatureValues) {
	s.buffer.features = situation(p, s.buffer.features[:0])
	s.buffer.likely = h.likely(&s.blend, s.buffer.likely)
	if r != nil {
		for i, added := 0, 0; i < len(r.words) && added < wide/2; i++ {
			if t := r.words[i].Tool; !has(s.buffer.likely[:min(len(s.buffer.likely), wide)], t) {
				s.buffer.likely = append(s.buffer.likely, sequence.Vote{Tool: t})
				added++
			}
		}
	}
	place := uint8(min(len(p.Tools)/3, 3))
	s.Evidence[signalResidual], s.Evidence[signalResidualAsk] = place, 0
	for _, v := range s.buffer.likely {
		s.buffer.own = own(p, v.Tool, s.buffer.own[:0])
		s.set(signalResidual, v.Tool, h.requests.residual.Score(s.buffer.features, v.Tool)+h.requests.residual.Score(s.buffer.own, v.Tool))
		if r != nil {
			s.set(signalResidualAsk, v.Tool, h.requests.residual.Score(r.features, v.Tool))
		}
	}
}

// has is a linear search; the lists have at most a few dozen entries.
func has(votes []sequence.Vote, tool int32) bool {
	for _, v := range votes {
		if v.Tool == tool {
			return true
		}
	}
	return false
}
