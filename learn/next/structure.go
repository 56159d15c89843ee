package next

import (
	"math"

	"waymark/graph"
	"waymark/learn/sequence"
	"waymark/spectral"
)

const (
	alikeN     = 32  // tools kept that share neighbours with a tool
	resolution = 1   // of modularity
	vectors    = 16  // leading singular vectors
	raised     = .25 // every degree, as a multiple of the mean degree
	spectralN  = 40  // tools that the vectors bring in
	lastDecay  = .7  // of the vectors, per step back
	lastSteps  = 6   // number of last steps that enter the spectral signal
	byChance   = 1   // times the expected count, above which the vectors speak for a tool
	mostLifted = 100 // times the expected count, at most
)

// A structure is what the graph of all transitions says of its tools, beyond the steps that were seen
// one after the other: which are alike by their neighbours, which matter, which belong together. Only
// dependent steps are transitions: n(a→b) is how often a step of b came from one of a.
type structure struct {
	alike     [][]sequence.Vote // by tool, those with the largest Adamic-Adar, with it
	important []float32         // by tool, ln(1 + T·PageRank)
	popular   []float64         // by tool, ln P₀ after as many tasks
	tasks     int
	community []int32   // by tool, -1 = none
	members   [][]int32 // of each community, those with a transition

	// Leading singular vectors of D₁^-½·N·D₂^-½, scaled so that Σ_k from[a][k]·to[b][k] is the
	// estimate of n(a→b) by these vectors over what the degrees alone lead to expect.
	k        int
	from, to []float64
	led      []int32 // tools that came after another
}

// Settle works out the measures of the graph of transitions, as of the tasks observed until now: [History.Compute]
// uses those of the last call, and without any the graph says nothing. Stop is asked between them, and
// nothing is changed once it is true.
func (h *History) Settle(stop func() bool) {
	T := h.chain.Tools()
	s := &structure{
		alike: make([][]sequence.Vote, T), important: make([]float32, T), community: make([]int32, T),
		popular: make([]float64, T), tasks: len(h.tasks),
	}
	for t := range s.popular {
		s.popular[t] = ln(h.chain.Popularity(int32(t)))
	}
	var edges []graph.Edge
	var entries []spectral.Entry
	for a := range T {
		total := float64(h.after.first[a].Total + h.after.more[a].Total + 1)
		for _, row := range [2]*sequence.Followers{&h.after.first[a], &h.after.more[a]} {
			for _, c := range row.Counts {
				edges = append(edges, graph.Edge{From: int32(a), To: c.Tool, Weight: float64(c.N) / total, Count: uint64(c.N)})
				if int(c.Tool) != a { // what repeats itself is no flow
					entries = append(entries, spectral.Entry{Row: int32(a), Col: c.Tool, Weight: float64(c.N)})
				}
			}
		}
	}
	g, err := graph.New(T, edges)
	if err != nil {
		panic("next: " + err.Error()) // tools of the catalog, weights below 1
	}
	if s.neighbours(g, stop); stop() {
		return
	}
	if s.importance(g); stop() {
		return
	}
	if s.communities(g); stop() {
		return
	}
	if s.vectors(T, entries, stop); stop() {
		return
	}
	h.structure = s
}

// neighbours keeps for each tool the alikeN tools that share the most specific neighbours with it.
func (s *structure) neighbours(g *graph.Graph, stop func() bool) {
	var scratch graph.Scratch
	var top []graph.Scored
	for t := range s.alike {
		if g.Degree(int32(t)) == 0 {
			continue
		}
		if t%64 == 0 && stop() {
			return
		}
		top = g.AdamicAdarTop(int32(t), alikeN, &scratch, top)
		for _, x := range top {
			s.alike[t] = append(s.alike[t], sequence.Vote{Tool: x.Node, Share: x.Score})
		}
	}
}

// importance multiplies PageRank by the number of tools, so that a tool of average importance has ln 2 in
// every catalog.
func (s *structure) importance(g *graph.Graph) {
	if g.Size() == 0 {
		return // nothing is more important than anything else
	}
	ranks, err := graph.PageRank(g, graph.PageRankOptions{})
	if err != nil {
		panic("next: " + err.Error()) // weights are finite, the options the usual ones
	}
	for t, x := range ranks.Ranks {
		s.important[t] = float32(ln(1 + float64(float64(len(ranks.Ranks))*x)))
	}
}

// communities leaves out tools without a transition: each would be a community of its own.
func (s *structure) communities(g *graph.Graph) {
	label := graph.Communities(g, resolution)
	for t, c := range label {
		if s.community[t] = -1; g.Degree(int32(t)) > 0 {
			for int(c) >= len(s.members) {
				s.members = append(s.members, nil)
			}
			s.community[t] = c
			s.members[c] = append(s.members[c], int32(t))
		}
	}
}

// vectors factors the normalised counts and undoes the normalisation, so that products of vectors are ratios
// to the expected count. At most √n vectors are kept, n the number of tools with followers.
func (s *structure) vectors(T int, entries []spectral.Entry, stop func() bool) {
	H, err := spectral.NewMatrix(T, T, entries)
	if err != nil {
		panic("next: " + err.Error())
	}
	led := 0
	for a := range T {
		if H.Start[a+1] > H.Start[a] {
			led++
		}
	}
	want := min(int(math.Sqrt(float64(led))), vectors)
	if want == 0 {
		return // no transition between two tools
	}
	r, err := spectral.Cluster(H, spectral.Options{K: want, Tau: raised, Restarts: 1, Keep: true, Stop: stop})
	if err != nil || r.Leading == nil || stop() {
		return // stopped, or too few
	}
	rows, cols, total := make([]float64, T), make([]float64, T), 0.0
	for a := range T {
		for i := H.Start[a]; i < H.Start[a+1]; i++ {
			rows[a] += H.Weight[i]
			cols[H.Col[i]] += H.Weight[i]
			total += H.Weight[i]
		}
	}
	raise(rows, total)
	raise(cols, total)
	K := r.Leading.K
	s.k = min(K, want, len(r.SingularValues))
	s.from, s.to = make([]float64, T*s.k), make([]float64, T*s.k)
	for t := range T {
		for k := range s.k {
			if rows[t] > 0 {
				s.from[t*s.k+k] = float64(r.Leading.Rows[t*K+k]*r.SingularValues[k]) * total / math.Sqrt(rows[t])
			}
			if cols[t] > 0 {
				if k == 0 {
					s.led = append(s.led, int32(t))
				}
				s.to[t*s.k+k] = r.Leading.Cols[t*K+k] / math.Sqrt(cols[t])
			}
		}
	}
}

// raise adds a part of the mean degree to every degree that is not 0.
func raise(degree []float64, total float64) {
	n := 0
	for _, d := range degree {
		if d > 0 {
			n++
		}
	}
	for i, d := range degree {
		if d > 0 {
			degree[i] = d + raised*total/float64(n)
		}
	}
}

// important is the PageRank of a tool, as a signal.
func (h *History) important(tool int32) float32 {
	if h.structure == nil {
		return 0
	}
	return h.structure.important[tool]
}

// structural computes the signals of the transition graph.
func (h *History) structural(p *sequence.Prefix, s *FeatureValues) {
	g := h.structure
	if g == nil {
		return
	}
	last := p.Last()
	seen := level(int(h.after.skip[0][last].Total))
	s.Evidence[signalSharedNeighbours], s.Evidence[signalSameCommunity], s.Evidence[signalSpectral] = seen, seen, seen
	for _, x := range g.alike[last] {
		s.set(signalSharedNeighbours, x.Tool, ln(1+x.Share))
	}
	if c := g.community[last]; c >= 0 {
		for _, t := range g.members[c] {
			s.set(signalSameCommunity, t, 1)
		}
	}
	h.lifted(p, s)
}

// lifted computes the spectral signal: the weighted mean of the last steps' vectors, times
// those of every tool.
func (h *History) lifted(p *sequence.Prefix, s *FeatureValues) {
	g := h.structure
	if g.k == 0 {
		return
	}
	var way [vectors]float64
	x := way[:g.k]
	weight, sum := 1.0, 0.0
	for d := 1; d <= min(lastSteps, len(p.Tools)); d++ {
		t := int(p.Back(d))
		for k, y := range g.from[t*g.k : (t+1)*g.k] {
			x[k] += float64(weight * y)
		}
		sum += weight
		weight *= lastDecay
	}
	s.buffer.near = s.buffer.near[:0]
	keep := func(t int32, lift float64) {
		if lift /= sum; lift > byChance && (len(s.buffer.near) < spectralN || lift >= s.buffer.near[len(s.buffer.near)-1].Share) {
			s.buffer.near = sequence.Keep(s.buffer.near, sequence.Vote{Tool: t, Share: lift}, spectralN, likelier)
		}
	}
	to := func(t int32) []float64 { return g.to[int(t)*g.k:][:len(x)] }
	led := g.led
	for ; len(led) >= 4; led = led[4:] { // side by side, for each sum waits for itself
		y0, y1, y2, y3 := to(led[0]), to(led[1]), to(led[2]), to(led[3])
		var l0, l1, l2, l3 float64
		for k, x := range x {
			l0 += float64(x * y0[k])
			l1 += float64(x * y1[k])
			l2 += float64(x * y2[k])
			l3 += float64(x * y3[k])
		}
		keep(led[0], l0)
		keep(led[1], l1)
		keep(led[2], l2)
		keep(led[3], l3)
	}
	for _, t := range led {
		lift := 0.0
		for k, y := range to(t) {
			lift += float64(x[k] * y)
		}
		keep(t, lift)
	}
	for _, v := range s.buffer.near {
		s.set(signalSpectral, v.Tool, ln(min(v.Share, mostLifted)))
	}
}
