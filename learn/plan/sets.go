package plan

import (
	"cmp"
	"encoding/binary"
	"slices"

	"waymark/internal/numeric"
	"waymark/learn/labels"
)

// past is a distinct set of tools that past requests used: how often in all (count, in shares of groups) and
// in each part of the history.
type past struct {
	tools []int32
	count float64
	part  [folds]float64
}

// setNames names the features of a set in the order of describe.
var setNames = []string{
	"odds", "odds/size", "known", "times", "vote", "nearest", "size", "size-expected", "beside", "least beside", "prefix", "likelihood gap", "cover", "least odds",
}

// candidate is a set of tools that may be the answer. places are the positions of its tools among the
// candidates for single tools, increasing; f its features, p its probability.
type candidate struct {
	places []int32
	tools  []int32
	f      []float64
	p      float64
	prefix bool
	known  int // index of the past set, -1
}

// key is a map key for a sorted set of tools, four bytes each.
func key(tools []int32) string {
	b := make([]byte, 0, 4*len(tools))
	for _, t := range tools {
		b = binary.BigEndian.AppendUint32(b, uint32(t))
	}
	return string(b)
}

// countSets counts the distinct sets of tools of past tasks, by group shares, and keeps the counts of each
// part apart so that they can be subtracted while fitting.
func (m *Model) countSets() {
	at := map[string]int{}
	m.pastSets.pasts = nil
	m.pastSets.groupSets = make([][]labels.Label, len(m.groups))
	for i := range m.groups {
		g := &m.groups[i]
		share := 1 / float64(len(g.tasks))
		for _, t := range g.tasks {
			set := distinctTools(t.Steps)
			k := key(set)
			p, ok := at[k]
			if !ok {
				p = len(m.pastSets.pasts)
				at[k] = p
				m.pastSets.pasts = append(m.pastSets.pasts, past{tools: set})
			}
			m.pastSets.pasts[p].count += share
			m.pastSets.pasts[p].part[i%folds] += share
			m.pastSets.groupSets[i] = append(m.pastSets.groupSets[i], labels.Label{Label: int32(p), Value: share})
		}
	}
	m.indexSets()
}

// indexSets lists every past set under the one of its tools that has the fewest sets: a search for sets
// of likely tools then sees few others.
func (m *Model) indexSets() {
	sets := make([]int32, len(m.texts.tools))
	m.pastSets.setAt = make(map[string]int32, len(m.pastSets.pasts))
	for p := range m.pastSets.pasts {
		m.pastSets.setAt[key(m.pastSets.pasts[p].tools)] = int32(p)
		for _, t := range m.pastSets.pasts[p].tools {
			sets[t]++
		}
	}
	m.pastSets.pastOf = make([][]int32, len(m.texts.tools))
	for p := range m.pastSets.pasts {
		if tools := m.pastSets.pasts[p].tools; len(tools) > 0 {
			rarest := slices.MinFunc(tools, func(a, b int32) int { return cmp.Or(cmp.Compare(sets[a], sets[b]), cmp.Compare(a, b)) })
			m.pastSets.pastOf[rarest] = append(m.pastSets.pastOf[rarest], int32(p))
		}
	}
}

const (
	unlikely   = .02 // a past set with a tool below this is not considered
	mostChoice = 60
	mostSteps  = 25
	onTop      = .5 // worth of being exactly right, or of all links, beside F1 of the tools
)

// choices returns sets that may be the answer, the likeliest tools and past sets of likely tools, with their features.
func (q *request) choices(expected int) []candidate {
	z := make([]float64, len(q.table.cand)) // log-odds of the candidates
	for i, p := range q.table.p2 {
		z[i] = numeric.Ln((p + 1e-4) / (1 - p + 1e-4))
	}
	l := setList{q: q, seen: map[string]bool{}}
	for k := max(1, expected-3); k <= min(expected+3, len(q.table.order)); k++ {
		var set []int32
		for _, i := range q.table.order[:k] {
			set = append(set, q.table.cand[i])
		}
		slices.Sort(set)
		l.add(set, true)
	}
	for _, p := range q.likelyPast(z) {
		l.add(q.m.pastSets.pasts[p].tools, false)
	}
	q.describe(l.sets, z)
	return l.sets
}

// A setList holds each set once.
type setList struct {
	q    *request
	sets []candidate
	seen map[string]bool
}

// add takes a sorted set unless the list has it. prefix says that it is the k likeliest tools for some k; a
// past set equal to one of these keeps that mark, because prefixes are added first.
func (l *setList) add(tools []int32, prefix bool) {
	k := key(tools)
	if l.seen[k] {
		return
	}
	l.seen[k] = true
	c := candidate{tools: tools, prefix: prefix, known: -1}
	if p, ok := l.q.m.pastSets.setAt[k]; ok {
		c.known = int(p)
	}
	for _, t := range tools {
		i, _ := l.q.place(t)
		c.places = append(c.places, int32(i))
	}
	l.sets = append(l.sets, c)
}

// likelyPast returns the mostChoice past sets with the largest sums of log-odds, of those whose tools are all likely
// and one of which is among the 15 likeliest.
func (q *request) likelyPast(z []float64) []int32 {
	type scored struct {
		p int32
		z float64
	}
	var found []scored
	likely := make([]bool, len(q.table.cand))
	for _, i := range q.table.order[:min(15, len(q.table.order))] {
		likely[i] = true
	}
	for i, t := range q.table.cand {
		if q.table.p2[i] < unlikely {
			continue
		}
	next:
		for _, p := range q.m.pastSets.pastOf[t] {
			if q.seenBefore(p) < 1e-9 {
				continue
			}
			sum, any := 0.0, false
			for _, t := range q.m.pastSets.pasts[p].tools {
				j, ok := q.place(t)
				if !ok || q.table.p2[j] < unlikely {
					continue next
				}
				sum += z[j]
				any = any || likely[j]
			}
			if any {
				found = append(found, scored{p, sum})
			}
		}
	}
	slices.SortFunc(found, func(a, b scored) int { return cmp.Or(cmp.Compare(b.z, a.z), cmp.Compare(a.p, b.p)) })
	sets := make([]int32, min(mostChoice, len(found)))
	for i := range sets {
		sets[i] = found[i].p
	}
	return sets
}

// seenBefore returns how many requests a past set answered, without those of the part that is left out.
func (q *request) seenBefore(p int32) float64 {
	past := &q.m.pastSets.pasts[p]
	if q.left == nil {
		return past.count
	}
	return past.count - past.part[q.own%folds]
}

// describe fills in the features of sets.
func (q *request) describe(all []candidate, z []float64) {
	vote, nearest, total := q.votes()
	contribution, most := q.explained()
	best := -1e9 // largest sum of log-odds
	for i := range all {
		sum := 0.0
		for _, j := range all[i].places {
			sum += z[j]
		}
		best = max(best, sum)
	}
	beside := q.besides(all)
	for i := range all {
		c := &all[i]
		sum, least := 0.0, 1e9
		for _, j := range c.places {
			sum += z[j]
			least = min(least, z[j])
		}
		count, v, ne := 0.0, 0.0, 0.0
		if c.known >= 0 {
			count, v, ne = q.seenBefore(int32(c.known)), vote[int32(c.known)]/(total+.1), nearest[int32(c.known)]
		}
		mean, leastBeside := beside.within(c.places)
		k := float64(len(c.tools))
		c.f = []float64{
			sum, sum / k, // log-odds of the tools
			b2f(count > 1e-9), numeric.Ln(1 + count), // known set
			v, ne, // votes of the nearest requests, and the nearest that had it
			numeric.Ln(k), max(-3, min(3, k-q.size)), // length, against the expected one
			mean, leastBeside, // tools that were used beside each other
			b2f(c.prefix), max(-10, sum-best), // the likeliest tools; against the best sum
			covered(c.places, contribution, most), // share of the words of the request that its tools explain
			least,
		}
	}
}

// votes returns by past set the similarity of the nearest requests that had it, summed and at most, and the sum of all
// similarities.
func (q *request) votes() (vote, nearest map[int32]float64, total float64) {
	vote, nearest = map[int32]float64{}, map[int32]float64{}
	for _, nb := range q.near {
		total += nb.Similarity
		for _, l := range q.m.pastSets.groupSets[nb.Row] {
			vote[l.Label] += float64(nb.Similarity * l.Value)
			nearest[l.Label] = max(nearest[l.Label], nb.Similarity)
		}
	}
	return vote, nearest, total
}

// covered is Σ_w max_{j ∈ places} contribution(j, w) / Σ_w most(w).
func covered(places []int32, contribution [][]float64, most []float64) float64 {
	sum, of := 0.0, 1e-9
	for w := range most {
		of += most[w]
		x := 0.0
		for _, j := range places {
			x = max(x, contribution[j][w])
		}
		sum += x
	}
	return sum / of
}

// besides are the shares of uses of one candidate that had another beside, worked out once for all sets
// that have both.
type besides struct {
	q     *request
	at    []int32 // of a candidate, its row; -1 in no set
	n     int
	share []float64 // -1: not worked out yet
}

// besides numbers the candidates that are in any set. The table of shares is quadratic in their number, and
// most candidates are in none.
func (q *request) besides(all []candidate) *besides {
	b := &besides{q: q, at: make([]int32, len(q.table.cand))}
	for i := range b.at {
		b.at[i] = -1
	}
	for i := range all {
		for _, j := range all[i].places {
			if b.at[j] < 0 {
				b.at[j] = int32(b.n)
				b.n++
			}
		}
	}
	b.share = make([]float64, b.n*b.n)
	for k := range b.share {
		b.share[k] = -1
	}
	return b
}

// of is the share of uses of candidate j that had candidate i beside.
func (b *besides) of(i, j int32) float64 {
	s := &b.share[int(b.at[i])*b.n+int(b.at[j])]
	if *s < 0 {
		*s = b.q.given(b.q.table.cand[i], b.q.table.cand[j])
	}
	return *s
}

// within is the share of uses of each candidate that had another of them beside, at most: its mean and the least.
// A single candidate has mean 0 and least 1.
func (b *besides) within(places []int32) (mean, least float64) {
	least = 1.0
	if len(places) < 2 {
		return 0, least
	}
	for _, i := range places {
		most := 0.0
		for _, j := range places {
			if i != j {
				most = max(most, b.of(i, j))
			}
		}
		mean += most
		least = min(least, most)
	}
	return mean / float64(len(places)), least
}

// given is the share of uses of b that had a beside.
func (q *request) given(a, b int32) float64 {
	m := q.m
	both, uses := q.relation(a, b).both, m.uses[b]
	if q.left != nil {
		uses -= q.left.uses[b]
	}
	return both / (max(uses, 0) + 1)
}

// explained is what each word of the request adds to each likely candidate, by distinct feature, and the most it adds to any.
func (q *request) explained() (contribution [][]float64, most []float64) {
	m := q.m
	most = make([]float64, len(q.text.x.I))
	contribution = make([][]float64, len(q.table.cand))
	all := make([]float64, len(q.table.cand)*len(q.text.x.I))
	for j, t := range q.table.cand {
		row := all[j*len(q.text.x.I) : (j+1)*len(q.text.x.I)]
		contribution[j] = row
		if q.table.p2[j] < unlikely {
			continue
		}
		if l := m.dense.label[t]; l >= 0 {
			for k, f := range q.text.x.I {
				row[k] = max(0, m.weight(q.own, f, l)*q.text.x.V[k])
				most[k] = max(most[k], row[k])
			}
		}
	}
	return contribution, most
}

// falling is the second-stage probabilities of the candidates, the largest first.
func (q *request) falling() []float64 {
	p := make([]float64, len(q.table.order))
	for i, c := range q.table.order {
		p[i] = q.table.p2[c]
	}
	return p
}
