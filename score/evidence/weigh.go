package evidence

import (
	"cmp"
	"math"
	"slices"

	"waymark/internal/numeric"
)

// A triangulation is a request whose rounds were read, one after the other.
type triangulation struct {
	Request
	options Options
	// In order of id, "none of these" last.
	claims []*claim
	merged [][]string
	// The snippets of all rounds, each once.
	passages []*passage
	// The queries of the first round.
	opening []Query
	rounds  []RoundResult
}

// A claim is a distinct hypothesis with the evidence for and against it. asked is set once a support query was about
// it.
type claim struct {
	Hypothesis
	stance
	prior, weight          float64
	support, falsification float64
	supporting, falsifying []*passage
	asked                  bool
}

// A passage is a snippet that was read. claim is the claim that its own words assign it to, or nil. best is the largest
// overlap with any claim, and strength the overlap that it counts with times its novelty.
type passage struct {
	Snippet
	round                   int
	terms                   []string
	claim                   *claim
	best, novelty, strength float64
}

// weigh reads the rounds of a request that was checked.
func weigh(r Request) *triangulation {
	t := &triangulation{Request: r, options: r.options(), rounds: []RoundResult{}}
	t.claims, t.merged = claims(r)
	reweigh(t.claims)
	t.opening = t.queries(Continue)
	for _, round := range r.Rounds {
		t.add(round)
	}
	return t
}

// claims returns the distinct hypotheses with their priors, and the groups of ids with the same claim. A claim that
// represents several hypotheses has the sum of their priors, if these are given, because it is their union. Without
// given priors it counts as one of k: a repetition does not make it more likely.
func claims(r Request) (distinct []*claim, merged [][]string) {
	merged = alike(r.Hypotheses)
	given := map[string][]float64{}
	for _, h := range r.Hypotheses {
		id := h.ID
		for _, ids := range merged {
			if slices.Contains(ids, id) {
				id = ids[0]
			}
		}
		if h.Prior != nil {
			given[id] = append(given[id], *h.Prior)
		}
		if id == h.ID {
			distinct = append(distinct, &claim{Hypothesis: h, stance: stanceOf(h)})
		}
	}
	slices.SortFunc(distinct, func(a, b *claim) int { return cmp.Compare(a.ID, b.ID) })
	if r.NoneOfThese {
		none := Hypothesis{ID: NoneOfThese, Text: "None of these."}
		distinct = append(distinct, &claim{Hypothesis: none})
	}
	var priors []float64
	for _, c := range distinct {
		c.prior = 1 / float64(len(distinct))
		if p := given[c.ID]; p != nil {
			c.prior = sum(p)
		}
		priors = append(priors, c.prior)
	}
	for _, c := range distinct {
		c.prior /= sum(priors)
	}
	return distinct, merged
}

// alike returns the groups of hypotheses with the same claim. Each hypothesis joins the group of the first one in order
// of id that has the same claim. Groups and their members are in order of id.
func alike(hypotheses []Hypothesis) [][]string {
	hs := slices.Clone(hypotheses)
	slices.SortFunc(hs, func(a, b Hypothesis) int { return cmp.Compare(a.ID, b.ID) })
	stances := make([]stance, len(hs))
	group := make([]int, len(hs))
	for i, h := range hs {
		stances[i], group[i] = stanceOf(h), i
		for j := range i {
			if group[i] == i && sameClaim(stances[i], stances[j]) {
				group[i] = group[j]
			}
		}
	}
	members := make([][]string, len(hs))
	for i, h := range hs {
		members[group[i]] = append(members[group[i]], h.ID)
	}
	return slices.DeleteFunc(members, func(ids []string) bool { return len(ids) < 2 })
}

// reweigh sets the weights of claims by the evidence for and against them,
//
//	w_i = prior_i·exp(net_i) / Σ_j prior_j·exp(net_j)
//
// with net the difference of support and falsification. Weights are never negative and add up to 1, whatever the net;
// with equal nets they are the priors.
func reweigh(claims []*claim) {
	// The largest exponent is 0, so that nothing overflows. A claim with prior 0 may have a larger net.
	top := math.Inf(-1)
	for _, c := range claims {
		if c.prior > 0 {
			top = max(top, c.support-c.falsification)
		}
	}
	all := make([]float64, len(claims))
	for i, c := range claims {
		all[i] = float64(c.prior * numeric.Exp(min(0, c.support-c.falsification-top)))
	}
	total := sum(all)
	for i, c := range claims {
		c.weight = all[i] / total
	}
}

// entropy returns -Σ w·ln w in nats, with 0·ln 0 = 0: 0 if one weight is 1, ln k if k weights are equal. The share is
// the entropy divided by ln k, which does not depend on the base of the logarithm: 0 to 1, and 0 for a single weight.
func entropy(weights []float64) (nats, share float64) {
	var terms []float64
	for _, w := range weights {
		if w > 0 {
			terms = append(terms, float64(-w*numeric.Ln(w)))
		}
	}
	nats = max(0, sum(terms))
	if k := len(weights); k > 1 {
		share = min(1, nats/numeric.Ln(float64(k)))
	}
	return nats, share
}

// sum adds in increasing order, so that the result does not depend on the order of x.
func sum(x []float64) float64 { return numeric.Sum(slices.Sorted(slices.Values(x))) }

func mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return sum(x) / float64(len(x))
}

// ranked returns the claims by falling weight, then id. "None of these" comes after other claims of the same weight,
// and is left out if named is set.
func (t *triangulation) ranked(named bool) []*claim {
	order := slices.Clone(t.claims)
	if named && t.NoneOfThese {
		order = order[:len(order)-1]
	}
	slices.SortStableFunc(order, func(a, b *claim) int { return cmp.Compare(b.weight, a.weight) })
	return order
}

// add reads the next round.
func (t *triangulation) add(r Round) {
	assignments, fresh, gain := t.assign(r.Snippets)
	reweigh(t.claims)
	lead := t.ranked(false)[0]
	res := RoundResult{Lead: lead.ID, LeadWeight: lead.weight, Assignments: assignments,
		NewDocuments: *cmp.Or(r.NewDocuments, &fresh), QualityGain: *cmp.Or(r.QualityGain, &gain)}
	res.Weights, res.Support, res.Falsification = map[string]float64{}, map[string]float64{}, map[string]float64{}
	var all []float64
	for _, c := range t.claims {
		all = append(all, c.weight)
		res.Weights[c.ID], res.Support[c.ID], res.Falsification[c.ID] = c.weight, c.support, c.falsification
	}
	res.EntropyNats, res.EntropyShare = entropy(all)
	if n := len(t.rounds); n > 0 {
		res.ForcedRounds = t.rounds[n-1].ForcedRounds
	}
	if res.Gate = t.options.gate(len(t.rounds)+1, res); res.Gate == Forced {
		res.ForcedRounds++
	}
	t.rounds = append(t.rounds, res)
	t.rounds[len(t.rounds)-1].NextQueries = t.queries(res.Gate)
}

// A Gate says whether there should be another round.
type Gate string

// Continue: the round brought something new. Stop: nothing new, and one hypothesis leads. Forced: nothing new, but
// undecided, so ask for what discriminates. Exhausted: still undecided after all forced rounds.
const (
	Continue  Gate = "continue"
	Stop      Gate = "stop"
	Forced    Gate = "forced"
	Exhausted Gate = "exhausted"
)

// gate decides after a round whether there is another one; number counts rounds from 1. A round is quiet from the
// second on, if it brought few new documents and little gain. After a quiet round the gate stops if the weights are
// decided; otherwise it forces a round, MaxForced times in all.
func (o Options) gate(number int, r RoundResult) Gate {
	quiet := number >= 2 && r.NewDocuments < o.MinNewDocuments && r.QualityGain < o.MinQualityGain
	switch {
	case !quiet:
		return Continue
	case r.EntropyShare < o.StopShare && r.LeadWeight >= o.StopLead:
		return Stop
	case r.ForcedRounds < o.MaxForced:
		return Forced
	}
	return Exhausted
}

// assign reads the snippets of a round in order of id and assigns each to the hypothesis of largest overlap. It returns
// the assignments, the number of new snippets, and the mean of overlap times novelty.
func (t *triangulation) assign(snippets []Snippet) (assignments []Assignment, fresh int, gain float64) {
	order := slices.SortedFunc(slices.Values(snippets), func(a, b Snippet) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Text, b.Text), cmp.Compare(a.Source, b.Source))
	})
	assignments = make([]Assignment, len(order))
	found, gains := make([]*passage, len(order)), make([]float64, len(order))
	for i, s := range order {
		a := &assignments[i]
		at := slices.IndexFunc(t.passages, func(p *passage) bool { return p.ID == s.ID && p.Text == s.Text })
		if a.Repeated = at >= 0; a.Repeated {
			found[i] = t.passages[at]
			continue
		}
		found[i] = t.read(s)
		a.Novelty = found[i].novelty
		fresh++
	}
	// All snippets are read before this loop, because a paraphrase may take the hypothesis of a later one.
	for i, p := range found {
		a := &assignments[i]
		a.Snippet, a.Hypothesis, a.Overlap = p.ID, undifferentiated, p.best
		c := p.claim
		if like, strength := t.cluster(p); like != nil {
			c, a.Overlap, a.Cluster = like.claim, strength, like.ID
		}
		if c == nil {
			continue
		}
		a.Hypothesis, a.Marker = c.ID, c.opposed(p.Text)
		a.Falsifies = a.Marker != ""
		if a.Repeated {
			continue
		}
		gains[i] = float64(a.Overlap * a.Novelty)
		p.strength = gains[i]
		total, list := &c.support, &c.supporting
		if a.Falsifies {
			total, list = &c.falsification, &c.falsifying
		}
		*total += gains[i]
		*list = append(*list, p)
	}
	return assignments, fresh, mean(gains)
}

// read adds a snippet to the pool. Its novelty is 1 - max |a ∩ b| / |a ∪ b| over all snippets b before it. Its claim is
// the hypothesis of largest overlap, if that is above assignOverlap and no other overlap is equal.
func (t *triangulation) read(s Snippet) *passage {
	p := &passage{Snippet: s, round: len(t.rounds) + 1, terms: terms(s.Text), novelty: 1}
	for _, q := range t.passages {
		p.novelty = min(p.novelty, 1-jaccard(p.terms, q.terms))
	}
	for _, c := range t.claims {
		switch o := overlap(p.terms, c.about); {
		case o > p.best:
			p.best, p.claim = o, c
		case o == p.best:
			p.claim = nil
		}
	}
	if p.best <= assignOverlap {
		p.claim = nil
	}
	t.passages = append(t.passages, p)
	return p
}

// cluster finds, for a snippet that shares almost no word with any hypothesis, the most similar snippet among those
// assigned by their own words: the two probably say the same in words other than those of the hypothesis. The strength
// is the overlap of that snippet times the similarity, and has to be above assignOverlap. cluster returns nil if there
// is none, or if two equally similar snippets belong to different hypotheses.
func (t *triangulation) cluster(p *passage) (like *passage, strength float64) {
	if p.claim != nil || p.best >= clusterOverlap {
		return nil, 0
	}
	most, apart := float64(clusterCosine), false
	for _, q := range t.passages {
		if q.claim == nil {
			continue
		}
		switch c := cosine(p.terms, q.terms); {
		case c < most:
		case c > most || like == nil:
			most, like, apart = c, q, false
		case q.claim != like.claim:
			apart = true
		case q.best > like.best:
			like = q
		}
	}
	if like == nil || apart || float64(most*like.best) <= assignOverlap {
		return nil, 0
	}
	return like, float64(most * like.best)
}
